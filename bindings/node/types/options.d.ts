// @generated from lib/options.js by scripts/node types
/**
 * A JSON object.
 */
export type Fields = Record<string, any>;
/**
 * A document as it is read: `_id` stands first.
 */
export type Stored<T extends object> = T & {
    _id: string;
};
export type OpenOptions = {
    /**
     * `r` reads only and writes nothing, ever; `rw` is the default
     */
    mode?: "r" | "rw" | undefined;
    /**
     * when a write reaches the device;
     * `on_flush` (and at close and at the end of a batch) is the default
     */
    durability?: "none" | "on_flush" | "every_put" | undefined;
    /**
     * how long a write waits for another process to finish writing, 5000 by default
     */
    timeoutMs?: number | undefined;
    /**
     * how long puts stay in memory at most before they are written to the file,
     * 1000 by default, or a megabyte of them; `Infinity` leaves them to `flush`, `close` and the end of the process
     */
    writeBehindMs?: number | undefined;
    /**
     * bytes of recently read data kept in memory per collection
     */
    cacheSize?: number | undefined;
    /**
     * whether a missing database is created at the first write, true by default
     */
    create?: boolean | undefined;
    /**
     * read integers beyond 2^53 - 1 as bigints instead of rounding them
     */
    bigint?: boolean | undefined;
    /**
     * gives documents and parameters a value for what has no form there
     */
    default?: Convert | undefined;
};
/**
 * Called with a value that has no JSON form, such as a Map or NaN, and answers one that has:
 * `(value) => value instanceof Map ? Object.fromEntries(value) : undefined`. Undefined
 * leaves the value refused.
 */
export type Convert = (value: any) => any;
/**
 * Values for the parameters of a statement: an array for `?` and `$1`, an object for
 * `:name`. Strings, booleans, null, numbers (an integer among them is one of SQL too),
 * bigints, Dates, Uint8Arrays; arrays of one type; objects, which are JSON.
 */
export type Parameters = any[] | Record<string, any>;
/**
 * A value that may stand by itself behind the text of a statement. What is neither an
 * array nor a plain object may.
 */
export type Value = string | number | bigint | boolean | null | Date | ArrayBuffer | ArrayBufferView;
/**
 * What stands behind the text of a statement: the parameters in an array or an object, or
 * as values one after another. The first decides which.
 */
export type Given = [params?: Parameters | undefined] | [first: Value, ...others: any[]];
/**
 * The same with options, which only an array or an object can have behind it.
 */
export type GivenAsync = [params?: Parameters | undefined, options?: SqlOptions | undefined] | [first: Value, ...others: any[]];
/**
 * The same where the statement writes documents.
 */
export type GivenUpdate = [params?: Parameters | undefined, options?: WriteOptions | undefined] | [first: Value, ...others: any[]];
/**
 * The same where the statement may have limits.
 */
export type GivenLimited = [params?: Parameters | undefined, options?: (SqlOptions & LimitOptions) | undefined] | [first: Value, ...others: any[]];
/**
 * What a statement may use.
 */
export type LimitOptions = {
    /**
     * ends a statement that takes longer, in milliseconds; it fails with `timeout`
     */
    timeoutMs?: number | undefined;
    /**
     * ends a statement that holds more, in bytes; it fails with `memory_limit`
     */
    memoryLimit?: number | undefined;
};
export type SqlOptions = {
    /**
     * ends the statement, which fails with `cancelled`
     */
    signal?: AbortSignal | undefined;
};
export type SchemaOptions = {
    /**
     * drop structs and members that the schema does not have, with all they hold
     */
    allowDrop?: boolean | undefined;
};
/**
 * What a function of the program takes and answers. Types are named as in SQL: `text`,
 * `bigint`, `numeric(10, 2)`, `text[]`.
 */
export type FunctionOptions = {
    /**
     * the types of its arguments; none when left out
     */
    parameters?: string[] | undefined;
    /**
     * the type of what it returns
     */
    returns: string;
    /**
     * it returns something else for the same arguments
     */
    volatile?: boolean | undefined;
    /**
     * it is called with nulls, too; otherwise the answer is null where an argument is
     */
    takesNull?: boolean | undefined;
};
/**
 * What a collection is, where that is not settled yet.
 */
