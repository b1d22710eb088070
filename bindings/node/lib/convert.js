// The `default` of a write: a function of the program for values without a JSON form.
//
// It is called only for those values, so other documents are written as fast as before. Its result
// may contain such values again. If it returns undefined, the value is refused with its path.
'use strict'

const { isWellFormed, jsonOf, misplaced, refusalAt, unwritable, TORN } = require('./fault.js')

/** @import { Convert } from './options.js' */

/**
 * A copy of a document with all values without a JSON form converted.
 * @param {any} document
 * @param {Convert} convert
 * @param {string} name for errors: `document "u1"`
 * @returns {any}
 */
function converted(document, convert, name) {
  return copied(document, '', [])

  /**
   * @param {any} value
   * @param {string} path
   * @param {any[]} around what holds it, outermost first
   * @returns {any}
   */
  function copied(value, path, around) {
    const fault = misplaced(value, around)
    if (fault) throw refusalAt(name, path, fault)
    const reason = unwritable(value)
    if (reason) return copied(answered(value, path, reason), path, [...around, value])
    if (value === null || typeof value !== 'object') return value
    const within = [...around, value]
    const json = jsonOf(value)
    if (json !== value) return json === undefined ? undefined : copied(json, path, within)
    if (Array.isArray(value)) return Array.from(value, (item, index) => copied(item, `${path}[${index}]`, within))
    const copy = Object.create(null)
    for (const key of Object.keys(value)) {
      if (value[key] === undefined) continue
      const step = path === '' ? key : `${path}.${key}`
      if (!isWellFormed(key)) throw refusalAt(name, step, TORN)
      copy[key] = copied(value[key], step, within)
    }
    return copy
  }

  /**
   * @param {any} value
   * @param {string} path
   * @param {string} reason
   */
  function answered(value, path, reason) {
    const answer = convert(value)
    if (typeof answer?.then === 'function') throw refusalAt(name, path, `${reason}; default returned a promise, which is not awaited`)
    if (answer === undefined || Object.is(answer, value)) throw refusalAt(name, path, reason)
    return answer
  }
}

module.exports = { converted }
