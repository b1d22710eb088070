// Writes of many threads and processes to one collection, published by one commit.
'use strict'

const assert = require('node:assert/strict')
const { spawn } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { test } = require('node:test')
const { setTimeout: after } = require('node:timers/promises')
const { Worker } = require('node:worker_threads')
const foliodb = require('foliodb')
const { scratch } = require('./scratch.js')

const PACKAGE = JSON.stringify(path.join(__dirname, '..'))

// A thread that writes the part of a task and answers with its text.
const TASK = `
  const { parentPort, workerData: { job, task, count } } = require('node:worker_threads')
  const foliodb = require(${PACKAGE})
  const part = new foliodb.PartitionedWriter(job).part(task)
  part.putMany(Array.from({ length: count }, (_, n) => ({ _id: 't' + task + '-' + n, n })))
  parentPort.postMessage(String(part.finish()))
`

// A process that writes without end, and says so.
const ENDLESS = `
  const foliodb = require(${PACKAGE})
  const part = new foliodb.PartitionedWriter(process.argv[1]).part(1)
  for (let n = 0; ; n++) {
    part.putMany(Array.from({ length: 5000 }, (_, m) => ({ _id: 't1-' + m, pad: 'x'.repeat(400) })))
    if (n === 1) console.log('writing')
  }
`

// A process that publishes parts.
const COMMIT = `
  const foliodb = require(${PACKAGE})
  const [job, parts] = JSON.parse(require('node:fs').readFileSync(process.argv[1], 'utf8'))
  console.log('begins')
  new foliodb.PartitionedWriter(job).commit(parts.map((text) => new foliodb.WrittenPart(text)))
`

function opened(context) {
  let db
  context.after(() => db.close()) // before the folder goes
  db = foliodb.open(scratch(context))
  return db
}

async function written(job, task, count) {
  const worker = new Worker(TASK, { eval: true, workerData: { job: String(job), task, count } })
  const end = once(worker, 'exit')
  const [text] = await once(worker, 'message')
  await end
  return new foliodb.WrittenPart(text)
}

test('many threads write and one commit publishes', async (context) => {
  const db = opened(context)
  const docs = db.collection('docs')
  const job = docs.partitionedWriter()
  const parts = await Promise.all([0, 1, 2, 3].map((task) => written(job, task, 100)))
  parts.push(await written(job, 2, 50)) // tried again
  assert.deepEqual(parts.map((part) => part.documentCount), [100, 100, 100, 100, 50])
  assert.equal(docs.count(), 0)
  assert.equal((await job.commitAsync(parts)).inserted, 350)
  assert.equal(job.commit(parts).inserted, 0) // tried again
  assert.equal(docs.count(), 350)
  assert.equal(fs.existsSync(path.join(db.path, 'writing')), false)
  assert.throws(() => job.part(4), { code: 'invalid_input', message: /was committed or aborted/ })
})

