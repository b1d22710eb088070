// The turns of those that write tables through a handle.
//
// One transaction writes at a time. What waits for its end in the native half holds a thread of
// Node's pool, and four of them hold all, so that the statements of the transaction they wait for
// could not run. So they wait there only briefly, and then here, where they hold none. The one whose
// turn it is tries again and again: what it waits for may be a BEGIN of a session, or of another
// process, whose end nobody here is told.
'use strict'

const { FolioError, call } = require('./error.js')

/** The time that a transaction may take while others wait, unless the handle says otherwise. */
const TIMEOUT_MS = 5000

/** How long a statement holds a thread while it waits. Most transactions take less. */
const BRIEF_MS = 50

/** The longest delay of a timer. */
const DELAY_MAX = 2 ** 31 - 1

/** What the native half says of a statement that has waited, and may be tried again. */
const BUSY = 'busy: '

/**
 * One that waits, or works. `late` is what it is told when it has waited too long, `error` why it does
 * not wait any more.
 * @typedef {{ inner: any, since: number, late: string, error?: Error, begin?: () => void, refuse?: (error: Error) => void }} Turn
 */

/**
 * A statement, which fails with `busy` after waiting so long.
 * @typedef {(waitMs: number | undefined) => Promise<any>} Run
 */

class Turns {
  /**
   * @param {number} [timeoutMs] how long one waits for the end of a single transaction
   * @param {(timeoutMs: number) => string} [lateText] what one is told that has waited so long
   */
  constructor(timeoutMs = TIMEOUT_MS, lateText = written) {
    this.timeoutMs = Math.min(timeoutMs, DELAY_MAX)
    this.lateText = lateText(this.timeoutMs)
    /** @type {Turn | undefined} the one whose turn it is */
    this.current = undefined
    /** @type {any} the native session of a function whose turn it is: it needs this thread to go on */
    this.holder = undefined
    /** When a transaction of the handle last began or ended. */
    this.begun = 0
    /** @type {Set<Turn>} all that have not ended */
    this.turns = new Set()
    /** @type {Turn[]} in the order in which they came */
    this.waiting = []
    /** @type {NodeJS.Timeout | undefined} of the one that has waited longest */
    this.timer = undefined
  }

  /**
   * Works with a turn, which a signal or the session's `interrupt` ends while it waits.
   * @template R
   * @param {any} inner session
   * @param {AbortSignal | undefined} signal
   * @param {(turn: Turn) => Promise<R>} work
   * @returns {Promise<R>}
   */
  async with(inner, signal, work) {
    /** @type {Turn} */
    const turn = { inner, since: performance.now(), late: this.lateText }
    const abort = () => this.refuse(turn, cancelled(signal?.reason))
    if (signal?.aborted) abort()
    this.turns.add(turn)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      return await work(turn)
    } finally {
      signal?.removeEventListener('abort', abort)
      this.turns.delete(turn)
      if (this.current === turn) this.end(turn)
    }
  }

  /**
   * Waits for the turn.
   * @param {Turn} turn
   */
  async take(turn) {
    if (turn.error !== undefined) throw turn.error
    if (this.current === undefined) {
      this.current = turn
      return
    }
    await new Promise((begin, refuse) => {
      turn.begin = () => begin(undefined)
      turn.refuse = refuse
      if (this.waiting.push(turn) === 1) this.watch()
    })
  }

  /**
   * Ends a turn: the next begins, and the others wait for that one.
   * @param {Turn} turn
   */
  end(turn) {
    // One that was refused has not written: the others wait for the same as before.
    if (turn.error === undefined) this.begun = performance.now()
    this.current = this.waiting.shift()
    this.current?.begin?.()
    this.watch()
  }

  /**
   * Runs a statement in its turn, again until nothing else writes. A wait in a thread is the pause.
   * @param {Turn} turn
   * @param {Run} run
   */
  async patiently(turn, run) {
    for (;;) {
      if (turn.error !== undefined) throw turn.error
      const left = Math.max(this.left(turn), 0)
      const answer = await this.attempt(turn, Math.min(left, BRIEF_MS), run)
      if (answer !== undefined) {
        this.begun = performance.now()
        return answer
      }
      if (left <= BRIEF_MS) this.refuse(turn, locked(turn))
    }
  }

  /**
   * The answer of a statement; undefined if it has waited so long.
   * @param {Turn} turn
   * @param {number} waitMs
   * @param {Run} run
   */
  async attempt(turn, waitMs, run) {
    try {
      return await run(Math.ceil(waitMs))
    } catch (error) {
      if (!isBusy(error)) throw error
      turn.late = /** @type {Error} */ (error).message.slice(BUSY.length) || this.lateText
      return undefined
    }
  }

  /** Gives the transaction under way its time. */
  watch() {
    clearTimeout(this.timer)
    if (this.waiting.length > 0) this.timer = setTimeout(() => this.late(), Math.max(this.left(this.waiting[0]), 1))
  }

  late() {
    while (this.waiting.length > 0 && this.left(this.waiting[0]) < 1) this.refuse(this.waiting[0], locked(this.waiting[0]))
    this.watch()
  }

  /**
   * How long one may still wait for the transaction under way.
   * @param {Turn} turn
   */
  left(turn) {
    return Math.max(turn.since, this.begun) + this.timeoutMs - performance.now()
  }

  /**
   * Ends the waits of a session.
   * @param {any} inner
   * @param {Error} [error]
   */
  interrupt(inner, error = cancelled()) {
    for (const turn of this.turns) if (turn.inner === inner) this.refuse(turn, error)
  }

  /**
   * @param {Turn} turn
   * @param {Error} error
   */
  refuse(turn, error) {
    turn.error = error
    const place = this.waiting.indexOf(turn)
    if (place < 0) return
    this.waiting.splice(place, 1)
    turn.refuse?.(error)
    this.watch()
  }
}

