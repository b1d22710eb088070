// Sessions, prepared statements and transactions: SQL and ZiQL, one statement after the other, on
// this thread or another.
'use strict'

const { Answer } = require('./answer.js')
const { OPTIONS, checkOptions, checkText } = require('./argument.js')
const { FolioError, call, rethrow } = require('./error.js')
const { inspectableAs } = require('./inspect.js')
const { given, givenAlone, parametersText } = require('./parameter.js')
const { Turns, atOnce, functionInTurn, inTurn } = require('./turns.js')

/** @import { Convert, Given, GivenAsync, LimitOptions, Parameters, SqlOptions } from './options.js' */

/**
 * Runs statements, with its own transaction. Any number may be open.
 *
 * `db.sql` and `db.ziql` need no session. While a promise of a session is pending, its
 * other calls wait for it.
 */
class Session {
  /**
   * @param {any} inner
   * @param {Turns | undefined} turns of the handle, if it writes
   * @param {Convert} [convert]
   * @param {Session} [parent] the session of a transaction, or the transaction of a savepoint
   * @private
   */
  constructor(inner, turns, convert, parent) {
    /** @private @type {any} */
    this.inner = inner
    /** @private */
    this.parent = parent
    /** @private Whether it is of a transaction that has ended. */
    this.hasEnded = false
    /** @private Whether it is of a transaction that cannot wait for promises. */
    this.isSync = false
    /** @private @type {Set<Promise<any>>} what runs on another thread, also for transactions */
    this.pending = parent?.pending ?? new Set()
    /** @private */
    this.turns = turns
    /** @private @type {Turns | undefined} of the parts of its transaction */
    this.parts = undefined
    /** @private The program's `default`. */
    this.convert = convert
  }

  /**
   * Runs SQL statements and returns the result of the last; see `Database.sql`.
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @param {Given} params
   * @returns {Answer<T>}
   */
  sql(text, ...params) {
    checkText(text, 'SQL')
    const values = givenAlone(params, this.convert)
    return this.runSync((inner, waitMs) => inner.sql(text, values, false, waitMs))
  }

  /**
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @param {GivenAsync} params
   * @returns {Promise<Answer<T>>}
   */
  async sqlAsync(text, ...params) {
    checkText(text, 'SQL')
    const [values, options = {}] = given(params, this.convert)
    return this.runAsync(options, (inner, waitMs) => inner.sqlAsync(text, values, false, waitMs))
  }

  /**
   * Runs a script of ZiQL and returns the result of its last statement; see `Database.ziql`.
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @param {Record<string, any>} [params]
   * @returns {Answer<T>}
   */
  ziql(text, params) {
    checkText(text, 'ZiQL')
    const values = parametersText(params, '$', this.convert)
    return this.runSync((inner, waitMs) => inner.ziql(text, values, waitMs))
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
    const values = parametersText(params, '$', this.convert)
    return this.runAsync(options, (inner, waitMs) => inner.ziqlAsync(text, values, waitMs))
  }

  /**
   * Runs a statement on this thread.
   * @private
   * @param {(inner: any, waitMs: number | undefined) => any} run
   * @returns {Answer<any>}
   */
  runSync(run) {
    const inner = this.opened()
    return answered(atOnce(this.turns, inner, (waitMs) => run(inner, waitMs)))
  }

  /**
   * Runs a statement on another thread.
   * @private
   * @param {SqlOptions} options
   * @param {(inner: any, waitMs: number | undefined) => Promise<any>} run
   */
  async runAsync(options, run) {
    const inner = this.openedAsync()
    return interruptible(inner, options, () =>
      inTurn(this.turns, inner, options.signal, (waitMs) => this.tracked(run(this.openedAsync(), waitMs))))
  }

  /**
   * Prepares one statement, to run any number of times.
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @returns {Prepared<T>}
   */
  prepare(text) {
    checkText(text, 'SQL')
    const inner = call(() => this.opened().prepare(text))
    return new /** @type {any} */ (Prepared)(inner, text, this)
  }

