// Encodes values for the native half as JSON text: parameters, columns, and results of functions.
//
// A value that JSON represents exactly is itself; any other value is an array of a letter and text,
// see `src/parameter.rs`. Bytes are beside the text, except those of the results of functions.
'use strict'

const { textOf } = require('./encode.js')
const { FolioError } = require('./error.js')
const { TORN, adviceFor, isWellFormed, kindOf } = require('./fault.js')
const { isHandle } = require('./inspect.js')

/** @import { Convert, Parameters } from './options.js' */

const DEPTH_MAX = 16

/**
 * Text for the native half, or the text and the bytes that it refers to.
 * @typedef {string | { text: string, bytes: Uint8Array[] }} Encoded
 */

/**
 * The arguments after the text of a statement. The first decides: an array is the list of
 * the parameters, a plain object has them by name, and options may follow either; anything
 * else is the first of the values, which follow one another.
 * @param {any[]} args
 * @param {Convert} [convert] the program's `default`
 * @returns {[Encoded | undefined, any]} the values for the native half, and the options
 */
function given(args, convert) {
  const [first, options] = args
  const isWhole = Array.isArray(first) || isPlain(first) || (first === undefined && args.length <= 2)
  if (isWhole && args.length <= 2) return [parametersText(first, ':', convert), options]
  if (isWhole) throw tooMany(first)
  const last = args.at(-1)
  if (args.length > 1 && isPlain(last) && last.signal instanceof AbortSignal) {
    throw new FolioError('invalid_input', 'options follow an array of parameters; put the values into one: [1, 2], { signal }')
  }
  return [parametersText(args, ':', convert), undefined]
}

/**
 * The same without options.
 * @param {any[]} args
 * @param {Convert} [convert]
 * @returns {Encoded | undefined} the values for the native half
 */
function givenAlone(args, convert) {
  const [values, options] = given(args, convert)
  if (options === undefined) return values
  if (isPlain(options) && 'signal' in options) throw new FolioError('invalid_input', 'a signal can only end a statement on another thread; use the method whose name ends in Async')
  throw tooMany(args[0])
}

/** @param {any} first */
function tooMany(first) {
  if (first === undefined) return new FolioError('invalid_input', 'parameter 1 is undefined; write null')
  return new FolioError('invalid_input', 'there is a value after an array or an object of parameters; put an array that is a value into the array: [[1, 2], 3]')
}

/**
 * An array by position, an object by name.
 * @param {Parameters | undefined} params
 * @param {':' | '$'} sign the prefix of a name in the language
 * @param {Convert} [convert]
 * @returns {Encoded | undefined}
 */
function parametersText(params, sign = ':', convert) {
  if (params === undefined) return undefined
  /** @type {Uint8Array[]} */
  const bytes = []
  if (Array.isArray(params)) {
    if (params.length === 0) return undefined
    return beside(bytes, { values: Array.from(params, (value, index) => encoded(value, `parameter ${index + 1}`, 0, convert, bytes)) })
  }
  if (!isPlain(params)) {
    throw new FolioError('invalid_input', `params must be an array, or an object whose members are named in the text, not ${kindOf(params)}`)
  }
  const names = Object.keys(params)
  return beside(bytes, { names, values: names.map((name) => encoded(/** @type {any} */ (params)[name], `parameter ${sign}${name}`, 0, convert, bytes)) })
}

/**
 * @param {Uint8Array[]} bytes
 * @param {object} values
 * @returns {Encoded}
 */
function beside(bytes, values) {
  const text = JSON.stringify(values)
  return bytes.length === 0 ? text : { text, bytes }
}

/**
 * A value for SQL.
 * @param {any} value
 * @param {string} place for errors
 * @param {number} depth
 * @param {Convert} [convert]
 * @param {Uint8Array[]} [bytes] where those of the value are kept
 * @returns {any}
 */
function encoded(value, place, depth, convert, bytes) {
  switch (typeof value) {
    case 'string':
      if (!isWellFormed(value)) throw new FolioError('invalid_input', `${place} ${TORN}`)
      return value
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value)) ? value : ['f', String(value).replace('Infinity', 'inf')]
    case 'bigint':
      return ['i', String(value)]
    case 'object':
      return value === null ? null : encodedObject(value, place, depth, convert, bytes)
    case 'undefined':
      throw new FolioError('invalid_input', `${place} is undefined; write null`)
    default:
      return encodedOther(value, place, depth, convert, bytes)
  }
}

