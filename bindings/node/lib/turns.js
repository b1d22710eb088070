// The turns of those that write tables through a handle.
//
// One transaction writes at a time. What waits for its end in the native half holds a thread of
// Node's pool, and four of them hold all, so that the statements of the transaction they wait for
// could not run. So they wait here, where they hold none.
'use strict'

const { FolioError, call } = require('./error.js')

/** The time that a transaction may take while others wait, unless the handle says otherwise. */
const TIMEOUT_MS = 5000

/** The longest delay of a timer. */
const DELAY_MAX = 2 ** 31 - 1

/**
 * One that waits.
 * @typedef {{ since: number, begin: () => void, refuse: (error: Error) => void }} Turn
 */

class Turns {
  /**
   * @param {number} [timeoutMs] how long one waits for the end of a single transaction
   * @param {(timeoutMs: number) => string} [lateText] what one is told that has waited so long
   */
  constructor(timeoutMs = TIMEOUT_MS, lateText = written) {
    this.timeoutMs = Math.min(timeoutMs, DELAY_MAX)
    this.lateText = lateText
    this.isTaken = false
    /** @type {any} the native session of a function whose turn it is: it needs this thread to go on */
    this.holder = undefined
    /** When the turn under way began. */
    this.begun = 0
    /** @type {Turn[]} in the order in which they came */
    this.waiting = []
    /** @type {NodeJS.Timeout | undefined} of the one that has waited longest */
    this.timer = undefined
  }

  /**
   * Waits for a turn; the caller ends it.
   * @param {AbortSignal} [signal] ends the wait
   * @returns {Promise<void>}
   */
  async take(signal) {
    if (signal?.aborted) throw cancelled(signal)
    if (this.isTaken) await this.wait(signal)
    this.isTaken = true
  }

  /** Ends a turn: the next begins, and the others wait for that one. */
  end() {
    const next = this.waiting.shift()
    this.isTaken = next !== undefined
    this.begun = performance.now()
    next?.begin()
    this.watch()
  }

  /**
   * @param {AbortSignal} [signal]
   * @returns {Promise<void>}
   */
  async wait(signal) {
    /** @type {() => void} */
    let abort = () => {}
    try {
      await new Promise((begin, refuse) => {
        const turn = { since: performance.now(), begin: () => begin(undefined), refuse }
        abort = () => {
          this.refuse(turn, cancelled(/** @type {AbortSignal} */ (signal)))
          this.watch()
        }
        signal?.addEventListener('abort', abort, { once: true })
        if (this.waiting.push(turn) === 1) this.watch()
      })
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Gives the transaction under way its time. */
  watch() {
    clearTimeout(this.timer)
    if (this.waiting.length > 0) this.timer = setTimeout(() => this.late(), Math.max(this.left(this.waiting[0]), 1))
  }

  late() {
    const text = this.lateText(this.timeoutMs)
    while (this.waiting.length > 0 && this.left(this.waiting[0]) < 1) this.refuse(this.waiting[0], new FolioError('locked', text))
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
   * @param {Turn} turn
   * @param {Error} error
   */
  refuse(turn, error) {
    const place = this.waiting.indexOf(turn)
    if (place >= 0) this.waiting.splice(place, 1)
    turn.refuse(error)
  }
}

/** @param {number} timeoutMs */
function written(timeoutMs) {
  return `another transaction has been writing for ${timeoutMs} ms; try again when it is done`
}

/**
 * Runs a function with a session, in its turn.
 * @template R
 * @param {Turns} turns
 * @param {AbortSignal | undefined} signal
 * @param {any} inner session
 * @param {() => Promise<R>} work
 * @returns {Promise<R>}
 */
async function functionInTurn(turns, signal, inner, work) {
  await turns.take(signal)
  turns.holder = inner
  try {
    return await work()
  } finally {
    turns.holder = undefined
    turns.end()
  }
}

/**
 * Runs a statement on this thread. One that would wait for a function that needs the thread fails.
 * @template R
 * @param {Turns | undefined} turns
 * @param {any} inner session
 * @param {(waits: boolean) => R} run fails with `busy` unless it waits
 * @returns {R}
 */
function atOnce(turns, inner, run) {
  const waits = turns?.holder === undefined || turns.holder === inner
  return call(() => {
    try {
      return run(waits)
    } catch (error) {
      if (waits || !isBusy(error)) throw error
      throw new FolioError('locked', 'a transaction of this handle is open, and cannot go on while this thread waits for it; use the form of the method that ends in Async')
    }
  })
}

/** @param {unknown} error */
function isBusy(error) {
  return error instanceof Error && error.message.startsWith('busy: ')
}

/**
 * Runs a statement on another thread. One that would wait for the transaction whose turn it is waits
 * for a turn of its own instead, without a thread.
 * @param {Turns | undefined} turns
 * @param {AbortSignal | undefined} signal
 * @param {(waits: boolean) => Promise<any>} run fails with `busy` unless it waits
 * @returns {Promise<any>}
 */
async function inTurn(turns, signal, run) {
  if (turns === undefined || !turns.isTaken) return run(true)
  try {
    return await run(false)
  } catch (error) {
    if (!isBusy(error)) throw error
  }
  await turns.take(signal)
  try {
    return await run(true)
  } finally {
    turns.end()
  }
}

/** @param {AbortSignal} signal */
function cancelled(signal) {
  return new FolioError('cancelled', 'the wait for another transaction was cancelled', { cause: signal.reason })
}

module.exports = { Turns, atOnce, functionInTurn, inTurn }
