// @generated from lib/batch.js by scripts/node types
/** @import { Convert, Storable } from './options.js' */
/** @import { Counts } from './report.js' */
/**
 * A batch of writes that `commit` stores, all or none. They stay in memory until then; for larger
 * batches use `putMany`.
 * @template {object} T
 */
export class Batch<T extends object> {
    /**
     * @param {any} collection of the native half
     * @param {Convert} [convert]
     * @private
     */
    private constructor();
    /** @private */
    private collection;
    /** @private */
    private convert;
    /** @private @type {string[] | undefined} */
    private ids;
    /** @private @type {(string | null)[]} the text to put, or null to delete */
    private texts;
    /** @private @type {Map<string, boolean>} whether an id has a document according to the collected writes */
    private known;
    /**
     * Adds a document.
     * @param {string | number | bigint} id
     * @param {Storable<T>} document
     * @returns {void}
     */
    put(id: string | number | bigint, document: Storable<T>): void;
    /**
     * Adds JSON text, with its key order and the digits of every number.
     * @param {string | number | bigint} id
     * @param {string} json one JSON object
     * @returns {void}
     */
    putRaw(id: string | number | bigint, json: string): void;
    /**
     * Deletes a document, if there is one.
     * @param {string | number | bigint} id
     * @returns {void}
     */
    delete(id: string | number | bigint): void;
    /**
     * Whether a document exists, in this batch or before it.
     * @param {string | number | bigint} id
     * @returns {boolean}
     */
    has(id: string | number | bigint): boolean;
    /**
     * Makes the writes durable and visible, in order.
     * @returns {Counts}
     */
    commit(): Counts;
    /** @returns {Promise<Counts>} */
    commitAsync(): Promise<Counts>;
    /** Drops the writes. Does nothing after `commit`. */
    rollback(): void;
    /**
     * @param {string | number | bigint} id
     * @param {string | null} text
     * @private
     */
    private add;
    /** @private */
    private open;
    /** @private */
    private end;
    /** For `using`: drops the writes, unless they were committed. */
    [Symbol.dispose](): void;
}
import type { Storable } from './options.js';
import type { Counts } from './report.js';
