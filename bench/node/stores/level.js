// classic-level (LevelDB): JSON values, a batch per 10,000 documents, the last
// one with `sync`, which in LevelDB syncs the log of those before; reads by
// `nextv` and `getSync`, the fastest it has.
'use strict'

const { ClassicLevel } = require('classic-level')
const { versionOf } = require('../machine.js')

const BATCH = 10_000
const READ = 1_000

/** @returns a store in a folder, which is created when empty */
async function open(folder) {
  const db = new ClassicLevel(folder, { valueEncoding: 'json' })
  await db.open()
  return {
    async write(data) {
      for (let start = 0; start < data.length; start += BATCH) {
        const part = data.slice(start, start + BATCH)
        const sync = start + BATCH >= data.length
        await db.batch(part.map((document) => ({ type: 'put', key: document._id, value: document })), { sync })
      }
    },
    sync() {},
    async scan() {
      let count = 0
      let ageSum = 0
      const iterator = db.values()
      for (;;) {
        const values = await iterator.nextv(READ)
        if (values.length === 0) break
        for (const value of values) {
          count += 1
          ageSum += value.age
        }
      }
      await iterator.close()
      return { count, ageSum }
    },
    getEach(ids) {
      let found = 0
      for (const id of ids) found += db.getSync(id)._id === id ? 1 : 0
      return found
    },
    close: () => db.close(),
  }
}

module.exports = {
  name: 'classic-level',
  version: versionOf('classic-level'),
  settings: 'valueEncoding json; batches of 10,000, nextv, getSync',
  durability: 'the last batch syncs the log',
  read_lazy: false,
  open,
}
