// A collection of documents.
//
// Every operation has two forms: `get` runs on this thread, `getAsync` on another and returns a
// promise. Objects are encoded and decoded here; everything else is in the native half.
'use strict'

const { OPTIONS, checkId, checkIterable, checkOptions, checkPath, checkText, checkTexts } = require('./argument.js')
const { Batch } = require('./batch.js')
const { ArrayWriter, textOf, textUnder } = require('./encode.js')
const { FolioError, asFolioError, call, rethrow } = require('./error.js')
const { parseExact } = require('./exact.js')
const { WAIT_MS, inspectable } = require('./inspect.js')
const { native } = require('./native.js')
const { given, parametersText } = require('./parameter.js')
const { split, watched } = require('./progress.js')
const { Scan, shownOf, takeAll } = require('./scan.js')
const { parseMarked, shapes } = require('./shape.js')
const { PartitionedWriter } = require('./writer.js')

/** @import { Document } from './document.js' */
/** @import { Encoded } from './parameter.js' */
/** @import { Convert, ExportOptions, Fields, GivenUpdate, ImportOptions, IndexOptions, PutManyOptions, ReadOptions, ScanOptions, Storable, Stored, WorkOptions, WriteOptions } from './options.js' */
/** @import { Glance } from './scan.js' */
/** @import { CheckReport, CompactReport, Counts, ExportReport, FieldSummary, ImportReport, IndexCheck, IndexStats, Stats } from './report.js' */

const { Document: DOCUMENT, Exact: EXACT, Raw: RAW } = native.Form

/**
 * A collection of documents under ids.
 * @template {object} [T=Fields] the type of the documents, for TypeScript
 */
class Collection {
  /**
   * @param {any} inner
   * @param {boolean} bigint
   * @param {Convert} [convert]
   * @private
   */
  constructor(inner, bigint, convert) {
    if (typeof inner?.lookup !== 'function') throw new FolioError('invalid_input', 'a collection is opened by db.collection(name)')
    /** @private */
    this.inner = inner
    /** @private The program's `default`. */
    this.convert = convert
    /** @private */
    this.bigint = bigint
    /** @private @type {(id: string) => string | undefined} */
    this.lookup = inner.lookup(shapes)
  }

  /** The collection's name. */
  get name() {
    return /** @type {string} */ (this.inner.name)
  }

  /** Whether the handle accepts writes. */
  get isWritable() {
    return /** @type {boolean} */ (this.inner.isWritable)
  }

  /** Whether the collection exists on disk: the first write creates it. */
  get isCreated() {
    return /** @type {boolean} */ (this.inner.isCreated)
  }

  /**
   * The document with an id; undefined if there is none.
   * @param {string | number | bigint} id
   * @param {ReadOptions} [options]
   * @returns {Stored<T> | undefined}
   */
  get(id, options) {
    if (options === undefined ? this.bigint : this.isExact(options)) return this.getExact(id)
    let text
    try {
      text = this.lookup(typeof id === 'string' ? id : checkId(id))
    } catch (error) {
      throw asFolioError(error)
    }
    return text === undefined ? undefined : parseMarked(text)
  }

  /**
   * @param {string | number | bigint} id
   * @returns {any}
   * @private
   */
  getExact(id) {
    const text = call(() => this.inner.get(checkId(id), EXACT))
    return text === null ? undefined : parseExact(text)
  }

  /**
   * @param {string | number | bigint} id
   * @param {ReadOptions} [options]
   * @returns {Promise<Stored<T> | undefined>}
   */
  async getAsync(id, options = {}) {
    const exact = this.isExact(options)
    const text = await this.inner.getAsync(checkId(id), exact ? EXACT : DOCUMENT).catch(rethrow)
    return text === null ? undefined : exact ? parseExact(text) : JSON.parse(text)
  }

  /**
   * The documents of many ids, in their order; undefined for a missing one.
   * Faster than a `get` for each.
   * @param {readonly (string | number | bigint)[]} ids
   * @param {ReadOptions} [options]
   * @returns {(Stored<T> | undefined)[]}
   */
  getMany(ids, options = {}) {
    const exact = this.isExact(options)
    const keys = checkIds(ids)
    if (exact || shapes === null) return opened(call(() => this.inner.getMany(keys, exact)), exact)
    return call(() => takeAll(this.inner.fetch(keys)))
  }

