// @generated from lib/error.js by scripts/node types
/**
 * The stable, machine-readable kind of an error.
 */
export type ErrorCode = "not_found" | "conflict" | "corrupted" | "read_only" | "locked" | "poisoned" | "invalid_input" | "syntax" | "type_mismatch" | "unsupported" | "closed" | "cancelled" | "timeout" | "memory_limit" | "io";
/**
 * The stable, machine-readable kind of an error.
 * @typedef {'not_found' | 'conflict' | 'corrupted' | 'read_only' | 'locked' | 'poisoned' | 'invalid_input' |
 *   'syntax' | 'type_mismatch' | 'unsupported' | 'closed' | 'cancelled' | 'timeout' | 'memory_limit' | 'io'} ErrorCode
 */
/** An error from a database. Match on `code`; the text is for people. */
export class FolioError extends Error {
    /**
     * @param {ErrorCode} code
     * @param {string} message
     * @param {ErrorOptions} [options]
     */
    constructor(code: ErrorCode, message: string, options?: ErrorOptions);
    /** @type {ErrorCode} */
    code: ErrorCode;
}
/**
 * An error of the native half as a FolioError; any other error unchanged.
 * @param {any} error
 * @returns {Error}
 */
export function asFolioError(error: any): Error;
/**
 * Calls the native half.
 * @template T
 * @param {() => T} job
 * @returns {T}
 */
export function call<T>(job: () => T): T;
/**
 * For `promise.catch`.
 * @param {any} error
 * @returns {never}
 */
export function rethrow(error: any): never;
