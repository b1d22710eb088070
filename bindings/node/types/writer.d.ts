// @generated from lib/writer.js by scripts/node types
/** The part of one task. Nothing is left of one that is not finished. */
export class PartWriter {
    /**
     * @param {any} inner
     * @private
     */
    private constructor();
    /**
     * Adds documents, each under its `_id` or a new one, or pairs of id and document.
     * @param {Iterable<any>} documents
     * @param {WriteOptions} [options]
     * @returns {void}
     */
    putMany(documents: Iterable<any>, options?: WriteOptions): void;
    /**
     * The same on another thread, which writes what has arrived.
     * @param {Iterable<any> | AsyncIterable<any>} documents
     * @param {WriteOptions} [options]
     * @returns {Promise<void>}
     */
    putManyAsync(documents: Iterable<any> | AsyncIterable<any>, options?: WriteOptions): Promise<void>;
    /**
     * Adds the documents of a JSON array, with the digits of their numbers.
     * @param {string} text
     * @returns {void}
     */
    putJson(text: string): void;
    /**
     * Adds the rows of an Arrow table, each as a document without the columns that are null.
     * @param {ArrayBuffer | ArrayBufferView | { toArrowIPC(): Uint8Array } | { writeIPC(): Uint8Array }} rows
     * @returns {void}
     */
    putArrow(rows: ArrayBuffer | ArrayBufferView | {
        toArrowIPC(): Uint8Array;
    } | {
        writeIPC(): Uint8Array;
    }): void;
    /**
     * Makes the part durable. It counts once it is given to `PartitionedWriter.commit`.
     * @returns {WrittenPart}
     */
    finish(): WrittenPart;
    /** @returns {Promise<WrittenPart>} */
    finishAsync(): Promise<WrittenPart>;
    #private;
}
/** @import { WriteOptions } from './options.js' */
/** @import { Counts } from './report.js' */
/**
 * A job in which many tasks write to one collection, each a part of its own; `commit` publishes all
 * parts at once. It is small, and all of it is in its text: `String(job)` sends it to the tasks,
 * `new PartitionedWriter(text)` receives it.
 */
export class PartitionedWriter {
    /** @param {string} text */
    constructor(text: string);
    /**
     * The absolute path of the database.
     * @readonly
     * @type {string}
     */
    readonly uri: string;
    /**
     * The name of the collection.
     * @readonly
     * @type {string}
     */
    readonly collection: string;
    /**
     * Begins the part of a task, in any thread or process. The task has a number of its own, and the same
     * one when it is tried again.
     * @param {number} task
     * @returns {PartWriter}
     */
    part(task: number): PartWriter;
    /**
     * Publishes the documents of all parts in one atomic batch, and ends the job. Of several parts of one
     * task, the last counts. Trying again publishes nothing twice.
     * @param {readonly WrittenPart[]} parts
     * @returns {Counts}
     */
    commit(parts: readonly WrittenPart[]): Counts;
    /**
     * @param {readonly WrittenPart[]} parts
     * @returns {Promise<Counts>}
     */
    commitAsync(parts: readonly WrittenPart[]): Promise<Counts>;
    /** Removes all that the tasks have written, and ends the job. */
    abort(): void;
    /** @returns {Promise<void>} */
    abortAsync(): Promise<void>;
    /**
     * The text, which makes an equal job.
     * @returns {string}
     */
    toString(): string;
    /** @returns {string} */
    toJSON(): string;
    #private;
}
/**
 * What a task has written: small, and all of it is in its text, as for a `PartitionedWriter`.
 */
export class WrittenPart {
    /** @param {string} text */
    constructor(text: string);
    /**
     * The number of its documents.
     * @readonly
     * @type {number}
     */
    readonly documentCount: number;
    /**
     * The text, which makes an equal part.
     * @returns {string}
     */
    toString(): string;
    /** @returns {string} */
    toJSON(): string;
    #private;
}
import type { WriteOptions } from './options.js';
import type { Counts } from './report.js';
