// A database, as users hold it: a directory of collections, or a `.zds` archive
// of one.
'use strict'

const { asFolioError, rethrow, FolioError } = require('./error.js')
const { Collection } = require('./collection.js')
const { native } = require('./native.js')

/**
 * @typedef {object} OpenOptions
 * @property {'r' | 'rw'} [mode] `r` reads only and writes nothing, ever; `rw` is the default
 * @property {'none' | 'on_flush' | 'every_put'} [durability] when a write reaches the device;
 *   `on_flush` (and at close and at the end of a batch) is the default
 * @property {number} [timeoutMs] how long a write waits for another process to finish writing, 5000 by default
 * @property {number} [cacheSize] bytes of recently read data kept in memory per collection
 * @property {boolean} [create] whether a missing database is created at the first write, true by default
 * @property {boolean} [bigint] read integers beyond 2^53 - 1 as bigints instead of rounding them
 */

/**
 * What a collection is, where that is not settled yet.
 * @typedef {object} CollectionOptions
 * @property {'lines' | 'files'} [layout] one file of lines, or a file per document
 * @property {boolean | Record<string, any>} [strict] every document must look like the first (`true`), or
 *   follow this JSON Schema (a subset); remembered with the collection
 */

/**
 * @typedef {object} PackReport
 * @property {number} collectionCount
 * @property {number} documentCount
 * @property {number} size bytes of the archive
 * @property {string[]} notices what was noticed about the collections
 */

/**
 * @typedef {object} UnpackReport
 * @property {number} fileCount
 * @property {number} size bytes written
 * @property {string[]} skipped the first members that are no part of a database and were left out
 * @property {number} skippedCount how many there were in all
 */

/** An open database. */
class Database {
  /**
   * @param {string} path
   * @param {any} inner
   * @param {boolean} bigint
   * @private
   */
  constructor(path, inner, bigint) {
    /** The path as it was given. */
    this.path = path
    /** @private */
    this.inner = inner
    /** @private */
    this.bigint = bigint
  }

  /** Whether the handle takes writes. */
  get isWritable() {
    return /** @type {boolean} */ (this.inner.isWritable)
  }

  /**
   * A collection by name. Through a handle that writes it need not exist yet: the
   * first write creates it.
   * @param {string} name
   * @param {CollectionOptions} [options]
   * @returns {Collection}
   */
  collection(name, options = {}) {
    checkText(name, 'collection name')
    const { layout, strict } = options
    const chosen = { layout, ...(typeof strict === 'object' ? { schema: JSON.stringify(strict) } : { strict }) }
    return new Collection(call(() => this.inner.collection(name, chosen)), this.bigint)
  }

  /**
   * The names of all collections, sorted.
   * @returns {string[]}
   */
  collections() {
    return call(() => this.inner.collections())
  }

  /** Puts an empty database on disk, which the first write does by itself. */
  create() {
    call(() => this.inner.create())
  }

  /** Makes every write so far durable, in all collections. */
  flush() {
    call(() => this.inner.flush())
  }

  /** @returns {Promise<void>} */
  async flushAsync() {
    await this.inner.flushAsync().catch(rethrow)
  }

  /**
   * Copies the whole database to a directory that does not exist yet, while
   * writers go on.
   * @param {string} target
   * @returns {{ fileCount: number, size: number }}
   */
  backup(target) {
    return call(() => this.inner.backup(checkText(target, 'target')))
  }

  /**
   * @param {string} target
   * @returns {Promise<{ fileCount: number, size: number }>}
   */
  async backupAsync(target) {
    return this.inner.backupAsync(checkText(target, 'target')).catch(rethrow)
  }

  /**
   * Packs the live documents of all collections into one `.zds` archive.
   * @param {string} target
   * @param {{ compress?: boolean }} [options] `compress` makes it smaller, and slower to read in place
   * @returns {PackReport}
   */
  pack(target, options = {}) {
    return call(() => this.inner.pack(checkText(target, 'target'), options.compress ?? false))
  }

  /**
   * @param {string} target
   * @param {{ compress?: boolean }} [options]
   * @returns {Promise<PackReport>}
   */
  async packAsync(target, options = {}) {
    return this.inner.packAsync(checkText(target, 'target'), options.compress ?? false).catch(rethrow)
  }

  /**
   * What was noticed on opening, a sentence each.
   * @returns {string[]}
   */
  takeNotices() {
    return call(() => this.inner.takeNotices())
  }

  /**
   * Flushes and closes. What came from this handle fails with `closed` from now on;
   * other handles go on. Closing twice is fine.
   */
  close() {
    call(() => this.inner.close())
  }

  /** @returns {Promise<void>} */
  async closeAsync() {
    await this.inner.closeAsync().catch(rethrow)
  }
}

/**
 * Opens a database: a directory, which is created at the first write, or a `.zds`
 * archive, which is read in place.
 * @param {string} path
 * @param {OpenOptions} [options]
 * @returns {Database}
 */
function open(path, options = {}) {
  const { bigint = false, ...rest } = options
  return new Database(path, call(() => native.NativeDatabase.open(checkText(path, 'path'), rest)), bigint)
}

/**
 * Turns a `.zds` archive into a database directory.
 * @param {string} archive
 * @param {string} target a directory that holds nothing yet
 * @returns {UnpackReport}
 */
function unpack(archive, target) {
  return call(() => native.unpack(checkText(archive, 'archive'), checkText(target, 'target')))
}

/**
 * @param {string} archive
 * @param {string} target
 * @returns {Promise<UnpackReport>}
 */
async function unpackAsync(archive, target) {
  return native.unpackAsync(checkText(archive, 'archive'), checkText(target, 'target')).catch(rethrow)
}

/** The version of the library. */
const version = /** @type {string} */ (native.version())

/**
 * @template T
 * @param {() => T} job
 * @returns {T}
 */
function call(job) {
  try {
    return job()
  } catch (error) {
    throw asFolioError(error)
  }
}

/**
 * @param {any} text
 * @param {string} name
 * @returns {string}
 */
function checkText(text, name) {
  if (typeof text === 'string') return text
  throw new FolioError('invalid_input', `${name} must be a string, not ${text === null ? 'null' : typeof text}`)
}

module.exports = { Database, open, unpack, unpackAsync, version }