  /**
   * Runs a function as a transaction, which is committed when it returns and rolled
   * back when it throws. Inside a transaction it is a savepoint. For a function that
   * awaits use `transactionAsync`. The session that the function receives fails with
   * `closed` after the end of the transaction.
   * @template R
   * @param {(session: Session) => R} work
   * @returns {R}
   */
  transaction(work) {
    const part = beginning(this.isInTransaction)
    const run = (/** @type {string} */ text) => this.runSync((inner, waitMs) => inner.sql(text, undefined, false, waitMs))
    run(part.begin)
    const inside = this.inside(true)
    let result
    try {
      result = work(inside)
      if (typeof (/** @type {any} */ (result)?.then) === 'function') {
        throw new FolioError('invalid_input', 'the function of a transaction returned a promise; use transactionAsync')
      }
      inside.checkEnd()
    } catch (error) {
      if (this.isInside()) run(part.undo)
      throw error
    } finally {
      inside.hasEnded = true
    }
    run(part.commit)
    return result
  }

  /**
   * The same for a function that may await. Other statements that run in this session meanwhile are
   * part of the transaction: use one session per transaction. Statements that the function has begun and
   * not awaited are part of it too: the transaction ends when they have.
   *
   * The transactions of a handle begin in the order of the calls, each after the end of the one before.
   * One that waits longer than `timeoutMs` of `open` for the end of another fails with `locked`; `signal`
   * ends the wait, with `cancelled`. So do the parts of a transaction, which are savepoints.
   * @template R
   * @param {(session: Session) => Promise<R> | R} work
   * @param {SqlOptions} [options]
   * @returns {Promise<R>}
   */
  async transactionAsync(work, options = {}) {
    const { signal } = checkOptions(options, OPTIONS.sql)
    const turns = this.isInTransaction ? this.turnsOfParts() : this.turns
    if (turns === undefined) return this.committed(work)
    return functionInTurn(turns, this.opened(), signal, (begin) => this.committed(work, begin))
  }

  /**
   * Savepoints end in the reverse order, so the parts of a transaction come one after another.
   * @private
   * @returns {Turns}
   */
  turnsOfParts() {
    const late = (/** @type {number} */ timeoutMs) => `another part of the transaction has been running for ${timeoutMs} ms; within a part, use the session that its function receives`
    this.parts ??= new Turns(this.turns?.timeoutMs, late)
    return this.parts
  }

  /**
   * @private
   * @template R
   * @param {(session: Session) => Promise<R> | R} work
   * @param {(run: (waitMs: number | undefined) => Promise<any>) => Promise<any>} [begin] runs its first statement
   * @returns {Promise<R>}
   */
  async committed(work, begin = (run) => run(undefined)) {
    const part = beginning(this.isInTransaction)
    const run = (/** @type {string} */ text, waitMs = /** @type {number | undefined} */ (undefined)) =>
      this.tracked(this.opened().sqlAsync(text, undefined, false, waitMs))
    await begin((waitMs) => run(part.begin, waitMs)).catch(rethrow)
    const inside = this.inside(false)
    let result
    try {
      result = await work(inside)
      inside.opened()
    } catch (error) {
      await inside.ended()
      if (this.isInside()) await run(part.undo).catch(rethrow)
      throw error
    }
    await inside.ended()
    this.checkEnd()
    await run(part.commit).catch(rethrow)
    return result
  }

  /** Whether a transaction is open. */
  get isInTransaction() {
    return /** @type {boolean} */ (call(() => this.opened().isInTransaction()))
  }

  /** Cancels the statement of a pending promise; it fails with `cancelled`. */
  interrupt() {
    const inner = this.opened()
    inner.interrupt()
    this.turns?.interrupt(inner)
  }

  /**
   * Ends the session and rolls back its transaction, after the statements of pending promises; closing
   * twice is allowed.
   */
  close() {
    if (this.parent !== undefined) {
      if (!this.hasEnded) this.parent.close()
      return
    }
    const { inner } = this
    if (inner === null) return
    if (this.pending.size === 0) call(() => inner.close())
    else Promise.allSettled(this.pending).then(() => inner.close())
    this.inner = null
    this.turns?.interrupt(inner, closed())
  }

  /** For `using`. */
  [Symbol.dispose]() {
    this.close()
  }