export type CollectionOptions = {
    /**
     * one file of lines, or a file per document
     */
    layout?: "lines" | "files" | undefined;
    /**
     * every document must look like the first (`true`), or
     * follow this JSON Schema (a subset); remembered with the collection
     */
    strict?: boolean | Record<string, any> | undefined;
    /**
     * gives documents a value for what has no JSON; the database's option when left out
     */
    default?: Convert | undefined;
};
export type WriteOptions = {
    /**
     * gives the document a value for what has no JSON; the collection's option when left out
     */
    default?: Convert | undefined;
};
export type ReadOptions = {
    /**
     * integers beyond 2^53 - 1 as bigints; the database's option when left out
     */
    bigint?: boolean | undefined;
};
export type ScanOptions = {
    /**
     * dotted paths; `_id` always stays, first
     */
    fields?: string[] | undefined;
    /**
     * a condition of SQL: `age > ?`
     */
    where?: string | undefined;
    /**
     * the values of the condition's parameters
     */
    params?: Parameters | undefined;
    /**
     * how many documents at most
     */
    limit?: number | undefined;
    /**
     * documents that are parsed only when looked into
     */
    lazy?: boolean | undefined;
    /**
     * integers beyond 2^53 - 1 as bigints; the database's option when left out
     */
    bigint?: boolean | undefined;
};
export type PutManyOptions = {
    /**
     * the field that holds the id, as a dotted path; `_id` when left out
     */
    id?: string | undefined;
    /**
     * gives documents a value for what has no JSON; the collection's option when left out
     */
    default?: Convert | undefined;
};
/**
 * The formats of files, as options name them. The extensions of a name say them too: `.jsonl`,
 * `.json`, `.csv`, `.tsv`, `.ion`, `.10n` (binary Ion), `.parquet`, `.arrow`, each also with
 * `.gz` or `.zst`.
 */
export type FileFormat = "jsonl" | "json" | "csv" | "tsv" | "ion" | "ion-binary" | "arrow" | "parquet";
/**
 * How a file becomes documents. Its name says the format, or else its first bytes; gzip and zstd
 * are unpacked on the way.
 */
export type ImportOptions = {
    /**
     * overrides the name
     */
    format?: FileFormat | undefined;
    /**
     * the field that holds the id, as a dotted path; `_id` when left out
     */
    id?: string | undefined;
    /**
     * gives ids to records without one (UUID version 7, which sort by time)
     */
    generateIds?: boolean | undefined;
    /**
     * what becomes of a record whose id has a document;
     * `replace` is the default
     */
    onConflict?: "replace" | "skip" | "error" | undefined;
    /**
     * CSV: the character between fields
     */
    delimiter?: string | undefined;
    /**
     * CSV: the names of the columns, for a file without a header
     */
    columns?: string[] | undefined;
    /**
     * CSV: numbers, `true` and `false` become such; true by default
     */
    inferTypes?: boolean | undefined;
    /**
     * a file that takes the records that cannot become documents
     */
    rejectedPath?: string | undefined;
    /**
     * begins at the start, also where an interrupted import could go on
     */
    restart?: boolean | undefined;
};
export type ExportOptions = {
    /**
     * needed where the name has no known extension; one that contradicts
     * the extension is refused; `zds` makes a directory
     */
    format?: FileFormat | "zds" | undefined;
    /**
     * dotted paths; `_id` always stays, first
     */
    fields?: string[] | undefined;
    /**
     * a condition of SQL: `age > 30`
     */
    where?: string | undefined;
    /**
     * how many documents at most
     */
    limit?: number | undefined;
};
/**
 * For work on another thread that takes its time.
 */
export type WorkOptions = {
    /**
     * told now and then how many bytes
     * are done, of how many (0 where that is not known)
     */
    progress?: ((doneSize: number, totalSize: number) => void) | undefined;
    /**
     * stops the work, which then fails with the code `cancelled`
     */
    signal?: AbortSignal | undefined;
};
export type ImportSqliteOptions = {
    /**
     * these tables and views alone; all when left out
     */
    tables?: string[] | undefined;
};
export type PackOptions = {
    /**
     * makes the archive smaller, and slower to read in place
     */
    compress?: boolean | undefined;
};
