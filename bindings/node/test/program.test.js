// What a program gives SQL: rows under a name, and functions.
'use strict'

const assert = require('node:assert/strict')
const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { test } = require('node:test')
const { Worker } = require('node:worker_threads')
const foliodb = require('foliodb')
const { scratch } = require('./scratch.js')

const PACKAGE = path.join(__dirname, '..')

function database(context) {
  let db
  context.after(() => db.close()) // before the folder goes
  db = foliodb.open(scratch(context), { durability: 'none' })
  db.sql('create table t (id bigint primary key, name text)')
  return db
}

const refused = (message, code = 'invalid_input') => (error) => {
  assert.ok(error instanceof foliodb.FolioError, String(error))
  assert.match(error.message, message)
  assert.equal(error.code, code)
  return true
}

/** The bytes of an Arrow file that holds a query's rows. */
function arrowFile(db, query) {
  const file = `${db.path}.arrow`
  db.sql(`copy (${query}) to '${file}'`)
  return fs.readFileSync(file)
}

test('rows of the program have names', (context) => {
  const db = database(context)
  db.sql("insert into t values (1, 'Oslo'), (2, 'Bergen')")
  const moment = new Date('2024-02-29T12:00:00Z')
  const shades = [
    { id: 2, shade: 'red', tags: ['a', null], n: 1, data: { a: 1 } },
    { shade: null, id: 3, n: 2.5, blob: Buffer.from([0, 255]), at: moment, gone: undefined },
  ]
  assert.equal(db.register('shades', shades), 2)
  assert.deepEqual(db.sql('select name, shade from t join shades using (id)').toArray(), [{ name: 'Bergen', shade: 'red' }])
  const answer = db.sql('select * from Shades order by id')
  assert.deepEqual(answer.columns, ['id', 'shade', 'tags', 'n', 'data', 'blob', 'at'])
  assert.deepEqual(answer.types, ['bigint', 'text', 'text[]', 'double precision', 'json', 'bytea', 'timestamptz'])
  assert.deepEqual(answer.toArray(), [
    { id: 2, shade: 'red', tags: ['a', null], n: 1, data: { a: 1 }, blob: null, at: null },
    { id: 3, shade: null, tags: null, n: 2.5, data: null, blob: Buffer.from([0, 255]), at: '2024-02-29T12:00:00Z' },
  ])
  db.register('SHADES', [{ id: 9007199254740993n, none: null }])
  assert.deepEqual(db.sql('select * from shades').toArray(), [{ id: 9007199254740993n, none: null }])
  assert.deepEqual([db.unregister('shades'), db.unregister('shades')], [true, false])
  assert.throws(() => db.sql('select * from shades'), refused(/"shades" does not exist/, 'not_found'))
})

test('Arrow tables have names', async (context) => {
  const db = database(context)
  const file = arrowFile(db, "select g as id, 'n' || g as name from generate_series(1, 5000) s(g)")
  const stream = file.subarray(file.indexOf(Buffer.alloc(4, 255), 8), file.length - 10 - file.readInt32LE(file.length - 10)) // what a file has around it cut away
  const exact = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)
  for (const rows of [file, stream, exact(file), new DataView(exact(stream)), { toArrowIPC: () => stream }, { writeIPC: () => file }]) {
    assert.equal(db.register('people', rows), 5000)
    assert.deepEqual(db.sql("select sum(id) as sum from people where name like 'n1%'").toArray(), [{ sum: '1514596' }])
  }
  assert.deepEqual(await (await db.sqlAsync('select count(*) as n from people')).toArrayAsync(), [{ n: 5000 }])
  file.fill(0) // what was registered is the database's
  assert.deepEqual(db.sql('select max(id) as m from people').toArray(), [{ m: 5000 }])
})

