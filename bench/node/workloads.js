// What is measured: each workload says who takes part, and what one sample is.
//
// Cold: a fresh open is inside the timer; the files are in the system's page
// cache. Warm: the store is open and has served the same reads once. A sample
// that did not return what was written fails the run.
'use strict'

const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { Stopwatch } = require('./contest.js')
const { lookups } = require('./record.js')

// A sample of lookups takes a few milliseconds, so there are more of them.
const LOOKUP_TURNS = 5

/** @returns the workloads in order; the first fills the stores that the others read. */
function workloads(data, options, folder) {
  const ids = lookups(data, options.r)
  const place = (system) => path.join(folder, system.name.replace(/\W/g, '_'))
  const shared = { data, ids, place, ageSum: data.reduce((sum, { age }) => sum + age, 0) }
  const reads = [readAll('read_all'), readAll('read_lazy'), random()].flatMap((make) => ['cold', 'warm'].map((mode) => make(shared, mode)))
  return [write(shared), ...reads]
}

function write({ data, place }) {
  const run = async (system) => {
    const target = place(system)
    fs.rmSync(target, { recursive: true, force: true })
    settle()
    fs.mkdirSync(target)
    const store = await system.open(target)
    const watch = new Stopwatch()
    await store.write(data)
    watch.lap('write')
    await store.sync()
    watch.lap('sync')
    await store.close()
    return watch.stop({ size: sizeOf(target) })
  }
  return { ...workload('write', '', data.length, run), fills: true }
}

/** Syncs the file system: nobody pays for what the one before has written, or for the deletion of its own last round. */
function settle() {
  if (process.platform !== 'win32') execFileSync('sync')
}

function readAll(name) {
  return ({ data, place, ageSum }, mode) => {
    const verb = name === 'read_lazy' ? 'scanLazy' : 'scan'
    const run = reading(place, mode, 'scan', async (store) => {
      const found = await store[verb]()
      if (found.count !== data.length) throw new Error(`${found.count} documents instead of ${data.length}`)
      if (verb === 'scan' && found.ageSum !== ageSum) throw new Error('other documents than were written')
    })
    return workload(name, mode, data.length, run, (system) => system[name] !== false)
  }
}

function random() {
  return ({ data, ids, place }, mode) => {
    const run = reading(place, mode, 'get', async (store) => {
      const found = await store.getEach(ids)
      if (found !== ids.length) throw new Error(`${found} documents instead of ${ids.length}`)
    })
    return { ...workload('random', mode, ids.length, run), turns: LOOKUP_TURNS }
  }
}

/** One sample of a reader: with the open when cold, after one round untimed when warm. */
function reading(place, mode, phase, read) {
  return async (system) => {
    const watch = new Stopwatch()
    const store = await system.open(place(system))
    watch.lap('open')
    if (mode === 'warm') {
      await read(store)
      watch.phases = {}
      watch.last = performance.now()
    }
    await read(store)
    watch.lap(phase)
    await store.close()
    return watch.stop()
  }
}

function workload(name, mode, operations, run, takesPart = () => true) {
  const entrants = (system) => {
    if (!takesPart(system)) return []
    return [{ system: system.name, durability: system.durability, run: () => run(system) }]
  }
  return { name, mode, operations, entrants, turns: 1 }
}

function sizeOf(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).reduce((size, entry) => {
    const inner = path.join(folder, entry.name)
    return size + (entry.isDirectory() ? sizeOf(inner) : fs.statSync(inner).size)
  }, 0)
}

module.exports = { workloads }
