// Partitions: planned here, read by other threads and processes.
'use strict'

const assert = require('node:assert/strict')
const { execFileSync } = require('node:child_process')
const path = require('node:path')
const { test } = require('node:test')
const { Worker } = require('node:worker_threads')
const foliodb = require('foliodb')
const { scratch } = require('./scratch.js')

// Reads the partitions of its texts and answers with their rows.
const READER = `
  const { parentPort, workerData } = require('node:worker_threads')
  const foliodb = require(${JSON.stringify(path.join(__dirname, '..'))})
  const rows = workerData.flatMap((text) => foliodb.readPartition(new foliodb.Partition(text)).toArray())
  parentPort.postMessage(rows)
`

function filled(context) {
  let db
  context.after(() => db.close()) // before the folder goes
  db = foliodb.open(scratch(context))
  const docs = db.collection('docs')
  docs.putMany(Array.from({ length: 5000 }, (_, n) => ({ _id: `d${n}`, n, text: 'x'.repeat(n % 90) })))
  docs.putMany(Array.from({ length: 700 }, (_, n) => ({ _id: `d${n * 7}`, n: -n })))
  docs.delete('d1')
  db.flush()
  return db
}

const byId = (one, other) => (one._id < other._id ? -1 : 1)

/** What a worker answers, once it has ended: only then are its handles closed, and the folder may go. */
function readIn(worker) {
  return new Promise((resolve, reject) => {
    let rows
    worker.once('message', (found) => (rows = found)).once('error', reject).once('exit', () => resolve(rows))
  })
}

test('other threads read what SQL reads', async (context) => {
  const db = filled(context)
  const parts = db.partitions('docs', 6, { columns: ['n', '_id'], filter: 'n < 100' })
  assert.ok(parts.length > 1)
  assert.equal(parts.reduce((sum, part) => sum + part.rowCount, 0), db.collection('docs').count())
  const texts = parts.map(String)
  assert.ok(texts.every((text) => text.length < 300), texts[0])
  const halves = [texts.slice(0, 3), texts.slice(3)]
  const workers = halves.map((workerData) => new Worker(READER, { eval: true, workerData }))
  const found = (await Promise.all(workers.map(readIn))).flat()
  const expected = db.sql('select n, _id from docs where n < 100').toArray()
  assert.deepEqual(found.sort(byId), expected.sort(byId))
})

test('paths read parts of columns', (context) => {
  const db = filled(context)
  const documents = Array.from({ length: 2000 }, (_, n) => ({
    _id: `d${n}`,
    commit: n % 5 ? { collection: `c${n % 3}`, rev: n } : null,
    cart: [{ sku: `s${n}`, price: n }],
    'a.b': { c: n, d: n },
  }))
  db.collection('nested').putMany(documents)
  const columns = ['commit.collection', '_id', 'cart[].sku', '"a.b".c']
  const parts = db.partitions('nested', 4, { columns, filter: 'commit.rev < 900' })
  assert.deepEqual(parts[0].columns, columns)
  const found = parts.flatMap((part) => db.readPartition(part).toArray())
  const expected = documents
    .filter((document) => document.commit && document.commit.rev < 900)
    .map(({ _id, commit, cart, 'a.b': ab }) => ({
      commit: { collection: commit.collection },
      _id,
      cart: cart.map(({ sku }) => ({ sku })),
      'a.b': { c: ab.c },
    }))
  assert.deepEqual(found.sort(byId), expected.sort(byId))
  assert.throws(() => db.partitions('nested', 2, { columns: ['commit.colection'] }), {
    code: 'not_found',
    message: /did you mean "collection"/,
  })
  assert.throws(() => db.partitions('nested', 2, { columns: ['commit[0]'] }), { code: 'invalid_input', message: /neither a column nor a path/ })
  assert.equal(db.partitionCount('nested', 8), 1)
})

test('another process reads a partition of a table', (context) => {
  const db = filled(context)
  db.sql('create table t (id bigint primary key); insert into t select n from range(10000) s(n)')
  const parts = db.partitions('t', 3)
  const read = `
    const foliodb = require(${JSON.stringify(path.join(__dirname, '..'))})
    const parts = JSON.parse(process.argv[1]).map((text) => new foliodb.Partition(text))
    console.log(parts.flatMap((part) => foliodb.readPartition(part).toArray()).length)
  `
  const found = execFileSync(process.execPath, ['-e', read, JSON.stringify(parts)], { encoding: 'utf8' })
  assert.equal(Number(found), 10000)
  assert.equal(parts[0].size, null)
})

test('a partition is its text', async (context) => {
  const db = filled(context)
  const [part, ...others] = await db.partitionsAsync('docs', 2)
  const again = new foliodb.Partition(JSON.parse(JSON.stringify(part)))
  assert.deepEqual(again, part)
  assert.deepEqual([part.uri, part.relation, part.columns, part.filter], [db.path, 'docs', null, null])
  assert.ok(part.size > part.rowCount)
  const copy = path.join(path.dirname(db.path), 'copy')
  db.backup(copy)
  const changed = `d${db.readPartition(part).toArray()[0]._id.slice(1)}`
  db.collection('docs').put(changed, { n: 0 })
  assert.throws(() => db.readPartition(part), { code: 'conflict', message: /plan them again/ })
  await assert.rejects(db.readPartitionAsync(part), { code: 'conflict' })
  assert.equal((await foliodb.readPartitionAsync(part, copy)).toArray().length, part.rowCount)
  assert.equal(others.length, 1)
})

test('what was put between two positions', async (context) => {
  const db = filled(context)
  const docs = db.collection('docs')
  const since = docs.position()
  docs.put('new', { n: 1 })
  docs.put('d5', { n: 2 })
  const until = await docs.positionAsync()
  docs.put('later', { n: 3 })
  const ids = (parts) => parts.flatMap((part) => db.readPartition(part).toArray()).map((row) => row._id)
  const parts = db.partitions('docs', 2, { since, until })
  assert.deepEqual(ids(parts), ['new', 'd5'])
  assert.deepEqual(ids(await db.partitionsAsync('docs', 2, { since: until })), ['later'])
  docs.put('new', { n: 4 })
  assert.deepEqual(ids(parts), ['d5'])
  assert.throws(() => db.partitions('docs', 2, { since: 'x' }), { code: 'invalid_input', message: /is not a position/ })
  docs.compact()
  await assert.rejects(db.partitionsAsync('docs', 2, { since }), { code: 'conflict', message: /begin again/ })
})

test('what is no partition is refused', (context) => {
  const db = filled(context)
  assert.throws(() => new foliodb.Partition('text'), foliodb.FolioError)
  assert.throws(() => new foliodb.Partition(5), { code: 'invalid_input', message: /must be a string/ })
  assert.throws(() => db.readPartition('text'), foliodb.FolioError)
  assert.throws(() => foliodb.readPartition('text'), { code: 'invalid_input', message: /not the text of a partition/ })
  assert.throws(() => db.partitions('docs', 0), { code: 'invalid_input', message: /count/ })
  assert.throws(() => db.partitions('none', 2), { code: 'not_found' })
  assert.throws(() => db.partitions('docs', 2, { filters: 'n' }), { code: 'invalid_input', message: /did you mean "filter"/ })
  assert.throws(() => db.partitions('docs', 2, { filter: 'm > 1' }), foliodb.FolioError)
})
