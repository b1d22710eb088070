// Progress and cancellation of work on another thread.
'use strict'

const { OPTIONS, checkOptions } = require('./argument.js')
const { FolioError, rethrow } = require('./error.js')
const { native } = require('./native.js')

/** @import { WorkOptions } from './options.js' */

const INTERVAL_MS = 50

/**
 * Splits options into those of the work and those for progress and cancellation.
 * @template T
 * @param {T & WorkOptions} options
 * @param {Record<string, string>} known the options of the work itself
 * @returns {[T, WorkOptions]}
 */
function split(options, known) {
  const { progress, signal, ...own } = checkOptions(options, { ...known, ...OPTIONS.work })
  return [/** @type {any} */ (own), { progress, signal }]
}

/**
 * Waits for work, and reports its progress to the caller. What the callback throws ends the work.
 * @template T
 * @param {WorkOptions} options
 * @param {(progress: any) => Promise<T>} begin
 * @returns {Promise<T>}
 */
async function watched(options, begin) {
  const { progress, signal } = options
  const state = new native.NativeProgress()
  if (signal?.aborted) throw cancelled(signal)
  const cancel = () => state.cancel()
  signal?.addEventListener('abort', cancel, { once: true })
  /** @type {{ thrown: unknown } | undefined} */
  let failure
  const timer = progress && setInterval(() => {
    if (failure) return
    try {
      progress(state.done, state.total)
    } catch (thrown) {
      failure = { thrown }
      cancel()
    }
  }, INTERVAL_MS)
  try {
    const report = await begin(state)
    // Thrown when the work had just ended.
    if (failure) throw failure.thrown
    // The native half does not report the last piece. All is done, also where a limit ended it early.
    progress?.(state.total || state.done, state.total)
    return report
  } catch (error) {
    if (failure) throw failure.thrown
    return rethrow(error)
  } finally {
    clearInterval(timer)
    signal?.removeEventListener('abort', cancel)
  }
}

/** @param {AbortSignal} signal */
function cancelled(signal) {
  return new FolioError('cancelled', 'the work was cancelled before it began', { cause: signal.reason })
}

module.exports = { split, watched }
