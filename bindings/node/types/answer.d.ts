// @generated from lib/answer.js by scripts/node types
/**
 * What a statement answered. Its rows are objects, read as they are asked for, once:
 * with `for`, with `for await` on another thread, or all of them with `toArray`.
 *
 * Integers are numbers, and bigints beyond 2^53 - 1; bytea is a Buffer; json is what it
 * holds; arrays and structs are arrays and objects. numeric, dates, times, intervals and
 * UUIDs are strings, which hold them exactly.
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
    /** @private @type {Iterator<T>} */
    private batch;
    /**
     * How many rows were inserted, changed or deleted; null for statements that change none.
     * @type {number | null}
     */
    count: number | null;
    /**
     * The names of the columns.
     * @type {string[]}
     */
    columns: string[];
    /**
     * The types of the columns, as SQL calls them.
     * @returns {string[]}
     */
    get types(): string[];
    /**
     * All rows that are left, in an array.
     * @returns {T[]}
     */
    toArray(): T[];
    /**
     * All rows that are left, in an array, read on another thread.
     * @returns {Promise<T[]>}
     */
    toArrayAsync(): Promise<T[]>;
    /**
     * The next row, or undefined.
     * @returns {T | undefined}
     */
    next(): T | undefined;
    /**
     * The rows of the batch that is parsed. A loop that is left early leaves the rest.
     * @private
     * @returns {Generator<T, void, undefined>}
     */
    private begun;
    /** @private */
    private grown;
    /**
     * The rows that are left, read on this thread.
     * @returns {Generator<T, void, undefined>}
     */
    [Symbol.iterator](): Generator<T, void, undefined>;
    /**
     * The rows that are left, read on another thread while the loop works.
     * @returns {AsyncGenerator<T, void, undefined>}
     */
    [Symbol.asyncIterator](): AsyncGenerator<T, void, undefined>;
}
