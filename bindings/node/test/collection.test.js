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

  test(`indexes, ${kind}`, async (context) => {
    const path = scratch(context)
    const db = foliodb.open(path)
    const users = db.collection('users')
    const of = (n) => ({ n, mail: `m${n}`, tags: [`t${n % 5}`, 'all'], geo: { city: `c${n % 10}` }, active: n % 2 === 0 })
    users.putMany(Array.from({ length: 1000 }, (_, n) => [`u${n}`, of(n)]))
    const plan = (where, ...given) =>
      db.sql(`explain select * from users where ${where}`, ...given).toArray().map((row) => row.plan).join('\n')
    const found = async (where, params) => {
      const ids = []
      for await (const { _id } of users.scan({ where, params, fields: ['_id'] })) ids.push(_id)
      return ids
    }
    assert.deepEqual(await found('mail = ?', ['m7']), ['u7'])
    assert.doesNotMatch(plan("mail = 'm7'"), /users_mail_idx/)

    // Created: named, used, kept up to date.
    assert.equal(await call(users, 'createIndex', 'mail', { unique: true }), 'users_mail_idx')
    assert.equal(await call(users, 'createIndex', ['geo.city', 'n desc'], { name: 'byCity' }), 'byCity')
    assert.equal(await call(users, 'createIndex', 'tags[]', { where: 'active = true', name: 'byTag' }), 'byTag')
    assert.match(plan("mail = 'm7'"), /users_mail_idx/)
    assert.match(plan("geo.city = 'c3' and n > 900"), /byCity/)
    assert.match(plan("'t1' = any(tags) and active"), /byTag/)
    assert.doesNotMatch(plan("'t1' = any(tags)"), /byTag/)
    assert.deepEqual(await found('mail = ?', ['m7']), ['u7'])
    assert.deepEqual(await found("geo.city = 'c3' and n > 980"), ['u983', 'u993'])
    assert.deepEqual(await found("'t1' = any(tags) and active and n < 20"), ['u6', 'u16'])
    await call(users, 'put', 'u7', { ...of(7), mail: 'new' })
    await call(users, 'delete', 'u983')
    assert.deepEqual(await found('mail = ?', ['m7']), [])
    assert.deepEqual(await found('mail = ?', ['new']), ['u7'])
    assert.deepEqual(await found("geo.city = 'c3' and n > 980"), ['u993'])

    // A unique one refuses, one by one and in a batch, and nothing of the batch is stored.
    await assert.rejects(async () => call(users, 'put', 'other', { mail: 'm9' }), { code: 'conflict', message: /users_mail_idx/ })
    const twice = [['x', { mail: 'same' }], ['y', { mail: 'same' }]]
    await assert.rejects(async () => call(users, 'putMany', twice), { code: 'conflict' })
    assert.equal(users.has('x'), false)
    await assert.rejects(async () => call(users, 'createIndex', 'active', { unique: true }), { code: 'conflict' })
    await assert.rejects(async () => call(users, 'createIndex', 'n', { name: 'byCity' }), { code: 'conflict' })
    await assert.rejects(async () => call(users, 'createIndex', 'n', { where: 'n > now()' }), { code: 'unsupported' })

    // Listed, checked.
    const stats = await call(users, 'indexes')
    assert.deepEqual(stats.map(({ name, fields, unique, condition, isReady }) => ({ name, fields, unique, condition, isReady })), [
      { name: 'users_mail_idx', fields: ['mail'], unique: true, condition: undefined, isReady: true },
      { name: 'byCity', fields: ['geo.city', 'n desc'], unique: false, condition: undefined, isReady: true },
      { name: 'byTag', fields: ['tags[]'], unique: false, condition: 'active = true', isReady: true },
    ])
    assert.ok(stats.every(({ entryCount, size }) => entryCount > 900 && size >= 0))
    const counts = { users_mail_idx: 999, byCity: 999, byTag: 1000 }
    for (const [name, entryCount] of Object.entries(counts)) {
      const check = await call(users, 'checkIndex', name)
      assert.deepEqual(check, { entryCount, problems: [], isNotUnique: false, isBehind: false }, name)
    }
    db.close()
    // An edit by hand that breaks the unique index is reported, and both documents are found.
    const file = dataFile(path, 'users')
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('"mail":"m9"', '"mail":"m8"'))
    const again = foliodb.open(path)
    const edited = again.collection('users')
    const check = await call(edited, 'checkIndex', 'users_mail_idx')
    assert.equal(check.isNotUnique, true)
    assert.match(check.problems.join(), /u8|u9/)
    const both = [...edited.scan({ where: "mail = 'm8'", fields: ['mail'] })]
    assert.deepEqual(both.map(({ _id }) => _id), ['u8', 'u9'])

    // Dropped.
    assert.equal(await call(edited, 'dropIndex', 'byCity'), undefined)
    assert.deepEqual((await call(edited, 'indexes')).map(({ name }) => name), ['users_mail_idx', 'byTag'])
    await assert.rejects(async () => call(edited, 'dropIndex', 'byCity'), { code: 'not_found' })
    await assert.rejects(async () => call(edited, 'checkIndex', 'byCity'), { code: 'not_found' })
    assert.deepEqual([...edited.scan({ where: "geo.city = 'c3' and n > 980" })].map(({ _id }) => _id), ['u993'])
    again.close()
  })

  test(`open paths, ${kind}`, async (context) => {
    const users = foliodb.open(scratch(context)).collection('users')
    users.put('a', { name: 'Ada' })
    const where = "town is null and name = 'Ada'"
    assert.throws(() => [...users.scan({ where })], { code: 'not_found', message: /town/ })
    assert.equal(users.hasOpenPaths(), false)
    await call(users, 'setOpenPaths', true)
    assert.equal(users.hasOpenPaths(), true)
    assert.deepEqual([...users.scan({ where })], [{ _id: 'a', name: 'Ada' }])
    assert.equal((await call(users, 'fields')).at(-1).path, '*')
    await call(users, 'setOpenPaths', false)
    assert.throws(() => [...users.scan({ where })], { code: 'not_found' })
    assert.notEqual((await call(users, 'fields')).at(-1).path, '*')
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
