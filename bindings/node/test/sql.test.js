// SQL and ZiQL from Node: parameters, types, transactions, promises, lifetimes.
'use strict'

const assert = require('node:assert/strict')
const { spawn } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { test } = require('node:test')
const foliodb = require('foliodb')
const { scratch } = require('./scratch.js')

// Ten seconds of work for anybody who is not interrupted.
const LONG = 'select count(*) as n from generate_series(1, 30000) a, generate_series(1, 300000) b'

function database(context) {
  let db
  context.after(() => db.close()) // before the folder goes
  db = foliodb.open(scratch(context), { durability: 'none' })
  db.sql('create table t (id bigint primary key, name text)')
  return db
}

const coded = (code, words) => (error) => {
  assert.ok(error instanceof foliodb.FolioError, String(error))
  assert.equal(error.code, code)
  assert.match(error.message, words ?? /./)
  return true
}

test('values come back equal', (context) => {
  const db = database(context)
  const values = [
    null, true, 5, -1.5, 2 ** 53, 9007199254740993n, -(2n ** 63n), Infinity, -Infinity, 'text \0 🦉', '\0starts with it',
    Buffer.from([0, 255]), Buffer.alloc(0), [Buffer.from('a'), null, Buffer.alloc(0), Buffer.alloc(70_000, 'b')], [1, null, 3], [[1.5], [2]], ['a'], { a: [1, { b: null }] }, [], [null], [[], null],
  ]
  for (const value of values) {
    assert.deepEqual(db.sql('select ? as v', [value]).toArray(), [{ v: value }])
    assert.deepEqual(db.sql('select :v as v', { v: value }).next(), { v: value })
  }
  assert.ok(Number.isNaN(db.sql('select ? as v', [NaN]).next().v))
  const at = new Date('2024-02-29T12:00:00.123Z')
  assert.equal(new Date(db.sql('select ? as v', [at]).next().v).getTime(), at.getTime())
})

test('bytes are those at the time of the call, each value with its own', async (context) => {
  const db = database(context)
  const bytes = new Uint8Array([1, 2, 3, 4])
  const later = db.sqlAsync('select ? as a, ? as b', [bytes, new DataView(bytes.buffer, 1, 2)])
  const scanned = db.collection('docs').scan({ where: '? = ?', params: [bytes, Buffer.from([1, 2, 3, 4])] })
  db.collection('docs').put('x', {})
  bytes.fill(0)
  assert.deepEqual((await later).toArray(), [{ a: Buffer.from([1, 2, 3, 4]), b: Buffer.from([2, 3]) }])
  assert.equal(scanned.toArray().length, 1)
  const rows = (await db.sqlAsync('select ? as v from generate_series(1, 2)', [Buffer.alloc(100_000, 'x')])).toArray()
  rows[0].v.fill('y')
  assert.deepEqual(rows[1].v, Buffer.alloc(100_000, 'x'))
  assert.equal(rows[0].v.buffer.byteLength, 100_000)
  db.register('files', [{ content: Buffer.from('a') }, { content: null }, { content: Buffer.from('b') }])
  assert.deepEqual(db.sql('select content from files').toArray().map(({ content }) => content?.toString()), ['a', undefined, 'b'])
  db.createFunction('turned', { parameters: ['bytea'], returns: 'bytea' }, (value) => Buffer.from(value).reverse())
  assert.deepEqual(db.sql('select turned(?) as v', Buffer.from('ab')).next(), { v: Buffer.from('ba') })
})

test('what JavaScript has no type for is text', (context) => {
  const row = database(context).sql("select 1.10::numeric(10, 2) as n, date '2024-02-29' as d, timestamp '2024-01-01 02:03:04.000005' as t, '01890000-0000-7000-8000-000000000001'::uuid as u, 9007199254740993 as big, 7::bigint as small").next()
  assert.deepEqual(row, {
    n: '1.10', d: '2024-02-29', t: '2024-01-01T02:03:04.000005', u: '01890000-0000-7000-8000-000000000001', big: 9007199254740993n, small: 7,
  })
})

test('parameters must fit', (context) => {
  const db = database(context)
  const cases = [
    ['select ?', [], /parameter 1 has no value/],
    ['select ?', [1, 2], /takes 1/],
    ['select :a', { b: 1 }, /parameter :a has no value/],
    ['select :a', {}, /parameter :a has no value[^]*\n +\^\^/],
    ['select 1, ?', [], /parameter 1 has no value[^]*\n {12}\^/],
    ['select ?', ['\ud800'], /parameter 1 has half of a surrogate pair/],
    ["select '\ud800'", [], /SQL has half of a surrogate pair/],
    ['select ?', { a: 1 }, /given by name/],
    ['select ?', [2n ** 63n], /beyond 64 bits/],
    ['select ?', [undefined], /write null/],
    ['select ?', [Symbol('x')], /has no SQL type/],
    ['select ?', [new Map()], /is a Map/],
    ['select ?', [new Date(NaN)], /invalid Date/],
    ['select ?', [[1, 'a']], /mixed types/],
  ]
  for (const [text, params, words] of cases) assert.throws(() => db.sql(text, params), coded('invalid_input', words))
})

