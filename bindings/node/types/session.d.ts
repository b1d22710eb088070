// @generated from lib/session.js by scripts/node types
/**
 * A prepared statement of a session.
 * @template {object} [T=Record<string, any>]
 */
export class Prepared<T extends object = Record<string, any>> {
    /**
     * @param {any} inner
     * @param {string} text
     * @param {Session} session
     * @private
     */
    private constructor();
    /** @private */
    private inner;
    /** @private @type {any} */
    private session;
    /** The text of the statement. */
    text: string;
    /**
     * Runs the statement; `params` are as in `Database.sql`.
     * @param {Given} params
     * @returns {Answer<T>}
     */
    execute(...params: Given): Answer<T>;
    /**
     * @param {Given} params
     * @returns {Promise<Answer<T>>}
     */
    executeAsync(...params: Given): Promise<Answer<T>>;
    /**
     * Runs the statement once for each element, in one transaction: if it fails for one,
     * nothing has changed. A statement that changes a collection takes effect with each
     * element. Returns the total number of changed rows.
     * @param {Iterable<Parameters>} params
     * @returns {number}
     */
    executeMany(params: Iterable<Parameters>): number;
    /**
     * Runs the statement; returns its rows in an array.
     * @param {Given} params
     * @returns {T[]}
     */
    all(...params: Given): T[];
    /**
     * @param {Given} params
     * @returns {Promise<T[]>}
     */
    allAsync(...params: Given): Promise<T[]>;
    /**
     * Runs the statement; returns its first row, or undefined.
     * @param {Given} params
     * @returns {T | undefined}
     */
    get(...params: Given): T | undefined;
    /**
     * @param {Given} params
     * @returns {Promise<T | undefined>}
     */
    getAsync(...params: Given): Promise<T | undefined>;
    /**
     * Runs the statement; returns its rows as a stream. Leaving the loop ends the statement.
     * @param {Given} params
     * @returns {IterableIterator<T>}
     */
    iterate(...params: Given): IterableIterator<T>;
    /**
     * The same for `for await`, on another thread.
     * @param {Given} params
     * @returns {AsyncGenerator<T, void, undefined>}
     */
    iterateAsync(...params: Given): AsyncGenerator<T, void, undefined>;
    /**
     * Runs the statement; returns the number of changed rows. Its rows are not read.
     * @param {Given} params
     * @returns {{ changes: number }}
     */
    run(...params: Given): {
        changes: number;
    };
    /**
     * @param {Given} params
     * @returns {Promise<{ changes: number }>}
     */
    runAsync(...params: Given): Promise<{
        changes: number;
    }>;
}
/** @import { Convert, Given, GivenAsync, LimitOptions, Parameters, SqlOptions } from './options.js' */
/**
 * Runs statements, with its own transaction. Any number may be open.
 *
 * `db.sql` and `db.ziql` need no session. While a promise of a session is pending, its
 * other calls wait for it.
 */