  /**
   * The native half.
   * @private
   * @returns {any}
   */
  opened() {
    if (this.hasEnded) throw new FolioError('closed', 'the transaction has ended; begin another')
    if (this.parent !== undefined) return this.parent.opened()
    if (this.inner !== null) return this.inner
    throw closed()
  }

  /**
   * The same for a statement on another thread.
   * @private
   */
  openedAsync() {
    const inner = this.opened()
    if (!this.isSync) return inner
    throw new FolioError('invalid_input', 'a transaction that does not await cannot run statements on another thread; use transactionAsync')
  }

  /**
   * @private
   * @returns {boolean}
   */
  isOpen() {
    if (this.hasEnded) return false
    return this.parent === undefined ? this.inner !== null : this.parent.isOpen()
  }

  /**
   * Whether a transaction is open, and so is the session.
   * @private
   */
  isInside() {
    return this.isOpen() && this.isInTransaction
  }

  /**
   * Refuses to commit what a statement has committed or rolled back.
   * @private
   */
  checkEnd() {
    if (this.isInTransaction) return
    throw new FolioError('conflict', 'a statement ended the transaction; leave COMMIT and ROLLBACK to the end of the function')
  }

  /**
   * The session that the function of a transaction receives.
   * @private
   * @param {boolean} isSync
   * @returns {Session}
   */
  inside(isSync) {
    const inside = new /** @type {any} */ (Session)(this.inner, this.turns, this.convert, this)
    inside.isSync = isSync
    return inside
  }

  /**
   * A promise of the native half, which the end of a transaction waits for.
   * @private
   * @param {Promise<any>} promise
   */
  tracked(promise) {
    const done = () => this.pending.delete(promise)
    this.pending.add(promise)
    promise.then(done, done)
    return promise
  }

  /**
   * Ends the session of a transaction, and waits for its statements.
   * @private
   */
  async ended() {
    this.hasEnded = true
    while (this.pending.size > 0) await Promise.allSettled(this.pending)
  }
}

/**
 * A prepared statement of a session.
 * @template {object} [T=Record<string, any>]
 */
class Prepared {
  /**
   * @param {any} inner
   * @param {string} text
   * @param {Session} session
   * @private
   */
  constructor(inner, text, session) {
    /** @private */
    this.inner = inner
    /** @private @type {any} */
    this.session = session
    /** The text of the statement. */
    this.text = text
  }

  /**
   * Runs the statement; `params` are as in `Database.sql`.
   * @param {Given} params
   * @returns {Answer<T>}
   */
  execute(...params) {
    const values = givenAlone(params, this.session.convert)
    return this.session.runSync((/** @type {any} */ _, /** @type {number | undefined} */ waitMs) => this.inner.execute(values, waitMs))
  }

  /**
   * @param {Given} params
   * @returns {Promise<Answer<T>>}
   */
  async executeAsync(...params) {
    const { inner, session } = this
    const values = givenAlone(params, session.convert)
    return session.runAsync({}, (/** @type {any} */ _, /** @type {number | undefined} */ waitMs) => inner.executeAsync(values, waitMs))
  }

  /**
   * Runs the statement once for each element, in one transaction: if it fails for one,
   * nothing has changed. A statement that changes a collection takes effect with each
   * element. Returns the total number of changed rows.
   * @param {Iterable<Parameters>} params
   * @returns {number}
   */
  executeMany(params) {
    this.session.opened()
    const many = this.inner.many()
    let number = 0
    try {
      for (const one of params) {
        number += 1
        const values = inElement(number, () => givenAlone([one], this.session.convert))
        this.session.opened()
        call(() => many.run(values))
      }
    } catch (error) {
      many.end(false)
      throw error
    }
    return call(() => many.end(true))
  }

  /**
   * Runs the statement; returns its rows in an array.
   * @param {Given} params
   * @returns {T[]}
   */
  all(...params) {
    return this.execute(...params).toArray()
  }

  /**
   * @param {Given} params
   * @returns {Promise<T[]>}
   */
  async allAsync(...params) {
    return (await this.executeAsync(...params)).toArrayAsync()
  }

