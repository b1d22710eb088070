// SQL and ZiQL from Node: parameters, types, transactions, promises, lifetimes.
'use strict'

const assert = require('node:assert/strict')
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
    Buffer.from([0, 255]), [1, null, 3], [[1.5], [2]], ['a'], { a: [1, { b: null }] }, [],
  ]
  for (const value of values) {
    if (Array.isArray(value) && value.length === 0) continue
    assert.deepEqual(db.sql('select ? as v', [value]).toArray(), [{ v: value }])
    assert.deepEqual(db.sql('select :v as v', { v: value }).next(), { v: value })
  }
  assert.ok(Number.isNaN(db.sql('select ? as v', [NaN]).next().v))
  const at = new Date('2024-02-29T12:00:00.123Z')
  assert.equal(new Date(db.sql('select ? as v', [at]).next().v).getTime(), at.getTime())
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
    ['select ?', { a: 1 }, /given by name/],
    ['select ?', 'x', /params must be an array/],
    ['select ?', [2n ** 63n], /beyond 64 bits/],
    ['select ?', [undefined], /write null/],
    ['select ?', [Symbol('x')], /has no type here/],
    ['select ?', [new Map()], /is a Map/],
    ['select ?', [new Date(NaN)], /invalid Date/],
    ['select ?', [[1, 'a']], /several types/],
  ]
  for (const [text, params, words] of cases) assert.throws(() => db.sql(text, params), coded('invalid_input', words))
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

test('prepared statements', async (context) => {
  const db = database(context)
  const insert = db.prepare('insert into t values (?, ?)')
  assert.equal(insert.executeMany([[1, 'a'], [2, 'b']]), 2)
  assert.equal((await insert.executeAsync([3, null])).count, 1)
  assert.deepEqual(db.prepare('select name from t where id = :id').execute({ id: 2 }).toArray(), [{ name: 'b' }])
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
  assert.throws(() => db.ziql('GRAB User {age IN $l}', { l: [1, 'a'] }), coded('invalid_input', /parameter \$l .*several types/))
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
  assert.throws(() => ids({ where: 'n > 5); delete from users; select (1' }), coded('invalid_input', /one statement/))
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
  const { sizeBefore, sizeAfter } = await tables.vacuumAsync()
  assert.ok(sizeAfter < sizeBefore)
  db.close()
  const saved = foliodb.salvage(db.path, `${db.path}-saved`)
  assert.deepEqual(saved.tables.map(({ name, rowCount }) => [name, rowCount]), [['t', 10]])
})