  /**
   * @param {readonly (string | number | bigint)[]} ids
   * @param {ReadOptions} [options]
   * @returns {Promise<(Stored<T> | undefined)[]>}
   */
  async getManyAsync(ids, options = {}) {
    const exact = this.isExact(options)
    return opened(await this.inner.getManyAsync(checkIds(ids), exact).catch(rethrow), exact)
  }

  /**
   * The exact line of a document: key order, and the digits of every number.
   * @param {string | number | bigint} id
   * @returns {string | undefined}
   */
  getRaw(id) {
    return call(() => this.inner.get(checkId(id), RAW)) ?? undefined
  }

  /**
   * @param {string | number | bigint} id
   * @returns {Promise<string | undefined>}
   */
  async getRawAsync(id) {
    return (await this.inner.getAsync(checkId(id), RAW).catch(rethrow)) ?? undefined
  }

  /**
   * Stores a document, replacing the one with this id.
   *
   * Dates become ISO strings. Other values without a JSON form, such as a Map or NaN, are refused
   * with their path, unless `options.default` converts them.
   * @param {string | number | bigint} id
   * @param {Storable<T>} document
   * @param {WriteOptions} [options]
   * @returns {'inserted' | 'replaced'}
   */
  put(id, document, options) {
    const key = checkId(id)
    return this.putRaw(key, textUnder(key, document, this.converting(options)))
  }

  /**
   * @param {string | number | bigint} id
   * @param {Storable<T>} document
   * @param {WriteOptions} [options]
   * @returns {Promise<'inserted' | 'replaced'>}
   */
  async putAsync(id, document, options) {
    const key = checkId(id)
    return this.putRawAsync(key, textUnder(key, document, this.converting(options)))
  }

  /**
   * Stores JSON text, with its key order and the digits of every number.
   * @param {string | number | bigint} id
   * @param {string} json one JSON object
   * @returns {'inserted' | 'replaced'}
   */
  putRaw(id, json) {
    return call(() => this.inner.put(checkId(id), checkText(json, 'json'))) ? 'inserted' : 'replaced'
  }

  /**
   * @param {string | number | bigint} id
   * @param {string} json
   * @returns {Promise<'inserted' | 'replaced'>}
   */
  async putRawAsync(id, json) {
    const isNew = await this.inner.putAsync(checkId(id), checkText(json, 'json')).catch(rethrow)
    return isNew ? 'inserted' : 'replaced'
  }

  /**
   * Stores a document under its `_id`, or under a new one (UUID version 7, which
   * sorts by time), and returns the id. It never replaces a document.
   * @param {Storable<T>} document
   * @param {WriteOptions} [options]
   * @returns {string}
   */
  add(document, options) {
    return call(() => this.inner.add(textOf(document, 'document', this.converting(options))))
  }

  /**
   * @param {Storable<T>} document
   * @param {WriteOptions} [options]
   * @returns {Promise<string>}
   */
  async addAsync(document, options) {
    return this.inner.addAsync(textOf(document, 'document', this.converting(options))).catch(rethrow)
  }

  /**
   * Stores many documents, all or none of them. Each has an `_id`, or gets a new one, or has its
   * id in the field that `id` names, or is a pair of id and document, as in a Map.
   * @param {Iterable<Storable<T> | readonly [string | number | bigint, Storable<T>]>} documents
   * @param {PutManyOptions} [options]
   * @returns {Counts}
   */
  putMany(documents, options = {}) {
    const { id, default: convert = this.convert } = checkOptions(options, OPTIONS.putMany)
    const batch = call(() => this.inner.batch(id))
    const writer = new ArrayWriter((json) => call(() => batch.putArray(json)), convert)
    try {
      for (const document of checkIterable(documents)) writer.push(document)
      writer.end()
      return call(() => batch.commit())
    } finally {
      batch.rollback()
    }
  }

