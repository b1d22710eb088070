// A collection of documents, as users hold it.
//
// Every operation comes twice: `get` works on this thread, `getAsync` on another
// and answers with a promise. Objects are written and read here; everything else
// is the native half's.
'use strict'

const { FolioError, asFolioError, rethrow } = require('./error.js')
const { ArrayWriter, textOf, refusal, numbered } = require('./encode.js')
const { parseExact } = require('./exact.js')
const { Scan } = require('./scan.js')
const { native } = require('./native.js')

const { Document: DOCUMENT, Exact: EXACT, Raw: RAW } = native.Form

/**
 * A JSON object.
 * @typedef {Record<string, any>} Fields
 */

/**
 * @typedef {object} ReadOptions
 * @property {boolean} [bigint] integers beyond 2^53 - 1 as bigints; the database's option when left out
 */

/**
 * @typedef {object} ScanOptions
 * @property {string[]} [fields] dotted paths; `_id` always stays, first
 * @property {number} [limit] how many documents at most
 * @property {boolean} [lazy] documents that are parsed only when looked into
 * @property {boolean} [bigint] integers beyond 2^53 - 1 as bigints
 */

/**
 * @typedef {object} PutManyOptions
 * @property {string} [id] the field that holds the id, as a dotted path; `_id` when left out
 */

/**
 * What a batch did.
 * @typedef {{ inserted: number, replaced: number }} Counts
 */

/**
 * Sizes in bytes, and counts.
 * @typedef {object} Stats
 * @property {number} documentCount live documents
 * @property {number} deadCount lines that are superseded, tombstones, blank or not valid
 * @property {number} liveSize the live lines
 * @property {number} dataSize the data file, or all document files
 * @property {number} indexSize the index files
 */

/**
 * A line that is not a document.
 * @typedef {{ path: string, line: number, offset: number, reason: string }} InvalidLine
 */

/**
 * @typedef {object} CheckReport
 * @property {boolean} isClean whether everything is as it should be
 * @property {number} documentCount live documents, counted line by line
 * @property {number} supersededCount lines whose id has a later line
 * @property {number} tombstoneCount delete markers
 * @property {InvalidLine[]} invalid the first lines that are not documents
 * @property {number} invalidCount how many there are in all
 * @property {string[]} problems damage elsewhere, a sentence each
 */

/**
 * @typedef {object} CompactReport
 * @property {number} documentCount live documents kept
 * @property {number} sizeBefore bytes of the data before
 * @property {number} sizeAfter bytes of the data after
 * @property {number} rejectedCount lines that were not valid and were set aside
 * @property {string} [rejectedPath] where they stand now
 */

/** A collection of documents under ids. */
class Collection {
  /**
   * @param {any} inner
   * @param {boolean} bigint
   * @private
   */
  constructor(inner, bigint) {
    /** @private */
    this.inner = inner
    /** @private */
    this.bigint = bigint
    /** @private @type {(id: string) => string | undefined} */
    this.lookup = inner.lookup()
  }

  /** The collection's name. */
  get name() {
    return /** @type {string} */ (this.inner.name)
  }

  /** Whether the handle takes writes. */
  get isWritable() {
    return /** @type {boolean} */ (this.inner.isWritable)
  }

  /**
   * The document under an id; undefined when there is none.
   * @param {string} id
   * @param {ReadOptions} [options]
   * @returns {any}
   */
  get(id, options) {
    if (options?.bigint ?? this.bigint) return this.getExact(id)
    let text
    try {
      text = this.lookup(id)
    } catch (error) {
      throw asFolioError(error)
    }
    return text === undefined ? undefined : JSON.parse(text)
  }

  /**
   * @param {string} id
   * @returns {any}
   * @private
   */
  getExact(id) {
    const text = call(() => this.inner.get(checkId(id), EXACT))
    return text === null ? undefined : parseExact(text)
  }

  /**
   * @param {string} id
   * @param {ReadOptions} [options]
   * @returns {Promise<any>}
   */
  async getAsync(id, options) {
    const exact = options?.bigint ?? this.bigint
    const text = await this.inner.getAsync(checkId(id), exact ? EXACT : DOCUMENT).catch(rethrow)
    return text === null ? undefined : exact ? parseExact(text) : JSON.parse(text)
  }