  /**
   * Runs the statement; returns its first row, or undefined.
   * @param {Given} params
   * @returns {T | undefined}
   */
  get(...params) {
    for (const row of this.iterate(...params)) return row
    return undefined
  }

  /**
   * @param {Given} params
   * @returns {Promise<T | undefined>}
   */
  async getAsync(...params) {
    for await (const row of this.iterateAsync(...params)) return row
    return undefined
  }

  /**
   * Runs the statement; returns its rows as a stream. Leaving the loop ends the statement.
   * @param {Given} params
   * @returns {IterableIterator<T>}
   */
  iterate(...params) {
    return rowsOf(this.execute(...params))
  }

  /**
   * The same for `for await`, on another thread.
   * @param {Given} params
   * @returns {AsyncGenerator<T, void, undefined>}
   */
  async *iterateAsync(...params) {
    const answer = await this.executeAsync(...params)
    try {
      yield* answer
    } finally {
      /** @type {any} */ (answer).end()
    }
  }

  /**
   * Runs the statement; returns the number of changed rows. Its rows are not read.
   * @param {Given} params
   * @returns {{ changes: number }}
   */
  run(...params) {
    return changesOf(this.execute(...params))
  }

  /**
   * @param {Given} params
   * @returns {Promise<{ changes: number }>}
   */
  async runAsync(...params) {
    return changesOf(await this.executeAsync(...params))
  }
}

/**
 * Makes the parameters of one of many elements, whose errors name it.
 * @template T
 * @param {number} number
 * @param {() => T} make
 * @returns {T}
 */
function inElement(number, make) {
  try {
    return make()
  } catch (error) {
    throw error instanceof FolioError ? new FolioError(error.code, `element ${number}: ${error.message}`) : error
  }
}

/**
 * @template {object} T
 * @param {Answer<T>} answer
 * @returns {Generator<T, void, undefined>}
 */
function* rowsOf(answer) {
  try {
    yield* answer
  } finally {
    /** @type {any} */ (answer).end()
  }
}

/** @param {Answer<any>} answer */
function changesOf(answer) {
  /** @type {any} */ (answer).end()
  return { changes: answer.count ?? 0 }
}

inspectableAs(Session, (session) => (session.isOpen() ? { isInTransaction: session.isInTransaction } : { isClosed: true }))
inspectableAs(Prepared, ({ text }) => ({ text }))

let parts = 0

/**
 * The statements that begin and end a transaction or a savepoint.
 * @param {boolean} isInside
 */
function beginning(isInside) {
  if (!isInside) return { begin: 'BEGIN', commit: 'COMMIT', undo: 'ROLLBACK' }
  parts += 1
  const name = `part_${parts}`
  return { begin: `SAVEPOINT ${name}`, commit: `RELEASE ${name}`, undo: `ROLLBACK TO ${name}` }
}

/**
 * Waits for a statement, which a signal ends, including its rows.
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

/** The native sessions of this thread. */
const sessions = new Set()
const forgotten = new FinalizationRegistry((reference) => sessions.delete(reference))

// Node waits for what other threads run, whatever ends it.
process.prependListener('exit', () => {
  for (const reference of sessions) reference.deref()?.interrupt()
})

/** The error of a session that was closed. */
function closed() {
  return new FolioError('closed', 'the session was closed; open another')
}

/**
 * A new native session, whose statements the end of this thread interrupts.
 * @param {any} database
 */
function sessionOf(database) {
  const session = database.session()
  const reference = new WeakRef(session)
  sessions.add(reference)
  forgotten.register(session, reference)
  return session
}

/**
 * Sets the limits of a native session.
 * @param {any} inner
 * @param {LimitOptions} options that were checked
 */
function limited(inner, { timeoutMs, memoryLimit }) {
  if (timeoutMs !== undefined) inner.sql(`SET statement_timeout TO ${timeoutMs}`, undefined, false, undefined)
  if (memoryLimit !== undefined) inner.sql(`SET memory_limit TO ${memoryLimit}`, undefined, false, undefined)
  return inner
}

module.exports = { Prepared, Session, answered, interruptible, limited, sessionOf }
