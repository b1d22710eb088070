// FolioDB as it comes.
'use strict'

const foliodb = require('../../../bindings/node')

/** @returns a store in a folder, which is created when empty */
function open(folder) {
  const db = foliodb.open(folder)
  const docs = db.collection('docs')
  return {
    write: (data) => docs.putMany(data),
    sync: () => docs.flush(),
    scan() {
      let count = 0
      let ageSum = 0
      for (const document of docs.scan()) {
        count += 1
        ageSum += document.age
      }
      return { count, ageSum }
    },
    scanLazy() {
      let count = 0
      for (const document of docs.scan({ lazy: true })) count += document === undefined ? 0 : 1
      return { count }
    },
    getEach(ids) {
      let found = 0
      for (const id of ids) found += docs.get(id)._id === id ? 1 : 0
      return found
    },
    close: () => db.close(),
  }
}

module.exports = {
  name: 'FolioDB',
  version: foliodb.version,
  settings: 'as it comes; putMany, scan, get',
  durability: 'the batch is synced before putMany returns',
  open,
}