test('values follow the text one after another, in an array, or by name', async (context) => {
  const db = database(context)
  const session = db.session()
  const at = new Date(0)
  const CASES = [
    ['select ? as a', [1], { a: 1 }],
    ['select ? as a', [null], { a: null }],
    ['select ? as a, ? as b', ['x', [1, 2]], { a: 'x', b: [1, 2] }],
    ['select ? as a, ? as b', ['x', { c: 1 }], { a: 'x', b: { c: 1 } }],
    ['select ? as a', [at], { a: '1970-01-01T00:00:00Z' }],
    ['select ? as a', [Buffer.from('x')], { a: Buffer.from('x') }],
    ['select ? as a', [2n ** 60n], { a: 2n ** 60n }],
    ['select ? as a, ? as b', [[1, 2]], { a: 1, b: 2 }],
    ['select ? as a', [[[1, 2]]], { a: [1, 2] }],
    ['select :a as a', [{ a: 1 }], { a: 1 }],
    ['select 1 as a', [], { a: 1 }],
    ['select 1 as a', [undefined], { a: 1 }],
  ]
  for (const [text, params, row] of CASES) {
    const prepared = db.prepare(text)
    const answers = [
      db.sql(text, ...params), session.sql(text, ...params), prepared.execute(...params),
      await db.sqlAsync(text, ...params), await session.sqlAsync(text, ...params), await prepared.executeAsync(...params),
    ]
    for (const answer of answers) assert.deepEqual(answer.toArray(), [row], text)
  }
  const signal = AbortSignal.timeout(60_000)
  assert.deepEqual((await db.sqlAsync('select ? as a', [1], { signal })).toArray(), [{ a: 1 }])
  assert.deepEqual((await db.sqlAsync('select 1 as a', undefined, { signal })).toArray(), [{ a: 1 }])
  await assert.rejects(db.sqlAsync('select ?', 1, { signal }), coded('invalid_input', /options follow an array/))
  await assert.rejects(db.sqlAsync('select ?', [1], { sinal: signal }), coded('invalid_input', /did you mean "signal"/))
  assert.throws(() => db.sql('select ?', [1], { signal }), coded('invalid_input', /Async/))
  assert.throws(() => db.sql('select ?, ?', [1], 2), coded('invalid_input', /a value after an array/))
  assert.throws(() => db.sql('select ?, ?', undefined, 2), coded('invalid_input', /parameter 1 is undefined/))
  const users = db.collection('users')
  users.putMany([{ _id: 'a', n: 1 }, { _id: 'b', n: 2 }, { _id: 'c', n: 3 }])
  assert.equal(users.update('n > ? and n < ?', { m: 1 }, 1, 3), 1)
  assert.equal(await users.updateAsync('n > ?', { m: new Set([2]) }, [2], { default: (value) => [...value] }), 1)
  assert.deepEqual(users.getMany(['b', 'c']).map(({ m }) => m), [1, [2]])
})

test('a question mark takes the value of its place in the text', (context) => {
  const db = database(context)
  db.sql("insert into t values (1, 'a'), (2, 'b')")
  const update = db.prepare('update t set name = ? where id = ? returning name, ? as more')
  assert.deepEqual(update.all('c', 1, 'd'), [{ name: 'c', more: 'd' }])
  assert.deepEqual(db.sql('select ? as a, id from t where id = ?', 'x', 2).toArray(), [{ a: 'x', id: 2 }])
  assert.deepEqual(db.sql('with c as (select ? as k) select a.k, b.k as l, ? as m from c a, c b', 1, 2).toArray(), [{ k: 1, l: 1, m: 2 }])
  assert.deepEqual(db.sql("select '{\"a\": 1}'::jsonb ? ? as has, ? as b", 'a', 2).toArray(), [{ has: true, b: 2 }])
  assert.deepEqual(db.sql('select ?, ? + ?', 1, 2, 3).columns, ['?', '? + ?'])
})

