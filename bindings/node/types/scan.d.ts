// @generated from lib/scan.js by scripts/node types
/**
 * What is seen of a scan without beginning it.
 */
export type Glance = {
    /**
     * of the collection
     */
    name: string;
    /**
     * how many documents there are, where that is known
     */
    count: () => number | undefined;
    /**
     * the first, at
     * most so many, and whether there are no more; nothing where they take their time
     */
    first: (count: number) => {
        documents: any[];
        isWhole: boolean;
    } | undefined;
};
/**
 * How batches are taken from the native half and opened here.
 */
export type Source<T> = {
    take: (scan: any, size: number) => any;
    takeAsync: (scan: any, size: number) => Promise<any>;
    /**
     * of what was taken last, before anything else is
     */
    open: (taken: any) => IterableIterator<T>;
    openAsync: (taken: any) => IterableIterator<T>;
};
/**
 * The documents of a scan, for `for` and for `for await`. Each loop over it begins
 * a scan of its own.
 * @template T
 */
export class Scan<T> {
    /**
     * @param {() => any} begin begins a scan of the native half
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
 * What is seen of a scan without beginning it.
 * @typedef {object} Glance
 * @property {string} name of the collection
 * @property {() => number | undefined} count how many documents there are, where that is known
 * @property {(count: number) => { documents: any[], isWhole: boolean } | undefined} first the first, at
 *   most so many, and whether there are no more; nothing where they take their time
 */
/**
 * What `inspect.js` shows of a scan.
 * @param {Glance} glance
 * @returns {any}
 */
export function shownOf({ count, first }: Glance): any;
/**
 * All documents of the native half that are marked, undefined where there is none.
 * @param {any} fetched
 * @returns {any[]}
 */
export function takeAll(fetched: any): any[];
