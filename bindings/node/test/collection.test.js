// What a collection does, through both twins of every operation.
'use strict'

const assert = require('node:assert/strict')
const fs = require('node:fs')
const { test } = require('node:test')
const foliodb = require('foliodb')
const { dataFile, scratch } = require('./scratch.js')

/** Calls `name` or its asynchronous twin. */
const TWINS = [
  ['now', (target, name, ...args) => target[name](...args)],
  ['on another thread', (target, name, ...args) => target[`${name}Async`](...args)],
]

for (const [kind, call] of TWINS) {
  test(`fields, ${kind}`, async (context) => {
    const db = foliodb.open(scratch(context))
    const users = db.collection('users')
    assert.deepEqual(await call(users, 'fields'), [])
    users.put('a', { n: 1.5, geo: { lat: 1 } })
    users.put('b', { n: -1, geo: null })
    const fields = await call(users, 'fields')
    assert.deepEqual(fields.map((field) => field.path), ['_id', 'n', 'geo', 'geo.lat'])
    assert.deepEqual(fields[1], {
      path: 'n',
      type: 'double precision',
      share: 1,
      distinct: 2,
      min: -1,
      max: 1.5,
      examples: [1.5, -1],
      kinds: { integer: 1, number: 1 },
    })
    db.close()
  })

  test(`operations, ${kind}`, async (context) => {
    const path = scratch(context)
    const db = foliodb.open(path)
    const users = db.collection('users')
    assert.equal(await call(users, 'get', 'ada'), undefined)
    assert.equal(await call(users, 'put', 'ada', { name: 'Ada', born: 1816 }), 'inserted')
    assert.deepEqual(await call(users, 'get', 'ada'), { _id: 'ada', name: 'Ada', born: 1816 })
    assert.equal(await call(users, 'put', 'ada', { name: 'Ada', born: 1815 }), 'replaced')
    assert.equal(await call(users, 'putRaw', 'grace', '{"name": "Grace", "paid": 1.10}'), 'inserted')
    assert.equal(await call(users, 'getRaw', 'grace'), '{"_id":"grace","name":"Grace","paid":1.10}')
    assert.equal(await call(users, 'getRaw', 'nobody'), undefined)
    assert.equal(await call(users, 'has', 'grace'), true)
    assert.equal(await call(users, 'has', 'nobody'), false)
    assert.deepEqual(await call(users, 'patch', 'ada', { name: null, field: 'mathematics' }), {
      _id: 'ada',
      born: 1815,
      field: 'mathematics',
    })
    assert.equal(await call(users, 'patch', 'nobody', { a: 1 }), undefined)
    const more = [{ _id: 'alan', born: 1912 }, { born: 1906, _id: 'grace' }]
    assert.deepEqual(await call(users, 'putMany', more), { inserted: 1, replaced: 1, deleted: 0 })
    assert.equal(await call(users, 'count'), 3)
    assert.equal(await call(users, 'delete', 'alan'), true)
    assert.equal(await call(users, 'delete', 'alan'), false)
    await call(users, 'flush')
    const { sizeBefore, sizeAfter, ...rest } = await call(users, 'compact')
    assert.ok(sizeAfter < sizeBefore)
    assert.deepEqual(rest, { documentCount: 2, rejectedCount: 0 })
    assert.equal(fs.readFileSync(dataFile(path, 'users'), 'utf8').split('\n').length, 3)
    const report = await call(users, 'check')
    assert.deepEqual([report.isClean, report.documentCount, report.problems], [true, 2, []])
    const stats = await call(users, 'stats')
    assert.deepEqual([stats.documentCount, stats.deadCount], [2, 0])
    await call(users, 'reindex')
    await call(users, 'refresh')
    assert.deepEqual(await call(users, 'get', 'grace'), { _id: 'grace', born: 1906 })
    await call(db, 'close')
    await call(db, 'close')
  })
}

test('a scan yields documents in file order, for both loops', async (context) => {
  const users = foliodb.open(scratch(context)).collection('users')
  const all = Array.from({ length: 5000 }, (_, n) => ({ _id: `u${n}`, n, deep: { a: n, b: [n] } }))
  users.putMany(all)
  assert.deepEqual([...users.scan()], all)
  assert.deepEqual(await users.scan().toArrayAsync(), all)
  assert.deepEqual(users.scan({ lazy: true }).toArray().map((document) => document.toValue()), all)
  const narrowed = all.slice(0, 3).map(({ _id, n }) => ({ _id, deep: { a: n } }))
  assert.deepEqual([...users.scan({ fields: ['deep.a'], limit: 3 })], narrowed)
  assert.deepEqual([...users.ids()], all.map(({ _id }) => _id))
  const ids = []
  for await (const id of users.idsAsync()) ids.push(id)
  assert.equal(ids.length, 5000)
  assert.deepEqual([...users.scan({ limit: 0 })], [])
  const twice = users.scan({ limit: 1 })
  assert.deepEqual([...twice], [...twice])
  for (const document of users.scan()) {
    if (document.n === 2000) break
  }
})

test('lazy documents are looked into', (context) => {
  const path = scratch(context)
  const users = foliodb.open(path).collection('users')
  users.putRaw('é1', '{"n":1.10,"deep":{"list":[{"x":"ü"}]}}')
  users.flush()
  fs.appendFileSync(dataFile(path, 'users'), '{"n":2,"_id":"b"}\n')
  users.refresh()
  const [first, second] = users.scan({ lazy: true })
  assert.ok(first instanceof foliodb.Document)
  assert.deepEqual([first.id, first.raw], ['é1', '{"_id":"é1","n":1.10,"deep":{"list":[{"x":"ü"}]}}'])
  assert.equal(first.field('deep.list.0.x'), 'ü')
  assert.equal(first.field('deep.list.length'), undefined)
  assert.equal(first.field('n.x'), undefined)
  assert.deepEqual([second.id, second.raw], ['b', '{"n":2,"_id":"b"}'])
  assert.deepEqual(Object.keys(second.toValue()), ['_id', 'n'])
  assert.equal(JSON.stringify([second]), '[{"_id":"b","n":2}]')
})