export class Session {
    /**
     * @param {any} inner
     * @param {Turns | undefined} turns of the handle, if it writes
     * @param {Convert} [convert]
     * @param {Session} [parent] the session of a transaction, or the transaction of a savepoint
     * @private
     */
    private constructor();
    /** @private @type {any} */
    private inner;
    /** @private */
    private parent;
    /** @private Whether it is of a transaction that has ended. */
    private hasEnded;
    /** @private Whether it is of a transaction that cannot wait for promises. */
    private isSync;
    /** @private @type {Set<Promise<any>>} what runs on another thread, also for transactions */
    private pending;
    /** @private */
    private turns;
    /** @private @type {Turns | undefined} of the parts of its transaction */
    private parts;
    /** @private The program's `default`. */
    private convert;
    /**
     * Runs SQL statements and returns the result of the last; see `Database.sql`.
     * @template {object} [T=Record<string, any>]
     * @param {string} text
     * @param {Given} params
     * @returns {Answer<T>}
     */
    sql<T extends object = Record<string, any>>(text: string, ...params: Given): Answer<T>;
    /**
     * @template {object} [T=Record<string, any>]
     * @param {string} text
     * @param {GivenAsync} params
     * @returns {Promise<Answer<T>>}
     */
    sqlAsync<T extends object = Record<string, any>>(text: string, ...params: GivenAsync): Promise<Answer<T>>;
    /**
     * Runs a script of ZiQL and returns the result of its last statement; see `Database.ziql`.
     * @template {object} [T=Record<string, any>]
     * @param {string} text
     * @param {Record<string, any>} [params]
     * @returns {Answer<T>}
     */
    ziql<T extends object = Record<string, any>>(text: string, params?: Record<string, any>): Answer<T>;
    /**
     * @template {object} [T=Record<string, any>]
     * @param {string} text
     * @param {Record<string, any>} [params]
     * @param {SqlOptions} [options]
     * @returns {Promise<Answer<T>>}
     */
    ziqlAsync<T extends object = Record<string, any>>(text: string, params?: Record<string, any>, options?: SqlOptions): Promise<Answer<T>>;
    /**
     * Runs a statement on this thread.
     * @private
     * @param {(inner: any, waitMs: number | undefined) => any} run
     * @returns {Answer<any>}
     */
    private runSync;
    /**
     * Runs a statement on another thread.
     * @private
     * @param {SqlOptions} options
     * @param {(inner: any, waitMs: number | undefined) => Promise<any>} run
     */
    private runAsync;
    /**
     * Prepares one statement, to run any number of times.
     * @template {object} [T=Record<string, any>]
     * @param {string} text
     * @returns {Prepared<T>}
     */
    prepare<T extends object = Record<string, any>>(text: string): Prepared<T>;
    /**
     * Runs a function as a transaction, which is committed when it returns and rolled
     * back when it throws. Inside a transaction it is a savepoint. For a function that
     * awaits use `transactionAsync`. The session that the function receives fails with
     * `closed` after the end of the transaction.
     * @template R
     * @param {(session: Session) => R} work
     * @returns {R}
     */
    transaction<R>(work: (session: Session) => R): R;
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
    transactionAsync<R>(work: (session: Session) => Promise<R> | R, options?: SqlOptions): Promise<R>;
    /**
     * Savepoints end in the reverse order, so the parts of a transaction come one after another.
     * @private
     * @returns {Turns}
     */
    private turnsOfParts;
    /**
     * @private
     * @template R
     * @param {(session: Session) => Promise<R> | R} work
     * @param {(run: (waitMs: number | undefined) => Promise<any>) => Promise<any>} [begin] runs its first statement
     * @returns {Promise<R>}
     */
    private committed;
    /** Whether a transaction is open. */
    get isInTransaction(): boolean;
    /** Cancels the statement of a pending promise; it fails with `cancelled`. */
    interrupt(): void;
    /**
     * Ends the session and rolls back its transaction, after the statements of pending promises; closing
     * twice is allowed.
     */
    close(): void;
    /**
     * The native half.
     * @private
     * @returns {any}
     */
    private opened;
    /**
     * The same for a statement on another thread.
     * @private
     */
    private openedAsync;
    /**
     * @private
     * @returns {boolean}
     */
    private isOpen;
    /**
     * Whether a transaction is open, and so is the session.
     * @private
     */
    private isInside;
    /**
     * Refuses to commit what a statement has committed or rolled back.
     * @private
     */
    private checkEnd;
    /**
     * The session that the function of a transaction receives.
     * @private
     * @param {boolean} isSync
     * @returns {Session}
     */
    private inside;
    /**
     * A promise of the native half, which the end of a transaction waits for.
     * @private
     * @param {Promise<any>} promise
     */
    private tracked;
    /**
     * Ends the session of a transaction, and waits for its statements.
     * @private
     */
    private ended;
    /** For `using`. */
    [Symbol.dispose](): void;
}
/**
 * @param {any} inner
 * @param {{ check: () => void, release: () => void }} [watch] a signal over its rows
 */
export function answered(inner: any, watch?: {
    check: () => void;
    release: () => void;
}): any;
/**
 * Waits for a statement, which a signal ends, including its rows.
 * @param {any} inner session
 * @param {SqlOptions} options
 * @param {() => Promise<any>} begin
 * @returns {Promise<Answer<any>>}
 */
export function interruptible(inner: any, options: SqlOptions, begin: () => Promise<any>): Promise<Answer<any>>;
/**
 * Sets the limits of a native session.
 * @param {any} inner
 * @param {LimitOptions} options that were checked
 */
export function limited(inner: any, { timeoutMs, memoryLimit }: LimitOptions): any;
/**
 * A new native session, whose statements the end of this thread interrupts.
 * @param {any} database
 */
export function sessionOf(database: any): any;
import type { Given } from './options.js';
import { Answer } from "./answer.js";
import type { Parameters } from './options.js';
import type { GivenAsync } from './options.js';
import type { SqlOptions } from './options.js';
import type { LimitOptions } from './options.js';
