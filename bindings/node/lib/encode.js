// Encodes objects as JSON text, exactly or not at all.
//
// JSON.stringify is the fastest writer, but loses values: NaN becomes null, a Map becomes {}, a
// bigint an exception without a path. So every document is checked first, which costs a fraction of
// the writing. JSON.stringify writes what it can write exactly; our own writer writes bigints and
// negative zero; any other value goes to the program's `default`, or is refused with its path.
//
// Members that are undefined are left out, as everywhere in JavaScript.
'use strict'

const { checkId } = require('./argument.js')
const { converted } = require('./convert.js')
const { FolioError } = require('./error.js')
const { DEPTH_MAX, faultOf, isObject, isRecord, isWritable, jsonOf, kindOf, refusal } = require('./fault.js')

/** @import { Convert } from './options.js' */

/** The approximate size of the text passed to the native half at once, in characters. */
const CHUNK_SIZE = 64 * 1024

const PLAIN = 0 // JSON.stringify is right
const SPECIAL = 1 // our own writer is needed
const FAULTY = 2 // it has no JSON form

/**
 * Checks everything in an object or array.
 * @param {any} value
 * @param {number} depth of `value`, from 1
 * @returns {number} PLAIN, SPECIAL or FAULTY
 */
function survey(value, depth) {
  if (depth > DEPTH_MAX) return FAULTY
  let found = PLAIN
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const item = value[index]
      if (typeof item === 'string') continue
      if (item === undefined) return FAULTY
      const seen = surveyOne(item, depth)
      if (seen > found) found = seen
    }
    return found
  }
  for (const key in value) {
    const item = value[key]
    if (typeof item === 'string') continue
    const seen = surveyOne(item, depth)
    if (seen > found) found = seen
  }
  return found
}

/**
 * @param {any} item
 * @param {number} depth of what holds it
 * @returns {number}
 */
function surveyOne(item, depth) {
  switch (typeof item) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return PLAIN
    case 'number':
      if (item - item !== 0) return FAULTY // NaN and the infinities
      return item === 0 && 1 / item < 0 ? SPECIAL : PLAIN
    case 'bigint':
      return SPECIAL
    case 'object':
      if (item === null) return PLAIN
      return isRecord(item) ? survey(item, depth + 1) : surveyForeign(item, depth)
    default:
      return FAULTY // functions and symbols
  }
}

/**
 * Instances of classes count as their members, or as the result of `toJSON`; built-in objects with
 * more than members do not.
 * @param {any} value
 * @param {number} depth
 */
function surveyForeign(value, depth) {
  if (!isWritable(value)) return FAULTY
  const json = jsonOf(value)
  if (json === null || typeof json !== 'object') return surveyOne(json, depth)
  if (json !== value && !isRecord(json)) return surveyForeign(json, depth + 1)
  return Math.max(SPECIAL, survey({ ...json }, depth + 1))
}

/**
 * Writes a checked value.
 * @param {any} value
 * @returns {string | undefined}
 */
