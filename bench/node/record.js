// The documents every system works on: about 200 bytes, drawn from seed 42, with
// the `_id` in the document for everybody, so that all return the same.
'use strict'

const TAGS = ['a', 'b', 'c', 'red', 'green', 'blue', 'new', 'sale']
const SOURCES = ['web', 'api', 'mobile', 'import']

/** A generator of numbers below a limit (mulberry32). */
function random(seed) {
  let state = seed
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
}

/** The first `count` records. */
function records(count) {
  const below = random(42)
  return Array.from({ length: count }, (_, index) => {
    const id = `record_${String(index + 1).padStart(8, '0')}`
    return {
      _id: id,
      id,
      name: `User ${index + 1}`,
      email: `user${index + 1}@example.com`,
      age: 18 + below(63),
      score: below(1000) / 10,
      active: below(2) === 1,
      tags: Array.from({ length: 1 + below(3) }, () => TAGS[below(TAGS.length)]),
      metadata: {
        created: `2025-${String(1 + below(12)).padStart(2, '0')}-${String(1 + below(28)).padStart(2, '0')}`,
        source: SOURCES[below(SOURCES.length)],
      },
    }
  })
}

/** Ids in random order, the same for everybody. */
function lookups(data, count) {
  const below = random(43)
  return Array.from({ length: count }, () => data[below(data.length)]._id)
}

module.exports = { lookups, random, records }
