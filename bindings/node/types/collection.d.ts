// @generated from lib/collection.js by scripts/node types
/**
 * A collection of documents under ids.
 * @template {object} [T=Fields] the type of the documents, for TypeScript
 */
export class Collection<T extends object = Fields> {
    /**
     * @param {any} inner
     * @param {boolean} bigint
     * @param {Convert} [convert]
     * @private
     */
    private constructor();
    /** @private */
    private inner;
    /** @private The program's `default`. */
    private convert;
    /** @private */
    private bigint;
    /** @private @type {(id: string) => string | undefined} */
    private lookup;
    /** The collection's name. */
    get name(): string;
    /** Whether the handle accepts writes. */
    get isWritable(): boolean;
    /** Whether the collection exists on disk: the first write creates it. */
    get isCreated(): boolean;
    /**
     * The document with an id; undefined if there is none.
     * @param {string | number | bigint} id
     * @param {ReadOptions} [options]
     * @returns {Stored<T> | undefined}
     */
    get(id: string | number | bigint, options?: ReadOptions): Stored<T> | undefined;
    /**
     * @param {string | number | bigint} id
     * @returns {any}
     * @private
     */
    private getExact;
    /**
     * @param {string | number | bigint} id
     * @param {ReadOptions} [options]
     * @returns {Promise<Stored<T> | undefined>}
     */
    getAsync(id: string | number | bigint, options?: ReadOptions): Promise<Stored<T> | undefined>;
    /**
     * The documents of many ids, in their order; undefined for a missing one.
     * Faster than a `get` for each.
     * @param {readonly (string | number | bigint)[]} ids
     * @param {ReadOptions} [options]
     * @returns {(Stored<T> | undefined)[]}
     */
    getMany(ids: readonly (string | number | bigint)[], options?: ReadOptions): (Stored<T> | undefined)[];
    /**
     * @param {readonly (string | number | bigint)[]} ids
     * @param {ReadOptions} [options]
     * @returns {Promise<(Stored<T> | undefined)[]>}
     */
    getManyAsync(ids: readonly (string | number | bigint)[], options?: ReadOptions): Promise<(Stored<T> | undefined)[]>;
    /**
     * The exact line of a document: key order, and the digits of every number.
     * @param {string | number | bigint} id
     * @returns {string | undefined}
     */
    getRaw(id: string | number | bigint): string | undefined;
    /**
     * @param {string | number | bigint} id
     * @returns {Promise<string | undefined>}
     */
    getRawAsync(id: string | number | bigint): Promise<string | undefined>;
    /**
     * Stores a document, replacing the one with this id.
     *
     * Dates become ISO strings. Other values without a JSON form, such as a Map or NaN, are refused
     * with their path, unless `options.default` converts them.
     * @param {string | number | bigint} id
     * @param {Storable<T>} document
     * @param {WriteOptions} [options]
     * @returns {'inserted' | 'replaced'}
     */
    put(id: string | number | bigint, document: Storable<T>, options?: WriteOptions): "inserted" | "replaced";
    /**
     * @param {string | number | bigint} id
     * @param {Storable<T>} document
     * @param {WriteOptions} [options]
     * @returns {Promise<'inserted' | 'replaced'>}
     */
    putAsync(id: string | number | bigint, document: Storable<T>, options?: WriteOptions): Promise<"inserted" | "replaced">;
    /**
     * Stores JSON text, with its key order and the digits of every number.
     * @param {string | number | bigint} id
     * @param {string} json one JSON object
     * @returns {'inserted' | 'replaced'}
     */
    putRaw(id: string | number | bigint, json: string): "inserted" | "replaced";
    /**
     * @param {string | number | bigint} id
     * @param {string} json
     * @returns {Promise<'inserted' | 'replaced'>}
     */
    putRawAsync(id: string | number | bigint, json: string): Promise<"inserted" | "replaced">;
    /**
     * Stores a document under its `_id`, or under a new one (UUID version 7, which
     * sorts by time), and returns the id. It never replaces a document.
     * @param {Storable<T>} document
     * @param {WriteOptions} [options]
     * @returns {string}
     */
    add(document: Storable<T>, options?: WriteOptions): string;
    /**
     * @param {Storable<T>} document
     * @param {WriteOptions} [options]
     * @returns {Promise<string>}
     */
    addAsync(document: Storable<T>, options?: WriteOptions): Promise<string>;
    /**
     * Stores many documents, all or none of them. Each has an `_id`, or gets a new one, or has its
     * id in the field that `id` names, or is a pair of id and document, as in a Map.
     * @param {Iterable<Storable<T> | readonly [string | number | bigint, Storable<T>]>} documents
     * @param {PutManyOptions} [options]
     * @returns {Counts}
     */
    putMany(documents: Iterable<Storable<T> | readonly [string | number | bigint, Storable<T>]>, options?: PutManyOptions): Counts;
    /**
     * The same, on another thread. The text of the documents stays in memory until the last one
     * arrives, and is then stored as one batch.
     * @param {Iterable<Storable<T> | readonly [string | number | bigint, Storable<T>]> | AsyncIterable<Storable<T> | readonly [string | number | bigint, Storable<T>]>} documents
     * @param {PutManyOptions} [options]
     * @returns {Promise<Counts>}
     */
    putManyAsync(documents: Iterable<Storable<T> | readonly [string | number | bigint, Storable<T>]> | AsyncIterable<Storable<T> | readonly [string | number | bigint, Storable<T>]>, options?: PutManyOptions): Promise<Counts>;
    /**
     * Starts an atomic batch of puts and deletes, which `commit` stores.
     * @param {WriteOptions} [options]
     * @returns {Batch<T>}
     */
    batch(options?: WriteOptions): Batch<T>;
    /**
     * Applies a JSON merge patch (RFC 7396): null removes a member, objects merge,
     * anything else replaces. Returns the new document; undefined if there is none.
     * @param {string | number | bigint} id
     * @param {Fields} patch
     * @param {WriteOptions} [options]
     * @returns {Stored<T> | undefined}
     */
    patch(id: string | number | bigint, patch: Fields, options?: WriteOptions): Stored<T> | undefined;
    /**
     * @param {string | number | bigint} id
     * @param {Fields} patch
     * @param {WriteOptions} [options]
     * @returns {Promise<Stored<T> | undefined>}
     */
    patchAsync(id: string | number | bigint, patch: Fields, options?: WriteOptions): Promise<Stored<T> | undefined>;
    /**
     * Deletes a document and returns it, atomically; undefined if there is none.
     * @param {string | number | bigint} id
     * @returns {Stored<T> | undefined}
     */
    pop(id: string | number | bigint): Stored<T> | undefined;
    /**
     * @param {string | number | bigint} id
     * @returns {Promise<Stored<T> | undefined>}
     */
    popAsync(id: string | number | bigint): Promise<Stored<T> | undefined>;
    /**
     * Deletes all documents, atomically, and returns their number.
     * @returns {number}
     */
    clear(): number;
    /** @returns {Promise<number>} */
    clearAsync(): Promise<number>;
    /**
     * Applies a JSON merge patch (RFC 7396) to the documents that meet a condition of SQL,
     * all or none of them; returns their number. `params` are as in `Database.sql`; options may
     * follow an array or an object of them.
     * @param {string} where `age > ?`
     * @param {Fields} patch
     * @param {GivenUpdate} params the values of the condition's parameters
     * @returns {number}
     */
    update(where: string, patch: Fields, ...params: GivenUpdate): number;
    /**
     * @param {string} where
     * @param {Fields} patch
     * @param {GivenUpdate} params
     * @returns {Promise<number>}
     */
    updateAsync(where: string, patch: Fields, ...params: GivenUpdate): Promise<number>;
    /**
     * Deletes a document and returns whether there was one.
     * @param {string | number | bigint} id
     * @returns {boolean}
     */
    delete(id: string | number | bigint): boolean;
    /**
     * @param {string | number | bigint} id
     * @returns {Promise<boolean>}
     */
    deleteAsync(id: string | number | bigint): Promise<boolean>;
    /**
     * Whether a document with the id exists.
     * @param {string | number | bigint} id
     * @returns {boolean}
     */
    has(id: string | number | bigint): boolean;
    /**
     * @param {string | number | bigint} id
     * @returns {Promise<boolean>}
     */
    hasAsync(id: string | number | bigint): Promise<boolean>;
    /**
     * The number of documents.
     * @returns {number}
     */
    count(): number;
    /** @returns {Promise<number>} */
    countAsync(): Promise<number>;
    /**
     * The documents in file order, streaming, for `for` and for `for await`.
     * To select by a function, test each document in the loop.
     * @overload
     * @param {ScanOptions & { lazy: true }} options
     * @returns {Scan<Document>}
     */
    scan(options: ScanOptions & {
        lazy: true;
    }): Scan<Document>;
    /**
     * @overload
     * @param {ScanOptions} [options]
     * @returns {Scan<Stored<T>>}
     */
    scan(options?: ScanOptions | undefined): Scan<Stored<T>>;
    /**
     * All ids in file order, streaming.
     * @returns {IterableIterator<string>}
     */
    ids(): IterableIterator<string>;
    /**
     * All ids in file order, read on another thread.
     * @returns {AsyncGenerator<string, void, undefined>}
     */
    idsAsync(): AsyncGenerator<string, void, undefined>;
    /** Makes all writes so far durable, and lets other processes write. */
    flush(): void;
    /** @returns {Promise<void>} */
    flushAsync(): Promise<void>;
    /** Reads what other processes and people have written. */
    refresh(): void;
    /** @returns {Promise<void>} */
    refreshAsync(): Promise<void>;
    /**
     * Rewrites the live documents in order, without superseded and deleted lines.
     * @returns {CompactReport}
     */
    compact(): CompactReport;
    /**
     * @param {WorkOptions} [options]
     * @returns {Promise<CompactReport>}
     */
    compactAsync(options?: WorkOptions): Promise<CompactReport>;
    /**
     * Reads everything and reports damage. Changes nothing.
     * @returns {CheckReport}
     */
    check(): CheckReport;
    /**
     * @param {WorkOptions} [options]
     * @returns {Promise<CheckReport>}
     */
    checkAsync(options?: WorkOptions): Promise<CheckReport>;
    /** Rebuilds the index from the data. */
    reindex(): void;
    /**
     * @param {WorkOptions} [options]
     * @returns {Promise<void>}
     */
    reindexAsync(options?: WorkOptions): Promise<void>;
    /**
     * Creates an index on fields. Conditions and statements use it, and every write maintains it.
     * With `using: 'columns'` it is a copy of the fields in columns, of all if there are none.
     * @param {string | readonly string[]} fields dotted paths, each perhaps with ` desc` after it
     * @param {IndexOptions} [options]
     * @returns {string} its name
     */
    createIndex(fields: string | readonly string[], options?: IndexOptions): string;
    /**
     * @param {string | readonly string[]} fields
     * @param {IndexOptions & WorkOptions} [options]
     * @returns {Promise<string>}
     */
    createIndexAsync(fields: string | readonly string[], options?: IndexOptions & WorkOptions): Promise<string>;
    /**
     * The indexes on fields, with sizes and states.
     * @returns {IndexStats[]}
     */
    indexes(): IndexStats[];
    /** @returns {Promise<IndexStats[]>} */
    indexesAsync(): Promise<IndexStats[]>;
    /**
     * Drops an index on fields.
     * @param {string} name
     */
    dropIndex(name: string): void;
    /**
     * @param {string} name
     * @returns {Promise<void>}
     */
    dropIndexAsync(name: string): Promise<void>;
    /**
     * Sets whether statements may name paths that no document has, which are null then.
     * @param {boolean} open
     */
    setOpenPaths(open: boolean): void;
    /**
     * @param {boolean} open
     * @returns {Promise<void>}
     */
    setOpenPathsAsync(open: boolean): Promise<void>;
    /**
     * Whether statements may name paths that no document has.
     * @returns {boolean}
     */
    hasOpenPaths(): boolean;
    /**
     * Compares an index on fields with the documents. Changes nothing.
     * @param {string} name
     * @returns {IndexCheck}
     */
    checkIndex(name: string): IndexCheck;
    /**
     * @param {string} name
     * @returns {Promise<IndexCheck>}
     */
    checkIndexAsync(name: string): Promise<IndexCheck>;
    /**
     * Imports a file, optionally compressed with gzip or zstd; its extension selects the format.
     * Running an interrupted import again resumes it.
     * @param {string | URL} path
     * @param {ImportOptions} [options]
     * @returns {ImportReport}
     */
    import(path: string | URL, options?: ImportOptions): ImportReport;
    /**
     * @param {string | URL} path
     * @param {ImportOptions & WorkOptions} [options]
     * @returns {Promise<ImportReport>}
     */
    importAsync(path: string | URL, options?: ImportOptions & WorkOptions): Promise<ImportReport>;
    /**
     * Exports the documents to a file, which appears under its name when complete,
     * or to a directory for `zds`.
     * @param {string | URL} target
     * @param {ExportOptions} [options]
     * @returns {ExportReport}
     */
    export(target: string | URL, options?: ExportOptions): ExportReport;
    /**
     * @param {string | URL} target
     * @param {ExportOptions & WorkOptions} [options]
     * @returns {Promise<ExportReport>}
     */
    exportAsync(target: string | URL, options?: ExportOptions & WorkOptions): Promise<ExportReport>;
    /**
     * Where the documents end now, as a text for `Database.partitions`: those that are put later come after
     * it. It holds in other processes, until the file is compacted or edited.
     * @returns {string}
     */
    position(): string;
    /** @returns {Promise<string>} */
    positionAsync(): Promise<string>;
    /**
     * Begins a job in which many threads and processes write to the collection. All that they write is
     * published by one `commit`.
     *
     *     const job = db.collection('events').partitionedWriter() // String(job) goes to the tasks
     *     const part = job.part(0) // in a task, with its number
     *     part.putMany([{ n: 1 }])
     *     job.commit([part.finish()])
     * @returns {PartitionedWriter}
     */
    partitionedWriter(): PartitionedWriter;
    /**
     * Sizes and counts.
     * @returns {Stats}
     */
    stats(): Stats;
    /** @returns {Promise<Stats>} */
    statsAsync(): Promise<Stats>;
    /**
     * What is known of each path of the documents. Long strings are cut. Documents that were replaced or
     * deleted count too, until `compact` or `reindex`.
     * @returns {FieldSummary[]}
     */
    fields(): FieldSummary[];
    /** @returns {Promise<FieldSummary[]>} */
    fieldsAsync(): Promise<FieldSummary[]>;
    /**
     * The notices since the last call (hand edits, a lost index, an interrupted batch), one sentence
     * each.
     * @returns {string[]}
     */
    takeNotices(): string[];
    /** Flushes and closes the collection for every handle of the process. Closing twice is allowed. */
    close(): void;
    /** @returns {Promise<void>} */
    closeAsync(): Promise<void>;
    /**
     * The display of a scan.
     * @param {{ fields?: readonly string[], where?: string, limit?: number, bigint?: boolean, values?: Encoded }} wanted
     * @returns {Glance}
     * @private
     */
    private glance;
    /**
     * The program's `default` for a write.
     * @param {WriteOptions | undefined} options
     * @returns {Convert | undefined}
     * @private
     */
    private converting;
    /**
     * @param {ReadOptions} options
     * @returns {boolean}
     * @private
     */
    private isExact;
    /**
     * @param {string} text
     * @returns {any}
     * @private
     */
    private parsed;
    /**
     * The documents in file order, streaming.
     * @returns {IterableIterator<Stored<T>>}
     */
    [Symbol.iterator](): IterableIterator<Stored<T>>;
    /**
     * The documents in file order, read on another thread.
     * @returns {AsyncIterableIterator<Stored<T>>}
     */
    [Symbol.asyncIterator](): AsyncIterableIterator<Stored<T>>;
}
/**
 * Warns of the lines of a file that are not documents.
 * @param {any} inner
 */
export function warnOfBrokenLines(inner: any): void;
import type { Fields } from './options.js';
import type { ReadOptions } from './options.js';
import type { Stored } from './options.js';
import type { Storable } from './options.js';
import type { WriteOptions } from './options.js';
import type { PutManyOptions } from './options.js';
import type { Counts } from './report.js';
import { Batch } from "./batch.js";
import type { GivenUpdate } from './options.js';
import type { ScanOptions } from './options.js';
import { Scan } from "./scan.js";
import type { Document } from './document.js';
import type { CompactReport } from './report.js';
import type { WorkOptions } from './options.js';
import type { CheckReport } from './report.js';
import type { IndexOptions } from './options.js';
import type { IndexStats } from './report.js';
import type { IndexCheck } from './report.js';
import type { ImportOptions } from './options.js';
import type { ImportReport } from './report.js';
import type { ExportOptions } from './options.js';
import type { ExportReport } from './report.js';
import { PartitionedWriter } from "./writer.js";
import type { Stats } from './report.js';
import type { FieldSummary } from './report.js';