function write(value) {
  if (typeof value === 'bigint') return value.toString()
  if (Object.is(value, -0)) return '-0'
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const json = jsonOf(value)
  if (json !== value) return write(json)
  if (Array.isArray(value)) return `[${value.map((item) => write(item) ?? 'null').join(',')}]`
  const members = []
  for (const key of Object.keys(value)) {
    const text = write(value[key])
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${text}`)
  }
  return `{${members.join(',')}}`
}

/**
 * The JSON text of one document.
 * @param {any} document
 * @param {string} name for errors: `document "u1"`
 * @param {Convert} [convert] the program's `default`
 * @returns {string}
 */
function textOf(document, name, convert) {
  let found = surveyDocument(document)
  if (found === FAULTY) {
    document = repaired(document, name, convert)
    found = SPECIAL
  }
  const text = found === PLAIN ? stringify(document) : /** @type {string} */ (write(document))
  if (mayBeTorn(text)) checkWhole([document], () => name)
  return text
}

/**
 * The JSON text of a document to store under an id.
 * @param {any} id
 * @param {any} document
 * @param {Convert} [convert]
 */
function textUnder(id, document, convert) {
  return textOf(document, `document ${JSON.stringify(checkId(id))}`, convert)
}

/**
 * @param {any} document
 * @returns {number} PLAIN, SPECIAL or FAULTY
 */
function surveyDocument(document) {
  if (!isObject(document)) return FAULTY
  if (isRecord(document)) return survey(document, 1)
  return isObject(jsonOf(document)) ? surveyOne(document, 0) : FAULTY
}

/**
 * The writable form of a faulty value: from its `toJSON`, or from the program's `default`.
 * @param {any} document
 * @param {string} name
 * @param {Convert} [convert]
 */
function repaired(document, name, convert) {
  if (!isObject(document) || (convert === undefined && faultOf(document))) throw refusal(document, name)
  const repaired = convert === undefined ? document : converted(document, convert, name)
  const json = repaired === null || repaired === undefined ? repaired : jsonOf(repaired)
  if (isObject(json)) return repaired
  throw new FolioError('invalid_input', `${name} is written as ${kindOf(json)}, not as an object; wrap it in one`)
}

/**
 * Whether a text may contain half of a surrogate pair: JSON.stringify escapes only those in this
 * way.
 * @param {string} text
 */
function mayBeTorn(text) {
  return text.includes('\\ud')
}

/**
 * @param {any[]} documents
 * @param {(index: number) => string} name
 */
function checkWhole(documents, name) {
  const index = documents.findIndex((document) => faultOf(document))
  if (index >= 0) throw refusal(documents[index], name(index))
}

/** @param {any} value */
function stringify(value) {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    const why = cause instanceof RangeError ? 'it is longer than a JavaScript string can be' : String(cause)
    throw new FolioError('invalid_input', `cannot write the document as JSON: ${why}`, { cause })
  }
}

/**
 * The JSON array of documents.
 * @param {any[]} documents in which those that the program converts are replaced
 * @param {number} before how many documents the batch has already
 * @param {Convert} [convert]
 * @returns {string}
 */
function arrayOf(documents, before, convert) {
  const name = (/** @type {number} */ index) => numbered(before + index + 1)
  let found = PLAIN
  for (let index = 0; index < documents.length; index++) {
    const seen = surveyDocument(documents[index])
    if (seen === FAULTY) documents[index] = repaired(documents[index], name(index), convert)
    if (seen > found) found = Math.min(seen, SPECIAL)
  }
  const text = found === PLAIN ? stringify(documents) : `[${documents.map(write).join(',')}]`
  if (mayBeTorn(text)) checkWhole(documents, name)
  return text
}

/** @param {number} number */
function numbered(number) {
  return `document ${number} of the batch`
}

/**
 * Splits documents into JSON arrays of about CHUNK_SIZE characters.
 */
class ArrayWriter {
  /**
   * @param {(json: string) => void} take
   * @param {Convert} [convert]
   */
  constructor(take, convert) {
    this.take = take
    this.convert = convert
    /** @type {any[]} */
    this.pending = []
    this.written = 0
    this.countMax = 64
  }

  /** @param {any} entry a document with its `_id`, or a pair of id and document */
  push(entry) {
    const document = Array.isArray(entry) ? this.joined(entry) : entry
    if (this.pending.push(document) >= this.countMax) this.end()
  }

  /**
   * A pair of id and document as one document.
   * @param {any[]} pair
   * @private
   */
  joined(pair) {
    const name = numbered(this.written + this.pending.length + 1)
    const isId = typeof pair[0] === 'string' || typeof pair[0] === 'bigint' || Number.isSafeInteger(pair[0])
    if (pair.length !== 2 || !isId) {
      throw new FolioError('invalid_input', `${name} is an array, but not a pair of id and document`)
    }
    const id = String(pair[0])
    const document = this.members(pair[1], name)
    if (document._id !== undefined && document._id !== id) {
      throw new FolioError('invalid_input', `${name} carries the id ${JSON.stringify(document._id)} but is put under ${JSON.stringify(id)}`)
    }
    return { _id: id, ...document }
  }

  /**
   * A document whose members can be written after an id.
   * @param {any} document
   * @param {string} name
   * @private
   */
  members(document, name) {
    if (isObject(document) && isRecord(document) && document.toJSON === undefined) return document
    const found = surveyDocument(document) === FAULTY ? repaired(document, name, this.convert) : document
    return jsonOf(found)
  }

  /** Yields what is pending. */
  end() {
    if (this.pending.length === 0) return
    const documents = this.pending
    this.pending = []
    this.write(documents)
  }

  /**
   * @param {any[]} documents
   * @returns {void}
   */
  write(documents) {
    let json
    try {
      json = arrayOf(documents, this.written, this.convert)
    } catch (error) {
      if (!(/** @type {any} */ (error).cause instanceof RangeError) || documents.length === 1) throw error
      // Together they exceed the longest possible string: half of them at a time.
      const half = documents.length >> 1
      this.countMax = half
      this.write(documents.slice(0, half))
      return this.write(documents.slice(half))
    }
    this.take(json)
    this.written += documents.length
    const fitting = Math.round((documents.length * CHUNK_SIZE) / json.length)
    this.countMax = Math.min(Math.max(fitting, 1), documents.length * 4)
  }
}

module.exports = { ArrayWriter, textOf, textUnder }
