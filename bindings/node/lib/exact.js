// Integers beyond 2^53 - 1 as bigints, and other values without a JSON form.
//
// The native half marks such integers before JSON.parse can round them: a string
// that starts with U+0000 and `i`. A string of the user that starts with U+0000 has an `s` after
// it, which is removed again. Rows of SQL also have `b` for bytes and `f` for NaN and the
// infinities.
'use strict'

const { native } = require('./native.js')

/**
 * Parses text from the native half in which large integers are marked.
 * @param {string} text
 * @returns {any}
 */
function parseExact(text) {
  const value = JSON.parse(text)
  return text.includes('\\u0000') ? revived(value) : value
}

/**
 * @param {any} value
 * @returns {any}
 */
function revived(value) {
  if (typeof value === 'string') {
    if (value.charCodeAt(0) !== 0) return value
    return unmarked(value[1], value.slice(2))
  }
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(revived)
  for (const key of Object.keys(value)) {
    const item = value[key]
    const changed = revived(item)
    if (changed !== item) Object.defineProperty(value, key, { value: changed, writable: true, enumerable: true, configurable: true })
  }
  return value
}

/**
 * @param {string} mark
 * @param {string} rest
 */
function unmarked(mark, rest) {
  switch (mark) {
    case 'i':
      return BigInt(rest)
    case 'b':
      return Buffer.from(rest, 'hex')
    case 'f':
      return Number(rest)
    default:
      return rest
  }
}

/**
 * Parses a line that is not marked yet.
 * @param {string} line
 * @returns {any}
 */
function parseLineExact(line) {
  return parseExact(native.markIntegers(line))
}

module.exports = { parseExact, parseLineExact }
