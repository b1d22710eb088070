// Objects to JSON text, exactly or not at all.
//
// JSON.stringify is the fastest writer there is, and a forgetful one: NaN
// becomes null, a Map becomes {}, a Date a string, a bigint an exception without
// a place. So every document is surveyed first, which costs a fraction of the
// writing. What JSON.stringify would write faithfully it writes; bigints and
// negative zero go through a writer of our own; anything else is refused with
// the path at which it stands.
//
// Members that are undefined are left out, as everywhere in JavaScript.
'use strict'

const { checkId } = require('./argument.js')
const { FolioError } = require('./error.js')

/** The core's limit: objects and arrays inside one another, the document included. */
const DEPTH_MAX = 127

/** Text handed to the native half at once, in characters, more or less. */
const CHUNK_SIZE = 64 * 1024

const PLAIN = 0 // JSON.stringify is right
const SPECIAL = 1 // our own writer is needed
const FAULTY = 2 // there is no JSON for it

/**
 * Looks at everything in an object or array.
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
 * Whether JSON.stringify writes the members of an object and nothing else of it.
 * @param {any} value
 */
function isRecord(value) {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null
}

/**
 * Instances of classes count as what they hold, or as what their `toJSON`
 * says; what is built into the language and holds more than its members does not.
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

/** @param {any} value */
function isWritable(value) {
  return Array.isArray(value) || Object.prototype.toString.call(value) === '[object Object]'
}

/** @param {any} value */
function jsonOf(value) {
  return typeof value.toJSON === 'function' ? value.toJSON() : value
}

/**
 * Writes what was surveyed.
 * @param {any} value
 * @returns {string | undefined}
 */
function write(value) {
  if (typeof value === 'bigint') return value.toString()
  if (Object.is(value, -0)) return '-0'
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const json = isRecord(value) ? value : jsonOf(value)
  if (json !== value) return write(json)
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
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
 * @returns {string}
 */
function textOf(document, name) {
  const found = surveyDocument(document)
  if (found === PLAIN) return stringify(document)
  if (found === SPECIAL) return /** @type {string} */ (write(document))
  throw refusal(document, name)
}

/**
 * The JSON text of a document that is put under an id.
 * @param {any} id
 * @param {any} document
 */
function textUnder(id, document) {
  return textOf(document, `document ${JSON.stringify(checkId(id))}`)
}

/** @param {any} document */
function surveyDocument(document) {
  return isObject(document) ? surveyOne(document, 0) : FAULTY
}

/** @param {any} document */
function isObject(document) {
  return document !== null && typeof document === 'object' && !Array.isArray(document)
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
 * @param {any[]} documents
 * @param {number} before how many documents the batch has already
 * @returns {string}
 */
function arrayOf(documents, before) {
  let found = PLAIN
  for (let index = 0; index < documents.length; index++) {
    const seen = surveyDocument(documents[index])
    if (seen > found) found = seen
    if (seen === FAULTY) throw refusal(documents[index], numbered(before + index + 1))
  }
  return found === PLAIN ? stringify(documents) : `[${documents.map(write).join(',')}]`
}

/** @param {number} number */
function numbered(number) {
  return `document ${number} of the batch`
}

/**
 * Why a document is refused, with the path.
 * @param {any} document
 * @param {string} name
 */
function refusal(document, name) {
  if (!isObject(document)) {
    return new FolioError('invalid_input', `${name} is ${kindOf(document)}, not an object; wrap it in one`)
  }
  const { path, reason } = findFault(document, '', []) ?? { path: '', reason: 'cannot be written as JSON' }
  const where = path === '' ? '' : ` at ${JSON.stringify(path)}`
  return new FolioError('invalid_input', `${name}${where} ${reason}`)
}

/**
 * The first value that has no JSON.
 * @param {any} value
 * @param {string} path
 * @param {any[]} around what holds it, outermost first
 * @returns {{ path: string, reason: string } | undefined}
 */
function findFault(value, path, around) {
  const reason = ownFault(value, around)
  if (reason) return { path, reason }
  if (value === null || typeof value !== 'object') return undefined
  const json = jsonOf(value)
  if (json !== value) return around.length > DEPTH_MAX ? undefined : findFault(json, path, [...around, value])
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const item = value[key]
    if (item === undefined && !Array.isArray(value)) continue
    const step = Array.isArray(value) ? `[${key}]` : path === '' ? String(key) : `.${String(key)}`
    const fault = findFault(item, path + step, [...around, value])
    if (fault) return fault
  }
  return undefined
}

/**
 * @param {any} value
 * @param {any[]} around
 * @returns {string | undefined}
 */
function ownFault(value, around) {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? undefined : `is ${value}, which JSON does not have; store null or a string`
    case 'string':
      return isWellFormed(value) ? undefined : 'has half of a surrogate pair, which is no text'
    case 'undefined':
      return 'is undefined, which JSON does not have; store null'
    case 'function':
    case 'symbol':
      return `is ${kindOf(value)}, which JSON does not have; leave it out`
    case 'object':
      if (value === null) return undefined
      if (around.includes(value)) return 'refers to an object that contains it; store an id instead'
      if (around.length >= DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} levels; flatten it`
      if (!isRecord(value) && !isWritable(value)) return `is ${kindOf(value)}; ${adviceFor(value)}`
  }
  return undefined
}

/** @param {string} text */
function isWellFormed(text) {
  return !/\p{Surrogate}/u.test(text)
}

/** @param {any} value */
function kindOf(value) {
  if (value === null) return 'null'
  if (value === undefined) return 'undefined'
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return `a ${typeof value}`
  const name = Buffer.isBuffer(value) ? 'Buffer' : Object.prototype.toString.call(value).slice(8, -1)
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`
}

/** @param {any} value */
function adviceFor(value) {
  if (value instanceof Date) return 'store its toISOString() or getTime()'
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return "store text, such as toString('base64')"
  if (value instanceof Map) return 'store Object.fromEntries(map)'
  if (value instanceof Set) return 'store an array, [...set]'
  return 'store a plain object, an array or text'
}

/**
 * Cuts documents into JSON arrays of about CHUNK_SIZE characters.
 */
class ArrayWriter {
  /** @param {(json: string) => void} take */
  constructor(take) {
    this.take = take
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
    const [id, document] = pair
    const number = this.written + this.pending.length + 1
    if (pair.length !== 2 || typeof id !== 'string') {
      throw new FolioError('invalid_input', `${numbered(number)} is an array, but no pair of id and document`)
    }
    if (!isObject(document)) throw refusal(document, numbered(number))
    if (document._id !== undefined && document._id !== id) {
      throw new FolioError('invalid_input', `${numbered(number)} carries the id ${JSON.stringify(document._id)} but is put under ${JSON.stringify(id)}`)
    }
    return { _id: id, ...document }
  }

  /** Hands over what is pending. */
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
      json = arrayOf(documents, this.written)
    } catch (error) {
      if (!(/** @type {any} */ (error).cause instanceof RangeError) || documents.length === 1) throw error
      // Together they exceed the longest string there is: half of them at a time.
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

module.exports = { ArrayWriter, textUnder }
