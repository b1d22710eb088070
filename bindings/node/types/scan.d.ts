// @generated from lib/scan.js by scripts/node types
/**
 * The display of a scan that has not started.
 */
export type Glance = {
    /**
     * of the collection
     */
    name: string;
    /**
     * the number of documents, if known
     */
    count: () => number | undefined;
    /**
     * the first
     * ones, at most `count`, and whether there are no more; undefined if they take too long
     */
    first: (count: number) => {
        documents: any[];
        isWhole: boolean;
    } | undefined;
};
/**
 * The way batches are read from the native half and decoded here.
 */
export type Source<T> = {
    take: (scan: any, size: number) => any;
    takeAsync: (scan: any, size: number) => Promise<any>;
    /**
     * of the last batch, before the next is read
     */
    open: (taken: any) => IterableIterator<T>;
    openAsync: (taken: any) => IterableIterator<T>;
};
/**
 * The documents of a scan, for `for` and for `for await`. Each loop over it starts a new scan.
 * @template T
 */
export class Scan<T> {
    /**
     * @param {() => any} begin starts a scan of the native half
     * @param {boolean} lazy
     * @param {boolean} exact
     * @param {Glance} glance
     */
    constructor(begin: () => any, lazy: boolean, exact: boolean, glance: Glance);
    /** @private */
    private begin;
    /** @private */
    private glance;
    /** @private */
    private source;
    /** @private For those who keep all documents: they take less memory if none holds the text of others. */
    private keptSource;
    /**
     * All documents in an array.
     * @returns {T[]}
     */
    toArray(): T[];
    /**
     * All documents in an array, read on another thread.
     * @returns {Promise<T[]>}
     */
    toArrayAsync(): Promise<T[]>;
    /** For JSON.stringify: all documents. */
    toJSON(): T[];
    /**
     * The documents now, on this thread.
     * @returns {IterableIterator<T>}
     */
    [Symbol.iterator](): IterableIterator<T>;
    /**
     * The documents, read on another thread while the loop works.
     * @returns {AsyncGenerator<T, void, undefined>}
     */
    [Symbol.asyncIterator](): AsyncGenerator<T, void, undefined>;
}
/**
 * The display of a scan that has not started.
 * @typedef {object} Glance
 * @property {string} name of the collection
 * @property {() => number | undefined} count the number of documents, if known
 * @property {(count: number) => { documents: any[], isWhole: boolean } | undefined} first the first
 *   ones, at most `count`, and whether there are no more; undefined if they take too long
 */
/**
 * The display of a scan, for `inspect.js`.
 * @param {Glance} glance
 * @returns {any}
 */
export function shownOf({ count, first }: Glance): any;
/**
 * All marked documents of the native half, undefined for a missing one.
 * @param {any} fetched
 * @returns {any[]}
 */
export function takeAll(fetched: any): any[];
