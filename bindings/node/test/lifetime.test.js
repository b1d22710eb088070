// Handles closed twice, used after close, collected in any order, shared by worker
// threads and processes: a clear error or the right answer, never a crash.
'use strict'

const assert = require('node:assert/strict')
const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { once } = require('node:events')
const { test } = require('node:test')
const { Worker } = require('node:worker_threads')
const foliodb = require('foliodb')
const { dataFile, scratch } = require('./scratch.js')

const PACKAGE = path.join(__dirname, '..')

test('close closes the files of collections that live', { skip: !fs.existsSync('/proc/self/fd') }, (context) => {
  const folder = scratch(context)
  const opened = () => {
    const targets = fs.readdirSync('/proc/self/fd').map((name) => {
      try {
        return fs.readlinkSync(`/proc/self/fd/${name}`)
      } catch {
        return ''
      }
    })
    return targets.filter((target) => target.startsWith(folder))
  }
  const kept = []
  for (const mode of ['rw', 'r', 'rw']) {
    const db = foliodb.open(folder, { mode })
    const docs = db.collection('docs')
    if (mode === 'rw') docs.put('a', { n: 1 })
    assert.deepEqual(docs.get('a'), { _id: 'a', n: 1 })
    kept.push(docs)
    db.close()
    assert.deepEqual(opened(), [])
  }
  for (const docs of kept) assert.throws(() => docs.get('a'), { code: 'closed' })
})

test('classes say what makes their objects', () => {
  assert.throws(() => new foliodb.Database('x'), { code: 'invalid_input', message: /open\(path\)/ })
  assert.throws(() => new foliodb.Collection('x'), { code: 'invalid_input', message: /db\.collection\(name\)/ })
})

test('after close everything says so', async (context) => {
  const db = foliodb.open(scratch(context))
  const docs = db.collection('docs')
  docs.putMany(Array.from({ length: 2000 }, (_, n) => ({ _id: `d${n}`, n })))
  const scan = docs.scan()[Symbol.iterator]()
  const later = docs.scan()[Symbol.asyncIterator]()
  const batch = docs.batch()
  batch.put('x', {})
  scan.next()
  await later.next()
  db.close()
  db.close()
  await db.closeAsync()
  const closed = { name: 'FolioError', code: 'closed' }
  const calls = {
    get: ['d1'], getMany: [['d1']], getRaw: ['d1'], put: ['d1', {}], putRaw: ['d1', '{}'], putMany: [[{ _id: 'a' }]],
    patch: ['d1', {}], delete: ['d1'], has: ['d1'], count: [], refresh: [], compact: [], check: [], reindex: [],
    stats: [], export: [`${db.path}.jsonl`], flush: [],
  }
  for (const [name, args] of Object.entries(calls)) {
    assert.throws(() => docs[name](...args), closed, name)
    await assert.rejects(docs[`${name}Async`](...args), closed, `${name}Async`)
  }
  assert.throws(() => docs.scan().toArray(), closed)
  assert.throws(() => [...docs.ids()], closed)
  await assert.rejects(docs.scan().toArrayAsync(), closed)
  assert.throws(() => batch.commit(), closed)
  assert.throws(() => batch.put('y', {}), closed)
  assert.throws(() => db.collection('docs'), closed)
  assert.throws(() => db.collections(), closed)
  docs.close()
  assert.equal(foliodb.open(db.path).collection('docs').count(), 2000)
})

test('the end of a block closes, and a dropped collection says what it was', async (context) => {
  const db = foliodb.open(scratch(context))
  const docs = db.collection('docs')
  docs.put('a', {})
  const batch = docs.batch()
  batch.put('b', {})
  batch[Symbol.dispose]()
  assert.throws(() => batch.commit(), { code: 'closed' })
  db.dropCollection('docs')
  assert.throws(() => docs.get('a'), { code: 'closed', message: /"docs" was dropped, renamed or closed/ })
  await db[Symbol.asyncDispose]()
  db[Symbol.dispose]()
  assert.throws(() => db.collections(), { code: 'closed' })
})