  /**
   * The exact line of a document: key order, and the digits of every number.
   * @param {string} id
   * @returns {string | undefined}
   */
  getRaw(id) {
    return call(() => this.inner.get(checkId(id), RAW)) ?? undefined
  }

  /**
   * @param {string} id
   * @returns {Promise<string | undefined>}
   */
  async getRawAsync(id) {
    return (await this.inner.getAsync(checkId(id), RAW).catch(rethrow)) ?? undefined
  }

  /**
   * Stores a document, replacing the one that has the id.
   * @param {string} id
   * @param {Fields} document
   * @returns {'inserted' | 'replaced'}
   */
  put(id, document) {
    return this.putRaw(id, encoded(id, document))
  }

  /**
   * @param {string} id
   * @param {Fields} document
   * @returns {Promise<'inserted' | 'replaced'>}
   */
  async putAsync(id, document) {
    return this.putRawAsync(id, encoded(id, document))
  }

  /**
   * Stores JSON text: key order and the digits of every number survive.
   * @param {string} id
   * @param {string} json one JSON object
   * @returns {'inserted' | 'replaced'}
   */
  putRaw(id, json) {
    return call(() => this.inner.put(checkId(id), checkText(json, 'json'))) ? 'inserted' : 'replaced'
  }

  /**
   * @param {string} id
   * @param {string} json
   * @returns {Promise<'inserted' | 'replaced'>}
   */
  async putRawAsync(id, json) {
    const isNew = await this.inner.putAsync(checkId(id), checkText(json, 'json')).catch(rethrow)
    return isNew ? 'inserted' : 'replaced'
  }

  /**
   * Stores many documents, all or none of them. Each carries its `_id`, or has its
   * id in the field that `id` names.
   * @param {Iterable<Fields>} documents
   * @param {PutManyOptions} [options]
   * @returns {Counts}
   */
  putMany(documents, options = {}) {
    const batch = call(() => this.inner.batch(options.id))
    const writer = new ArrayWriter((json) => call(() => batch.putArray(json)))
    try {
      for (const document of checkIterable(documents)) writer.push(document)
      writer.end()
      return call(() => batch.commit())
    } finally {
      batch.abort()
    }
  }

  /**
   * The same, written on another thread. The text of the documents is kept until
   * the last has come, then stored as one batch.
   * @param {Iterable<Fields> | AsyncIterable<Fields>} documents
   * @param {PutManyOptions} [options]
   * @returns {Promise<Counts>}
   */
  async putManyAsync(documents, options = {}) {
    /** @type {string[]} */
    const arrays = []
    const writer = new ArrayWriter((json) => arrays.push(json))
    for await (const document of checkIterable(documents)) writer.push(document)
    writer.end()
    return this.inner.putArraysAsync(arrays, options.id).catch(rethrow)
  }

  /**
   * Applies a JSON merge patch (RFC 7396): null removes a member, objects merge,
   * anything else replaces. Answers the result; undefined when there is no document.
   * @param {string} id
   * @param {Fields} patch
   * @returns {any}
   */
  patch(id, patch) {
    const text = call(() => this.inner.patch(checkId(id), encoded(id, patch)))
    return text === null ? undefined : this.parsed(text)
  }

  /**
   * @param {string} id
   * @param {Fields} patch
   * @returns {Promise<any>}
   */
  async patchAsync(id, patch) {
    const text = await this.inner.patchAsync(checkId(id), encoded(id, patch)).catch(rethrow)
    return text === null ? undefined : this.parsed(text)
  }

  /**
   * Deletes a document and answers whether there was one.
   * @param {string} id
   * @returns {boolean}
   */
  delete(id) {
    return call(() => this.inner.delete(checkId(id)))
  }

  /**
   * @param {string} id
   * @returns {Promise<boolean>}
   */
  async deleteAsync(id) {
    return this.inner.deleteAsync(checkId(id)).catch(rethrow)
  }

  /**
   * Whether there is a document under an id.
   * @param {string} id
   * @returns {boolean}
   */
  has(id) {
    return call(() => this.inner.has(checkId(id)))
  }

  /**
   * @param {string} id
   * @returns {Promise<boolean>}
   */
  async hasAsync(id) {
    return this.inner.hasAsync(checkId(id)).catch(rethrow)
  }

  /**
   * How many documents there are.
   * @returns {number}
   */
  count() {
    return call(() => this.inner.count())
  }

