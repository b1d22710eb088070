// The result of a statement: the number of changed rows, and its rows, streaming.
//
// The native half returns batches of text, each parsed by one call of JSON.parse, with the bytes of
// their Buffers beside it. Memory does not grow with the result.
'use strict'

const { call, rethrow } = require('./error.js')
const { parseExact } = require('./exact.js')
const { LOOKED_MAX, ROWS_MAX, WAIT_MS, inspectable, plural, restOf } = require('./inspect.js')

const FIRST_COUNT = 64 // rows of the first batch
const BATCH_COUNT = 4096

/**
 * The result of a statement. Its rows are objects and stream once:
 * with `for`, with `for await` on another thread, or all of them with `toArray`.
 *
 * Integers are numbers, and bigints beyond 2^53 - 1; bytea is a Buffer; json is its
 * value; arrays and structs are arrays and objects. numeric, dates, times, intervals and
 * UUIDs are strings, which are exact.
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
    /** @private @type {T[]} parsed rows; those from `place` on remain */
    this.rows = []
    /** @private */
    this.place = 0
    /** @private whether a promise is waiting for rows */
    this.isPulling = false
    /** @private whether rows were taken */
    this.isBegun = false
    /** @private */
    this.isEnded = false
    /** @private @type {Error | undefined} the error for the reader of the next rows */
    this.fault = undefined
    /**
     * The number of rows inserted, changed or deleted; null for other statements.
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
   * The SQL types of the columns.
   * @returns {string[]}
   */
  get types() {
    return this.inner.types
  }

  /**
   * The remaining rows, read on this thread.
   * @returns {Generator<T, void, undefined>}
   */
  *[Symbol.iterator]() {
    this.isBegun = true
    while (this.place < this.rows.length || this.more()) yield this.rows[this.place++]
  }

  /**
   * The remaining rows, read on another thread while the loop works.
   * @returns {AsyncGenerator<T, void, undefined>}
   */
  async *[Symbol.asyncIterator]() {
    this.isBegun = true
    for (;;) {
      while (this.place < this.rows.length) yield this.rows[this.place++]
      if (!(await this.moreAsync())) return
    }
  }

  /**
   * All remaining rows in an array.
   * @returns {T[]}
   */
  toArray() {
    return [...this]
  }

  /**
   * All remaining rows in an array, read on another thread.
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
    this.isBegun = true
    return this.place < this.rows.length || this.more() ? this.rows[this.place++] : undefined
  }

  /** For JSON.stringify: all remaining rows. */
  toJSON() {
    return this.toArray()
  }

  /**
   * Reads rows; false when there are no more.
   * @private
   */
  more() {
    this.check()
    return this.taken(call(() => this.inner.nextRows(this.grown())))
  }

  /** @private */
  async moreAsync() {
    this.check()
    this.isPulling = true
    try {
      return this.taken(await this.inner.nextRowsAsync(this.grown()).catch(rethrow))
    } finally {
      this.isPulling = false
    }
  }

  /** @private */
  check() {
    this.watch?.check()
    const { fault } = this
    this.fault = undefined
    if (fault !== undefined) throw fault
  }

  /**
   * @private
   * @param {string | { text: string, bytes: Buffer } | null} read
   */
  taken(read) {
    const left = this.rows.slice(this.place)
    const more = read === null ? [] : typeof read === 'string' ? parseExact(read) : parseExact(read.text, read.bytes)
    this.place = 0
    this.rows = left.length === 0 ? more : left.concat(more)
    this.isEnded = read === null
    if (this.isEnded) this.watch?.release()
    return this.rows.length > 0
  }

  /**
   * The remaining rows, at most `count`, without consuming them. They are fewer if the next ones
   * take too long or fail.
   * @private
   * @param {number} count
   */
  peek(count) {
    try {
      while (!this.isPulling && !this.isEnded && !this.fault && this.rows.length - this.place < count) {
        const read = call(() => this.inner.nextRowsWithin(this.grown(), WAIT_MS))
        if (read === '') break
        this.taken(read)
      }
    } catch (error) {
      this.fault = /** @type {Error} */ (error)
    }
    return this.rows.slice(this.place, this.place + count)
  }

  /**
   * Releases the remaining rows.
   * @private
   */
  end() {
    this.rows = []
    this.isEnded = true
    this.watch?.release()
    call(() => this.inner.end())
  }

  /** @private */
  grown() {
    const size = this.size
    this.size = Math.min(size * 4, BATCH_COUNT)
    return size
  }
}

inspectable(
  Answer,
  () => 'Answer',
  (answer) => {
    const peeked = answer.peek(LOOKED_MAX)
    const rows = peeked.slice(0, ROWS_MAX)
    return { note: noteOf(answer), columns: answer.columns, rows, rest: behind(answer, rows.length, peeked.length) }
  },
)

/** @param {any} answer */
function noteOf({ count, columns, rows, place, isBegun, isEnded }) {
  const notes = count === null ? [] : [`${plural(count, 'row')} changed`]
  if (columns.length > 0 && isEnded) notes.push(`${plural(rows.length - place, 'row')}${isBegun ? ' left' : ''}`)
  if (columns.length === 0 && count === null) notes.push('no rows')
  return notes.length === 0 ? undefined : notes.join(', ')
}

/**
 * The footer after the shown rows.
 * @param {any} answer
 * @param {number} shown
 * @param {number} seen
 */
function behind({ rows, place, isEnded, fault }, shown, seen) {
  if (fault) return `then: ${fault.message.split('\n')[0]}`
  if (seen === 0 && !isEnded) return 'the first ones are not ready and not shown'
  return restOf(shown, seen, isEnded ? rows.length - place : undefined)
}

module.exports = { Answer }