  /**
   * The same, on another thread. The text of the documents stays in memory until the last one
   * arrives, and is then stored as one batch.
   * @param {Iterable<Storable<T> | readonly [string | number | bigint, Storable<T>]> | AsyncIterable<Storable<T> | readonly [string | number | bigint, Storable<T>]>} documents
   * @param {PutManyOptions} [options]
   * @returns {Promise<Counts>}
   */
  async putManyAsync(documents, options = {}) {
    const { id, default: convert = this.convert } = checkOptions(options, OPTIONS.putMany)
    /** @type {string[]} */
    const arrays = []
    const writer = new ArrayWriter((json) => arrays.push(json), convert)
    for await (const document of checkIterable(documents, true)) writer.push(document)
    writer.end()
    return this.inner.putArraysAsync(arrays, id).catch(rethrow)
  }

  /**
   * Starts an atomic batch of puts and deletes, which `commit` stores.
   * @param {WriteOptions} [options]
   * @returns {Batch<T>}
   */
  batch(options) {
    return new /** @type {any} */ (Batch)(this.inner, this.converting(options))
  }

  /**
   * Applies a JSON merge patch (RFC 7396): null removes a member, objects merge,
   * anything else replaces. Returns the new document; undefined if there is none.
   * @param {string | number | bigint} id
   * @param {Fields} patch
   * @param {WriteOptions} [options]
   * @returns {Stored<T> | undefined}
   */
  patch(id, patch, options) {
    const text = call(() => this.inner.patch(checkId(id), textUnder(checkId(id), patch, this.converting(options))))
    return text === null ? undefined : this.parsed(text)
  }

  /**
   * @param {string | number | bigint} id
   * @param {Fields} patch
   * @param {WriteOptions} [options]
   * @returns {Promise<Stored<T> | undefined>}
   */
  async patchAsync(id, patch, options) {
    const text = await this.inner.patchAsync(checkId(id), textUnder(checkId(id), patch, this.converting(options))).catch(rethrow)
    return text === null ? undefined : this.parsed(text)
  }

  /**
   * Deletes a document and returns it, atomically; undefined if there is none.
   * @param {string | number | bigint} id
   * @returns {Stored<T> | undefined}
   */
  pop(id) {
    const text = call(() => this.inner.pop(checkId(id)))
    return text === null ? undefined : this.parsed(text)
  }

  /**
   * @param {string | number | bigint} id
   * @returns {Promise<Stored<T> | undefined>}
   */
  async popAsync(id) {
    const text = await this.inner.popAsync(checkId(id)).catch(rethrow)
    return text === null ? undefined : this.parsed(text)
  }

  /**
   * Deletes all documents, atomically, and returns their number.
   * @returns {number}
   */
  clear() {
    return call(() => this.inner.clear())
  }

  /** @returns {Promise<number>} */
  async clearAsync() {
    return this.inner.clearAsync().catch(rethrow)
  }

  /**
   * Applies a JSON merge patch (RFC 7396) to the documents that meet a condition of SQL,
   * all or none of them; returns their number. `params` are as in `Database.sql`; options may
   * follow an array or an object of them.
   * @param {string} where `age > ?`
   * @param {Fields} patch
   * @param {GivenUpdate} params the values of the condition's parameters
   * @returns {number}
   */
  update(where, patch, ...params) {
    const [values, options] = given(params, this.convert)
    const text = textOf(patch, 'patch', this.converting(options))
    return call(() => this.inner.update(checkText(where, 'where'), text, values))
  }

  /**
   * @param {string} where
   * @param {Fields} patch
   * @param {GivenUpdate} params
   * @returns {Promise<number>}
   */
  async updateAsync(where, patch, ...params) {
    const [values, options] = given(params, this.convert)
    const text = textOf(patch, 'patch', this.converting(options))
    return this.inner.updateAsync(checkText(where, 'where'), text, values).catch(rethrow)
  }

  /**
   * Deletes a document and returns whether there was one.
   * @param {string | number | bigint} id
   * @returns {boolean}
   */
  delete(id) {
    return call(() => this.inner.delete(checkId(id)))
  }