  /** @returns {Promise<number>} */
  async countAsync() {
    return this.inner.countAsync().catch(rethrow)
  }

  /**
   * The documents in file order, streaming, for `for` and for `for await`.
   * @overload
   * @param {ScanOptions & { lazy: true }} options
   * @returns {Scan<import('./document.js').Document>}
   */
  /**
   * @overload
   * @param {ScanOptions} [options]
   * @returns {Scan<any>}
   */
  /**
   * @param {ScanOptions} [options]
   * @returns {Scan<any>}
   */
  scan(options = {}) {
    const { fields, limit, lazy = false, bigint = this.bigint } = options
    checkLimit(limit)
    return new Scan(() => this.inner.scan(fields, limit, bigint), lazy, bigint)
  }

  /**
   * All ids in file order, streaming.
   * @returns {IterableIterator<string>}
   */
  *ids() {
    for (const document of this.scan({ fields: ['_id'] })) yield document._id
  }

  /**
   * All ids in file order, read on another thread.
   * @returns {AsyncGenerator<string, void, undefined>}
   */
  async *idsAsync() {
    for await (const document of this.scan({ fields: ['_id'] })) yield document._id
  }

  /** Makes every write so far durable, and lets other processes write. */
  flush() {
    call(() => this.inner.flush())
  }

  /** @returns {Promise<void>} */
  async flushAsync() {
    await this.inner.flushAsync().catch(rethrow)
  }

  /** Takes in what other processes and people have written since. */
  refresh() {
    call(() => this.inner.refresh())
  }

  /** @returns {Promise<void>} */
  async refreshAsync() {
    await this.inner.refreshAsync().catch(rethrow)
  }

  /**
   * Rewrites the live documents in order, without superseded and deleted lines.
   * @returns {CompactReport}
   */
  compact() {
    return call(() => this.inner.compact())
  }

  /** @returns {Promise<CompactReport>} */
  async compactAsync() {
    return this.inner.compactAsync().catch(rethrow)
  }

  /**
   * Reads everything and reports what is not as it should be. Changes nothing.
   * @returns {CheckReport}
   */
  check() {
    return call(() => this.inner.check())
  }

  /** @returns {Promise<CheckReport>} */
  async checkAsync() {
    return this.inner.checkAsync().catch(rethrow)
  }

  /** Builds the index again from the data. */
  reindex() {
    call(() => this.inner.reindex())
  }

  /** @returns {Promise<void>} */
  async reindexAsync() {
    await this.inner.reindexAsync().catch(rethrow)
  }

  /**
   * Sizes and counts.
   * @returns {Stats}
   */
  stats() {
    return call(() => this.inner.stats())
  }

  /** @returns {Promise<Stats>} */
  async statsAsync() {
    return this.inner.statsAsync().catch(rethrow)
  }

  /**
   * What was noticed since the last call (hand edits, a lost index, an interrupted
   * batch), a sentence each; each is told once.
   * @returns {string[]}
   */
  takeNotices() {
    return call(() => this.inner.takeNotices())
  }

  /** Flushes and closes the collection for every handle of the process. Closing twice is fine. */
  close() {
    call(() => this.inner.close())
  }

  /** @returns {Promise<void>} */
  async closeAsync() {
    await this.inner.closeAsync().catch(rethrow)
  }

  /**
   * @param {string} text
   * @returns {any}
   * @private
   */
  parsed(text) {
    return this.bigint ? parseExact(native.markIntegers(text)) : JSON.parse(text)
  }
}

/**
 * Calls the native half.
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

/** @param {any} id */
function checkId(id) {
  return checkText(id, 'document id')
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

/** @param {any} limit */
function checkLimit(limit) {
  if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 0)) return
  throw new FolioError('invalid_input', `limit ${String(limit)} is no number of documents`)
}

/**
 * @template T
 * @param {T} documents
 * @returns {T}
 */
function checkIterable(documents) {
  const any = /** @type {any} */ (documents)
  if (any != null && typeof any !== 'string' && (any[Symbol.iterator] || any[Symbol.asyncIterator])) return documents
  throw new FolioError('invalid_input', 'putMany takes an array or another iterable of documents')
}

/**
 * @param {any} id
 * @param {any} document
 */
function encoded(id, document) {
  return textOf(document, `document ${JSON.stringify(checkId(id))}`)
}

module.exports = { Collection }
