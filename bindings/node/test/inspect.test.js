// What `console.log` shows: rows, without a trace, without waiting, without throwing.
'use strict'

const assert = require('node:assert/strict')
const { test } = require('node:test')
const { inspect } = require('node:util')
const foliodb = require('foliodb')
const { scratch } = require('./scratch.js')

// Minutes of work for anybody who waits for the first row.
const LONG = 'select count(*) as n from generate_series(1, 300000) a, generate_series(1, 300000) b'

const lines = (...texts) => texts.join('\n')

function database(context) {
  let db
  context.after(() => db.close()) // before the folder goes
  db = foliodb.open(scratch(context), { durability: 'none' })
  return db
}

const series = (count) => `select g as x, 'n' || g as name from generate_series(1, ${count}) as s(g)`

test('an answer shows its first rows, which stay', async (context) => {
  const db = database(context)
  const answer = db.sql(series(12))
  const shown = lines(
    'Answer: 12 rows',
    '   x  name',
    ...Array.from({ length: 9 }, (_, n) => `   ${n + 1}  n${n + 1}`),
    '  10  n10',
    '  … 2 more',
  )
  assert.equal(inspect(answer), shown)
  assert.equal(inspect(answer), shown)
  assert.deepEqual(answer.next(), { x: 1, name: 'n1' })
  assert.match(inspect(answer), /^Answer: 11 rows left\n +x {2}name\n +2 {2}n2\n/)
  assert.deepEqual(answer.toArray().map(({ x }) => x), Array.from({ length: 11 }, (_, n) => n + 2))
  assert.equal(inspect(answer), 'Answer: 0 rows left')
  const long = db.sql(series(5000))
  assert.match(inspect(long), /\n {2}… at least [0-9,]+ more$/)
  assert.equal(long.toArray().length, 5000)
  const later = await db.sqlAsync(series(5000))
  for await (const { x } of later) {
    if (x % 1000 === 0) assert.match(inspect(later), /^Answer/)
    if (x === 3000) break
  }
  assert.deepEqual((await later.toArrayAsync()).map(({ x }) => x), Array.from({ length: 2000 }, (_, n) => n + 3001))
})

test('answers without rows', (context) => {
  const db = database(context)
  assert.equal(inspect(db.sql('create table t (n int)')), 'Answer: 0 rows changed')
  assert.equal(inspect(db.sql('begin; commit')), 'Answer: no rows')
  assert.equal(inspect(db.sql('insert into t values (1), (2)')), 'Answer: 2 rows changed')
  assert.equal(inspect(db.sql('delete from t where n = 1 returning n')), lines('Answer: 1 row changed, 1 row', '  n', '  1'))
  assert.equal(inspect(db.sql('select * from t where n = 1')), 'Answer: 0 rows')
})

test('what fails behind the rows is told to whoever reads them', (context) => {
  const db = database(context)
  const answer = db.sql('select 1 / (3 - g) as n from generate_series(1, 5) as s(g)')
  assert.equal(inspect(answer), lines('Answer', '  … then: division by zero'))
  assert.equal(inspect(answer), lines('Answer', '  … then: division by zero'))
  assert.throws(() => answer.toArray(), { code: 'invalid_input', message: /^division by zero/ })
})

test('nobody waits for what takes its time', async (context) => {
  const db = database(context)
  const controller = new AbortController()
  const begun = Date.now()
  const session = db.session()
  const answer = await session.sqlAsync(LONG, [], { signal: controller.signal })
  assert.equal(inspect(answer), lines('Answer', '  … the first ones are not ready and not shown'))
  const docs = db.collection('docs')
  docs.put('a', {})
  const scan = docs.scan({ where: `exists (${LONG})` })
  assert.equal(inspect(scan), lines('Scan of "docs"', '  … the first ones are not ready and not shown'))
  assert.ok(Date.now() - begun < 10_000)
  controller.abort()
  // The process need not wait for the scan either; nobody reads it.
})

