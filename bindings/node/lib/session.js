// Sessions, prepared statements and transactions: SQL and ZiQL, one statement after
// the other, here or on another thread.
'use strict'

const { Answer } = require('./answer.js')
const { OPTIONS, checkOptions, checkText } = require('./argument.js')
const { FolioError, call, rethrow } = require('./error.js')
const { inspectableAs } = require('./inspect.js')
const { parametersText } = require('./parameter.js')

/** @import { Parameters, SqlOptions } from './options.js' */

/**
 * Runs statements, and has a transaction of its own. Any number may be open.
 *
 * `db.sql` and `db.ziql` need no session. While a promise of a session is at work, its
 * other calls wait for it.
 */
class Session {
  /**
   * @param {any} inner
   * @private
   */
  constructor(inner) {
    /** @private @type {any} */
    this.inner = inner
  }

  /**
   * Runs SQL statements and answers the last one; see `Database.sql`.
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @param {Parameters} [params]
   * @returns {Answer<T>}
   */
  sql(text, params) {
    checkText(text, 'SQL')
    const given = parametersText(params)
    return answered(call(() => this.opened().sql(text, given, false)))
  }

  /**
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @param {Parameters} [params]
   * @param {SqlOptions} [options]
   * @returns {Promise<Answer<T>>}
   */
  async sqlAsync(text, params, options = {}) {
    checkText(text, 'SQL')
    const given = parametersText(params)
    const inner = this.opened()
    return interruptible(inner, options, () => inner.sqlAsync(text, given, false))
  }

  /**
   * Runs a script of ZiQL and answers its last statement; see `Database.ziql`.
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @param {Record<string, any>} [params]
   * @returns {Answer<T>}
   */
  ziql(text, params) {
    checkText(text, 'ZiQL')
    const given = parametersText(params, '$')
    return answered(call(() => this.opened().ziql(text, given)))
  }

  /**
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @param {Record<string, any>} [params]
   * @param {SqlOptions} [options]
   * @returns {Promise<Answer<T>>}
   */
  async ziqlAsync(text, params, options = {}) {
    checkText(text, 'ZiQL')
    const given = parametersText(params, '$')
    const inner = this.opened()
    return interruptible(inner, options, () => inner.ziqlAsync(text, given))
  }

  /**
   * Makes one statement ready to run, any number of times.
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @returns {Prepared<T>}
   */
  prepare(text) {
    checkText(text, 'SQL')
    const inner = call(() => this.opened().prepare(text))
    return new /** @type {any} */ (Prepared)(inner, text)
  }

  /**
   * Runs a function as a transaction, which is committed when it returns and rolled
   * back when it throws. Inside of a transaction it is a part of that. A function that
   * awaits something is for `transactionAsync`.
   * @template R
   * @param {(session: Session) => R} work
   * @returns {R}
   */
  transaction(work) {
    const part = beginning(this.isInTransaction)
    this.sql(part.begin)
    let result
    try {
      result = work(this)
      if (typeof (/** @type {any} */ (result)?.then) === 'function') {
        throw new FolioError('invalid_input', 'the function of a transaction answered a promise; use transactionAsync')
      }
    } catch (error) {
      this.sql(part.undo)
      throw error
    }
    this.sql(part.commit)
    return result
  }

  /**
   * The same of a function that may await. Statements that run elsewhere in this
   * session meanwhile are part of the transaction: give each transaction a session.
   * @template R
   * @param {(session: Session) => Promise<R> | R} work
   * @returns {Promise<R>}
   */
  async transactionAsync(work) {
    const part = beginning(this.isInTransaction)
    await this.sqlAsync(part.begin)
    let result
    try {
      result = await work(this)
    } catch (error) {
      await this.sqlAsync(part.undo)
      throw error
    }
    await this.sqlAsync(part.commit)
    return result
  }

  /** Whether a transaction is open. */
  get isInTransaction() {
    return /** @type {boolean} */ (call(() => this.opened().isInTransaction()))
  }

  /** Ends the statement that a promise is at work on; it fails with `cancelled`. */
  interrupt() {
    this.opened().interrupt()
  }

  /** Ends the session, and its transaction without a trace; closing twice is fine. */
  close() {
    this.inner = null
  }

  /** @private */
  opened() {
    if (this.inner !== null) return this.inner
    throw new FolioError('closed', 'the session was closed; begin another')
  }
}

/**
 * A statement of a session, ready to run with other parameters.
 * @template {object} [T=Record<string, any>]
 */
class Prepared {
  /**
   * @param {any} inner
   * @param {string} text
   * @private
   */
  constructor(inner, text) {
    /** @private */
    this.inner = inner
    /** The text. */
    this.text = text
  }

  /**
   * Runs the statement.
   * @param {Parameters} [params]
   * @returns {Answer<T>}
   */
  execute(params) {
    const given = parametersText(params)
    return answered(call(() => this.inner.execute(given)))
  }

  /**
   * @param {Parameters} [params]
   * @returns {Promise<Answer<T>>}
   */
  async executeAsync(params) {
    const given = parametersText(params)
    return answered(await this.inner.executeAsync(given).catch(rethrow))
  }

  /**
   * Runs the statement once for each element; how many rows were changed in all.
   * @param {Iterable<Parameters>} params
   * @returns {number}
   */
  executeMany(params) {
    let count = 0
    for (const one of params) count += this.execute(one).count ?? 0
    return count
  }
}

inspectableAs(Session, (session) => (session.inner === null ? { isClosed: true } : { isInTransaction: session.isInTransaction }))
inspectableAs(Prepared, ({ text }) => ({ text }))

let parts = 0

/**
 * The statements around a transaction, or around a part of one.
 * @param {boolean} isInside
 */
function beginning(isInside) {
  if (!isInside) return { begin: 'BEGIN', commit: 'COMMIT', undo: 'ROLLBACK' }
  parts += 1
  const name = `part_${parts}`
  return { begin: `SAVEPOINT ${name}`, commit: `RELEASE ${name}`, undo: `ROLLBACK TO ${name}` }
}

/**
 * Waits for a statement, which a signal ends; the rows it answers, too.
 * @param {any} inner session
 * @param {SqlOptions} options
 * @param {() => Promise<any>} begin
 * @returns {Promise<Answer<any>>}
 */
async function interruptible(inner, options, begin) {
  const { signal } = checkOptions(options, OPTIONS.sql)
  if (signal === undefined) return answered(await begin().catch(rethrow))
  const interrupt = () => inner.interrupt()
  const check = () => {
    if (signal.aborted) throw new FolioError('cancelled', 'the statement was cancelled', { cause: signal.reason })
  }
  check()
  signal.addEventListener('abort', interrupt, { once: true })
  const release = () => signal.removeEventListener('abort', interrupt)
  try {
    const found = await begin()
    check() // it may have been aborted before the statement began to run
    return answered(found, { check, release })
  } catch (error) {
    release()
    return rethrow(error)
  }
}

/**
 * @param {any} inner
 * @param {{ check: () => void, release: () => void }} [watch] a signal over its rows
 */
function answered(inner, watch) {
  return new /** @type {any} */ (Answer)(inner, watch)
}

module.exports = { Prepared, Session, answered, interruptible }