test('a scan that has begun reads what was there, whatever happens', (context) => {
  const path = scratch(context)
  const docs = foliodb.open(path).collection('docs')
  docs.putMany(Array.from({ length: 5000 }, (_, n) => ({ _id: `d${n}`, text: 'x'.repeat(100) })))
  const scan = docs.scan()[Symbol.iterator]()
  scan.next()
  for (const document of docs.scan()) docs.put(document._id, { n: 1 })
  docs.compact()
  let count = 1
  for (const { text } of scan) count += text.length === 100 ? 1 : 0
  assert.equal(count, 5000)
})

test('handles go in any order', (context) => {
  const script = `
    const foliodb = require(${JSON.stringify(PACKAGE)})
    const path = ${JSON.stringify(scratch(context))}
    for (let round = 0; round < 30; round++) {
      let db = foliodb.open(path), docs = db.collection('docs'), batch = docs.batch(), lazy, scan
      docs.put('a' + round, { round, text: 'x'.repeat(10000) })
      batch.put('never', {})
      scan = docs.scan()[Symbol.iterator]()
      scan.next()
      ;[lazy] = docs.scan({ lazy: true })
      const get = docs.lookup
      const rest = [() => { db = null }, () => { docs = null }, () => { batch = null }, () => { scan = null }]
      for (let turn = 0; turn < 4; turn++) {
        rest.splice((round * 7 + turn * 3) % rest.length, 1)[0]()
        gc()
      }
      if (lazy.field('text').length !== 10000 || JSON.parse(get('a0')).round !== 0) throw new Error('lost')
      docs = foliodb.open(path).collection('docs')
      docs.putAsync('late' + round, {}).catch(() => {})
      docs.scan().toArrayAsync().catch(() => {})
    }
    gc()
    const docs = foliodb.open(path).collection('docs')
    if (docs.has('never') || docs.get('a29').round !== 29) throw new Error('wrong')
    process.exit(0) // with promises under way
  `
  const { status, signal, stderr } = spawnSync(process.execPath, ['--expose-gc', '-e', script], { encoding: 'utf8' })
  assert.deepEqual([status, signal], [0, null], stderr)
})