test('collections, scans and databases', (context) => {
  const db = database(context)
  const docs = db.collection('docs')
  assert.equal(inspect(docs), 'Collection "docs": 0 documents')
  docs.putMany(Array.from({ length: 1234 }, (_, n) => ({ _id: `d${n}`, n, ...(n === 1 ? { name: 'Ann', tags: ['a', { b: [1] }] } : {}) })))
  assert.equal(inspect(docs.scan({ limit: 3 })), lines(
    'Scan of "docs": 3 documents',
    '  _id  n  name  tags',
    '  d0   0',
    "  d1   1  Ann   [ 'a', { b: [Array] } ]",
    '  d2   2',
  ))
  assert.match(inspect(docs), /^Collection "docs": 1,234 documents\n[^]*\n {2}d9 +9\n {2}… 1,224 more$/)
  assert.equal(inspect(docs.scan({ where: 'n > ?', params: [1231], fields: ['n'] })), lines(
    'Scan of "docs": 2 documents', '  _id       n', '  d1232  1232', '  d1233  1233',
  ))
  assert.match(inspect(docs.scan({ where: 'n > 3', lazy: true })), /^Scan of "docs"\n[^]*\n {2}… at least 990 more$/)
  db.sql('create table city (id int)')
  assert.equal(inspect(db), lines(
    `Database ${JSON.stringify(db.path)}: 1 collection, 1 table`,
    '  name  kind        rows',
    '  docs  collection',
    '  city  table          0',
  ))
  assert.equal(inspect({ docs, all: [docs.scan(), db.sql('select 1')] }), '{ docs: [Collection "docs"], all: [ [Scan of "docs"], [Answer] ] }')
  const [first] = docs.scan({ lazy: true })
  assert.equal(inspect(first), "Document { _id: 'd0', n: 0 }")
  assert.equal(inspect(db.prepare('select 1')), "Prepared { text: 'select 1' }")
  assert.equal(inspect(db.session()), 'Session { isInTransaction: false }')
  assert.equal(inspect(db.tables()), 'Tables { city: { rowCount: 0 } }')
  const batch = docs.batch()
  batch.put('x', {})
  assert.equal(inspect(batch), 'Batch for "docs": 1 write')
})

test('large documents are not all read', (context) => {
  const docs = database(context).collection('docs')
  docs.putMany(Array.from({ length: 30 }, (_, n) => ({ _id: `d${n}`, n, text: 'x'.repeat(40_000) })))
  const shown = inspect(docs.scan({ where: 'n >= 0' }))
  assert.match(shown, /^Scan of "docs"\n/)
  assert.match(shown, /\n {2}… more$/)
  assert.ok(shown.length < 1000)
  assert.match(inspect(docs), /^Collection "docs": 30 documents\n[^]*… \d\d more$/)
})

test('cells are cut to the width, and say nothing to the terminal', (context) => {
  const docs = database(context).collection('docs')
  docs.putMany([
    { _id: 'a', text: 'x'.repeat(500), escape: '\u001b[31mred\u202e\n', 日本: '日本語'.repeat(20), empty: '', big: 2n ** 60n, none: null },
    { _id: 'b', text: '👩‍👩‍👧 half', escape: true, many: Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`k${n}`, n])) },
  ])
  for (const breakLength of [20, 40, 80, 120]) {
    const shown = inspect(docs, { breakLength })
    for (const line of shown.split('\n')) assert.ok(line.length <= breakLength + 20, `${line.length} > ${breakLength}: ${line}`)
    assert.doesNotMatch(shown, /[\u001b\u202e]/)
  }
  assert.match(inspect(docs, { breakLength: 50 }), /… \d more columns: /)
  assert.match(inspect(docs.scan({ fields: ['escape', 'empty'] })), /\\u\{1b\}\[31mred\\u\{202e\}\\n +''/)
  assert.doesNotMatch(inspect(docs), /\u001b/)
  assert.match(inspect(docs, { colors: true }), /\u001b\[32ma /)
})

test('what is closed says so', (context) => {
  const db = database(context)
  const docs = db.collection('docs')
  docs.put('a', {})
  const [scan, answer, batch, session, tables] = [docs.scan(), db.sql('select 1 as n'), docs.batch(), db.session(), db.tables()]
  db.close()
  assert.equal(inspect(db), `Database ${JSON.stringify(db.path)} (closed)`)
  assert.equal(inspect(docs), 'Collection "docs" (closed)')
  assert.equal(inspect(scan), 'Scan of "docs" (closed)')
  assert.equal(inspect(tables), 'Tables (closed)')
  assert.match(inspect(answer), /^Answer/)
  assert.match(inspect(batch), /^Batch/)
  session.close()
  assert.equal(inspect(session), 'Session { isClosed: true }')
  for (const kind of Object.values(foliodb)) {
    if (kind.prototype !== undefined) assert.equal(typeof inspect(kind.prototype), 'string')
  }
})

test('JSON.stringify has the rows', (context) => {
  const db = database(context)
  db.collection('docs').put('a', { n: 1 })
  assert.equal(JSON.stringify({ rows: db.sql(series(2)) }), '{"rows":[{"x":1,"name":"n1"},{"x":2,"name":"n2"}]}')
  assert.equal(JSON.stringify(db.collection('docs').scan()), '[{"_id":"a","n":1}]')
  const refused = { code: 'invalid_input', message: 'document "b" at "rows" is an Answer; store its toArray()' }
  assert.throws(() => db.collection('docs').put('b', { rows: db.sql(series(2)) }), refused)
  assert.throws(() => db.sql('select ?', db.collection('docs')), { code: 'invalid_input', message: /is a Collection/ })
})
