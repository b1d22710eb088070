// Values for parameters on their way to the native half, as JSON text.
//
// What JSON says exactly stands for itself; any other value is an array of a letter
// and text, as `src/parameter.rs` tells.
'use strict'

const { textOf } = require('./encode.js')
const { FolioError } = require('./error.js')

/** @import { Parameters } from './options.js' */

const DEPTH_MAX = 16

/**
 * An array by position, an object by name.
 * @param {Parameters | undefined} params
 * @returns {string | undefined}
 */
function parametersText(params) {
  if (params === undefined) return undefined
  if (Array.isArray(params)) {
    if (params.length === 0) return undefined
    return JSON.stringify({ values: params.map((value, index) => encoded(value, `${index + 1}`, 0)) })
  }
  if (!isPlain(params)) {
    throw new FolioError('invalid_input', 'params must be an array, or an object whose members are named in the text')
  }
  const names = Object.keys(params)
  return JSON.stringify({ names, values: names.map((name) => encoded(params[name], `:${name}`, 0)) })
}

/**
 * @param {any} value
 * @param {string} place for errors
 * @param {number} depth
 * @returns {any}
 */
function encoded(value, place, depth) {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value)) ? value : ['f', String(value).replace('Infinity', 'inf')]
    case 'bigint':
      return ['i', String(value)]
    case 'object':
      return value === null ? null : encodedObject(value, place, depth)
    default:
      throw new FolioError('invalid_input', `parameter ${place} is ${value === undefined ? 'undefined; write null' : `a ${typeof value}, which has no type here`}`)
  }
}

/**
 * @param {any} value
 * @param {string} place
 * @param {number} depth
 */
function encodedObject(value, place, depth) {
  if (depth >= DEPTH_MAX) throw new FolioError('invalid_input', `parameter ${place} nests deeper than ${DEPTH_MAX} levels`)
  if (Array.isArray(value)) return ['l', value.map((item) => encoded(item, place, depth + 1))]
  if (value instanceof Uint8Array) return ['b', Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')]
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new FolioError('invalid_input', `parameter ${place} is an invalid Date`)
    return ['t', value.getTime()]
  }
  if (isPlain(value)) return ['j', textOf(value, `parameter ${place}`)]
  const kind = value.constructor?.name ?? 'object'
  throw new FolioError('invalid_input', `parameter ${place} is a ${kind}, which has no type here; convert it, or give its text`)
}

/** @param {any} value */
function isPlain(value) {
  if (value === null || typeof value !== 'object') return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

module.exports = { parametersText }