test('a writer that is killed in the middle leaves nothing', async (context) => {
  const db = opened(context)
  const docs = db.collection('docs')
  const job = docs.partitionedWriter()
  const whole = await written(job, 0, 10)
  const child = spawn(process.execPath, ['-e', ENDLESS, String(job)], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const files = fs.readdirSync(path.join(db.path, 'writing', JSON.parse(String(job)).job))
  assert.ok(files.some((name) => name.startsWith('1-')), files) // what it had written
  // The task is tried again, and is the only one that counts.
  const parts = [whole, await written(job, 1, 20)]
  assert.equal(job.commit(parts).inserted, 30)
  assert.equal(docs.count(), 30)
  assert.equal(fs.existsSync(path.join(db.path, 'writing')), false)
})

test('a commit that is killed in the middle publishes once', async (context) => {
  const folder = scratch(context)
  const list = path.join(path.dirname(folder), 'parts.json')
  for (const waitMs of [0, 5, 10, 20, 30, 40, 60, 100, 400]) {
    const db = foliodb.open(folder)
    const docs = db.collection(`docs${waitMs}`)
    const job = docs.partitionedWriter()
    const part = job.part(0)
    part.putMany(Array.from({ length: 60_000 }, (_, n) => ({ _id: `d${n}`, n })))
    const parts = [part.finish()]
    db.close()
    fs.writeFileSync(list, JSON.stringify([job, parts]))
    const child = spawn(process.execPath, ['-e', COMMIT, list], { stdio: ['ignore', 'pipe', 'inherit'] })
    const end = once(child, 'exit')
    await once(child.stdout, 'data')
    await after(waitMs)
    child.kill('SIGKILL')
    await end
    const again = foliodb.open(folder)
    const count = () => again.collection(docs.name).count()
    const before = count()
    assert.ok(before === 0 || before === 60_000, `${waitMs} ms: ${before}`)
    assert.equal(job.commit(parts).inserted, 60_000 - before)
    assert.equal(count(), 60_000)
    again.close()
  }
  assert.equal(fs.existsSync(path.join(folder, 'writing')), false)
})

test('documents come as objects, pairs, JSON and Arrow', async (context) => {
  const db = opened(context)
  const docs = db.collection('docs')
  docs.put('b', { n: 'old' })
  const job = docs.partitionedWriter()
  const part = job.part(0)
  part.putMany([{ _id: 'a', n: 2n ** 60n, at: new Map([['x', 1]]) }], { default: (value) => Object.fromEntries(value) })
  part.putMany(new Map([['b', { n: 1 }]]))
  part.putJson('[{"_id": "c", "n": 1.10}, {"n": 2}]')
  await part.putManyAsync(arriving(500))
  await assert.rejects(part.putManyAsync([{ _id: 'x', n: NaN }]), { code: 'invalid_input', message: /NaN/ })
  const written = await part.finishAsync()
  assert.equal(written.documentCount, 504)
  const { inserted, replaced } = job.commit([written])
  assert.deepEqual([inserted, replaced], [503, 1])
  assert.equal(docs.getRaw('a'), '{"_id":"a","n":1152921504606846976,"at":{"x":1}}')
  assert.equal(docs.getRaw('b'), '{"_id":"b","n":1}')
  assert.equal(docs.getRaw('c'), '{"_id":"c","n":1.10}')
  assert.equal(docs.get('e499').n, 499)
  // Arrow, of which nulls are no members.
  const file = path.join(path.dirname(db.path), 'rows.arrow')
  db.sql(`copy (select 'r1' as _id, 1 as n union all select 'r2', null) to '${file}'`)
  const next = docs.partitionedWriter()
  const rows = next.part(0)
  rows.putArrow(fs.readFileSync(file))
  next.commit([rows.finish()])
  assert.deepEqual(['r1', 'r2'].map((id) => docs.getRaw(id)), ['{"_id":"r1","n":1}', '{"_id":"r2"}'])
})

async function* arriving(count) {
  for (let n = 0; n < count; n++) {
    if (n % 100 === 0) await after(1)
    yield { _id: `e${n}`, n }
  }
}

test('a job and a part are their texts', async (context) => {
  const db = opened(context)
  const job = db.collection('docs').partitionedWriter()
  const again = new foliodb.PartitionedWriter(JSON.parse(JSON.stringify(job)))
  assert.deepEqual([again.uri, again.collection, String(again)], [db.path, 'docs', String(job)])
  const part = again.part(0)
  part.putMany([{ _id: 'a' }])
  const written = part.finish()
  assert.deepEqual(new foliodb.WrittenPart(JSON.parse(JSON.stringify(written))), written)
  for (const use of [() => part.putMany([{ _id: 'b' }]), () => part.putJson('[]'), () => part.finish()]) {
    assert.throws(use, { code: 'invalid_input', message: /the part was finished/ })
  }
  await assert.rejects(part.finishAsync(), { code: 'invalid_input' })
  await job.abortAsync()
  job.abort()
  assert.equal(fs.existsSync(path.join(db.path, 'writing')), false)
  assert.throws(() => job.commit([written]), { code: 'invalid_input', message: /was committed or aborted/ })
  assert.equal(db.collection('docs').count(), 0)
})

test('what cannot be written is refused', (context) => {
  const db = opened(context)
  const job = db.collection('docs').partitionedWriter()
  const part = job.part(0)
  const refused = (work, message) => assert.throws(work, { code: 'invalid_input', message })
  refused(() => job.part(-1), /task must be a whole number/)
  refused(() => job.part('1'), /task must be a whole number/)
  refused(() => job.commit('x'), /parts must be an array/)
  refused(() => job.commit(['x']), /not the text of/)
  refused(() => part.putMany('x'), /iterable/)
  refused(() => part.putMany([], { id: 'n' }), /unknown option "id"/)
  refused(() => part.putMany([{ _id: '../x' }]), /\.\.\/x/)
  refused(() => part.putJson(1), /must be a string/)
  refused(() => part.putArrow([{ n: 1 }]), /rows must be the bytes of an Arrow table/)
  refused(() => new foliodb.PartitionedWriter('{}'), /not the text of/)
  refused(() => new foliodb.WrittenPart('{}'), /not the text of/)
  refused(() => foliodb.open(':memory:').collection('docs').partitionedWriter(), /database in memory/)
  assert.throws(() => part.putJson('[{]'), { code: 'syntax' })
  job.abort()
})
