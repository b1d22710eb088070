// Folders that disappear with the test that asked for them.
'use strict'

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

/**
 * The path of a database that does not exist yet.
 * @param {import('node:test').TestContext} context
 */
function scratch(context, name = 'data') {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'foliodb-'))
  context.after(() => fs.rmSync(folder, { recursive: true, force: true }))
  return path.join(folder, name)
}

/** The data file of a collection. */
function dataFile(database, collection) {
  return path.join(database, 'collections', collection, 'meta', 'data.jsonl')
}

module.exports = { dataFile, scratch }
