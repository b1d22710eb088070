// Errors as users catch them.
//
// The native half sends `code: text`; what is thrown here is an Error with the
// stable `code` of every surface (`not_found`, `locked`, `read_only`, ...) and a
// text that says what to do.
'use strict'

/**
 * The stable, machine-readable kind of an error.
 * @typedef {'not_found' | 'conflict' | 'corrupted' | 'read_only' | 'locked' | 'poisoned' | 'invalid_input' |
 *   'syntax' | 'type_mismatch' | 'unsupported' | 'closed' | 'cancelled' | 'timeout' | 'memory_limit' | 'io'} ErrorCode
 */

/** An error from a database. Match on `code`; the text is for people. */
class FolioError extends Error {
  /**
   * @param {ErrorCode} code
   * @param {string} message
   * @param {ErrorOptions} [options]
   */
  constructor(code, message, options) {
    super(message, options)
    this.name = 'FolioError'
    /** @type {ErrorCode} */
    this.code = code
  }
}

const CODED = /^([a-z_]+): ([^]*)$/

/**
 * An error of the native half as a FolioError; any other error unchanged.
 * @param {any} error
 * @returns {Error}
 */
function asFolioError(error) {
  const found = error instanceof Error && !(error instanceof FolioError) && CODED.exec(error.message)
  return found ? new FolioError(/** @type {ErrorCode} */ (found[1]), found[2]) : error
}

/**
 * For `promise.catch`.
 * @param {any} error
 * @returns {never}
 */
function rethrow(error) {
  throw asFolioError(error)
}

/**
 * Calls the native half.
 * @template T
 * @param {() => T} job
 * @returns {T}
 */
function call(job) {
  try {
    return job()
  } catch (error) {
    throw asFolioError(error)
  }
}

module.exports = { FolioError, asFolioError, call, rethrow }
