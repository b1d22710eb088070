// Parts of a collection or a table, for other threads, processes and machines.
'use strict'

const { checkText } = require('./argument.js')
const { call } = require('./error.js')
const { native } = require('./native.js')

/**
 * A part of a collection or a table that another thread, process or machine reads: small, and all
 * of it is in its text. `String(partition)` sends it, `new Partition(text)` receives it.
 */
class Partition {
  /** @type {string} */
  #text

  /** @param {string} text */
  constructor(text) {
    checkText(text, 'text of a partition')
    const part = call(() => native.parsePartition(text))
    this.#text = part.text
    /**
     * The absolute path of the database, as the planner saw it.
     * @readonly
     * @type {string}
     */
    this.uri = part.uri
    /**
     * The name of the collection or the table.
     * @readonly
     * @type {string}
     */
    this.relation = part.relation
    /**
     * The number of documents or rows, before the filter.
     * @readonly
     * @type {number}
     */
    this.rowCount = part.rowCount
    /**
     * Bytes of lines; null for tables, and where each document is a file.
     * @readonly
     * @type {number | null}
     */
    this.size = part.size ?? null
    /**
     * The wanted columns, and paths in them; null for all.
     * @readonly
     * @type {string[] | null}
     */
    this.columns = part.columns ?? null
    /**
     * The condition of SQL, if there is one.
     * @readonly
     * @type {string | null}
     */
    this.filter = part.filter ?? null
    Object.freeze(this)
  }

  /**
   * The text, which makes an equal partition.
   * @returns {string}
   */
  toString() {
    return this.#text
  }

  /** @returns {string} */
  toJSON() {
    return this.#text
  }
}

module.exports = { Partition }
