// Functions that statements call. For the native half both arguments and result are text.
'use strict'

const { OPTIONS, checkOptions } = require('./argument.js')
const { FolioError } = require('./error.js')
const { parseExact } = require('./exact.js')
const { encoded } = require('./parameter.js')

/** @import { FunctionOptions } from './options.js' */

/**
 * The description of a function for the native half.
 * @param {FunctionOptions} options
 */
function signatureOf(options) {
  const { parameters = [], returns, volatile = false, takesNull = false } = checkOptions(options, OPTIONS.function)
  if (returns === undefined) {
    throw new FolioError('invalid_input', "returns must name the type of what the function returns, such as 'text'")
  }
  return { parameters, returns, isVolatile: volatile, takesNull }
}

/**
 * A function that is called with the text of its arguments, and never throws.
 * @param {(...values: any[]) => any} work
 */
function called(work) {
  if (typeof work !== 'function') throw new FolioError('invalid_input', 'the last argument must be a function')
  return (/** @type {string} */ values) => {
    try {
      const answer = work(...parseExact(values))
      if (typeof answer?.then === 'function') {
        throw new FolioError('invalid_input', 'it returned a promise, which a statement cannot await; return the value')
      }
      return `v${JSON.stringify(encoded(answer, 'its result', 0))}`
    } catch (error) {
      return `e${described(error)}`
    }
  }
}

/** @param {any} error */
function described(error) {
  if (error instanceof FolioError) return error.message
  try {
    return String(error)
  } catch {
    return 'it threw a value that is not text'
  }
}

module.exports = { called, signatureOf }
