// The names of ZDS, over the same engine and files: programs for `@zippydata/core` change only the
// import. Documents have no `_id`, as in ZDS.
//
// Batch sizes are accepted but only used by BulkWriter: the engine buffers writes.
'use strict'

const { checkId, checkText } = require('./argument.js')
const { Database, open, version } = require('./database.js')
const { textUnder } = require('./encode.js')
const { FolioError } = require('./error.js')

/** @import { Collection } from './collection.js' */

const COLLECTION = 'default'
const BATCH_SIZE = 5_000 // the default of a store
const BULK_SIZE = 10_000 // of a bulk writer
const LF = 10

/** @type {Record<string, 'r' | 'rw'>} */
const MODES = { r: 'r', read: 'r', rw: 'rw', 'read-write': 'rw', readwrite: 'rw' }

/**
 * @typedef {object} StoreInfo
 * @property {string} root
 * @property {string} collection
 * @property {number} count
 */

/**
 * @typedef {object} RootInfo
 * @property {string} root
 * @property {number} batchSize
 * @property {'r' | 'rw'} mode
 * @property {boolean} isWritable
 * @property {string[]} collections
 */

/** One collection, with the methods of ZDS. */
class ZdsStore {
  /**
   * @param {Database} database
   * @param {string} collection
   * @private
   */
  constructor(database, collection) {
    /** @private */
    this.database = database
    /** @private @type {Collection} */
    this.documents = database.collection(collection)
  }

  /**
   * Opens a collection, which the first write creates.
   * @param {string} root
   * @param {string | null} [collection]
   * @param {number | null} [_batchSize]
   * @returns {ZdsStore}
   */
  static open(root, collection, _batchSize) {
    return new ZdsStore(open(root), collection ?? COLLECTION)
  }

  /**
   * A store of a root.
   * @param {Database} database
   * @param {string} collection
   * @returns {ZdsStore}
   * @internal
   */
  static of(database, collection) {
    return new ZdsStore(database, collection)
  }

  /**
   * The document with an id. Throws if there is none.
   * @param {string} docId
   * @returns {any}
   */
  get(docId) {
    const found = this.documents.get(docId)
    if (found === undefined) throw this.missing(docId)
    const { _id, ...document } = found
    return document
  }

  /**
   * Stores a document.
   * @param {string} docId
   * @param {any} doc
   * @returns {void}
   */
  put(docId, doc) {
    this.documents.put(docId, doc)
  }

  /**
   * Deletes a document. Throws if there is none.
   * @param {string} docId
   * @returns {void}
   */
  delete(docId) {
    if (!this.documents.delete(docId)) throw this.missing(docId)
  }

  /** Makes all writes so far durable. */
  flush() {
    this.documents.flush()
  }

  /** Flushes and closes. */
  close() {
    this.database.close()
  }

  /**
   * Stores lines of JSON, each under the id at the same position; returns how many.
   * @param {Buffer} jsonlData
   * @param {string[]} docIds
   * @returns {number}
   */
  writeJsonl(jsonlData, docIds) {
    if (!(jsonlData instanceof Uint8Array)) throw new FolioError('invalid_input', 'the lines must be a Buffer')
    const lines = Buffer.from(jsonlData.buffer, jsonlData.byteOffset, jsonlData.byteLength).toString().split('\n').filter((line) => line.trim() !== '')
    if (!Array.isArray(docIds) || lines.length !== docIds.length) {
      throw new FolioError('invalid_input', `${lines.length} lines and ${docIds?.length ?? 'no'} ids; give an id per line`)
    }
    return putAll(this.documents, docIds.map((docId, index) => [docId, lines[index]]))
  }

  /**
   * The lines of all documents, as they are stored.
   * @returns {Buffer[]}
   */
  scanRaw() {
    return Array.from(this.documents.scan({ lazy: true }), ({ raw }) => Buffer.from(raw))
  }

  /**
   * All documents as JSON Lines.
   * @returns {Buffer}
   */
  readJsonlBlob() {
    const lines = this.scanRaw().flatMap((line) => [line, Buffer.of(LF)])
    return Buffer.concat(lines)
  }

  /**
   * The number of documents.
   * @returns {number}
   */
  get count() {
    return this.documents.count()
  }

  /**
   * Whether a document with the id exists.
   * @param {string} docId
   * @returns {boolean}
   */
  exists(docId) {
    return this.documents.has(docId)
  }

