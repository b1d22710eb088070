// The end of a process: what was put is in the file, whoever still holds the database.
'use strict'

const assert = require('node:assert/strict')
const { spawn } = require('node:child_process')
const { once } = require('node:events')
const { existsSync, readFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { test } = require('node:test')
const { scratch } = require('./scratch.js')

// A scan with a condition leaves a session behind that holds the collection.
const BEGIN = `
const { open } = require(${JSON.stringify(join(__dirname, '..'))})
const users = open('data', OPTIONS).collection('u')
users.put('a', { n: 1 })
for (const user of users.scan({ where: 'n = 1' })) user
users.put('b', { n: 2 })
`

const start = (folder, program, options = 'undefined') =>
  spawn(process.execPath, ['-e', BEGIN.replace('OPTIONS', options) + program], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })

const ids = (folder) => {
  const file = join(folder, 'data/collections/u/meta/data.jsonl')
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line)._id)
}

const ENDS = {
  'the last statement': ['', 0],
  'process.exit': ['process.exit(0)', 0],
  'process.exit in a callback': ['setTimeout(() => process.exit(4), 1)', 4],
  'an uncaught error': ['throw new Error("oops")', 1],
  'a rejected promise': ['Promise.reject(new Error("oops"))', 1],
}

for (const [name, [program, code]] of Object.entries(ENDS)) {
  test(`puts survive ${name}`, async (t) => {
    const folder = dirname(scratch(t))
    const [status] = await once(start(folder, program, '{ writeBehindMs: Infinity }'), 'exit')
    assert.equal(status, code)
    assert.deepEqual(ids(folder), ['a', 'b'])
  })
}

for (const [end, code] of [['process.exit(5)', 5], ['throw new Error("oops")', 1]]) {
  test(`${end} ends a statement on another thread`, async (t) => {
    const slow = 'SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a < b'
    const program = `open('data').sqlAsync("${slow}").then((rows) => rows.toArrayAsync()).catch(() => {}); setTimeout(() => { ${end} }, 100)`
    const child = start(dirname(scratch(t)), program)
    t.after(() => child.kill('SIGKILL'))
    assert.deepEqual(await once(child, 'exit', { signal: AbortSignal.timeout(10_000) }), [code, null])
  })
}

test('puts of a worker survive its end', async (t) => {
  const folder = dirname(scratch(t))
  const text = BEGIN.replace('OPTIONS', '{ writeBehindMs: Infinity }')
  const program = `new (require('node:worker_threads').Worker)(${JSON.stringify(text)}, { eval: true })`
  const child = spawn(process.execPath, ['-e', program], { cwd: folder, stdio: 'ignore' })
  assert.deepEqual(await once(child, 'exit'), [0, null])
  assert.deepEqual(ids(folder), ['a', 'b'])
})

for (const [name, program, status, told] of [
  ['removed', '', 0, /^foliodb: the database ".*data" was removed/],
  ['replaced', "; fs.mkdirSync('data')", 1, /not flushed: conflict: /],
]) {
  test(`a database that was ${name} at the end`, async (t) => {
    const folder = dirname(scratch(t))
    const child = start(folder, `const fs = require('fs'); fs.rmSync('data', { recursive: true })${program}`, '{ writeBehindMs: Infinity }')
    let errors = ''
    child.stderr.on('data', (text) => { errors += text })
    assert.deepEqual(await once(child, 'close'), [status, null])
    assert.match(errors, told)
  })
}

test('a hundred thousand puts after a scan are as many lines', async (t) => {
  const folder = dirname(scratch(t))
  const program = 'for (let n = 0; n < 100_000; n++) users.put(`n${n}`, { n }); process.exit(0)'
  assert.deepEqual(await once(start(folder, program), 'exit'), [0, null])
  assert.equal(ids(folder).length, 100_002)
})

/** Programs that are told to end, and how they do: the status, and the signal. */
const TOLD = {
  'a program that waits': ['', null],
  'a program that works without end': ['setTimeout(() => { for (;;); }, 1)', null],
  'a listener of the program': ['process.on("SIGNAL", () => process.exit(3))', 3],
  'a listener that takes its time': ['process.on("SIGNAL", () => setTimeout(() => process.exit(4), 50))', 4],
  'a listener that came and went': ['const f = () => {}; process.on("SIGNAL", f); process.off("SIGNAL", f); open("data", { writeBehindMs: Infinity })', null],
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  for (const [name, [program, status]] of Object.entries(TOLD)) {
    test(`puts survive ${signal}: ${name}`, { skip: process.platform === 'win32' }, async (t) => {
      const folder = dirname(scratch(t))
      const child = start(folder, `${program.replaceAll('SIGNAL', signal)}\nconsole.log("put"); setTimeout(() => {}, 60_000)`, '{ writeBehindMs: Infinity }')
      await once(child.stdout, 'data')
      child.kill(signal)
      assert.deepEqual(await once(child, 'exit'), status === null ? [null, signal] : [status, null])
      assert.deepEqual(ids(folder), ['a', 'b'])
    })
  }
}

test('a program sees no listeners but its own', async (t) => {
  const folder = dirname(scratch(t))
  const child = start(folder, 'console.log(["SIGTERM", "SIGINT", "SIGHUP"].map((name) => process.listenerCount(name)).join())')
  assert.equal(String(await once(child.stdout, 'data')), '0,0,0\n')
  await once(child, 'exit')
})

test('puts of a worker survive SIGTERM', { skip: process.platform === 'win32' }, async (t) => {
  const folder = dirname(scratch(t))
  const text = `${BEGIN.replace('OPTIONS', '{ writeBehindMs: Infinity }')}\nconsole.log("put"); setTimeout(() => {}, 60_000)`
  const program = `new (require('node:worker_threads').Worker)(${JSON.stringify(text)}, { eval: true })`
  const child = spawn(process.execPath, ['-e', program], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [null, 'SIGTERM'])
  assert.deepEqual(ids(folder), ['a', 'b'])
})

test('a kill loses a second at most', async (t) => {
  const folder = dirname(scratch(t))
  const child = start(folder, 'console.log("put"); setTimeout(() => {}, 60_000)')
  await once(child.stdout, 'data')
  const begun = Date.now()
  while (ids(folder).length < 2) {
    assert.ok(Date.now() - begun < 5_000, 'the put is written')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.deepEqual(ids(folder), ['a', 'b'])
})
