#!/usr/bin/env node
// Renders kept results as a page, with what there is to say about them.
//
//   node bench/node/render.js bench/results/NAME.json docs/benchmarks/node.md
//
// Notes stand in NAME.notes.md beside the results.
'use strict'

const fs = require('node:fs')
const path = require('node:path')
const { median, spread } = require('./contest.js')

const TITLES = {
  write: 'Bulk write, objects in',
  read_all: 'Read all, objects out',
  read_lazy: 'Read all, parsed when looked into',
  random: 'Lookups one by one in random order, objects out',
}

function main(source, target) {
  if (!source || !target) throw new Error('say which results, and where the page goes')
  const results = JSON.parse(fs.readFileSync(source, 'utf8'))
  const notes = source.replace(/\.json$/, '.notes.md')
  const parts = [head(results, path.basename(source)), bars(results.bars), ...tables(results), systems(results.systems)]
  if (fs.existsSync(notes)) parts.splice(2, 0, fs.readFileSync(notes, 'utf8').trim())
  fs.writeFileSync(target, `${parts.join('\n\n')}\n`)
}

function head({ taken, options, machine }, name) {
  const { cpu, cores, memoryGib, kernel, node, v8, commit } = machine
  return `# Benchmarks: Node

Rendered from \`bench/results/${name}\`, taken ${taken.slice(0, 10)} at commit ${commit}: ${options.n} documents, ${options.r} lookups, the median of ${options.s} samples, of lookups of ${5 * options.s}. ${cpu}, ${cores} cores,
${memoryGib} GiB, ${kernel}, Node ${node.slice(1)} (V8 ${v8}). Objects in and objects out for everybody, serialization inside the timer; systems take turns, each round in another order.
How to repeat it: [bench/README.md](../../bench/README.md).`
}

function bars(rows) {
  const lines = rows.map(({ workload, mode, against, ratio, bar, met }) => {
    return `| ${workload} ${mode} | ${against} | ${ratio.toFixed(2)}× | ${bar}× | ${met ? 'met' : '**missed**'} |`
  })
  return ['## Bars', '', '| workload | against | ratio | bar | |', '|---|---|---:|---:|---|', ...lines].join('\n')
}

function tables({ rows }) {
  return Object.entries(TITLES).flatMap(([workload, title]) => {
    const found = rows.filter((row) => row.workload === workload)
    const modes = [...new Set(found.map((row) => row.mode))]
    return modes.map((mode) => table(mode ? `${title}, ${mode}` : title, found.filter((row) => row.mode === mode)))
  })
}

function table(title, rows) {
  const sorted = rows.map((row) => ({ ...row, time: median(row.samples.map(({ total }) => total)) })).sort((a, b) => a.time - b.time)
  const lines = sorted.map(({ system, operations, time, samples, durability }) => {
    const phases = Object.keys(samples[0].phases).map((name) => `${name} ${milliseconds(median(samples.map((sample) => sample.phases[name])))}`)
    const size = samples[0].size ? ` ${(samples[0].size / 1e6).toFixed(1)} MB.` : ''
    return `| ${system} | ${Math.round(operations / time)}k | ${milliseconds(time)} | ±${spread(samples.map(({ total }) => total))}% | ${phases.join(', ')}.${size}${durability ? ` ${durability}` : ''} |`
  })
  return [`## ${title}`, '', '| system | operations/s | ms | spread | phases in ms |', '|---|---:|---:|---:|---|', ...lines].join('\n')
}

function systems(rows) {
  const lines = rows.map(({ name, version, settings }) => `| ${name} | ${version} | ${settings} |`)
  return ['## Systems', '', '| system | version | settings |', '|---|---|---|', ...lines].join('\n')
}

function milliseconds(time) {
  return time >= 10 ? time.toFixed(0) : time.toFixed(2)
}

main(...process.argv.slice(2))