/** @param {number} timeoutMs */
function written(timeoutMs) {
  return `another transaction has been writing for ${timeoutMs} ms; try again when it is done`
}

/** @param {Turn} turn */
function locked(turn) {
  return new FolioError('locked', turn.late)
}

/** @param {unknown} [cause] */
function cancelled(cause) {
  return new FolioError('cancelled', 'the wait for another transaction was cancelled', { cause })
}

/**
 * Runs a function with a session, in its turn.
 * @template R
 * @param {Turns} turns
 * @param {any} inner session
 * @param {AbortSignal | undefined} signal
 * @param {(begin: (run: Run) => Promise<any>) => Promise<R>} work is given what runs its first statement
 * @returns {Promise<R>}
 */
async function functionInTurn(turns, inner, signal, work) {
  return turns.with(inner, signal, async (turn) => {
    await turns.take(turn)
    turns.holder = inner
    try {
      return await work((run) => turns.patiently(turn, run))
    } finally {
      turns.holder = undefined
    }
  })
}

/**
 * Runs a statement on this thread. One that would wait for a function that needs the thread fails.
 * @template R
 * @param {Turns | undefined} turns
 * @param {any} inner session
 * @param {(waitMs: number | undefined) => R} run fails with `busy` after waiting so long
 * @returns {R}
 */
function atOnce(turns, inner, run) {
  const waits = turns?.holder === undefined || turns.holder === inner
  return call(() => {
    try {
      return run(waits ? undefined : 0)
    } catch (error) {
      if (waits || !isBusy(error)) throw error
      throw new FolioError('locked', 'a transaction of this handle is open, and cannot go on while this thread waits for it; use the form of the method that ends in Async')
    }
  })
}

/** @param {unknown} error */
function isBusy(error) {
  return error instanceof Error && error.message.startsWith(BUSY)
}

/**
 * Runs a statement on another thread. One that would wait long waits for a turn instead, without a
 * thread.
 * @param {Turns | undefined} turns
 * @param {any} inner session
 * @param {AbortSignal | undefined} signal
 * @param {Run} run
 * @returns {Promise<any>}
 */
async function inTurn(turns, inner, signal, run) {
  if (turns === undefined) return run(undefined)
  return turns.with(inner, signal, async (turn) => {
    const waitMs = turns.current === undefined ? Math.min(BRIEF_MS, turns.timeoutMs) : 0
    const answer = await turns.attempt(turn, waitMs, run)
    if (answer !== undefined) return answer
    await turns.take(turn)
    return turns.patiently(turn, run)
  })
}

module.exports = { Turns, atOnce, functionInTurn, inTurn }
