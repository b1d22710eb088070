// A scan: the documents of a collection in file order, streaming.
//
// The native half returns batches of text: a few documents whose shapes are known (lib/shape.js),
// or many that are parsed by one call of JSON.parse. The first batch is small, so that one document
// does not wait for thousands. Asynchronous iteration reads the next batch on another thread while
// this one is processed. Memory does not grow with the collection.
'use strict'

const { asFolioError, rethrow } = require('./error.js')
const { Document } = require('./document.js')
const { parseExact, parseLineExact } = require('./exact.js')
const { LOOKED_MAX, ROWS_MAX, inspectable, plural, restOf } = require('./inspect.js')
const { parseAllMarked, shapes } = require('./shape.js')

const FIRST_SIZE = 4 * 1024 // bytes of the first batch
const BATCH_SIZE = 64 * 1024

/**
 * The documents of a scan, for `for` and for `for await`. Each loop over it starts a new scan.
 * @template T
 */
class Scan {
  /**
   * @param {() => any} begin starts a scan of the native half
   * @param {boolean} lazy
   * @param {boolean} exact
   * @param {Glance} glance
   */
  constructor(begin, lazy, exact, glance) {
    /** @private */
    this.begin = begin
    /** @private */
    this.glance = glance
    /** @private */
    this.source = lazy ? lineSource(exact) : documentSource(exact)
    /** @private For those who keep all documents: they take less memory if none holds the text of others. */
    this.keptSource = lazy ? this.source : arraySource(exact)
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
      size = Math.min(size * 4, BATCH_SIZE)
      next = source.takeAsync(scan, size)
      next.catch(() => {}) // reported when it is awaited, if it is
      yield* source.openAsync(taken)
    }
  }

  /**
   * All documents in an array.
   * @returns {T[]}
   */
  toArray() {
    return [...new Documents(this.begin, this.keptSource)]
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

  /** For JSON.stringify: all documents. */
  toJSON() {
    return this.toArray()
  }
}

/**
 * The display of a scan that has not started.
 * @typedef {object} Glance
 * @property {string} name of the collection
 * @property {() => number | undefined} count the number of documents, if known
 * @property {(count: number) => { documents: any[], isWhole: boolean } | undefined} first the first
 *   ones, at most `count`, and whether there are no more; undefined if they take too long
 */

/**
 * The display of a scan, for `inspect.js`.
 * @param {Glance} glance
 * @returns {any}
 */
function shownOf({ count, first }) {
  const seen = first(LOOKED_MAX)
  const known = count() ?? (seen?.isWhole ? seen.documents.length : undefined)
  const note = known === undefined ? undefined : plural(known, 'document')
  if (seen === undefined) return { note, rest: 'the first ones are not ready and not shown' }
  const rows = seen.documents.slice(0, ROWS_MAX)
  return { note, rows, rest: restOf(rows.length, seen.documents.length, known) }
}

inspectable(
  Scan,
  ({ glance }) => `Scan of ${JSON.stringify(glance.name)}`,
  ({ glance }) => shownOf(glance),
)

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
    /** @type {Iterator<T>} */
    this.batch = [].values()
  }

  /** @returns {IteratorResult<T>} */
  next() {
    const result = this.batch.next()
    return result.done && this.more() ? this.batch.next() : result
  }

  /** Reads the next batch; false at the end. */
  more() {
    if (this.scan === null) return false
    let taken
    try {
      taken = this.source.take(this.scan, this.size)
    } catch (error) {
      throw asFolioError(error)
    }
    if (taken === null) return this.end()
    this.size = Math.min(this.size * 4, BATCH_SIZE)
    this.batch = this.source.open(taken)
    return true
  }

  end() {
    this.scan = null
    this.batch = [].values()
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

/**
 * The lines of a batch as documents.
 * @implements {IterableIterator<Document>}
 */
class LazyDocuments {
  /**
   * @param {string} lines each with its line break
   * @param {(line: string) => any} parse
   */
  constructor(lines, parse) {
    this.lines = lines
    this.parse = parse
    this.start = 0
  }

  /** @returns {IteratorResult<Document>} */
  next() {
    const { lines, start } = this
    if (start >= lines.length) return { value: undefined, done: true }
    const end = lines.indexOf('\n', start)
    this.start = end + 1
    return { value: new Document(lines, start, end, this.parse), done: false }
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
 * The way batches are read from the native half and decoded here.
 * @template T
 * @typedef {object} Source
 * @property {(scan: any, size: number) => any} take
 * @property {(scan: any, size: number) => Promise<any>} takeAsync
 * @property {(taken: any) => IterableIterator<T>} open of the last batch, before the next is read
 * @property {(taken: any) => IterableIterator<T>} openAsync
 */

/**
 * @param {boolean} exact
 * @returns {Source<any>}
 */
function documentSource(exact) {
  if (exact || shapes === null) return arraySource(exact)
  return {
    ...arraySource(exact),
    take: (scan, size) => scan.nextMarked(size, shapes),
    open: (text) => parseAllMarked(text).values(),
  }
}

/**
 * @param {boolean} exact
 * @returns {Source<any>}
 */
function arraySource(exact) {
  const parse = exact ? parseExact : JSON.parse
  const open = (/** @type {string} */ json) => parse(json).values()
  return {
    take: (scan, size) => scan.nextArray(size),
    takeAsync: (scan, size) => scan.nextArrayAsync(size),
    open,
    openAsync: open,
  }
}

/**
 * @param {boolean} exact
 * @returns {Source<any>}
 */
function lineSource(exact) {
  const parse = exact ? parseLineExact : JSON.parse
  const open = (/** @type {string} */ lines) => new LazyDocuments(lines, parse)
  return {
    take: (scan, size) => scan.nextLines(size),
    takeAsync: (scan, size) => scan.nextLinesAsync(size),
    open,
    openAsync: open,
  }
}

/**
 * All marked documents of the native half, undefined for a missing one.
 * @param {any} fetched
 * @returns {any[]}
 */
function takeAll(fetched) {
  const documents = []
  for (;;) {
    const text = fetched.nextMarked(BATCH_SIZE, shapes)
    if (text === null) return documents
    for (const document of parseAllMarked(text)) documents.push(document ?? undefined)
  }
}

module.exports = { Scan, shownOf, takeAll }
