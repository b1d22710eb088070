// @generated from lib/answer.js by scripts/node types
/**
 * The result of a statement. Its rows are objects and stream once:
 * with `for`, with `for await` on another thread, or all of them with `toArray`.
 *
 * Integers are numbers, and bigints beyond 2^53 - 1; bytea is a Buffer; json is its
 * value; arrays and structs are arrays and objects. numeric, dates, times, intervals and
 * UUIDs are strings, which are exact.
 * @template {object} [T=Record<string, any>]
 */
export class Answer<T extends object = Record<string, any>> {
    /**
     * @param {any} inner
     * @param {{ check: () => void, release: () => void }} [watch]
     * @private
     */
    private constructor();
    /** @private */
    private watch;
    /** @private */
    private inner;
    /** @private */
    private size;
    /** @private @type {T[]} parsed rows; those from `place` on remain */
    private rows;
    /** @private */
    private place;
    /** @private whether a promise is waiting for rows */
    private isPulling;
    /** @private whether rows were taken */
    private isBegun;
    /** @private */
    private isEnded;
    /** @private @type {Error | undefined} the error for the reader of the next rows */
    private fault;
    /**
     * The number of rows inserted, changed or deleted; null for other statements.
     * @type {number | null}
     */
    count: number | null;
    /**
     * The names of the columns.
     * @type {string[]}
     */
    columns: string[];
    /**
     * The SQL types of the columns.
     * @returns {string[]}
     */
    get types(): string[];
    /**
     * All remaining rows in an array.
     * @returns {T[]}
     */
    toArray(): T[];
    /**
     * All remaining rows in an array, read on another thread.
     * @returns {Promise<T[]>}
     */
    toArrayAsync(): Promise<T[]>;
    /**
     * The next row, or undefined.
     * @returns {T | undefined}
     */
    next(): T | undefined;
    /** For JSON.stringify: all remaining rows. */
    toJSON(): T[];
    /**
     * Reads rows; false when there are no more.
     * @private
     */
    private more;
    /** @private */
    private moreAsync;
    /** @private */
    private check;
    /**
     * @private
     * @param {string | { text: string, bytes: Buffer } | null} read
     */
    private taken;
    /**
     * The remaining rows, at most `count`, without consuming them. They are fewer if the next ones
     * take too long or fail.
     * @private
     * @param {number} count
     */
    private peek;
    /**
     * Releases the remaining rows.
     * @private
     */
    private end;
    /** @private */
    private grown;
    /**
     * The remaining rows, read on this thread.
     * @returns {Generator<T, void, undefined>}
     */
    [Symbol.iterator](): Generator<T, void, undefined>;
    /**
     * The remaining rows, read on another thread while the loop works.
     * @returns {AsyncGenerator<T, void, undefined>}
     */
    [Symbol.asyncIterator](): AsyncGenerator<T, void, undefined>;
}