test('what cannot be registered', (context) => {
  const db = database(context)
  assert.throws(() => db.register('rows', []), refused(/have no columns/))
  assert.throws(() => db.register('rows', [{}]), refused(/have no columns/))
  assert.throws(() => db.register('rows', [[1]]), refused(/row 1 must be an object/))
  assert.throws(() => db.register('rows', [{ a: 1 }, { a: 'x' }]), refused(/column a .*mixed types/))
  assert.throws(() => db.register('rows', [{ a: 1 }, { a: () => {} }]), refused(/"a" of row 2 is a function/))
  assert.throws(() => db.register('rows', [{ a: 1, A: 2 }]), refused(/two columns "A"/))
  assert.throws(() => db.register('rows', 'text'), refused(/tableToIPC/))
  assert.throws(() => db.register('rows', null), refused(/tableToIPC/))
  assert.throws(() => db.register('rows', Buffer.from('no arrow at all')), refused(/cannot be read as Arrow/, 'corrupted'))
  assert.throws(() => db.register('rows', arrowFile(db, 'select 1 as a').subarray(0, 100)), refused(/cannot be read as Arrow/, 'corrupted'))
  assert.throws(() => db.register('', [{ a: 1 }]), refused(/empty/))
  assert.throws(() => db.register(5, [{ a: 1 }]), refused(/name must be a string/))
  assert.throws(() => db.register('T', [{ a: 1 }]), refused(/"T"/, 'conflict'))
  db.close()
  assert.throws(() => db.register('rows', [{ a: 1 }]), refused(/closed/, 'closed'))
})

test('functions of the program', (context) => {
  const db = database(context)
  db.sql("insert into t values (1, 'Oslo'), (2, null)")
  db.createFunction('initial', { parameters: ['text'], returns: 'text' }, (name) => name[0])
  assert.deepEqual(db.sql('select initial(name) as i from t order by id').toArray(), [{ i: 'O' }, { i: null }])
  const seen = []
  const types = ['bigint', 'timestamptz', 'numeric(6,2)', 'text[]', 'bytea', 'json', 'double precision', 'boolean']
  db.createFunction('note', { parameters: types, returns: 'json', takesNull: true }, (...values) => {
    seen.push(values)
    return { tags: values[3] }
  })
  const values = "9007199254740993, timestamptz '2024-02-29T00:00:00Z', 1.5, array['a', null], bytea '\\x00ff', json '{\"a\": [1]}', 'NaN'::float8, true"
  assert.deepEqual(db.sql(`select note(${values}) as a, note(${Array(8).fill('null').join()}) as b`).toArray(), [{ a: { tags: ['a', null] }, b: { tags: null } }])
  assert.deepEqual(seen, [
    [9007199254740993n, '2024-02-29T00:00:00Z', '1.50', ['a', null], Buffer.from([0, 255]), { a: [1] }, NaN, true],
    Array(8).fill(null),
  ])
  const answers = [
    ['bigint', 5, 5], ['bigint', 2n ** 62n, 2n ** 62n], ['double precision', 5, 5], ['numeric(10, 4)', '3.3333', '3.3333'], ['text', 'ü\0', 'ü\0'],
    ['boolean', true, true], ['bytea', Uint8Array.of(1, 2), Buffer.from([1, 2])], ['text[]', ['a', null], ['a', null]], ['json', { a: 1n }, { a: 1 }],
    ['timestamptz', new Date(0), '1970-01-01T00:00:00Z'], ['date', '2024-02-29', '2024-02-29'], ['text', null, null], ['double precision', Infinity, Infinity],
  ]
  for (const [returns, given, expected] of answers) {
    db.createFunction('answer', { returns }, () => given)
    assert.deepEqual(db.sql('select answer() as a').toArray(), [{ a: expected }], returns)
  }
  assert.deepEqual([db.dropFunction('Answer'), db.dropFunction('answer')], [true, false])
  assert.throws(() => db.sql('select answer()'), refused(/"answer" does not exist/, 'not_found'))
})

test('functions are called in every kind of statement', (context) => {
  const db = database(context)
  let calls = 0
  db.createFunction('twice', { parameters: ['bigint'], returns: 'bigint' }, (n) => (calls++, n * 2))
  db.createFunction('next', { returns: 'bigint', volatile: true }, () => ++calls)
  db.sql("insert into t select g, twice(g)::text from generate_series(1, 10000) s(g)")
  db.sql("update t set name = 'x' where twice(id) = 20")
  assert.equal(db.sql('delete from t where twice(id) > 19990').count, 5)
  assert.deepEqual(db.prepare('select twice(?::bigint) as n').execute([21]).toArray(), [{ n: 42 }])
  assert.deepEqual(db.transaction((tx) => tx.sql('select count(*) as n, max(twice(id)) as m from t').toArray()), [{ n: 9995, m: 19990 }])
  assert.equal(db.sql('select twice(id) as n from t order by id').next().n, 2)
  calls = 0
  assert.deepEqual(db.sql('select next() as n from t limit 3').toArray(), [{ n: 1 }, { n: 2 }, { n: 3 }])
  db.collection('docs').put('x', { n: 0 })
  db.sql('insert into docs (_id, n) select id::text, twice(id) from t limit 3')
  assert.deepEqual(db.sql('select n from docs order by n').toArray(), [{ n: 0 }, { n: 2 }, { n: 4 }, { n: 6 }])
  assert.equal([...db.collection('docs').scan({ where: 'twice(n) = 8' })].length, 1)
  assert.throws(() => db.sql('create table u (a bigint check (twice(a) > 0))'), refused(/cannot be stored with a table/, 'unsupported'))
})