test('what has no type for SQL is converted, or refused with advice', (context) => {
  const path = scratch(context)
  const plain = foliodb.open(path)
  context.after(() => plain.close())
  class User {
    name = 'Ann'
  }
  const types = (value) => plain.sql('select ? as v, pg_typeof(?) as t', value, value).next()
  assert.deepEqual(types(new Date(5)), { v: '1970-01-01T00:00:00.005Z', t: 'timestamptz' })
  assert.deepEqual(types(new Uint8Array([1]).buffer), { v: Buffer.from([1]), t: 'bytea' })
  assert.deepEqual(types(new Float32Array([1, 2.5])).v, [1, 2.5])
  assert.deepEqual(types(new Int16Array([1, 2])).v, [1, 2])
  assert.deepEqual(types(new URL('http://a/')), { v: 'http://a/', t: 'text' })
  assert.deepEqual(types(new User()).v, { name: 'Ann' })
  const refused = (value, words) => assert.throws(() => plain.sql('select ?', value), coded('invalid_input', words))
  refused(new Map(), /parameter 1 is a Map, which has no SQL type; give Object\.fromEntries\(map\)/)
  refused(new Set(), /give an array, \[\.\.\.set\]/)
  refused(Promise.resolve(1), /await it/)
  refused(() => 1, /parameter 1 is a function, which has no SQL type$/)
  const open = foliodb.open(path, { default: (value) => (value instanceof Set ? [...value] : undefined) })
  context.after(() => open.close())
  assert.deepEqual(open.sql('select ? as v', new Set([1, 2])).next(), { v: [1, 2] })
  assert.deepEqual(open.session().prepare('select :v as v').get({ v: { a: new Set([1]) } }), { v: { a: [1] } })
  assert.throws(() => open.sql('select ?', new Map()), coded('invalid_input', /is a Map/))
})

test('errors show the place', (context) => {
  const db = database(context)
  assert.throws(() => db.sql('select nam from t'), coded('not_found', /\n {2}select nam from t\n {9}\^\^\^ {2}help: did you mean "name"\?$/))
  assert.throws(() => db.sql('selec'), coded('syntax'))
  assert.throws(() => db.sql("insert into t values (1, 'a'), (1, 'b')"), coded('conflict'))
  assert.throws(() => db.sql(5), coded('invalid_input'))
})

test('answers', async (context) => {
  const db = database(context)
  const insert = db.sql("insert into t select g, 'n' || g from generate_series(1, 10000) as s(g)")
  assert.deepEqual([insert.count, insert.columns, insert.toArray()], [10000, [], []])
  const query = 'select id, name from t order by id'
  const answer = db.sql(query)
  assert.deepEqual([answer.count, answer.columns, answer.types], [null, ['id', 'name'], ['bigint', 'text']])
  assert.deepEqual(answer.next(), { id: 1, name: 'n1' })
  for (const row of answer) if (row.id === 100) break
  assert.equal(answer.next().id, 101)
  let count = 0
  for await (const row of await db.sqlAsync(query)) count += row.id
  assert.equal(count, 50005000)
  assert.equal((await (await db.sqlAsync(query)).toArrayAsync()).length, 10000)
})

test('columns of one name', async (context) => {
  const db = database(context)
  db.sql("insert into t values (1, 'Oslo'), (2, null)")
  const text = 'select count(*), count(name), 7 as count_1, count(name) from t'
  const row = { count: 2, count_2: 1, count_1: 7, count_3: 1 }
  const answer = db.sql(text)
  assert.deepEqual([answer.columns, answer.toArray()], [Object.keys(row), [row]])
  assert.deepEqual(await (await db.sqlAsync(text)).toArrayAsync(), [row])
  const session = db.session()
  assert.throws(() => session.sql('begin; insert into t values (3, (1 / 0)::text); commit; insert into t values (4, 4)'), /division by zero/)
  session.sql('rollback')
  assert.equal(session.sql('select count(*) as n from t').next().n, 2)
})

test('transactions', async (context) => {
  const db = database(context)
  const ids = () => db.sql('select id from t order by id').toArray().map(({ id }) => id)
  const answer = db.transaction((tx) => {
    tx.sql('insert into t values (?, ?)', [1, 'a'])
    assert.deepEqual(ids(), [])
    assert.throws(() => tx.transaction(() => {
      tx.sql("insert into t values (2, 'b')")
      throw new Error('out')
    }), /out/)
    tx.transaction(() => tx.sql("insert into t values (3, 'c')"))
    return 'done'
  })
  assert.equal(answer, 'done')
  assert.deepEqual(ids(), [1, 3])
  assert.throws(() => db.transaction((tx) => {
    tx.sql('delete from t')
    throw new Error('out')
  }), /out/)
  assert.throws(() => db.transaction(async () => {}), coded('invalid_input', /transactionAsync/))
  await assert.rejects(db.transactionAsync(async (tx) => {
    await tx.sqlAsync('delete from t')
    throw new Error('out')
  }), /out/)
  await db.transactionAsync(async (tx) => {
    await tx.sqlAsync("insert into t values (4, 'd')")
  })
  assert.deepEqual(ids(), [1, 3, 4])
  assert.throws(() => db.sql("begin; insert into t values (5, 'e')"), coded('invalid_input', /rolled back/))
  assert.deepEqual(ids(), [1, 3, 4])
})

