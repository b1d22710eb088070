// better-sqlite3: write-ahead log and synchronous=NORMAL as its documentation
// advises, prepared statements, one transaction. The checkpoint in `sync` makes
// the load durable. WITHOUT ROWID, as SQLite advises for text keys. Rows come
// through `pluck().iterate()`: `all()` was no faster and holds everything.
'use strict'

const path = require('node:path')
const Database = require('better-sqlite3')
const { versionOf } = require('../machine.js')

/** @returns a store in a folder, which is created when empty */
function open(folder) {
  const db = new Database(path.join(folder, 'docs.sqlite'))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  db.exec('CREATE TABLE IF NOT EXISTS docs (id TEXT PRIMARY KEY NOT NULL, doc TEXT NOT NULL) WITHOUT ROWID')
  const insert = db.prepare('INSERT INTO docs (id, doc) VALUES (?, ?)')
  const all = db.prepare('SELECT doc FROM docs').pluck()
  const one = db.prepare('SELECT doc FROM docs WHERE id = ?').pluck()
  const writeAll = db.transaction((data) => {
    for (const document of data) insert.run(document._id, JSON.stringify(document))
  })
  return {
    write: writeAll,
    sync: () => db.pragma('wal_checkpoint(TRUNCATE)'),
    scan() {
      let count = 0
      let ageSum = 0
      for (const text of all.iterate()) {
        count += 1
        ageSum += JSON.parse(text).age
      }
      return { count, ageSum }
    },
    getEach(ids) {
      let found = 0
      for (const id of ids) found += JSON.parse(one.get(id))._id === id ? 1 : 0
      return found
    },
    close: () => db.close(),
  }
}

module.exports = {
  name: 'better-sqlite3',
  version: versionOf('better-sqlite3'),
  settings: 'WAL, WITHOUT ROWID, prepared, one transaction; documents as JSON text',
  durability: 'WAL, synchronous=NORMAL, then a checkpoint',
  read_lazy: false,
  open,
}