test('large tables are read on this thread where they call a function', (context) => {
  const db = database(context)
  db.sql('insert into t (id) select g from generate_series(1, 200000) s(g)')
  db.createFunction('even', { parameters: ['bigint'], returns: 'boolean' }, (n) => n % 2 === 0)
  assert.deepEqual(db.sql('set threads to 4; select count(*) as n from t where even(id)').toArray(), [{ n: 100000 }])
})

test('functions that fail', (context) => {
  const db = database(context)
  db.sql("insert into t values (1, 'a'), (2, 'b')")
  const one = { parameters: ['bigint'], returns: 'bigint' }
  const fails = (work, message, options = one) => {
    db.createFunction('f', options, work)
    assert.throws(() => db.sql('update t set name = f(id)::text').count, refused(message))
    assert.deepEqual(db.sql('select name from t order by id').toArray(), [{ name: 'a' }, { name: 'b' }])
  }
  fails((n) => { if (n === 2) throw new RangeError('too large'); return n }, /function f: RangeError: too large/)
  fails(() => { throw undefined }, /function f: undefined/)
  fails(() => { throw { toString: null } }, /function f: it threw a value that is not text/)
  fails(() => { throw new foliodb.FolioError('locked', 'wait') }, /function f: wait/)
  fails(async (n) => n, /returned a promise/)
  fails(() => undefined, /its result is undefined[^]*help: write null/)
  fails(() => () => 1, /its result is a function/)
  fails(() => 'many', /its result has another type: .*bigint/)
  fails((n) => n / 4, /its result has another type: 0.25 is not a valid bigint[^]*round it/)
  fails(() => 1e300, /its result has another type/)
  fails(() => [1, 'a'], /its result is an array of mixed types/)
  fails(() => 2n ** 80n, /its result is a bigint beyond 64 bits/)
  fails(() => new Map(), /its result is a Map/)
  fails(() => '\ud800', /its result has half of a surrogate pair/, { ...one, returns: 'text' })
  fails(function deep(n) { return deep(n) }, /function f: RangeError/)
})

test('what is no function', (context) => {
  const db = database(context)
  const text = { parameters: ['text'], returns: 'text' }
  const work = (value) => value
  assert.throws(() => db.createFunction('f', {}, work), refused(/returns must name the type/))
  assert.throws(() => db.createFunction('f', work), refused(/options must be an object, not function/))
  assert.throws(() => db.createFunction('f', text), refused(/the last argument must be a function/))
  assert.throws(() => db.createFunction('f', { ...text, deterministic: true }, work), refused(/unknown option "deterministic"; available: parameters, returns, volatile, takesNull/))
  assert.throws(() => db.createFunction('f', { parameters: 'text', returns: 'text' }, work), refused(/option parameters must be an array of strings/))
  assert.throws(() => db.createFunction('f', { returns: 'txt' }, work), refused(/txt/, 'not_found'))
  assert.throws(() => db.createFunction('', text, work), refused(/empty/))
  assert.throws(() => db.createFunction(undefined, text, work), refused(/name must be a string/))
  for (const name of ['upper', 'Coalesce', 'iif', 'count', 'cast']) {
    assert.throws(() => db.createFunction(name, text, work), refused(/is already defined in SQL/, 'conflict'), name)
  }
})

test('a promise does not call functions, and says so', async (context) => {
  const db = database(context)
  db.sql("insert into t values (1, 'a')")
  db.createFunction('twice', { parameters: ['bigint'], returns: 'bigint' }, (n) => n * 2)
  const home = refused(/function twice: it is a JavaScript function, [^]*call sql there/)
  await assert.rejects(db.sqlAsync('update t set id = twice(id)'), home)
  await assert.rejects(db.sqlAsync('select twice(id) from t').then((answer) => answer.toArrayAsync()), home)
  await assert.rejects(db.sql('select twice(id) from t').toArrayAsync(), home)
  assert.deepEqual(db.sql('select id from t').toArray(), [{ id: 1 }])
  // Rows of a promise can be read here.
  assert.deepEqual((await db.sqlAsync('select twice(id) as n from t')).toArray(), [{ n: 2 }])
  assert.deepEqual(await db.transactionAsync(async (tx) => tx.sql('select twice(id) as n from t').toArray()), [{ n: 2 }])
})