test('a transaction that has ended runs nothing', async (context) => {
  const db = database(context)
  const ended = coded('closed', /transaction has ended/)
  const insert = "insert into t values (1, 'a')"
  for (const end of [() => {}, () => { throw new Error('out') }]) {
    let tx, part, prepared
    try {
      db.transaction((given) => {
        [tx, prepared] = [given, given.prepare(insert)]
        tx.transaction((inner) => { part = inner })
        assert.throws(() => part.sql(insert), ended)
        end()
      })
    } catch {}
    for (const run of [() => tx.sql(insert), () => part.sql(insert), () => prepared.run(), () => tx.transaction(() => {})]) {
      assert.throws(run, ended)
    }
    await assert.rejects(tx.sqlAsync(insert), ended)
    await assert.rejects(prepared.runAsync(), ended)
  }
  let refused
  db.transaction((tx) => { refused = tx.sqlAsync(insert).catch((error) => error) })
  assert.equal((await refused).code, 'invalid_input')
  // What was begun and not awaited is rolled back too; what comes later is refused.
  let late
  const begun = []
  await assert.rejects(db.transactionAsync(async (tx) => {
    late = tx
    for (let id = 1; id < 9; id += 1) begun.push(tx.sqlAsync('insert into t values (?, ?)', [id, 'b']))
    throw new Error('out')
  }), /out/)
  await Promise.all(begun)
  await assert.rejects(late.sqlAsync(insert), ended)
  assert.deepEqual(db.sql('select * from t').toArray(), [])
})

test('transactions of a handle wait for each other', async (context) => {
  const db = database(context)
  db.sql("insert into t values (1, '0')")
  const add = async (tx) => {
    const [{ name }] = (await tx.sqlAsync('select name from t where id = 1')).toArray()
    await new Promise((done) => setTimeout(done, 2))
    await tx.sqlAsync('update t set name = ? where id = 1', [String(Number(name) + 1)])
    return tx.transactionAsync(async (part) => part.sql('select name from t').next().name)
  }
  const each = Array.from({ length: 50 }, (_, n) => (n % 2 ? db : db.session()).transactionAsync(add))
  assert.deepEqual(await Promise.all(each), each.map((_, n) => String(n + 1)))
  // One that fails lets the next begin.
  const failing = db.transactionAsync(() => { throw new Error('mine') })
  const after = db.transactionAsync(add)
  await assert.rejects(failing, /mine/)
  assert.equal(await after, '51')
})

test('a statement that waits for a transaction holds no thread', async (context) => {
  const db = database(context)
  const ids = (start) => Array.from({ length: 9 }, (_, n) => start + n)
  const insert = (id) => (id % 2 ? db.sqlAsync("insert into t values (?, 'a')", [id]) : db.prepare("insert into t values (?, 'b')").runAsync(id))
  let others
  await db.transactionAsync(async (tx) => {
    await tx.sqlAsync("insert into t values (1, 'a')")
    others = ids(10).map(insert)
    await fs.promises.stat(db.path)
    assert.equal((await db.sqlAsync('select count(*) as n from t')).next().n, 0)
    await tx.sqlAsync("insert into t values (2, 'a')")
  })
  await Promise.all(others)
  // Those that began before the transaction do not stop it either.
  others = ids(20).map(insert)
  const last = db.transactionAsync(async (tx) => tx.sqlAsync("insert into t values (3, 'a')"))
  await Promise.all([...others, ...ids(30).map(insert), last])
  assert.equal(db.sql('select count(*) as n from t').next().n, 3 + 9 + 9 + 9)
})

test('what waits for a BEGIN by hand holds no thread', async (context) => {
  const db = database(context)
  const byHand = db.session()
  const run = async (text) => {
    const start = performance.now()
    await byHand.sqlAsync(text)
    assert.ok(performance.now() - start < 2000, text)
  }
  await run('begin')
  const insert = (id) => (id % 2 ? db : db.session()).sqlAsync("insert into t values (?, 'a')", [id])
  const others = Array.from({ length: 20 }, (_, n) => insert(10 + n))
  others.push(db.transactionAsync((tx) => tx.sqlAsync("insert into t values (2, 'b')")))
  await run("insert into t values (1, 'a')")
  // Now all of them wait here.
  assert.equal((await db.sqlAsync('select count(*) as n from t')).next().n, 0)
  await run('commit')
  await Promise.all(others)
  assert.equal(db.sql('select count(*) as n from t').next().n, 22)
})

