// A scan: the documents of a collection in file order, streaming.
//
// The native half hands over batches of text; a batch is parsed by one call of
// JSON.parse. The first batch is small, so that whoever wants one document does
// not wait for thousands. Asynchronous iteration reads the next batch on another
// thread while this one is looked at. Memory does not grow with the collection.
'use strict'

const { asFolioError, rethrow } = require('./error.js')
const { Document, Lines } = require('./document.js')
const { parseExact, parseLineExact } = require('./exact.js')

const FIRST_SIZE = 4 * 1024 // bytes of the first batch
const BATCH_SIZE = 64 * 1024
const LINES_SIZE = 256 * 1024 // a batch of lines is not parsed, so it may be larger

/**
 * A batch of documents.
 * @template T
 * @typedef {{ length: number, at: (index: number) => T }} Batch
 */

/**
 * The documents of a scan, for `for` and for `for await`. Each loop over it begins
 * a scan of its own.
 * @template T
 */
class Scan {
  /**
   * @param {() => any} begin begins a scan of the native half
   * @param {boolean} lazy
   * @param {boolean} exact
   */
  constructor(begin, lazy, exact) {
    /** @private */
    this.begin = begin
    /** @private */
    this.source = lazy ? lineSource(exact) : documentSource(exact)
  }

  /**
   * The documents now, on this thread.
   * @returns {IterableIterator<T>}
   */
  [Symbol.iterator]() {
    return new Documents(this.begin, this.source)
  }

  /**
   * The documents, read on another thread while the loop works.
   * @returns {AsyncGenerator<T, void, undefined>}
   */
  async *[Symbol.asyncIterator]() {
    const { source } = this
    const scan = begun(this.begin)
    let size = FIRST_SIZE
    let next = source.takeAsync(scan, size)
    for (;;) {
      const taken = await next.catch(rethrow)
      if (taken === null) return
      size = Math.min(size * 4, source.size)
      next = source.takeAsync(scan, size)
      next.catch(() => {}) // told when its turn comes, if that comes
      const batch = source.open(taken)
      for (let index = 0; index < batch.length; index++) yield batch.at(index)
    }
  }

  /**
   * All documents in an array.
   * @returns {T[]}
   */
  toArray() {
    return [...this]
  }

  /**
   * All documents in an array, read on another thread.
   * @returns {Promise<T[]>}
   */
  async toArrayAsync() {
    const documents = []
    for await (const document of this) documents.push(document)
    return documents
  }
}

/**
 * @template T
 * @implements {IterableIterator<T>}
 */
class Documents {
  /**
   * @param {() => any} begin
   * @param {Source<T>} source
   */
  constructor(begin, source) {
    this.scan = begun(begin)
    this.source = source
    this.size = FIRST_SIZE
    /** @type {Batch<T>} */
    this.batch = []
    this.index = 0
  }

  /** @returns {IteratorResult<T>} */
  next() {
    if (this.index >= this.batch.length && !this.more()) return { value: undefined, done: true }
    return { value: this.batch.at(this.index++), done: false }
  }

  /** Takes the next batch; false at the end. */
  more() {
    if (this.scan === null) return false
    let taken
    try {
      taken = this.source.take(this.scan, this.size)
    } catch (error) {
      throw asFolioError(error)
    }
    if (taken === null) return this.end()
    this.size = Math.min(this.size * 4, this.source.size)
    this.batch = this.source.open(taken)
    this.index = 0
    return true
  }

  end() {
    this.scan = null
    this.batch = []
    this.index = 0
    return false
  }

  /** @returns {IteratorResult<T>} */
  return() {
    this.end()
    return { value: undefined, done: true }
  }

  [Symbol.iterator]() {
    return this
  }
}

/** @param {() => any} begin */
function begun(begin) {
  try {
    return begin()
  } catch (error) {
    throw asFolioError(error)
  }
}

/**
 * How batches are taken from the native half and opened here.
 * @template T
 * @typedef {object} Source
 * @property {number} size bytes of a batch
 * @property {(scan: any, size: number) => any} take
 * @property {(scan: any, size: number) => Promise<any>} takeAsync
 * @property {(taken: any) => Batch<T>} open
 */

/**
 * @param {boolean} exact
 * @returns {Source<any>}
 */
function documentSource(exact) {
  return {
    size: BATCH_SIZE,
    take: (scan, size) => scan.nextArray(size),
    takeAsync: (scan, size) => scan.nextArrayAsync(size),
    open: exact ? parseExact : (text) => JSON.parse(text),
  }
}

/**
 * @param {boolean} exact
 * @returns {Source<any>}
 */
function lineSource(exact) {
  const parse = exact ? parseLineExact : JSON.parse
  return {
    size: LINES_SIZE,
    take: (scan, size) => scan.nextLines(size),
    takeAsync: (scan, size) => scan.nextLinesAsync(size),
    open: ({ data, ends }) => {
      const lines = new Lines(data, ends, parse)
      return { length: ends.length, at: (index) => new Document(lines, index) }
    },
  }
}

module.exports = { Scan }