test('a function may use the database, but not what calls it', (context) => {
  const db = database(context)
  db.sql("insert into t values (1, 'a'), (2, 'b')")
  const docs = db.collection('docs')
  docs.put('x', { n: 7 })
  db.createFunction('lookup', { parameters: ['text'], returns: 'bigint' }, (id) => docs.get(id)?.n ?? null)
  db.createFunction('nested', { parameters: ['bigint'], returns: 'text' }, (id) => db.sql('select name from t where id = ?', [id]).next().name)
  assert.deepEqual(db.sql("select id, lookup('x') as n, nested(id) as name from t order by id").toArray(), [{ id: 1, n: 7, name: 'a' }, { id: 2, n: 7, name: 'b' }])
  const session = db.session()
  const busy = refused(/function f: a statement that calls this function is still running[^]*use another session/)
  const none = { returns: 'bigint', volatile: true }
  const prepared = session.prepare('delete from t where f() = 1')
  for (const work of [() => session.sql('select 1'), () => session.isInTransaction, () => session.prepare('select 1'), () => prepared.execute()]) {
    db.createFunction('f', none, work)
    assert.throws(() => session.sql('delete from t where f() = 1'), busy)
    assert.throws(() => prepared.execute(), busy)
  }
  db.createFunction('f', none, () => answer.next())
  const answer = session.sql('select f() from t')
  assert.throws(() => answer.toArray(), busy)
  db.createFunction('f', none, () => db.close())
  assert.throws(() => db.sql('select f()').toArray(), refused(/close after it has ended/))
  db.createFunction('f', none, () => { db.dropFunction('f'); db.createFunction('f', none, () => 2); return 1 })
  assert.deepEqual(db.sql('select f() as n from t').toArray(), [{ n: 1 }, { n: 1 }])
  assert.deepEqual(db.sql('select f() as n').toArray(), [{ n: 2 }])
})

test('functions go with their handle, their thread and their process', async (context) => {
  const path = scratch(context)
  const script = `
    const foliodb = require(${JSON.stringify(PACKAGE)})
    const { workerData } = require('node:worker_threads')
    const path = workerData ?? ${JSON.stringify(path)}
    for (let round = 0; round < 20; round++) {
      const db = foliodb.open(path)
      const large = Array.from({ length: 1000 }, (_, n) => n)
      for (const name of ['f', 'g', 'f']) db.createFunction(name, { parameters: ['bigint'], returns: 'bigint' }, (n) => large[n] + (db.path === path))
      const answer = db.sql('select f(g) as n from generate_series(1, 10) s(g)')
      if (answer.next().n !== 2) throw new Error('wrong')
      if (round % 3 === 0) db.dropFunction('f')
      if (round % 2 === 0) db.close()
      global.gc?.()
    }
    const db = foliodb.open(path)
    db.createFunction('spin', { parameters: ['bigint'], returns: 'bigint' }, (n) => { while (workerData) {} ; return n })
    const pending = db.sqlAsync('select spin(g) from generate_series(1, 1000) s(g)').then((answer) => answer.toArrayAsync()).catch(() => {})
    if (workerData) require('node:worker_threads').parentPort.postMessage('ready')
    db.sql('select spin(1)').toArray()
    process.exit(0)
  `
  const { status, signal, stderr } = spawnSync(process.execPath, ['--expose-gc', '-e', script], { encoding: 'utf8' })
  assert.deepEqual([status, signal], [0, null], stderr)
  // Ended from outside, in the middle of a call.
  for (let round = 0; round < 3; round++) {
    const worker = new Worker(script, { eval: true, workerData: path })
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(await worker.terminate(), 1)
  }
  const db = foliodb.open(path)
  assert.throws(() => db.sql('select f(1)'), refused(/"f" does not exist/, 'not_found'))
  db.close()
})

test('threads of a session', (context) => {
  const db = database(context)
  const session = db.session()
  session.sql('set threads to 3')
  assert.deepEqual(session.sql('show threads').toArray(), [{ threads: 3 }])
  assert.deepEqual(db.sql('set threads = 7; show threads').toArray(), [{ threads: 7 }])
  assert.notDeepEqual(db.sql('show threads').toArray(), [{ threads: 7 }])
})