test('a wait for a BEGIN by hand has an end', async (context) => {
  const folder = scratch(context)
  const db = foliodb.open(folder, { durability: 'none', timeoutMs: 300 })
  context.after(() => db.close())
  db.sql('create table t (id bigint primary key)')
  const [byHand, closed, interrupted] = [db.session(), db.session(), db.session()]
  byHand.sql('begin')
  const start = performance.now()
  const insert = (session, ...options) => session.sqlAsync('insert into t values (?)', [1], ...options)
  const late = [db.transactionAsync(() => 1), ...Array.from({ length: 9 }, () => insert(db))]
  const ends = [
    ...late.map((wait) => assert.rejects(wait, coded('locked', /for 300 ms/))),
    assert.rejects(insert(db, { signal: AbortSignal.timeout(100) }), coded('cancelled')),
    assert.rejects(insert(closed), coded('closed')),
    assert.rejects(insert(interrupted), coded('cancelled')),
  ]
  setTimeout(() => { closed.close(); interrupted.interrupt() }, 100)
  await Promise.all(ends)
  const took = performance.now() - start
  assert.ok(took >= 290 && took < 2000, String(took))
  const last = insert(db)
  byHand.close()
  assert.equal((await last).count, 1)
})

test('reads are answered while a write waits for another process', async (context) => {
  const folder = scratch(context)
  let db = foliodb.open(folder)
  db.sql('create table t (id bigint primary key)')
  db.close()
  const script = `
    const session = require('foliodb').open(process.argv[1]).session()
    session.sql('begin')
    session.sql('insert into t values (1)')
    process.stdin.once('data', () => { session.sql('commit'); process.exit() })
    console.log('writes')
  `
  const other = spawn(process.execPath, ['-e', script, folder], { cwd: __dirname, stdio: ['pipe', 'pipe', 'inherit'] })
  context.after(() => other.kill())
  await once(other.stdout, 'data')
  db = foliodb.open(folder, { timeoutMs: 300 })
  context.after(() => db.close())
  const held = coded('locked', new RegExp(`another process .pid ${other.pid}`))
  const late = Array.from({ length: 9 }, () => assert.rejects(db.sqlAsync('insert into t values (2)'), held))
  const start = performance.now()
  for (let read = 0; read < 5; read += 1) assert.equal((await db.sqlAsync('select count(*) as n from t')).next().n, 0)
  assert.ok(performance.now() - start < 200, 'reads do not wait')
  await Promise.all(late)
  const last = db.sqlAsync('insert into t values (3)')
  other.stdin.write('commit')
  assert.equal((await last).count, 1)
  assert.equal(db.sql('select count(*) as n from t').next().n, 2)
})

test('parts of a transaction come one after another', async (context) => {
  const db = database(context)
  db.sql("insert into t values (1, 'old'), (2, 'old'), (3, 'old')")
  const part = (tx, id) => tx.transactionAsync(async (inner) => {
    await inner.sqlAsync("update t set name = 'new' where id = ?", [id])
    await inner.transactionAsync((innermost) => innermost.sqlAsync("update t set name = name || '!' where id = ?", [id]))
    if (id === 2) throw new Error('two')
  })
  const ends = await db.transactionAsync((tx) => Promise.allSettled([1, 2, 3].map((id) => part(tx, id))))
  assert.deepEqual(ends.map(({ reason }) => reason?.message), [undefined, 'two', undefined])
  assert.deepEqual(db.sql('select name from t order by id').toArray().map(({ name }) => name), ['new!', 'old', 'new!'])
})

test('a statement does not wait on the thread that it waits for', async (context) => {
  const db = database(context)
  await db.transactionAsync(async (tx) => {
    await tx.sqlAsync("insert into t values (1, 'a')")
    const refused = coded('locked', /ends in Async/)
    assert.throws(() => db.sql("insert into t values (2, 'b')"), refused)
    assert.throws(() => db.prepare("insert into t values (2, 'b')").run(), refused)
    assert.throws(() => db.transaction((other) => other.sql("insert into t values (2, 'b')")), refused)
    assert.equal(db.sql('select count(*) as n from t').next().n, 0)
    tx.sql("insert into t values (3, 'c')")
  })
  db.sql("insert into t values (4, 'd')")
  assert.equal(db.sql('select count(*) as n from t').next().n, 3)
})

test('a statement that ends the transaction of a function is refused, but not over an error of the function', async (context) => {
  const db = database(context)
  const mine = () => { throw new Error('mine') }
  const ended = coded('conflict', /a statement ended the transaction/)
  for (const end of ['commit', 'rollback']) {
    assert.throws(() => db.transaction((tx) => { tx.sql(end); mine() }), /mine/)
    await assert.rejects(db.transactionAsync(async (tx) => { await tx.sqlAsync(end); mine() }), /mine/)
    assert.throws(() => db.transaction((tx) => { tx.sql(end) }), ended)
    await assert.rejects(db.transactionAsync((tx) => { tx.sql(end) }), ended)
  }
  db.transaction((tx) => tx.sql("insert into t values (1, 'a')"))
})