test('worker threads read while this one writes', async (context) => {
  const path = scratch(context)
  const docs = foliodb.open(path).collection('docs')
  docs.putMany(Array.from({ length: 1000 }, (_, n) => ({ _id: `d${n}`, n, text: 'x'.repeat(n) })))
  const script = `
    const { parentPort, workerData } = require('node:worker_threads')
    const foliodb = require(${JSON.stringify(PACKAGE)})
    const docs = foliodb.open(workerData.path).collection('docs')
    let read = 0
    for (let round = 0; round < 20; round++) {
      for (let n = round; n < 1000; n += 20) {
        const found = docs.get('d' + n)
        if (found.n !== n || found.text.length !== n) throw new Error('wrong document d' + n)
        read += 1
      }
      const count = [...docs.scan()].length
      if (count < 1000) throw new Error(count + ' documents')
    }
    docs.put('worker' + workerData.number, { read })
    parentPort.postMessage(read)
  `
  const workers = Array.from({ length: 8 }, (_, number) => new Worker(script, { eval: true, workerData: { path, number } }))
  const done = Promise.all(workers.map(async (worker) => {
    const [[read]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')])
    return read
  }))
  let isDone = false
  done.finally(() => { isDone = true }).catch(() => {})
  for (let n = 0; !isDone; n++) {
    docs.put(`new${n}`, { n })
    await new Promise(setImmediate)
    if (n % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  assert.deepEqual(await done, Array(8).fill(1000))
  for (let number = 0; number < 8; number++) assert.equal(docs.get(`worker${number}`).read, 1000)
})

test('a worker thread may be ended at any time', async (context) => {
  const path = scratch(context)
  const docs = foliodb.open(path).collection('docs')
  docs.put('first', {})
  const script = `
    const { parentPort, workerData } = require('node:worker_threads')
    const foliodb = require(${JSON.stringify(PACKAGE)})
    const docs = foliodb.open(workerData).collection('docs')
    parentPort.postMessage('begun')
    function* forever() {
      for (let n = 0; ; n++) yield { _id: 'n' + n, text: 'x'.repeat(200) }
    }
    for (let n = 0; n < 8; n++) docs.putAsync('beside' + n, {})
    docs.scan().toArrayAsync()
    docs.putMany(forever())
  `
  for (let round = 0; round < 8; round++) {
    const worker = new Worker(script, { eval: true, workerData: path })
    await once(worker, 'message')
    await new Promise((resolve) => setTimeout(resolve, 20 * round))
    await worker.terminate()
  }
  docs.put('last', {}) // the batch of the worker is gone, and its lock with it
  assert.equal(docs.has('n0'), false)
  assert.equal(docs.get('last')._id, 'last')
})

test('promised writes come before a batch, and none begins inside it', async (context) => {
  const docs = foliodb.open(scratch(context)).collection('docs')
  const before = Array.from({ length: 20 }, (_, n) => docs.putAsync(`before${n}`, {}))
  let inside
  function* source() {
    if (docs.count() !== 20) throw new Error('the promised writes are not done')
    inside = docs.putAsync('inside', {})
    yield { _id: 'a' }
  }
  docs.putMany(source())
  await assert.rejects(inside, { code: 'invalid_input', message: /putMany is storing a batch in this thread/ })
  assert.deepEqual(await Promise.all(before), Array(20).fill('inserted'))
  assert.equal(await docs.putAsync('after', {}), 'inserted')
})

test('one process writes, others wait and are told', (context) => {
  const path = scratch(context)
  const docs = foliodb.open(path).collection('docs')
  docs.put('a', { n: 1 })
  const child = (body) => {
    const script = `const foliodb = require(${JSON.stringify(PACKAGE)}); const path = ${JSON.stringify(path)}; ${body}`
    const { stdout, stderr, status } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' })
    return status === 0 ? stdout.trim() : stderr
  }
  const put = `
    const docs = foliodb.open(path, { timeoutMs: 50 }).collection('docs')
    try { console.log(docs.put('b', {})) } catch (error) { console.log(error.code, error.message.includes('${process.pid}')) }
  `
  assert.equal(child(put), 'locked true')
  docs.flush()
  assert.equal(child(put), 'inserted')
  assert.equal(child("console.log(foliodb.open(path, { mode: 'r' }).collection('docs').count())"), '2')
  docs.refresh()
  assert.equal(docs.has('b'), true)
})

test('long work tells how far it is, and stops when asked', async (context) => {
  const path = scratch(context)
  const db = foliodb.open(path)
  const docs = db.collection('docs')
  docs.putMany(Array.from({ length: 100_000 }, (_, n) => ({ _id: `d${n}`, text: 'x'.repeat(100) })))
  const told = []
  const progress = (done, total) => told.push([done, total])
  const works = [
    () => docs.checkAsync({ progress }), () => docs.compactAsync({ progress }), () => db.packAsync(`${path}.zds`, { progress }),
    () => docs.exportAsync(`${path}.jsonl`, { progress }),
  ]
  for (const work of works) {
    await work()
    const [done, total] = told.pop()
    assert.ok(done > 10_000_000 && done === total, `${done} of ${total}`)
  }
  const controller = new AbortController()
  const work = db.collection('copy').importAsync(dataFile(path, 'docs'), { signal: controller.signal })
  controller.abort()
  await assert.rejects(work, { code: 'cancelled' })
  await assert.rejects(docs.checkAsync({ signal: AbortSignal.abort() }), { code: 'cancelled' })
  assert.equal((await db.collection('copy').importAsync(dataFile(path, 'docs'))).inserted, 100_000)
  const thrown = new Error('thrown by the callback')
  await assert.rejects(docs.compactAsync({ progress: () => { throw thrown } }), thrown)
  db.close()
  fs.rmSync(`${path}.zds`)
})
