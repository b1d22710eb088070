// Writes of many threads, processes and machines to one collection, published together.
'use strict'

const { OPTIONS, checkIterable, checkOptions, checkText, checkWhole } = require('./argument.js')
const { arrowContent } = require('./arrow.js')
const { ArrayWriter } = require('./encode.js')
const { FolioError, call, rethrow } = require('./error.js')
const { native } = require('./native.js')

/** @import { WriteOptions } from './options.js' */
/** @import { Counts } from './report.js' */

/**
 * A job in which many tasks write to one collection, each a part of its own; `commit` publishes all
 * parts at once. It is small, and all of it is in its text: `String(job)` sends it to the tasks,
 * `new PartitionedWriter(text)` receives it.
 */
class PartitionedWriter {
  #inner

  /** @param {string} text */
  constructor(text) {
    this.#inner = call(() => native.NativePartitionedWriter.parse(checkText(text, 'text of a job')))
    /**
     * The absolute path of the database.
     * @readonly
     * @type {string}
     */
    this.uri = this.#inner.uri
    /**
     * The name of the collection.
     * @readonly
     * @type {string}
     */
    this.collection = this.#inner.collection
    Object.freeze(this)
  }

  /**
   * Begins the part of a task, in any thread or process. The task has a number of its own, and the same
   * one when it is tried again.
   * @param {number} task
   * @returns {PartWriter}
   */
  part(task) {
    const number = checkWhole(task, 'task')
    return new /** @type {any} */ (PartWriter)(call(() => this.#inner.part(number)))
  }

  /**
   * Publishes the documents of all parts in one atomic batch, and ends the job. Of several parts of one
   * task, the last counts. Trying again publishes nothing twice.
   * @param {readonly WrittenPart[]} parts
   * @returns {Counts}
   */
  commit(parts) {
    return call(() => this.#inner.commit(textsOf(parts)))
  }

  /**
   * @param {readonly WrittenPart[]} parts
   * @returns {Promise<Counts>}
   */
  async commitAsync(parts) {
    return this.#inner.commitAsync(textsOf(parts)).catch(rethrow)
  }

  /** Removes all that the tasks have written, and ends the job. */
  abort() {
    call(() => this.#inner.abort())
  }

  /** @returns {Promise<void>} */
  async abortAsync() {
    return this.#inner.abortAsync().catch(rethrow)
  }

  /**
   * The text, which makes an equal job.
   * @returns {string}
   */
  toString() {
    return this.#inner.text
  }

  /** @returns {string} */
  toJSON() {
    return this.#inner.text
  }
}

/** The part of one task. Nothing is left of one that is not finished. */
class PartWriter {
  #inner

  /**
   * @param {any} inner
   * @private
   */
  constructor(inner) {
    this.#inner = inner
  }

  /**
   * Adds documents, each under its `_id` or a new one, or pairs of id and document.
   * @param {Iterable<any>} documents
   * @param {WriteOptions} [options]
   * @returns {void}
   */
  putMany(documents, options = {}) {
    const { default: convert } = checkOptions(options, OPTIONS.write)
    const writer = new ArrayWriter((json) => this.putJson(json), convert)
    for (const document of checkIterable(documents)) writer.push(document)
    writer.end()
  }

  /**
   * The same on another thread, which writes what has arrived.
   * @param {Iterable<any> | AsyncIterable<any>} documents
   * @param {WriteOptions} [options]
   * @returns {Promise<void>}
   */
  async putManyAsync(documents, options = {}) {
    const { default: convert } = checkOptions(options, OPTIONS.write)
    /** @type {string[]} */
    let arrays = []
    const writer = new ArrayWriter((json) => arrays.push(json), convert)
    const write = async () => {
      const texts = arrays
      arrays = []
      if (texts.length > 0) await this.#inner.putArraysAsync(texts).catch(rethrow)
    }
    for await (const document of checkIterable(documents, true)) {
      writer.push(document)
      await write()
    }
    writer.end()
    await write()
  }

  /**
   * Adds the documents of a JSON array, with the digits of their numbers.
   * @param {string} text
   * @returns {void}
   */
  putJson(text) {
    call(() => this.#inner.putArray(checkText(text, 'text')))
  }

  /**
   * Adds the rows of an Arrow table, each as a document without the columns that are null.
   * @param {ArrayBuffer | ArrayBufferView | { toArrowIPC(): Uint8Array } | { writeIPC(): Uint8Array }} rows
   * @returns {void}
   */
  putArrow(rows) {
    call(() => this.#inner.putIpc(arrowContent(rows)))
  }

  /**
   * Makes the part durable. It counts once it is given to `PartitionedWriter.commit`.
   * @returns {WrittenPart}
   */
  finish() {
    return new WrittenPart(call(() => this.#inner.finish()).text)
  }

  /** @returns {Promise<WrittenPart>} */
  async finishAsync() {
    return new WrittenPart((await this.#inner.finishAsync().catch(rethrow)).text)
  }
}

/**
 * What a task has written: small, and all of it is in its text, as for a `PartitionedWriter`.
 */
class WrittenPart {
  /** @type {string} */
  #text

  /** @param {string} text */
  constructor(text) {
    const part = call(() => native.parseWrittenPart(checkText(text, 'text of a part')))
    this.#text = part.text
    /**
     * The number of its documents.
     * @readonly
     * @type {number}
     */
    this.documentCount = part.documentCount
    Object.freeze(this)
  }

  /**
   * The text, which makes an equal part.
   * @returns {string}
   */
  toString() {
    return this.#text
  }

  /** @returns {string} */
  toJSON() {
    return this.#text
  }
}

/**
 * @param {any} parts
 * @returns {string[]}
 */
function textsOf(parts) {
  if (Array.isArray(parts)) return parts.map(String)
  throw new FolioError('invalid_input', 'parts must be an array of what `finish` returns')
}

module.exports = { PartWriter, PartitionedWriter, WrittenPart }
