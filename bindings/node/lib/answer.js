// What a statement answered: how many rows it changed, and its rows, streaming.
//
// The native half hands over batches of text, each parsed by one call of JSON.parse.
// Memory does not grow with the answer.
'use strict'

const { call, rethrow } = require('./error.js')
const { parseExact } = require('./exact.js')

const FIRST_COUNT = 64 // rows of the first batch
const BATCH_COUNT = 4096

/**
 * What a statement answered. Its rows are objects, read as they are asked for, once:
 * with `for`, with `for await` on another thread, or all of them with `toArray`.
 *
 * Integers are numbers, and bigints beyond 2^53 - 1; bytea is a Buffer; json is what it
 * holds; arrays and structs are arrays and objects. numeric, dates, times, intervals and
 * UUIDs are strings, which hold them exactly.
 * @template {object} [T=Record<string, any>]
 */
class Answer {
  /**
   * @param {any} inner
   * @param {{ check: () => void, release: () => void }} [watch]
   * @private
   */
  constructor(inner, watch) {
    /** @private */
    this.watch = watch
    /** @private */
    this.inner = inner
    /** @private */
    this.size = FIRST_COUNT
    /** @private @type {Iterator<T>} */
    this.batch = /** @type {T[]} */ ([]).values()
    /**
     * How many rows were inserted, changed or deleted; null for statements that change none.
     * @type {number | null}
     */
    this.count = inner.count ?? null
    /**
     * The names of the columns.
     * @type {string[]}
     */
    this.columns = inner.columns
  }

  /**
   * The types of the columns, as SQL calls them.
   * @returns {string[]}
   */
  get types() {
    return this.inner.types
  }

  /**
   * The rows that are left, read on this thread.
   * @returns {Generator<T, void, undefined>}
   */
  *[Symbol.iterator]() {
    for (;;) {
      yield* this.begun()
      this.watch?.check()
      const text = call(() => this.inner.nextRows(this.grown()))
      if (text === null) return this.watch?.release()
      this.batch = parseExact(text).values()
    }
  }

  /**
   * The rows that are left, read on another thread while the loop works.
   * @returns {AsyncGenerator<T, void, undefined>}
   */
  async *[Symbol.asyncIterator]() {
    for (;;) {
      yield* this.begun()
      this.watch?.check()
      const text = await this.inner.nextRowsAsync(this.grown()).catch(rethrow)
      if (text === null) return this.watch?.release()
      this.batch = parseExact(text).values()
    }
  }

  /**
   * All rows that are left, in an array.
   * @returns {T[]}
   */
  toArray() {
    return [...this]
  }

  /**
   * All rows that are left, in an array, read on another thread.
   * @returns {Promise<T[]>}
   */
  async toArrayAsync() {
    const rows = []
    for await (const row of this) rows.push(row)
    return rows
  }

  /**
   * The next row, or undefined.
   * @returns {T | undefined}
   */
  next() {
    for (const row of this) return row
    return undefined
  }

  /**
   * The rows of the batch that is parsed. A loop that is left early leaves the rest.
   * @private
   * @returns {Generator<T, void, undefined>}
   */
  *begun() {
    for (;;) {
      const { value, done } = this.batch.next()
      if (done) return
      yield value
    }
  }

  /** @private */
  grown() {
    const size = this.size
    this.size = Math.min(size * 4, BATCH_COUNT)
    return size
  }
}

module.exports = { Answer }