test('a session that is closed rolls back at once', async (context) => {
  const db = foliodb.open(scratch(context), { durability: 'none', timeoutMs: 100 })
  context.after(() => db.close())
  db.sql('create table t (id bigint primary key)')
  const [first, second, third] = [db.session(), db.session(), db.session()]
  first.sql('begin')
  first.sql('insert into t values (1)')
  first[Symbol.dispose]()
  first.close()
  db.sql('insert into t values (2)')
  second.sql('begin')
  const pending = second.sqlAsync('insert into t values (3)')
  second.close()
  assert.equal((await pending).count, 1)
  await db.sqlAsync('insert into t values (4)')
  assert.throws(() => third.transaction((tx) => { tx.sql('insert into t values (5)'); third.close() }), coded('closed'))
  assert.deepEqual(db.sql('select id from t').toArray(), [{ id: 2 }, { id: 4 }])
})

test('a wait for a transaction has an end', async (context) => {
  const folder = scratch(context)
  const db = foliodb.open(folder, { durability: 'none', timeoutMs: 100 })
  context.after(() => db.close())
  db.sql('create table t (id bigint primary key)')
  let release
  const first = db.transactionAsync(() => new Promise((done) => { release = done }))
  const controller = new AbortController()
  const aborted = db.transactionAsync(() => 2, { signal: controller.signal })
  controller.abort()
  await assert.rejects(aborted, coded('cancelled'))
  await assert.rejects(db.transactionAsync(() => 3), coded('locked', /for 100 ms/))
  await assert.rejects(db.transactionAsync(() => 4, { signal: controller.signal }), coded('cancelled'))
  await assert.rejects(db.transactionAsync(() => 5, { sinal: 1 }), coded('invalid_input', /did you mean "signal"/))
  await assert.rejects(db.sqlAsync('insert into t values (1)'), coded('locked', /for 100 ms/))
  await assert.rejects(db.sqlAsync('insert into t values (2)', [], { signal: AbortSignal.timeout(20) }), coded('cancelled'))
  const last = db.transactionAsync(() => 6)
  release(1)
  assert.deepEqual(await Promise.all([first, last]), [1, 6])
})

test('prepared statements', async (context) => {
  const db = database(context)
  const insert = db.prepare('insert into t values (?, ?)')
  assert.equal(insert.executeMany([[1, 'a'], [2, 'b']]), 2)
  assert.equal((await insert.executeAsync([3, null])).count, 1)
  assert.deepEqual(db.prepare('select name from t where id = :id').execute({ id: 2 }).toArray(), [{ name: 'b' }])
})

test('a statement for many sets of parameters is all or nothing', (context) => {
  const db = database(context)
  const insert = db.prepare('insert into t values (?, ?)')
  const count = () => db.sql('select count(*) as n from t').toArray()[0].n
  const fails = (params, code, message) => assert.throws(() => insert.executeMany(params), { code, message })
  fails([[1, 'a'], [2, 'b'], [1, 'c']], 'conflict', /^element 3: /)
  fails([[1, 'a'], [2, undefined]], 'invalid_input', /^element 2: parameter 2 is undefined/)
  fails([[1, 'a'], [2n ** 70n, 'b']], 'invalid_input', /^element 2: parameter 1 is a bigint/)
  assert.throws(() => insert.executeMany((function* () {
    yield [1, 'a']
    throw new RangeError('mine')
  })()), RangeError)
  assert.equal(count(), 0)
  const session = db.session()
  session.transaction(() => {
    const many = session.prepare('insert into t values (?, ?)')
    assert.equal(many.executeMany([[1, 'a']]), 1)
    assert.throws(() => many.executeMany([[2, 'b'], [1, 'c']]), { code: 'conflict' })
  })
  assert.equal(count(), 1)
  db.collection('docs').put('a', {})
  assert.throws(() => db.prepare('insert into docs (_id) values (?)').executeMany([['b'], ['a']]), { message: /^element 2 .what those before it changed stays/ })
  assert.equal(db.collection('docs').count(), 2)
})

