// A document that is parsed only when looked into.
//
// A lazy scan hands out thousands of lines at once; each document is a window on
// them until somebody asks. It keeps its whole batch in memory as long as it
// lives, so copy what you keep.
'use strict'

const ID_PREFIX = '{"_id":"'

/** Lines that came together. */
class Lines {
  /**
   * @param {Buffer} data
   * @param {Uint32Array} ends
   * @param {(line: string) => any} parse
   */
  constructor(data, ends, parse) {
    this.data = data
    this.ends = ends
    this.parse = parse
  }
}

/** One document of a lazy scan. */
class Document {
  /**
   * @param {Lines} lines
   * @param {number} index
   */
  constructor(lines, index) {
    /** @private */
    this.lines = lines
    /** @private */
    this.index = index
  }

  /**
   * The exact line as it stands in the file: key order, and the digits of every number.
   * @returns {string}
   */
  get raw() {
    const { data, ends } = this.lines
    const start = this.index === 0 ? 0 : ends[this.index - 1]
    return data.toString('utf8', start, ends[this.index])
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
   * The document as an object of its own, `_id` first.
   * @returns {any}
   */
  toValue() {
    const { raw } = this
    const value = this.lines.parse(raw)
    return raw.startsWith(ID_PREFIX) ? value : { _id: value._id, ...value }
  }

  /**
   * The value at a dotted path, in which digits index arrays; undefined where it
   * leads nowhere.
   * @param {string} path
   * @returns {any}
   */
  field(path) {
    return lookup(this.lines.parse(this.raw), path)
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

module.exports = { Document, Lines }