test('putMany takes ids from a field, and is all or nothing', (context) => {
  const users = foliodb.open(scratch(context)).collection('users')
  users.putMany([{ email: 'ann@example.com' }, { email: 'bob' }], { id: 'email' })
  assert.deepEqual([...users.ids()], ['ann-example.com-153a2ebaf4b79d8a', 'bob'])
  users.putMany([{ key: { n: 7 } }], { id: 'key.n' })
  assert.deepEqual(users.get('7'), { _id: '7', key: { n: 7 } })
  users.putMany(new Map([['carl', { n: 1 }], ['bob', { _id: 'bob', n: 2 }]]))
  assert.deepEqual(users.getMany(['bob', 'nobody', 'carl']), [{ _id: 'bob', n: 2 }, undefined, { _id: 'carl', n: 1 }])
  function* broken() {
    yield { _id: 'never' }
    throw new Error('broken source')
  }
  assert.throws(() => users.putMany(broken()), /broken source/)
  assert.throws(() => users.putMany([{ _id: 'never' }, { _id: '' }]), /document 2 of the batch: /)
  assert.throws(() => users.putMany([['a', { _id: 'b' }]]), /document 1 of the batch carries the id "b" but is put under "a"/)
  assert.throws(() => users.putMany([['a', {}], ['b']]), /document 2 of the batch is an array, but not a pair/)
  assert.equal(users.count(), 4)
  assert.deepEqual(users.putMany([]), { inserted: 0, replaced: 0, deleted: 0 })
})

test('putManyAsync takes asynchronous sources, and other writes go on meanwhile', async (context) => {
  const users = foliodb.open(scratch(context)).collection('users')
  async function* source() {
    for (let n = 0; n < 3000; n++) {
      if (n % 1000 === 0) users.put(`during${n}`, {})
      yield { _id: `u${n}` }
    }
  }
  assert.deepEqual(await users.putManyAsync(source()), { inserted: 3000, replaced: 0, deleted: 0 })
  assert.equal(users.count(), 3003)
})

test('hand edits are picked up', (context) => {
  const path = scratch(context)
  const users = foliodb.open(path).collection('users')
  users.put('ada', { born: 1816 })
  users.flush()
  const file = dataFile(path, 'users')
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('1816', '1815') + '{"born":1906,"_id":"grace"}\nnonsense\n')
  users.refresh()
  assert.deepEqual(users.get('ada'), { _id: 'ada', born: 1815 })
  assert.deepEqual(Object.keys(users.get('grace')), ['_id', 'born'])
  assert.ok(users.takeNotices().length > 0)
  const { isClean, invalid } = users.check()
  assert.equal(isClean, false)
  assert.deepEqual([invalid[0].line, invalid[0].path], [3, file])
})

test('ids may be integers', (context) => {
  const docs = foliodb.open(scratch(context)).collection('docs')
  docs.put(1, { n: 1 })
  assert.deepEqual(docs.get(1), { _id: '1', n: 1 })
  assert.deepEqual(docs.get('1'), docs.get(1n))
  assert.deepEqual(docs.getMany([1, '2']), [{ _id: '1', n: 1 }, undefined])
  assert.equal(docs.has(1), true)
  assert.equal(docs.delete(1), true)
  assert.throws(() => docs.get(1.5), { code: 'invalid_input' })
  docs.putMany([[2, { n: 2 }], [3n, { n: 3 }], { _id: 4, n: 4 }])
  const batch = docs.batch()
  batch.put(5, { n: 5 })
  batch.delete(2)
  assert.deepEqual([batch.has(5), batch.has('5'), batch.has(2)], [true, true, false])
  batch.commit()
  assert.deepEqual([...docs].map(({ _id, n }) => [_id, n]), [['3', 3], ['4', 4], ['5', 5]])
})

test('a collection is iterated over, and documents without ids get new ones', async (context) => {
  const docs = foliodb.open(scratch(context)).collection('docs')
  docs.putMany([{ n: 1 }, { _id: 'a', n: 2 }, { n: 3 }])
  const found = [...docs]
  assert.deepEqual(found.map(({ n }) => n), [1, 2, 3])
  assert.deepEqual(found.map(({ _id }) => _id.length), [36, 1, 36])
  const later = []
  for await (const { n } of docs) later.push(n)
  assert.deepEqual(later, [1, 2, 3])
})

test('a line broken by hand is warned of until it is mended', async (context) => {
  const folder = scratch(context)
  foliodb.open(folder).collection('docs').putMany([{ _id: 'a' }, { _id: 'b' }])
  fs.appendFileSync(dataFile(folder, 'docs'), 'oops\n')
  const program = `const docs = require(${JSON.stringify(require.resolve('foliodb'))}).open(${JSON.stringify(folder)}).collection('docs')
    docs.put('c', {}); docs.delete('c'); docs.flush(); console.log([...docs.ids()].join())`
  const run = () => require('node:child_process').spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' })
  for (let round = 0; round < 2; round++) {
    const { stdout, stderr } = run()
    assert.equal(stdout, 'a,b\n')
    assert.match(stderr, /\[FOLIO_BROKEN_LINE\] FolioWarning: .*data\.jsonl:3: /)
  }
  fs.writeFileSync(dataFile(folder, 'docs'), fs.readFileSync(dataFile(folder, 'docs'), 'utf8').replace('oops\n', ''))
  assert.equal(run().stderr, '')
})
