// An atomic batch: writes that are all there or not at all.
//
// The writes are collected here, as text, and stored by `commit`. Until then nobody
// waits for the batch, and nothing is left behind when it is forgotten.
'use strict'

const { checkId, checkText } = require('./argument.js')
const { textUnder } = require('./encode.js')
const { FolioError, call, rethrow } = require('./error.js')
const { inspectable, plural } = require('./inspect.js')
const { native } = require('./native.js')

/** @import { Counts } from './report.js' */

/**
 * A batch of writes that `commit` stores, all or none. What is collected stays in
 * memory until then; `putMany` is the way for more than that.
 * @template {object} T
 */
class Batch {
  /**
   * @param {any} collection of the native half
   * @private
   */
  constructor(collection) {
    /** @private */
    this.collection = collection
    /** @private @type {string[] | undefined} */
    this.ids = []
    /** @private @type {(string | null)[]} the text to put, or null to delete */
    this.texts = []
    /** @private @type {Map<string, boolean>} whether an id has a document by what was collected */
    this.known = new Map()
  }

  /**
   * Adds a document.
   * @param {string} id
   * @param {T} document
   * @returns {void}
   */
  put(id, document) {
    this.add(id, textUnder(id, document))
  }

  /**
   * Adds JSON text: key order and the digits of every number survive.
   * @param {string} id
   * @param {string} json one JSON object
   * @returns {void}
   */
  putRaw(id, json) {
    this.add(id, checkText(json, 'json'))
  }

  /**
   * Deletes a document, if there is one.
   * @param {string} id
   * @returns {void}
   */
  delete(id) {
    this.add(id, null)
  }

  /**
   * Whether there is a document, by this batch or before it.
   * @param {string} id
   * @returns {boolean}
   */
  has(id) {
    return this.known.get(checkId(id)) ?? call(() => this.collection.has(id))
  }

  /**
   * Makes the writes durable and visible, in their order.
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

  /**
   * @param {string} id
   * @param {string | null} text
   * @private
   */
  add(id, text) {
    call(() => native.checkDocumentId(checkId(id)))
    this.open().push(id)
    this.texts.push(text)
    this.known.set(id, text !== null)
  }

  /** @private */
  open() {
    if (this.ids === undefined) throw new FolioError('closed', 'the batch has ended; begin another')
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