  /**
   * All documents. Each has its id as a non-enumerable `_id`, which is neither compared nor
   * written.
   * @returns {any[]}
   */
  scan() {
    return Array.from(this.documents.scan(), ({ _id, ...document }) => Object.defineProperty(document, '_id', { value: _id, enumerable: false }))
  }

  /**
   * All ids, in file order.
   * @returns {string[]}
   */
  listDocIds() {
    return [...this.documents.ids()]
  }

  /**
   * @returns {StoreInfo}
   */
  get info() {
    return { root: this.database.path, collection: this.documents.name, count: this.count }
  }

  /**
   * @param {string} docId
   * @private
   */
  missing(docId) {
    return new FolioError('not_found', `no document ${JSON.stringify(docId)} in collection ${JSON.stringify(this.documents.name)}`)
  }
}

/** Writes many documents, a batch at a time. */
class BulkWriter {
  /**
   * @param {Collection} documents
   * @param {number} batchSize
   * @private
   */
  constructor(documents, batchSize) {
    /** @private */
    this.documents = documents
    /** @private */
    this.batchSize = batchSize
    /** @private @type {[string, string][]} */
    this.pending = []
  }

  /**
   * A writer of a collection, which the first flush creates.
   * @param {string} root
   * @param {string | null} [collection]
   * @param {number | null} [batchSize] documents after which a batch is stored
   * @returns {BulkWriter}
   */
  static create(root, collection, batchSize) {
    return new BulkWriter(open(root).collection(collection ?? COLLECTION), batchSize ?? BULK_SIZE)
  }

  /**
   * Adds a document.
   * @param {string} docId
   * @param {any} doc
   * @returns {void}
   */
  put(docId, doc) {
    this.pending.push([docId, textUnder(docId, doc)])
    if (this.pending.length >= this.batchSize) this.flush()
  }

  /** Stores what was added, and makes it durable. */
  flush() {
    const pending = this.pending
    this.pending = []
    if (pending.length > 0) putAll(this.documents, pending)
    this.documents.flush()
  }

  /**
   * The number of documents in the collection, including the added ones.
   * @returns {number}
   */
  get count() {
    this.flush()
    return this.documents.count()
  }
}

/** A directory of collections. */
class ZdsRoot {
  /**
   * @param {Database} database
   * @param {number} batchSize
   * @param {'r' | 'rw'} mode
   * @private
   */
  constructor(database, batchSize, mode) {
    /** @private */
    this.database = database
    /** @readonly */
    this.batchSize = batchSize
    /** @readonly */
    this.mode = mode
  }

  /**
   * Opens a directory.
   * @param {string} root
   * @param {number | null} [batchSize]
   * @param {string | null} [mode] `r` or `rw`
   * @returns {ZdsRoot}
   */
  static open(root, batchSize, mode) {
    const known = MODES[mode ?? 'rw']
    if (known === undefined) throw new FolioError('invalid_input', `mode ${JSON.stringify(mode)} is neither "r" nor "rw"`)
    const database = open(root, { mode: known })
    if (known === 'rw') database.create()
    return new ZdsRoot(database, batchSize ?? BATCH_SIZE, known)
  }

  /**
   * The directory.
   * @returns {string}
   */
  get rootPath() {
    return this.database.path
  }

  /**
   * Whether collections may be written.
   * @returns {boolean}
   */
  get isWritable() {
    return this.database.isWritable
  }

  /**
   * A store on one collection.
   * @param {string} name
   * @param {number | null} [_batchSize]
   * @returns {ZdsStore}
   */
  collection(name, _batchSize) {
    return ZdsStore.of(this.database, checkText(name, 'collection name'))
  }

  /**
   * The names of all collections.
   * @returns {string[]}
   */
  listCollections() {
    return this.database.collections()
  }

  /**
   * @param {string} name
   * @returns {boolean}
   */
  collectionExists(name) {
    return this.database.collections().includes(name)
  }

  /** Flushes and closes, including the stores of this root. */
  close() {
    this.database.close()
  }

  /**
   * @returns {RootInfo}
   */
  get info() {
    const { rootPath: root, batchSize, mode, isWritable } = this
    return { root, batchSize, mode, isWritable, collections: this.listCollections() }
  }
}

/**
 * Stores pairs of id and JSON text, all or none.
 * @param {Collection} documents
 * @param {[string, string][]} pairs
 */
function putAll(documents, pairs) {
  const batch = documents.batch()
  try {
    for (const [docId, json] of pairs) batch.putRaw(checkId(docId), json)
    batch.commit()
    return pairs.length
  } finally {
    batch.rollback()
  }
}

module.exports = { BulkWriter, ZdsRoot, ZdsStore, version: () => version }
