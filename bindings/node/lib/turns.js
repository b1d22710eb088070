// The turns of the transactions of a handle.
//
// One transaction writes at a time. One that waits for its BEGIN in the native half holds a thread of
// Node's pool, and four of them hold all, so that the statements of the transaction they wait for
// could not run. So they wait here, where they hold none.
'use strict'

const { FolioError } = require('./error.js')

/** The time that a transaction may take while others wait, unless the handle says otherwise. */
const TIMEOUT_MS = 5000

/** The longest delay of a timer. */
const DELAY_MAX = 2 ** 31 - 1

class Turns {
  /** @param {number} [timeoutMs] how long one waits for the end of a single transaction */
  constructor(timeoutMs = TIMEOUT_MS) {
    this.timeoutMs = Math.min(timeoutMs, DELAY_MAX)
    this.isTaken = false
    /** @type {Turn[]} in the order in which they came */
    this.waiting = []
  }

  /**
   * Waits for a turn; the caller ends it.
   * @param {AbortSignal} [signal] ends the wait
   * @returns {Promise<void>}
   */
  take(signal) {
    if (signal?.aborted) return Promise.reject(cancelled(signal))
    if (!this.isTaken) {
      this.isTaken = true
      return Promise.resolve()
    }
    return new Promise((begin, refuse) => this.waiting.push(new Turn(this, begin, refuse, signal)))
  }

  /** Ends a turn: the next begins, and the others wait for that one. */
  end() {
    const next = this.waiting.shift()
    this.isTaken = next !== undefined
    next?.begin()
    for (const turn of this.waiting) turn.watch()
  }
}

/** One that waits. */
class Turn {
  /**
   * @param {Turns} turns
   * @param {() => void} begin
   * @param {(error: Error) => void} refuse
   * @param {AbortSignal} [signal]
   */
  constructor(turns, begin, refuse, signal) {
    this.turns = turns
    this.begin = () => {
      this.release()
      begin()
    }
    this.refuse = (/** @type {Error} */ error) => {
      this.release()
      turns.waiting.splice(turns.waiting.indexOf(this), 1)
      refuse(error)
    }
    this.signal = signal
    this.abort = () => this.refuse(cancelled(/** @type {AbortSignal} */ (signal)))
    signal?.addEventListener('abort', this.abort, { once: true })
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined
    this.watch()
  }

  /** Gives the transaction under way its time. */
  watch() {
    clearTimeout(this.timer)
    const { timeoutMs } = this.turns
    const late = () => new FolioError('locked', `another transaction has been writing for ${timeoutMs} ms; try again when it is done`)
    this.timer = setTimeout(() => this.refuse(late()), timeoutMs)
  }

  release() {
    clearTimeout(this.timer)
    this.signal?.removeEventListener('abort', this.abort)
  }
}

/** @param {AbortSignal} signal */
function cancelled(signal) {
  return new FolioError('cancelled', 'the transaction was cancelled', { cause: signal.reason })
}

module.exports = { Turns }