for (const twin of ['', 'Async']) {
  test(`prepared statements: all, get, iterate, run, ${twin || 'now'}`, async (context) => {
    const db = database(context)
    const insert = db.prepare('insert into t values (?, ?)')
    const call = (prepared, name, ...params) => prepared[`${name}${twin}`](...params)
    assert.deepEqual(await call(insert, 'run', 1, 'a'), { changes: 1 })
    assert.deepEqual(await call(insert, 'run', [2, 'b']), { changes: 1 })
    assert.deepEqual(await call(db.prepare("insert into t values (3, 'c'), (4, 'd') returning id"), 'run'), { changes: 2 })
    assert.deepEqual(await call(db.prepare('select 1'), 'run'), { changes: 0 })
    const above = db.prepare('select id from t where id > ? order by id')
    assert.deepEqual(await call(above, 'all', 2), [{ id: 3 }, { id: 4 }])
    assert.deepEqual(await call(above, 'all', 9), [])
    assert.deepEqual(await call(above, 'get', 1), { id: 2 })
    assert.equal(await call(above, 'get', 9), undefined)
    assert.deepEqual(await call(db.prepare('select id from t where name = :name'), 'get', { name: 'c' }), { id: 3 })
    const rows = []
    for await (const { id } of call(above, 'iterate', 0)) {
      rows.push(id)
      if (id === 3) break
    }
    assert.deepEqual(rows, [1, 2, 3])
    assert.throws(() => db.prepare('selec 1'), coded('syntax'))
    await assert.rejects(async () => call(above, 'all'), coded('invalid_input', /parameter 1 has no value/))
    db.close()
    await assert.rejects(async () => call(above, 'all', 1), coded('closed'))
  })
}

test('a row that is got holds nothing afterwards', (context) => {
  const db = database(context)
  db.sql("insert into t select g, 'x' from generate_series(1, 10000) as s(g)")
  const all = db.prepare('select * from t')
  assert.deepEqual(all.get(), { id: 1, name: 'x' })
  for (const row of all.iterate()) if (row.id === 5) break
  assert.deepEqual(all.run(), { changes: 0 })
  db.sql("update t set name = 'y'")
  assert.equal(db.tables().checkpoint(), true)
})

test('ziql', async (context) => {
  const db = database(context)
  const schema = 'User ( name: str, age: int = 0, best_friend: User, posts: []Post.author ) Post ( title: str, author: User )'
  assert.equal(db.checkSchema(schema).length, 2)
  db.applySchema(schema)
  assert.deepEqual(db.checkSchema(schema), [])
  const { id } = db.ziql('ADD User (name = $name, age = 34)', { name: 'Ann' }).next()
  await db.ziqlAsync("ADD User (name = 'Bob', best_friend = $friend)", { friend: id })
  assert.deepEqual(db.ziql('GRAB User [name, best_friend [name, age], posts [title]] {age IN $ages}', { ages: [0, 1] }).toArray(), [
    { name: 'Bob', best_friend: { name: 'Ann', age: 34 }, posts: [] },
  ])
  assert.throws(() => db.ziql('GRAB User {name = Bob}'), coded('syntax', /strings are quoted/))
  assert.throws(() => db.ziql('GRAB User {age = $a}', { a: 1, b: 2 }), coded('invalid_input', /a value was given for `\$b`/))
  assert.throws(() => db.ziql('GRAB User {age IN $l}', { l: [1, 'a'] }), coded('invalid_input', /parameter \$l .*mixed types/))
  assert.throws(() => db.ziql('GRAB User {age = $a}', { a: Symbol('x') }), coded('invalid_input', /parameter \$a is a symbol/))
  assert.throws(() => db.applySchema('User ( name: str )'), coded('conflict'))
  assert.ok(db.applySchema('User ( name: str )', { allowDrop: true }).length > 0)
})

test('tables, collections and files in one statement', (context) => {
  const db = database(context)
  db.sql("insert into t values (1, 'Oslo'), (2, 'Bergen')")
  db.collection('visits').put('a', { city: 2, tags: ['x', 1] })
  const file = path.join(path.dirname(db.path), 'more.csv')
  fs.writeFileSync(file, 'city,cost\n2,5\n')
  const text = `select t.name, v.tags, m.cost from visits v join t on t.id = v.city join '${file}' m on m.city = t.id`
  assert.deepEqual(db.sql(text).toArray(), [{ name: 'Bergen', tags: ['x', 1], cost: 5 }])
})

test('a signal, and interrupt, end a statement and leave a usable session', async (context) => {
  const db = database(context)
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 200)
  await assert.rejects(db.sqlAsync(LONG, [], { signal: controller.signal }).then((answer) => answer.toArrayAsync()), coded('cancelled'))
  const session = db.session()
  setTimeout(() => session.interrupt(), 200)
  await assert.rejects(session.sqlAsync(LONG).then((answer) => answer.toArrayAsync()), coded('cancelled'))
  assert.deepEqual(session.sql('select 42 as n').toArray(), [{ n: 42 }])
  assert.deepEqual(db.sql('select 42 as n').toArray(), [{ n: 42 }])
})