  /**
   * @param {string | number | bigint} id
   * @returns {Promise<boolean>}
   */
  async deleteAsync(id) {
    return this.inner.deleteAsync(checkId(id)).catch(rethrow)
  }

  /**
   * Whether a document with the id exists.
   * @param {string | number | bigint} id
   * @returns {boolean}
   */
  has(id) {
    return call(() => this.inner.has(checkId(id)))
  }

  /**
   * @param {string | number | bigint} id
   * @returns {Promise<boolean>}
   */
  async hasAsync(id) {
    return this.inner.hasAsync(checkId(id)).catch(rethrow)
  }

  /**
   * The number of documents.
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
   * To select by a function, test each document in the loop.
   * @overload
   * @param {ScanOptions & { lazy: true }} options
   * @returns {Scan<Document>}
   */
  /**
   * @overload
   * @param {ScanOptions} [options]
   * @returns {Scan<Stored<T>>}
   */
  /**
   * @param {ScanOptions} [options]
   * @returns {Scan<any>}
   */
  scan(options = {}) {
    const { fields, where, params, limit, lazy = false, bigint = this.bigint } = checkOptions(options, OPTIONS.scan)
    const values = parametersText(params, ':', this.convert)
    const begin = () => this.inner.scan(fields, limit, bigint, where, values)
    return new Scan(begin, lazy, bigint, this.glance({ fields, where, limit, bigint, values }))
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

  /** Makes all writes so far durable, and lets other processes write. */
  flush() {
    call(() => this.inner.flush())
  }

  /** @returns {Promise<void>} */
  async flushAsync() {
    await this.inner.flushAsync().catch(rethrow)
  }

  /** Reads what other processes and people have written. */
  refresh() {
    call(() => this.inner.refresh())
    warnOfBrokenLines(this.inner)
  }

  /** @returns {Promise<void>} */
  async refreshAsync() {
    await this.inner.refreshAsync().catch(rethrow)
    warnOfBrokenLines(this.inner)
  }

  /**
   * The documents in file order, streaming.
   * @returns {IterableIterator<Stored<T>>}
   */
  [Symbol.iterator]() {
    return /** @type {any} */ (this.scan())[Symbol.iterator]()
  }

  /**
   * The documents in file order, read on another thread.
   * @returns {AsyncIterableIterator<Stored<T>>}
   */
  [Symbol.asyncIterator]() {
    return /** @type {any} */ (this.scan())[Symbol.asyncIterator]()
  }

  /**
   * Rewrites the live documents in order, without superseded and deleted lines.
   * @returns {CompactReport}
   */
  compact() {
    return call(() => this.inner.compact())
  }

  /**
   * @param {WorkOptions} [options]
   * @returns {Promise<CompactReport>}
   */
  async compactAsync(options = {}) {
    const [, work] = split(options, {})
    return watched(work, (progress) => this.inner.compactAsync(progress))
  }

  /**
   * Reads everything and reports damage. Changes nothing.
   * @returns {CheckReport}
   */
  check() {
    return call(() => this.inner.check())
  }

  /**
   * @param {WorkOptions} [options]
   * @returns {Promise<CheckReport>}
   */
  async checkAsync(options = {}) {
    const [, work] = split(options, {})
    return watched(work, (progress) => this.inner.checkAsync(progress))
  }

  /** Rebuilds the index from the data. */
  reindex() {
    call(() => this.inner.reindex())
  }

  /**
   * @param {WorkOptions} [options]
   * @returns {Promise<void>}
   */
  async reindexAsync(options = {}) {
    const [, work] = split(options, {})
    await watched(work, (progress) => this.inner.reindexAsync(progress))
  }

  /**
   * Creates an index on fields. Conditions and statements use it, and every write maintains it.
   * With `using: 'columns'` it is a copy of the fields in columns, of all if there are none.
   * @param {string | readonly string[]} fields dotted paths, each perhaps with ` desc` after it
   * @param {IndexOptions} [options]
   * @returns {string} its name
   */
  createIndex(fields, options = {}) {
    const { name, unique = false, where, using = 'fields' } = checkOptions(options, OPTIONS.index)
    const texts = checkTexts([fields].flat(), 'fields')
    return call(() => this.inner.createIndex(texts, name, unique, where, using))
  }

  /**
   * @param {string | readonly string[]} fields
   * @param {IndexOptions & WorkOptions} [options]
   * @returns {Promise<string>}
   */
  async createIndexAsync(fields, options = {}) {
    const [{ name, unique = false, where, using = 'fields' }, work] = split(options, OPTIONS.index)
    const texts = checkTexts([fields].flat(), 'fields')
    return watched(work, (progress) => this.inner.createIndexAsync(progress, texts, name, unique, where, using))
  }

  /**
   * The indexes on fields, with sizes and states.
   * @returns {IndexStats[]}
   */
  indexes() {
    return call(() => this.inner.indexes())
  }

  /** @returns {Promise<IndexStats[]>} */
  async indexesAsync() {
    return this.inner.indexesAsync().catch(rethrow)
  }

  /**
   * Drops an index on fields.
   * @param {string} name
   */
  dropIndex(name) {
    call(() => this.inner.dropIndex(checkText(name, 'name')))
  }

  /**
   * @param {string} name
   * @returns {Promise<void>}
   */
  async dropIndexAsync(name) {
    await this.inner.dropIndexAsync(checkText(name, 'name')).catch(rethrow)
  }

  /**
   * Sets whether statements may name paths that no document has, which are null then.
   * @param {boolean} open
   */
  setOpenPaths(open) {
    call(() => this.inner.setOpenPaths(Boolean(open)))
  }

  /**
   * @param {boolean} open
   * @returns {Promise<void>}
   */
  async setOpenPathsAsync(open) {
    await this.inner.setOpenPathsAsync(Boolean(open)).catch(rethrow)
  }

  /**
   * Whether statements may name paths that no document has.
   * @returns {boolean}
   */
  hasOpenPaths() {
    return call(() => this.inner.hasOpenPaths())
  }

  /**
   * Compares an index on fields with the documents. Changes nothing.
   * @param {string} name
   * @returns {IndexCheck}
   */
  checkIndex(name) {
    return call(() => this.inner.checkIndex(checkText(name, 'name')))
  }

  /**
   * @param {string} name
   * @returns {Promise<IndexCheck>}
   */
  async checkIndexAsync(name) {
    return this.inner.checkIndexAsync(checkText(name, 'name')).catch(rethrow)
  }

  /**
   * Imports a file, optionally compressed with gzip or zstd; its extension selects the format.
   * Running an interrupted import again resumes it.
   * @param {string | URL} path
   * @param {ImportOptions} [options]
   * @returns {ImportReport}
   */
  import(path, options = {}) {
    return call(() => this.inner.import(checkPath(path, 'path'), checkOptions(options, OPTIONS.import)))
  }

  /**
   * @param {string | URL} path
   * @param {ImportOptions & WorkOptions} [options]
   * @returns {Promise<ImportReport>}
   */
  async importAsync(path, options = {}) {
    const [own, work] = split(options, OPTIONS.import)
    return watched(work, (progress) => this.inner.importAsync(progress, checkPath(path, 'path'), own))
  }

  /**
   * Exports the documents to a file, which appears under its name when complete,
   * or to a directory for `zds`.
   * @param {string | URL} target
   * @param {ExportOptions} [options]
   * @returns {ExportReport}
   */
  export(target, options = {}) {
    return call(() => this.inner.export(checkPath(target, 'target'), checkOptions(options, OPTIONS.export)))
  }

  /**
   * @param {string | URL} target
   * @param {ExportOptions & WorkOptions} [options]
   * @returns {Promise<ExportReport>}
   */
  async exportAsync(target, options = {}) {
    const [own, work] = split(options, OPTIONS.export)
    return watched(work, (progress) => this.inner.exportAsync(progress, checkPath(target, 'target'), own))
  }

  /**
   * Where the documents end now, as a text for `Database.partitions`: those that are put later come after
   * it. It holds in other processes, until the file is compacted or edited.
   * @returns {string}
   */
  position() {
    return call(() => this.inner.position())
  }

  /** @returns {Promise<string>} */
  async positionAsync() {
    return this.inner.positionAsync().catch(rethrow)
  }

  /**
   * Begins a job in which many threads and processes write to the collection. All that they write is
   * published by one `commit`.
   *
   *     const job = db.collection('events').partitionedWriter() // String(job) goes to the tasks
   *     const part = job.part(0) // in a task, with its number
   *     part.putMany([{ n: 1 }])
   *     job.commit([part.finish()])
   * @returns {PartitionedWriter}
   */
  partitionedWriter() {
    return new PartitionedWriter(call(() => this.inner.partitionedWriter()).text)
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
   * What is known of each path of the documents. Long strings are cut. Documents that were replaced or
   * deleted count too, until `compact` or `reindex`.
   * @returns {FieldSummary[]}
   */
  fields() {
    return call(() => this.inner.fields()).map((/** @type {string} */ row) => this.parsed(row))
  }

  /** @returns {Promise<FieldSummary[]>} */
  async fieldsAsync() {
    const rows = await this.inner.fieldsAsync().catch(rethrow)
    return rows.map((/** @type {string} */ row) => this.parsed(row))
  }

  /**
   * The notices since the last call (hand edits, a lost index, an interrupted batch), one sentence
   * each.
   * @returns {string[]}
   */
  takeNotices() {
    return call(() => this.inner.takeNotices())
  }

  /** Flushes and closes the collection for every handle of the process. Closing twice is allowed. */
  close() {
    call(() => this.inner.close())
  }

  /** @returns {Promise<void>} */
  async closeAsync() {
    await this.inner.closeAsync().catch(rethrow)
  }

  /**
   * The display of a scan.
   * @param {{ fields?: readonly string[], where?: string, limit?: number, bigint?: boolean, values?: Encoded }} wanted
   * @returns {Glance}
   * @private
   */
  glance({ fields, where, limit = Infinity, bigint = this.bigint, values }) {
    return {
      name: this.name,
      count: () => (where === undefined ? Math.min(this.count(), limit) : undefined),
      first: (count) => {
        const arrays = call(() => this.inner.glance(fields, Math.min(limit, count), bigint, where, values, WAIT_MS))
        if (arrays === null) return undefined
        const documents = arrays.length === 0 ? [] : bigint ? parseExact(arrays[0]) : JSON.parse(arrays[0])
        return { documents, isWhole: arrays.length < 2 && documents.length < count }
      },
    }
  }

  /**
   * The program's `default` for a write.
   * @param {WriteOptions | undefined} options
   * @returns {Convert | undefined}
   * @private
   */
  converting(options) {
    return options === undefined ? this.convert : (checkOptions(options, OPTIONS.write).default ?? this.convert)
  }

  /**
   * @param {ReadOptions} options
   * @returns {boolean}
   * @private
   */
  isExact(options) {
    return checkOptions(options, OPTIONS.read).bigint ?? this.bigint
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

inspectable(
  Collection,
  ({ name }) => `Collection ${JSON.stringify(name)}`,
  (collection) => shownOf(collection.glance({})),
)

/** Texts already reported, so that a handle opened again does not repeat them. */
const warned = new Set()

/**
 * Warns of the lines of a file that are not documents.
 * @param {any} inner
 */
function warnOfBrokenLines(inner) {
  for (const text of call(() => inner.brokenLines())) {
    if (warned.has(text)) continue
    warned.add(text)
    process.emitWarning(text, { type: 'FolioWarning', code: 'FOLIO_BROKEN_LINE' })
  }
}

/**
 * @param {any} ids
 * @returns {string[]}
 */
function checkIds(ids) {
  if (!Array.isArray(ids)) return checkTexts(ids, 'ids')
  return checkTexts(ids.map((id) => (typeof id === 'string' ? id : checkId(id))), 'ids')
}

/**
 * @param {string} array of documents and nulls
 * @param {boolean} exact
 * @returns {any[]}
 */
function opened(array, exact) {
  const documents = exact ? parseExact(array) : JSON.parse(array)
  for (let index = 0; index < documents.length; index++) documents[index] ??= undefined
  return documents
}

module.exports = { Collection, warnOfBrokenLines }
