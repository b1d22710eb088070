// A database, as users hold it: a directory of collections, or a `.zds` archive
// of one.
'use strict'

const { OPTIONS, checkOptions, checkPath, checkText } = require('./argument.js')
const { Collection } = require('./collection.js')
const { call, rethrow } = require('./error.js')
const { native } = require('./native.js')
const { split, watched } = require('./progress.js')

/** @import { CollectionOptions, Fields, OpenOptions, PackOptions, WorkOptions } from './options.js' */
/** @import { BackupReport, PackReport, UnpackReport } from './report.js' */

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
   * @template {object} [T=Fields] what the documents are, for those who write TypeScript
   * @param {string} name
   * @param {CollectionOptions} [options]
   * @returns {Collection<T>}
   */
  collection(name, options = {}) {
    checkText(name, 'collection name')
    const { layout, strict } = checkOptions(options, OPTIONS.collection)
    const chosen = { layout, ...(typeof strict === 'object' ? { schema: JSON.stringify(strict) } : { strict }) }
    const inner = call(() => this.inner.collection(name, chosen))
    return new /** @type {any} */ (Collection)(inner, this.bigint)
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
   * @param {string | URL} target
   * @returns {BackupReport}
   */
  backup(target) {
    return call(() => this.inner.backup(checkPath(target, 'target')))
  }

  /**
   * @param {string | URL} target
   * @param {WorkOptions} [options]
   * @returns {Promise<BackupReport>}
   */
  async backupAsync(target, options = {}) {
    const [, work] = split(options, {})
    return watched(work, (progress) => this.inner.backupAsync(progress, checkPath(target, 'target')))
  }

  /**
   * Packs the live documents of all collections into one `.zds` archive.
   * @param {string | URL} target
   * @param {PackOptions} [options]
   * @returns {PackReport}
   */
  pack(target, options = {}) {
    const { compress = false } = checkOptions(options, OPTIONS.pack)
    return call(() => this.inner.pack(checkPath(target, 'target'), compress))
  }

  /**
   * @param {string | URL} target
   * @param {PackOptions & WorkOptions} [options]
   * @returns {Promise<PackReport>}
   */
  async packAsync(target, options = {}) {
    const [{ compress = false }, work] = split(options, OPTIONS.pack)
    return watched(work, (progress) => this.inner.packAsync(progress, checkPath(target, 'target'), compress))
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
 * @param {string | URL} path
 * @param {OpenOptions} [options]
 * @returns {Database}
 */
function open(path, options = {}) {
  const { bigint = false, ...rest } = checkOptions(options, OPTIONS.open)
  const place = checkPath(path, 'path')
  const inner = call(() => native.NativeDatabase.open(place, rest))
  return new /** @type {any} */ (Database)(place, inner, bigint)
}

/**
 * Turns a `.zds` archive into a database directory.
 * @param {string | URL} archive
 * @param {string | URL} target a directory that holds nothing yet
 * @returns {UnpackReport}
 */
function unpack(archive, target) {
  return call(() => native.unpack(checkPath(archive, 'archive'), checkPath(target, 'target')))
}

/**
 * @param {string | URL} archive
 * @param {string | URL} target
 * @param {WorkOptions} [options]
 * @returns {Promise<UnpackReport>}
 */
async function unpackAsync(archive, target, options = {}) {
  const [, work] = split(options, {})
  return watched(work, (progress) => native.unpackAsync(progress, checkPath(archive, 'archive'), checkPath(target, 'target')))
}

/** The version of the library. */
const version = /** @type {string} */ (native.version())

module.exports = { Database, open, unpack, unpackAsync, version }
