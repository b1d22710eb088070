// Integers beyond 2^53 - 1 as bigints, and other values without a JSON form.
//
// The native half marks such integers before JSON.parse can round them: a string
// that starts with U+0000 and `i`. A string of the user that starts with U+0000 has an `s` after
// it, which is removed again. Rows of SQL also have `b` for bytes, which are beside the text, and
// `f` for NaN and the infinities.
'use strict'

const { native } = require('./native.js')

/**
 * Parses text from the native half in which large integers are marked.
 * @param {string} text
 * @param {Buffer} [bytes] beside it
 * @returns {any}
 */
function parseExact(text, bytes) {
  const value = JSON.parse(text)
  return text.includes('\\u0000') ? revived(value, bytes) : value
}

/**
 * @param {any} value
 * @param {Buffer} [bytes]
 * @returns {any}
 */
function revived(value, bytes) {
  if (typeof value === 'string') {
    if (value.charCodeAt(0) !== 0) return value
    return unmarked(value[1], value.slice(2), bytes)
  }
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((item) => revived(item, bytes))
  for (const key of Object.keys(value)) {
    const item = value[key]
    const changed = revived(item, bytes)
    if (changed !== item) Object.defineProperty(value, key, { value: changed, writable: true, enumerable: true, configurable: true })
  }
  return value
}

/**
 * @param {string} mark
 * @param {string} rest
 * @param {Buffer} [bytes]
 */
function unmarked(mark, rest, bytes) {
  switch (mark) {
    case 'i':
      return BigInt(rest)
    case 'b':
      return bytes === undefined || rest === '' ? Buffer.from(rest, 'hex') : ownBytes(bytes, rest)
    case 'f':
      return Number(rest)
    default:
      return rest
  }
}

/**
 * A value's bytes: a copy, so that one of many does not keep all in memory.
 * @param {Buffer} bytes
 * @param {string} place
 */
function ownBytes(bytes, place) {
  const comma = place.indexOf(',')
  const [start, size] = [Number(place.slice(0, comma)), Number(place.slice(comma + 1))]
  if (size === bytes.length) return bytes
  const own = Buffer.allocUnsafe(size)
  bytes.copy(own, 0, start, start + size)
  return own
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