/**
 * @param {any} value
 * @param {string} place
 * @param {number} depth
 * @param {Convert} [convert]
 * @param {Uint8Array[]} [bytes]
 */
function encodedObject(value, place, depth, convert, bytes) {
  if (depth >= DEPTH_MAX) throw new FolioError('invalid_input', `${place} nests deeper than ${DEPTH_MAX} levels`)
  const list = (/** @type {Iterable<any>} */ items) => ['l', Array.from(items, (item) => encoded(item, place, depth + 1, convert, bytes))]
  if (Array.isArray(value)) return list(value)
  if (value instanceof Uint8Array) return encodedBytes(value, bytes)
  if (value instanceof ArrayBuffer) return encodedBytes(new Uint8Array(value), bytes)
  if (value instanceof DataView) return encodedBytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), bytes)
  if (value instanceof Float32Array || value instanceof Float64Array) return ['l', Array.from(value, (item) => ['f', String(item).replace('Infinity', 'inf')])]
  if (ArrayBuffer.isView(value)) return list(/** @type {any} */ (value))
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new FolioError('invalid_input', `${place} is an invalid Date`)
    return ['t', value.getTime()]
  }
  if (isPlain(value)) return ['j', textOf(value, place, convert)]
  if (typeof value.toJSON === 'function' && !isHandle(value)) return encoded(value.toJSON(), place, depth + 1, convert, bytes)
  if (isInstance(value)) return ['j', textOf(value, place, convert)]
  return encodedOther(value, place, depth, convert, bytes)
}

/**
 * Bytes are copied: the program may change them before a statement that waits has run.
 * @param {Uint8Array} value
 * @param {Uint8Array[]} [bytes]
 */
function encodedBytes(value, bytes) {
  return ['b', bytes === undefined ? Buffer.from(value).toString('hex') : bytes.push(new Uint8Array(value)) - 1]
}

/**
 * A value without an SQL type, converted by the program's `default`.
 * @param {any} value
 * @param {string} place
 * @param {number} depth
 * @param {Convert} [convert]
 * @param {Uint8Array[]} [bytes]
 */
function encodedOther(value, place, depth, convert, bytes) {
  const answer = convert?.(value)
  if (answer !== undefined && !Object.is(answer, value) && depth < DEPTH_MAX) return encoded(answer, place, depth + 1, convert, bytes)
  const advice = typeof value === 'object' ? `; ${adviceFor(value, 'give')}` : ''
  throw new FolioError('invalid_input', `${place} is ${kindOf(value)}, which has no SQL type${advice}`)
}

/** @param {any} value */
function isInstance(value) {
  return Object.prototype.toString.call(value) === '[object Object]'
}

/** @param {any} value */
function isPlain(value) {
  if (value === null || typeof value !== 'object') return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

/**
 * Rows as columns, each a list by name, with null for a missing member.
 * @param {readonly Record<string, any>[]} rows
 * @param {Convert} [convert]
 * @returns {Encoded}
 */
function columnsText(rows, convert) {
  /** @type {Map<string, any[]>} */
  const columns = new Map()
  /** @type {Uint8Array[]} */
  const bytes = []
  for (const [index, row] of rows.entries()) {
    if (!isPlain(row)) throw new FolioError('invalid_input', `row ${index + 1} must be an object, whose members are the columns`)
    for (const [name, value] of Object.entries(row)) {
      if (value === undefined) continue
      let values = columns.get(name)
      if (values === undefined) columns.set(name, (values = Array(rows.length).fill(null)))
      values[index] = encoded(value, `${JSON.stringify(name)} of row ${index + 1}`, 1, convert, bytes)
    }
  }
  if (columns.size === 0) throw new FolioError('invalid_input', 'rows without members have no columns; register at least one row, or an Arrow table')
  return beside(bytes, { names: [...columns.keys()], values: [...columns.values()].map((values) => ['l', values]) })
}

module.exports = { columnsText, encoded, given, givenAlone, parametersText }
