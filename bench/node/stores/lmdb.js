// lmdb-js, with either of its encodings: one synchronous transaction for the
// load, ranges for the scan.
'use strict'

const { versionOf } = require('../machine.js')

/**
 * @param {string} name
 * @param {string} encoding of lmdb-js: `json`, or `msgpack`, which is its default
 */
function lmdb(name, encoding) {
  const { open: openEnvironment } = require('lmdb')
  const open = (folder) => {
    const db = openEnvironment({ path: folder, encoding })
    return {
      write: (data) => db.transactionSync(() => {
        for (const document of data) db.put(document._id, document)
      }),
      sync: () => db.flushed,
      scan() {
        let count = 0
        let ageSum = 0
        for (const { value } of db.getRange()) {
          count += 1
          ageSum += value.age
        }
        return { count, ageSum }
      },
      getEach(ids) {
        let found = 0
        for (const id of ids) found += db.get(id)._id === id ? 1 : 0
        return found
      },
      close: () => db.close(),
    }
  }
  return {
    name,
    version: versionOf('lmdb'),
    settings: `encoding ${encoding}; one synchronous transaction, getRange, get`,
    durability: 'the commit syncs',
    read_lazy: false,
    open,
  }
}

module.exports = { lmdb }