test('a statement has limits', async (context) => {
  const db = database(context)
  const huge = 'select sum(n) over () from generate_series(1, 1000000) s(n)'
  await assert.rejects(db.sqlAsync(LONG, [], { timeoutMs: 100 }).then((answer) => answer.toArrayAsync()), coded('timeout'))
  await assert.rejects(db.sqlAsync(huge, [], { memoryLimit: 1 << 20 }).then((answer) => answer.toArrayAsync()), coded('memory_limit'))
  const session = db.session({ timeoutMs: 100, memoryLimit: 1 << 20 })
  assert.throws(() => session.sql(LONG).toArray(), coded('timeout'))
  assert.throws(() => session.sql(huge).toArray(), coded('memory_limit'))
  assert.deepEqual(session.sql('select 42 as n').toArray(), [{ n: 42 }])
  assert.deepEqual(db.sql('show statement_timeout').toArray(), [{ statement_timeout: 0 }])
  assert.throws(() => db.session({ timeoutMs: 0 }), coded('invalid_input'))
})

test('eight reading sessions beside a writer', async (context) => {
  const db = database(context)
  db.sql("insert into t select g, '0' from generate_series(1, 100) as s(g)")
  let done = false
  const read = async () => {
    const session = db.session()
    while (!done) {
      const rows = (await session.sqlAsync('select name, count(*) as n from t group by name')).toArray()
      assert.equal(rows.length, 1)
      assert.equal(rows[0].n, 100)
    }
  }
  const readers = Array.from({ length: 8 }, read)
  for (let turn = 1; turn <= 30; turn += 1) {
    await db.transactionAsync(async (tx) => {
      await tx.sqlAsync('update t set name = ? where id <= 50', [String(turn)])
      await tx.sqlAsync('update t set name = ? where id > 50', [String(turn)])
    })
  }
  done = true
  await Promise.all(readers)
  assert.deepEqual(db.sql('select distinct name from t').toArray(), [{ name: '30' }])
})

test('closed', (context) => {
  const db = database(context)
  const [session, prepared] = [db.session(), db.prepare('select 1 as n')]
  db.close()
  assert.throws(() => db.sql('select 1'), coded('closed'))
  assert.throws(() => session.sql('select 1'), coded('closed'))
  assert.throws(() => prepared.execute(), coded('closed'))
  session.close()
  assert.throws(() => session.sql('select 1'), coded('closed'))
})

test('where in scans', (context) => {
  const users = database(context).collection('users')
  users.putMany(Array.from({ length: 10 }, (_, n) => ({ _id: `u${n}`, n, name: n % 2 ? 'Ann' : null })))
  const ids = (options) => [...users.scan(options)].map(({ _id }) => _id)
  assert.deepEqual(ids({ where: "n > 5 and name like 'A%'" }), ['u7', 'u9'])
  assert.deepEqual(ids({ where: 'n > 5', limit: 1 }), ['u6'])
  assert.throws(() => ids({ where: 'nam = 1' }), coded('not_found', /did you mean/))
  assert.throws(() => ids({ where: 'n > 5); delete from users; select (1' }), coded('syntax', /the end of the condition/))
  assert.throws(() => ids({ where: 'n > 50) or (true' }), coded('syntax'))
  assert.throws(() => users.update('n > 50) or (true', { n: 0 }), coded('syntax'))
  assert.equal(users.export(scratch(context, 'out.jsonl'), { where: 'n < 3' }).documentCount, 3)
})

test('tables', async (context) => {
  const db = database(context)
  db.sql("insert into t select g, 'name' from generate_series(1, 5000) as s(g)")
  db.sql('delete from t where id > 10')
  const tables = db.tables()
  assert.equal(tables.exist(), true)
  assert.deepEqual(tables.list(), [{ name: 't', rowCount: 10, columns: ['id', 'name'], indexes: [] }])
  assert.equal(tables.check().isClean, true)
  assert.equal((await tables.checkAsync()).rowCount, 10)
  assert.ok(tables.statistics().pageSize >= 4096)
  assert.equal(tables.checkpoint(), true)
  assert.equal(tables.inspect(1).page, 1)
  db.sql('create unique index by_name on t (name, id desc); create index copy on t using columns')
  const [byName, copy] = tables.indexes('t')
  assert.deepEqual([byName.name, byName.fields, byName.unique, byName.entryCount], ['by_name', ['name', 'id desc'], true, 10])
  assert.ok(byName.size >= 8192 && byName.isReady)
  assert.deepEqual([copy.name, copy.fields, copy.entryCount, copy.isReady], ['copy', [], 10, true])
  assert.ok(copy.size > 0)
  assert.deepEqual(await tables.indexesAsync('t'), [byName, copy])
  assert.throws(() => tables.indexes('none'), { code: 'not_found' })
  assert.equal(tables.reindex(), 1)
  assert.equal(await tables.reindexAsync(), 1)
  assert.deepEqual(tables.takeNotices(), [])
  const { sizeBefore, sizeAfter } = await tables.vacuumAsync()
  assert.ok(sizeAfter < sizeBefore)
  db.close()
  const saved = foliodb.salvage(db.path, `${db.path}-saved`)
  assert.deepEqual(saved.tables.map(({ name, rowCount }) => [name, rowCount]), [['t', 10]])
})
