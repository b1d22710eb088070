// @generated from lib/database.js by scripts/node types
/** An open database. */
export class Database {
    /**
     * @param {string} path
     * @param {any} inner
     * @param {boolean} bigint
     * @param {number} [timeoutMs]
     * @param {Convert} [convert]
     * @private
     */
    private constructor();
    /** The path as given. */
    path: string;
    /** @private */
    private inner;
    /** @private */
    private bigint;
    /** @private The program's `default`. */
    private convert;
    /** @private @type {any[]} idle sessions of the native half */
    private idle;
    /** @private */
    private turns;
    /** Whether the handle accepts writes. */
    get isWritable(): boolean;
    /**
     * A collection by name. Through a handle that writes it need not exist yet: the
     * first write creates it.
     * @template {object} [T=Fields] the type of the documents, for TypeScript
     * @param {string} name
     * @param {CollectionOptions} [options]
     * @returns {Collection<T>}
     */
    collection<T extends object = Fields>(name: string, options?: CollectionOptions): Collection<T>;
    /**
     * The names of all collections, sorted.
     * @returns {string[]}
     */
    collections(): string[];
    /**
     * Drops a collection with all its documents. Its objects fail with `closed` afterwards.
     * @param {string} name
     */
    dropCollection(name: string): void;
    /**
     * @param {string} name
     * @returns {Promise<void>}
     */
    dropCollectionAsync(name: string): Promise<void>;
    /**
     * Renames a collection. Its objects fail with `closed` afterwards.
     * @param {string} name
     * @param {string} newName
     */
    renameCollection(name: string, newName: string): void;
    /**
     * @param {string} name
     * @param {string} newName
     * @returns {Promise<void>}
     */
    renameCollectionAsync(name: string, newName: string): Promise<void>;
    /**
     * Runs SQL statements over tables, collections and files; returns the result of the last.
     *
     * `params` are values: for `?` and `$1` as arguments or in an array, for `:name` in an
     * object. The first one decides: an array is the list of values, a plain object has them by
     * name, and anything else is the first value. Each statement is its own transaction, outside of
     * one in the text.
     *
     *     db.sql('select * from users where age > ? and city = ?', 30, 'Oslo')
     *     db.sql('select * from users where age > :age', { age: 30 })
     *     db.sql('select * from users where id = any(?)', [[1, 2, 3]])
     * @template {object} [T=Record<string, any>] the type of the rows, for TypeScript
     * @param {string} text
     * @param {Given} params
     * @returns {Answer<T>}
     */
    sql<T extends object = Record<string, any>>(text: string, ...params: Given): Answer<T>;
    /**
     * The same on another thread. Options follow an array or an object of params:
     * `db.sqlAsync(text, [30], { signal })`.
     * @template {object} [T=Record<string, any>]
     * @param {string} text
     * @param {GivenLimited} params
     * @returns {Promise<Answer<T>>}
     */
    sqlAsync<T extends object = Record<string, any>>(text: string, ...params: GivenLimited): Promise<Answer<T>>;
    /**
     * Runs a script of ZiQL and returns the result of its last statement; `params` are the values of
     * its `$name`s.
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
     * @param {SqlOptions & LimitOptions} [options]
     * @returns {Promise<Answer<T>>}
     */
    ziqlAsync<T extends object = Record<string, any>>(text: string, params?: Record<string, any>, options?: SqlOptions & LimitOptions): Promise<Answer<T>>;
    /**
     * A new session, whose statements may have limits.
     * @param {LimitOptions} [options]
     * @returns {Session}
     */
    session(options?: LimitOptions): Session;
    /**
     * Prepares a statement in a new session.
     * @template {object} [T=Record<string, any>]
     * @param {string} text
     * @returns {Prepared<T>}
     */
    prepare<T extends object = Record<string, any>>(text: string): Prepared<T>;
    /**
     * Runs a function as a transaction, which is committed when it returns and rolled
     * back when it throws. Its statements run through its session.
     * @template R
     * @param {(session: Session) => R} work
     * @returns {R}
     */
    transaction<R>(work: (session: Session) => R): R;
    /**
     * The same for a function that may await; see `Session.transactionAsync`.
     * @template R
     * @param {(session: Session) => Promise<R> | R} work
     * @param {SqlOptions} [options]
     * @returns {Promise<R>}
     */
    transactionAsync<R>(work: (session: Session) => Promise<R> | R, options?: SqlOptions): Promise<R>;
    /**
     * Registers rows of the program under a name for statements; returns their number.
     *
     * `rows` are plain objects, whose members are the columns, or the bytes of an Arrow
     * table (`tableToIPC` of apache-arrow; a stream or a file), or an object with
     * `toArrowIPC` (arquero) or `writeIPC` (polars). They are in memory, belong to this
     * handle, and are never written; registering others under the name replaces them.
     * @param {string} name
     * @param {readonly Record<string, any>[] | ArrayBuffer | ArrayBufferView | { toArrowIPC(): Uint8Array } | { writeIPC(): Uint8Array }} rows
     * @returns {number}
     */
    register(name: string, rows: readonly Record<string, any>[] | ArrayBuffer | ArrayBufferView | {
        toArrowIPC(): Uint8Array;
    } | {
        writeIPC(): Uint8Array;
    }): number;
    /**
     * Removes the rows of a name; returns whether there were any.
     * @param {string} name
     * @returns {boolean}
     */
    unregister(name: string): boolean;
    /**
     * Makes a function available to statements, called with the values of a row. An exception ends
     * the statement. It runs on this thread, and so must statements that call it (`sql`, and rows
     * read with `for` or `toArray`).
     *
     *     db.createFunction('slug', { parameters: ['text'], returns: 'text' }, (title) => title.toLowerCase().replaceAll(' ', '-'))
     *     db.sql('select slug(title) from posts')
     * @param {string} name
     * @param {FunctionOptions} options
     * @param {(...values: any[]) => any} work
     */
    createFunction(name: string, options: FunctionOptions, work: (...values: any[]) => any): void;
    /**
     * Removes a function; returns whether it existed.
     * @param {string} name
     * @returns {boolean}
     */
    dropFunction(name: string): boolean;
    /**
     * The structs, as the text that declares them.
     * @returns {string}
     */
    schema(): string;
    /**
     * The changes that a schema would make, a line each.
     * @param {string} text
     * @param {SchemaOptions} [options]
     * @returns {string[]}
     */
    checkSchema(text: string, options?: SchemaOptions): string[];
    /**
     * Creates the structs that a schema declares, in one transaction; returns the changes, a line each.
     * @param {string} text
     * @param {SchemaOptions} [options]
     * @returns {string[]}
     */
    applySchema(text: string, options?: SchemaOptions): string[];
    /**
     * Works with an idle session, or a new one.
     * @private
     * @param {(session: any, waitMs: number | undefined) => any} work
     */
    private borrowed;
    /**
     * @private
     * @param {SqlOptions & LimitOptions} options
     * @param {(session: any, waitMs: number | undefined) => Promise<any>} work
     */
    private borrowedAsync;
    /**
     * At most `count` parts of a collection or a table, for other threads, processes and machines.
     *
     * Together they have all rows, and about the same size each. Each is small and all in its text:
     * `String(partition)` sends it, `new Partition(text)` receives it, and `foliodb.readPartition`
     * reads it where the same path leads to the database. `columns` and `filter`, a condition of SQL without
     * subqueries, say what is read of each. A path of a column, such as `commit.collection`, `cart[].sku`,
     * `visits.*.day` or `"a.b".c`, wants only that of it: `commit` is an object of the members named.
     *
     *     const parts = db.partitions('events', 8, { columns: ['user', 'ms'], filter: 'ms > 100' })
     *
     * A partition whose documents are changed before it is read is refused there, with the code
     * `conflict`.
     *
     * `since` and `until`, positions of a collection, take only the documents that were put between them.
     * Of those, what was replaced or deleted before a partition is read is left out. A position that does
     * not fit the file any more, after compaction or an edit, is refused with `conflict`.
     * @param {string} relation
     * @param {number} count
     * @param {PartitionOptions} [options]
     * @returns {Partition[]}
     */
    partitions(relation: string, count: number, options?: PartitionOptions): Partition[];
    /**
     * @param {string} relation
     * @param {number} count
     * @param {PartitionOptions} [options]
     * @returns {Promise<Partition[]>}
     */
    partitionsAsync(relation: string, count: number, options?: PartitionOptions): Promise<Partition[]>;
    /**
     * The number of partitions for so many processors that divide the work: four for each, none below 4 MiB
     * and none above 128 MiB of lines.
     * @param {string} relation
     * @param {number} processors
     * @returns {number}
     */
    partitionCount(relation: string, processors: number): number;
    /**
     * Reads a partition that `partitions` planned, of this database or of a copy of it.
     * @template {object} [T=Record<string, any>]
     * @param {Partition} partition
     * @returns {Answer<T>}
     */
    readPartition<T extends object = Record<string, any>>(partition: Partition): Answer<T>;
    /**
     * @template {object} [T=Record<string, any>]
     * @param {Partition} partition
     * @param {SqlOptions} [options]
     * @returns {Promise<Answer<T>>}
     */
    readPartitionAsync<T extends object = Record<string, any>>(partition: Partition, options?: SqlOptions): Promise<Answer<T>>;
    /**
     * The tables, for maintenance.
     * @returns {Tables}
     */
    tables(): Tables;
    /** Creates an empty database on disk; otherwise the first write does. */
    create(): void;
    /** Makes all writes so far durable, in all collections. */
    flush(): void;
    /** @returns {Promise<void>} */
    flushAsync(): Promise<void>;
    /**
     * Copies the whole database to a directory that does not exist yet, while
     * writers continue.
     * @param {string | URL} target
     * @returns {BackupReport}
     */
    backup(target: string | URL): BackupReport;
    /**
     * @param {string | URL} target
     * @param {WorkOptions} [options]
     * @returns {Promise<BackupReport>}
     */
    backupAsync(target: string | URL, options?: WorkOptions): Promise<BackupReport>;
    /**
     * Imports the tables and views of an SQLite file as typed tables, in one
     * transaction. The report lists what was left out or became another type.
     * @param {string | URL} path
     * @param {ImportSqliteOptions} [options]
     * @returns {SqliteReport}
     */
    importSqlite(path: string | URL, options?: ImportSqliteOptions): SqliteReport;
    /**
     * @param {string | URL} path
     * @param {ImportSqliteOptions & WorkOptions} [options]
     * @returns {Promise<SqliteReport>}
     */
    importSqliteAsync(path: string | URL, options?: ImportSqliteOptions & WorkOptions): Promise<SqliteReport>;
    /**
     * Packs the live documents of all collections into one `.zds` archive: a file, or a URL in a
     * bucket (`s3://`, `gs://`, `az://`).
     * @param {string | URL} target
     * @param {PackOptions} [options]
     * @returns {PackReport}
     */
    pack(target: string | URL, options?: PackOptions): PackReport;
    /**
     * @param {string | URL} target
     * @param {PackOptions & WorkOptions} [options]
     * @returns {Promise<PackReport>}
     */
    packAsync(target: string | URL, options?: PackOptions & WorkOptions): Promise<PackReport>;
    /**
     * The notices of opening, a sentence each.
     * @returns {string[]}
     */
    takeNotices(): string[];
    /**
     * Flushes and closes. Objects from this handle fail with `closed` afterwards;
     * other handles continue. Closing twice is allowed.
     */
    close(): void;
    /** @returns {Promise<void>} */
    closeAsync(): Promise<void>;
    /** For `using`. */
    [Symbol.dispose](): void;
    /** For `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
}
/**
 * Opens a database: a directory, which is created at the first write, or a `.zds`
 * archive, which is read without unpacking.
 * @param {string | URL} path
 * @param {OpenOptions} [options]
 * @returns {Database}
 */
export function open(path: string | URL, options?: OpenOptions): Database;
/**
 * Reads a partition that `Database.partitions` planned, in this or another thread or process.
 * @template {object} [T=Record<string, any>]
 * @param {Partition} partition
 * @param {string | URL} [path] where the database is here, if it is at another path than it was there
 * @returns {Answer<T>}
 */
export function readPartition<T extends object = Record<string, any>>(partition: Partition, path?: string | URL): Answer<T>;
/**
 * @template {object} [T=Record<string, any>]
 * @param {Partition} partition
 * @param {string | URL} [path]
 * @returns {Promise<Answer<T>>}
 */
export function readPartitionAsync<T extends object = Record<string, any>>(partition: Partition, path?: string | URL): Promise<Answer<T>>;
/**
 * Turns a `.zds` archive into a database directory.
 * @param {string | URL} archive
 * @param {string | URL} target an empty or missing directory
 * @returns {UnpackReport}
 */
export function unpack(archive: string | URL, target: string | URL): UnpackReport;
/**
 * @param {string | URL} archive
 * @param {string | URL} target
 * @param {WorkOptions} [options]
 * @returns {Promise<UnpackReport>}
 */
export function unpackAsync(archive: string | URL, target: string | URL, options?: WorkOptions): Promise<UnpackReport>;
/** The version of the library. */
export const version: string;
import type { Fields } from './options.js';
import type { CollectionOptions } from './options.js';
import { Collection } from "./collection.js";
import type { Given } from './options.js';
import type { Answer } from './answer.js';
import type { GivenLimited } from './options.js';
import type { SqlOptions } from './options.js';
import type { LimitOptions } from './options.js';
import { Session } from "./session.js";
import type { Prepared } from './session.js';
import type { FunctionOptions } from './options.js';
import type { SchemaOptions } from './options.js';
import type { PartitionOptions } from './options.js';
import { Partition } from "./partition.js";
import { Tables } from "./tables.js";
import type { BackupReport } from './report.js';
import type { WorkOptions } from './options.js';
import type { ImportSqliteOptions } from './options.js';
import type { SqliteReport } from './report.js';
import type { PackOptions } from './options.js';
import type { PackReport } from './report.js';
import type { OpenOptions } from './options.js';
import type { UnpackReport } from './report.js';
