// Values on their way to the native half, as JSON text: for parameters, for columns, and
// what functions answer.
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
 * @param {':' | '$'} sign what the language writes in front of a name
 * @returns {string | undefined}
 */
function parametersText(params, sign = ':') {
  if (params === undefined) return undefined
  if (Array.isArray(params)) {
    if (params.length === 0) return undefined
    return JSON.stringify({ values: params.map((value, index) => encoded(value, `parameter ${index + 1}`, 0)) })
  }
  if (!isPlain(params)) {
    throw new FolioError('invalid_input', 'params must be an array, or an object whose members are named in the text')
  }
  const names = Object.keys(params)
  return JSON.stringify({ names, values: names.map((name) => encoded(params[name], `parameter ${sign}${name}`, 0)) })
}

/**
 * A value that crosses to SQL.
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
      throw new FolioError('invalid_input', `${place} is ${value === undefined ? 'undefined; write null' : `a ${typeof value}, which has no type here`}`)
  }
}

/**
 * @param {any} value
 * @param {string} place
 * @param {number} depth
 */
function encodedObject(value, place, depth) {
  if (depth >= DEPTH_MAX) throw new FolioError('invalid_input', `${place} nests deeper than ${DEPTH_MAX} levels`)
  if (Array.isArray(value)) return ['l', value.map((item) => encoded(item, place, depth + 1))]
  if (value instanceof Uint8Array) return ['b', Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')]
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new FolioError('invalid_input', `${place} is an invalid Date`)
    return ['t', value.getTime()]
  }
  if (isPlain(value)) return ['j', textOf(value, place)]
  const kind = value.constructor?.name ?? 'object'
  throw new FolioError('invalid_input', `${place} is a ${kind}, which has no type here; convert it, or give its text`)
}

/** @param {any} value */
function isPlain(value) {
  if (value === null || typeof value !== 'object') return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

/**
 * Rows as columns, each a list by name. A row that has no such member has null there.
 * @param {Record<string, any>[]} rows
 * @returns {string}
 */
function columnsText(rows) {
  /** @type {Map<string, any[]>} */
  const columns = new Map()
  for (const [index, row] of rows.entries()) {
    if (!isPlain(row)) throw new FolioError('invalid_input', `row ${index + 1} must be an object, whose members are the columns`)
    for (const [name, value] of Object.entries(row)) {
      if (value === undefined) continue
      let values = columns.get(name)
      if (values === undefined) columns.set(name, (values = Array(rows.length).fill(null)))
      values[index] = encoded(value, `${JSON.stringify(name)} of row ${index + 1}`, 1)
    }
  }
  if (columns.size === 0) throw new FolioError('invalid_input', 'rows that have no members say no columns; register one row at least, or an Arrow table')
  return JSON.stringify({ names: [...columns.keys()], values: [...columns.values()].map((values) => ['l', values]) })
}

module.exports = { columnsText, encoded, parametersText }
