// An atomic batch: writes that take effect completely or not at all.
//
// The writes are collected here, as text, and stored by `commit`. Until then nothing waits for the
// batch, and nothing remains of a batch that is dropped.
'use strict'

const { checkId, checkText } = require('./argument.js')
const { textUnder } = require('./encode.js')
const { FolioError, call, rethrow } = require('./error.js')
const { inspectable, plural } = require('./inspect.js')
const { native } = require('./native.js')

/** @import { Convert, Storable } from './options.js' */
/** @import { Counts } from './report.js' */

/**
 * A batch of writes that `commit` stores, all or none. They stay in memory until then; for larger
 * batches use `putMany`.
 * @template {object} T
 */
class Batch {
  /**
   * @param {any} collection of the native half
   * @param {Convert} [convert]
   * @private
   */
  constructor(collection, convert) {
    /** @private */
    this.collection = collection
    /** @private */
    this.convert = convert
    /** @private @type {string[] | undefined} */
    this.ids = []
    /** @private @type {(string | null)[]} the text to put, or null to delete */
    this.texts = []
    /** @private @type {Map<string, boolean>} whether an id has a document according to the collected writes */
    this.known = new Map()
  }

  /**
   * Adds a document.
   * @param {string | number | bigint} id
   * @param {Storable<T>} document
   * @returns {void}
   */
  put(id, document) {
    this.add(id, textUnder(id, document, this.convert))
  }

  /**
   * Adds JSON text, with its key order and the digits of every number.
   * @param {string | number | bigint} id
   * @param {string} json one JSON object
   * @returns {void}
   */
  putRaw(id, json) {
    this.add(id, checkText(json, 'json'))
  }

  /**
   * Deletes a document, if there is one.
   * @param {string | number | bigint} id
   * @returns {void}
   */
  delete(id) {
    this.add(id, null)
  }

  /**
   * Whether a document exists, in this batch or before it.
   * @param {string | number | bigint} id
   * @returns {boolean}
   */
  has(id) {
    const key = checkId(id)
    return this.known.get(key) ?? call(() => this.collection.has(key))
  }

  /**
   * Makes the writes durable and visible, in order.
   * @returns {Counts}
   */
  commit() {
    const { ids, texts } = this.end()
    return call(() => this.collection.apply(ids, texts))
  }

  /** @returns {Promise<Counts>} */
  async commitAsync() {
    const { ids, texts } = this.end()
    return this.collection.applyAsync(ids, texts).catch(rethrow)
  }

  /** Drops the writes. Does nothing after `commit`. */
  rollback() {
    if (this.ids !== undefined) this.end()
  }

  /** For `using`: drops the writes, unless they were committed. */
  [Symbol.dispose]() {
    this.rollback()
  }

  /**
   * @param {string | number | bigint} id
   * @param {string | null} text
   * @private
   */
  add(id, text) {
    const key = checkId(id)
    call(() => native.checkDocumentId(key))
    this.open().push(key)
    this.texts.push(text)
    this.known.set(key, text !== null)
  }

  /** @private */
  open() {
    if (this.ids === undefined) throw new FolioError('closed', 'the batch has ended; start another')
    return this.ids
  }

  /** @private */
  end() {
    const [ids, texts] = [this.open(), this.texts]
    this.ids = undefined
    this.texts = []
    this.known = new Map()
    return { ids, texts }
  }
}

inspectable(
  Batch,
  (batch) => `Batch for ${JSON.stringify(batch.collection.name)}`,
  ({ ids }) => ({ note: ids === undefined ? 'ended' : plural(ids.length, 'write') }),
)

module.exports = { Batch }
