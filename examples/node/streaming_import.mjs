// A source that comes in pages, and breaks: stored batch by batch, gone on with
// where it was.
//
// Each page is one atomic batch, in which the cursor for the next page is stored
// beside the records: after a crash either both are there or neither is. Memory
// holds one page, however many there are.
//
// Prints:
//
//     page 1 to 4: 4000 events
//     the source broke: connection lost
//     page 5 to 10: 10000 events
//     nothing left to do
//     10000 events, 143 of them errors, none twice
//     the newest error: {"_id":"event-09974","level":"error","at":9974}

import { open } from 'foliodb'

const PAGE_COUNT = 10
const PAGE_SIZE = 1000
const CURSOR = 'cursor'

/** Simulates a service whose answers come in pages; it fails on request. */
async function* pages(first, breaksAt) {
  for (let page = first; page < PAGE_COUNT; page++) {
    await new Promise(setImmediate)
    if (page === breaksAt) throw new Error('connection lost')
    const records = Array.from({ length: PAGE_SIZE }, (_, index) => {
      const at = page * PAGE_SIZE + index
      return { id: `event-${String(at).padStart(5, '0')}`, level: at % 70 === 34 ? 'error' : 'info', at }
    })
    yield { records, next: page + 1 }
  }
}

/** Stores what is missing; answers which pages these were. */
async function load(events, breaksAt) {
  const first = events.get(CURSOR)?.next ?? 0
  let last = first
  try {
    for await (const { records, next } of pages(first, breaksAt)) {
      const batch = events.batch()
      for (const { id, ...event } of records) batch.put(id, event)
      batch.put(CURSOR, { next })
      await batch.commitAsync()
      last = next
    }
  } finally {
    console.log(last === first ? 'nothing left to do' : `page ${first + 1} to ${last}: ${events.count() - 1} events`)
  }
}

const db = open('streaming_import')
const events = db.collection('events')
await load(events, 4).catch((error) => console.log(`the source broke: ${error.message}`))
await load(events)
await load(events)

events.delete(CURSOR)
let errors = 0
let newest
for await (const event of events.scan({ lazy: true })) {
  // Most lines need not be parsed to know that they are of no interest.
  if (!event.raw.includes('"level":"error"')) continue
  errors += 1
  newest = event
}
const { documentCount } = events.stats()
console.log(`${documentCount} events, ${errors} of them errors, ${new Set(events.ids()).size === documentCount ? 'none' : 'some'} twice`)
console.log(`the newest error: ${newest.raw}`)
db.close()
