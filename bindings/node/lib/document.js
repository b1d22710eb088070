// A document that is parsed on first access.
//
// A lazy scan reads thousands of lines at once; each document is a slice of them until it is
// accessed. It holds its whole batch in memory, so copy what you keep.
'use strict'

const { inspectableAs } = require('./inspect.js')

const ID_PREFIX = '{"_id":"'

/** One document of a lazy scan. */
class Document {
  /**
   * @param {string} lines that came together
   * @param {number} start of this one
   * @param {number} end
   * @param {(line: string) => any} parse
   */
  constructor(lines, start, end, parse) {
    /** @private */
    this.lines = lines
    /** @private */
    this.start = start
    /** @private */
    this.end = end
    /** @private */
    this.parse = parse
  }

  /**
   * The exact line of the file, with its key order and the digits of every number.
   * @returns {string}
   */
  get raw() {
    return this.lines.slice(this.start, this.end)
  }

  /**
   * The document's id.
   * @returns {string}
   */
  get id() {
    const { raw } = this
    return raw.startsWith(ID_PREFIX) ? raw.slice(ID_PREFIX.length, raw.indexOf('"', ID_PREFIX.length)) : JSON.parse(raw)._id
  }

  /**
   * The document as a new object, `_id` first.
   * @returns {any}
   */
  toValue() {
    const { raw } = this
    const value = this.parse(raw)
    return raw.startsWith(ID_PREFIX) ? value : { _id: value._id, ...value }
  }

  /**
   * The value at a dotted path, in which digits index arrays; undefined if there
   * is none.
   * @param {string} path
   * @returns {any}
   */
  field(path) {
    return lookup(this.parse(this.raw), path)
  }

  /** For JSON.stringify. */
  toJSON() {
    return this.toValue()
  }
}

/**
 * @param {any} value
 * @param {string} path
 * @returns {any}
 */
function lookup(value, path) {
  for (const key of path.split('.')) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined
    if (Array.isArray(value) && !/^\d+$/.test(key)) return undefined
    value = value[key]
  }
  return value
}

inspectableAs(Document, (document) => document.toValue())

module.exports = { Document }
