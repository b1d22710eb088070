// Why a document cannot be written as JSON, and where.
//
// Slow and exact: it runs only when the check of `encode.js` finds a fault, or the text may contain
// half of a surrogate pair.
'use strict'

const { FolioError } = require('./error.js')
const { isHandle } = require('./inspect.js')

/** The limit of the core for nested objects and arrays, including the document. */
const DEPTH_MAX = 127

/** Characters of a path that an error shows. */
const PATH_SIZE = 80

const TORN = 'has half of a surrogate pair, which is not valid text'

/**
 * Why a document is refused, with the path.
 * @param {any} document
 * @param {string} name
 */
function refusal(document, name) {
  if (!isObject(document)) {
    return new FolioError('invalid_input', `${name} is ${kindOf(document)}, not an object; wrap it in one`)
  }
  const { path, reason } = faultOf(document) ?? { path: '', reason: 'cannot be written as JSON' }
  return refusalAt(name, path, reason)
}

/**
 * @param {string} name
 * @param {string} path
 * @param {string} reason
 */
function refusalAt(name, path, reason) {
  const where = path === '' ? '' : ` at ${JSON.stringify(shortened(path))}`
  return new FolioError('invalid_input', `${name}${where} ${reason}`)
}

/**
 * The first value of a document without a JSON form.
 * @param {any} document
 */
function faultOf(document) {
  return findFault(document, '', [])
}

/** @param {string} path */
function shortened(path) {
  return path.length <= PATH_SIZE ? path : `${path.slice(0, PATH_SIZE / 2)}…${path.slice(-PATH_SIZE / 2)}`
}

/** The first value without a JSON form.
 * @param {any} value
 * @param {string} path
 * @param {any[]} around what holds it, outermost first
 * @returns {{ path: string, reason: string } | undefined}
 */
function findFault(value, path, around) {
  const reason = misplaced(value, around) ?? unwritable(value)
  if (reason) return { path, reason }
  if (value === null || typeof value !== 'object') return undefined
  const json = jsonOf(value)
  if (json !== value) return around.length > DEPTH_MAX ? undefined : findFault(json, path, [...around, value])
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const item = value[key]
    if (item === undefined && !Array.isArray(value)) continue
    const step = Array.isArray(value) ? `[${key}]` : path === '' ? String(key) : `.${String(key)}`
    if (!isWellFormed(String(key))) return { path: path + step, reason: TORN }
    const fault = findFault(item, path + step, [...around, value])
    if (fault) return fault
  }
  return undefined
}

/**
 * The fault of a value in its place, even if it could be converted.
 * @param {any} value
 * @param {any[]} around
 * @returns {string | undefined}
 */
function misplaced(value, around) {
  if (typeof value === 'string') return isWellFormed(value) ? undefined : TORN
  if (value === null || typeof value !== 'object') return undefined
  if (around.includes(value)) return 'refers to an object that contains it; store an id instead'
  if (around.length >= DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} levels; flatten it`
  return undefined
}

/**
 * The reason why a value has no JSON form.
 * @param {any} value
 * @returns {string | undefined}
 */
function unwritable(value) {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? undefined : `is ${value}, which JSON does not have; store null or a string`
    case 'undefined':
      return 'is undefined, which JSON does not have; store null'
    case 'function':
    case 'symbol':
      return `is ${kindOf(value)}, which JSON does not have; leave it out`
    case 'object':
      if (value === null || isRecord(value) || isWritable(value)) return undefined
      return isDate(value) ? 'is an invalid Date; store null' : `is ${kindOf(value)}; ${adviceFor(value, 'store')}`
  }
  return undefined
}

/** @param {string} text */
function isWellFormed(text) {
  return /** @type {any} */ (text).isWellFormed()
}

/** @param {any} value */
function kindOf(value) {
  if (value === null) return 'null'
  if (value === undefined) return 'undefined'
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return `a ${typeof value}`
  const name = Buffer.isBuffer(value) ? 'Buffer' : Object.prototype.toString.call(value).slice(8, -1)
  return `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`
}

/**
 * @param {any} value
 * @param {'store' | 'give'} verb
 */
function adviceFor(value, verb) {
  if (value instanceof Uint8Array || value instanceof ArrayBuffer || value instanceof DataView) return `${verb} text, such as toString('base64')`
  if (ArrayBuffer.isView(value)) return `${verb} an array, Array.from(view)`
  if (value instanceof Map) return `${verb} Object.fromEntries(map)`
  if (value instanceof Set) return `${verb} an array, [...set]`
  if (isHandle(value) && typeof value.toArray === 'function') return `${verb} its toArray()`
  if (typeof value.then === 'function') return `await it, and ${verb} its result`
  return `${verb} a plain object, an array or text`
}

/** @param {any} value */
function isDate(value) {
  return Object.prototype.toString.call(value) === '[object Date]'
}

/** @param {any} document */
function isObject(document) {
  return document !== null && typeof document === 'object' && !Array.isArray(document)
}

/**
 * Whether JSON.stringify writes exactly the members of an object.
 * @param {any} value
 */
function isRecord(value) {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null
}

/**
 * Whether an object is written as its members, or as the result of its `toJSON`. Byte arrays are
 * not: a Buffer would be a number per byte.
 * @param {any} value
 */
function isWritable(value) {
  if (Array.isArray(value)) return true
  if (ArrayBuffer.isView(value) || isHandle(value)) return false
  if (typeof value.toJSON === 'function') return !isDate(value) || !Number.isNaN(value.getTime())
  return Object.prototype.toString.call(value) === '[object Object]'
}

/** @param {any} value */
function jsonOf(value) {
  return typeof value.toJSON === 'function' ? value.toJSON() : value
}

module.exports = { DEPTH_MAX, TORN, adviceFor, faultOf, isObject, isRecord, isWellFormed, isWritable, jsonOf, kindOf, misplaced, refusal, refusalAt, unwritable }
