#!/usr/bin/env node
// Measures FolioDB for Node beside better-sqlite3, lmdb and classic-level:
// write, read all, random access; objects in, objects out.
//
//   node bench/node/benchmark_io.js                 100,000 records, 1,000 lookups
//   node bench/node/benchmark_io.js -n=500000 -r=5000 -o=results.json
//   node bench/node/benchmark_io.js -s=9 random     nine samples, of the workloads so named
//
// Serialization is inside the timer for everybody. Systems take turns sample by
// sample, each round in another order; what is printed is the median and half the
// distance between the quartiles. Lookups, which are short, have five times as many samples.
'use strict'

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { compete, median, spread } = require('./contest.js')
const { describe } = require('./machine.js')
const { records } = require('./record.js')
const { workloads } = require('./workloads.js')

const ABSENT = []
const SYSTEMS = ['foliodb', 'sqlite', 'lmdb_json', 'lmdb_msgpack', 'level'].flatMap(load)

async function main() {
  const options = parse(process.argv.slice(2))
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'foliodb-bench-'))
  const started = new Date().toISOString()
  try {
    const data = records(options.n)
    console.log(`${short(options.n)} records, ${short(options.r)} lookups, ${options.s} samples; ${process.version}\n`)
    const rows = []
    for (const workload of workloads(data, options, folder)) {
      if (workload.name.includes(options.filter)) rows.push(...(await run(workload, options)))
      else if (workload.fills) await fill(workload)
    }
    if (ABSENT.length > 0) console.error(`ABSENT: ${ABSENT.join(', ')}; their packages are not installed (cd bench/node && npm ci)`)
    if (options.o) {
      const results = { format: 1, taken: started, options, machine: describe(), systems: SYSTEMS.map(note), absent: ABSENT, rows }
      fs.writeFileSync(options.o, `${JSON.stringify(results, null, 1)}\n`)
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** A system, if its package is installed. */
function load(name) {
  try {
    return [require(`./stores/${name}.js`)]
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND' || name === 'foliodb') throw error
    ABSENT.push(name)
    return []
  }
}

/** Takes and prints the samples of one workload. */
async function run(workload, options) {
  const entrants = SYSTEMS.flatMap((system) => workload.entrants(system))
  const samples = await compete(entrants, options.s * workload.turns)
  const rows = entrants.map((entrant, index) => ({
    workload: workload.name,
    system: entrant.system,
    mode: workload.mode,
    operations: workload.operations,
    durability: workload.name === 'write' ? entrant.durability : '',
    samples: samples[index],
  }))
  for (const row of rows) console.log(line(row))
  console.log()
  return rows
}

/** Writes what the other workloads read, where writing itself is not measured. */
async function fill(workload) {
  for (const system of SYSTEMS) for (const entrant of workload.entrants(system)) await entrant.run()
}

/** `  FolioDB  read_all: 870k rec/s (115ms) [open:45, scan:70] (cold) ±3%` */
function line(row) {
  const total = median(row.samples.map((sample) => sample.total))
  const phases = Object.keys(row.samples[0].phases).map((name) => {
    return `${name}:${milliseconds(median(row.samples.map((sample) => sample.phases[name])))}`
  })
  const rate = short((row.operations / total) * 1000)
  const size = row.samples[0].size ? `, ${(row.samples[0].size / 1e6).toFixed(1)} MB` : ''
  const mode = row.mode ? ` (${row.mode})` : ''
  const promise = row.durability ? ` {${row.durability}}` : ''
  const name = row.system.padEnd(16)
  return `  ${name} ${row.workload}: ${rate} rec/s (${milliseconds(total)}ms${size}) [${phases.join(', ')}]${mode}${promise} ±${spread(row.samples.map((sample) => sample.total))}%`
}

function note({ name, version, settings, durability }) {
  return { name, version, settings, durability }
}

function milliseconds(time) {
  return time >= 10 ? time.toFixed(0) : time.toFixed(2)
}

/** `1.2M`, `870k`. */
function short(number) {
  if (number >= 1e6) return `${(number / 1e6).toFixed(number % 1e6 === 0 ? 0 : 2)}M`
  return number >= 1e3 ? `${(number / 1e3).toFixed(0)}k` : number.toFixed(0)
}

function parse(words) {
  const options = { n: 100_000, r: 1_000, s: 5, o: '', filter: '' }
  for (const word of words) {
    const [, key, value] = /^-([nrso])=(.+)$/.exec(word) ?? []
    if (key === 'o') options.o = value
    else if (key) options[key] = count(value)
    else if (!word.startsWith('-')) options.filter = word
    else throw new Error(`unknown option ${word}; there are -n=, -r=, -s= and -o=`)
  }
  return options
}

function count(text) {
  const number = Number(text.replace(/[kM]$/, (unit) => (unit === 'k' ? '000' : '000000')))
  if (!Number.isSafeInteger(number) || number < 1) throw new Error(`${text} is no number`)
  return number
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
