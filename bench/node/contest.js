// One workload, every system: warm up, repeat, each round in another order.
'use strict'

const v8 = require('node:v8')
const vm = require('node:vm')
const { random } = require('./record.js')

v8.setFlagsFromString('--expose-gc')
const collectGarbage = vm.runInNewContext('gc')

/** Times the phases of one sample, in milliseconds. */
class Stopwatch {
  constructor() {
    this.phases = {}
    this.last = performance.now()
  }

  /** Ends a phase and begins the next. */
  lap(name) {
    const now = performance.now()
    this.phases[name] = now - this.last
    this.last = performance.now()
  }

  /** The sample. */
  stop(more = {}) {
    const total = Object.values(this.phases).reduce((sum, time) => sum + time, 0)
    return { total, phases: this.phases, ...more }
  }
}

/**
 * Takes `count` samples of each entrant after two that do not count. Orders are drawn
 * from a seed: in a rotation everybody would have the same one before it each time,
 * and some leave threads behind that are not done.
 */
async function compete(entrants, count) {
  const WARMUPS = 2
  const below = random(44)
  const samples = entrants.map(() => [])
  for (let round = -WARMUPS; round < count; round++) {
    for (const place of shuffled(entrants.length, below)) {
      collectGarbage({ type: 'minor' }) // nobody pays for the garbage of the one before
      const sample = await entrants[place].run()
      if (round >= 0) samples[place].push(sample)
    }
  }
  return samples
}

/** The numbers below `count` in some order (Fisher and Yates). */
function shuffled(count, below) {
  const places = Array.from({ length: count }, (_, place) => place)
  for (let last = count - 1; last > 0; last--) {
    const other = below(last + 1)
    ;[places[last], places[other]] = [places[other], places[last]]
  }
  return places
}

function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const below = Math.floor(place)
  const above = Math.min(below + 1, sorted.length - 1)
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below)
}

function median(numbers) {
  return quantile(numbers, 0.5)
}

/** Half the distance between the quartiles, in percent of the median. */
function spread(numbers) {
  return Math.round((50 * (quantile(numbers, 0.75) - quantile(numbers, 0.25))) / median(numbers))
}

module.exports = { Stopwatch, compete, median, spread }
