// @generated from lib/options.js by scripts/node types
/**
 * A JSON object.
 */
export type Fields = Record<string, any>;
/**
 * A document as it is read, with `_id` first.
 */
export type Stored<T extends object> = T & {
    _id: string;
};
/**
 * A document to store, which may have its id.
 */
export type Storable<T extends object> = T & {
    _id?: string | number | bigint;
};
export type OpenOptions = {
    /**
     * `r` never writes; `rw` is the default
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
     * the maximum time that puts stay in memory before they are
     * written to the file, 1000 by default, or a megabyte of them; with `Infinity` only `flush`,
     * `close` and the end of the process write them
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
     * converts values of documents and parameters that have no JSON or SQL form
     */
    default?: Convert | undefined;
};
/**
 * Called with a value that has no JSON form, such as a Map or NaN; returns one that has:
 * `(value) => value instanceof Map ? Object.fromEntries(value) : undefined`. If it returns
 * undefined, the value is refused.
 */
export type Convert = (value: any) => any;
/**
 * Values for the parameters of a statement: an array for `?` and `$1`, an object for
 * `:name`. Strings, booleans, null, numbers (an integral number is an SQL integer),
 * bigints, Dates, Uint8Arrays; arrays of one type; objects, which are JSON.
 */
export type Parameters = readonly any[] | Record<string, any>;
/**
 * A single value after the text of a statement: anything that is neither an array nor a plain
 * object.
 */
export type Value = string | number | bigint | boolean | null | Date | ArrayBuffer | ArrayBufferView;
/**
 * The arguments after the text of a statement: the parameters in an array or an object, or as
 * separate values. The first one decides.
 */
export type Given = [params?: Parameters | undefined] | [first: Value, ...others: any[]];
/**
 * The same with options, which may only follow an array or an object.
 */
export type GivenAsync = [params?: Parameters | undefined, options?: SqlOptions | undefined] | [first: Value, ...others: any[]];
/**
 * The same for a statement that writes documents.
 */
export type GivenUpdate = [params?: Parameters | undefined, options?: WriteOptions | undefined] | [first: Value, ...others: any[]];
/**
 * The same for a statement that may have limits.
 */
export type GivenLimited = [params?: Parameters | undefined, options?: (SqlOptions & LimitOptions) | undefined] | [first: Value, ...others: any[]];
/**
 * The limits of a statement.
 */
export type LimitOptions = {
    /**
     * ends a statement that takes longer, in milliseconds; it fails with `timeout`
     */
    timeoutMs?: number | undefined;
    /**
     * ends a statement that uses more memory, in bytes; it fails with `memory_limit`
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
     * drop structs and members that the schema lacks, with their data
     */
    allowDrop?: boolean | undefined;
};
/**
 * The parameters and result of a function of the program. Types are named as in SQL: `text`,
 * `bigint`, `numeric(10, 2)`, `text[]`.
 */
export type FunctionOptions = {
    /**
     * the types of its arguments; none by default
     */
    parameters?: readonly string[] | undefined;
    /**
     * the type of its result
     */
    returns: string;
    /**
     * its result may differ for the same arguments
     */
    volatile?: boolean | undefined;
    /**
     * it is also called with nulls; otherwise the result is null if an argument is
     */
    takesNull?: boolean | undefined;
};
/**
 * What is read of each partition.
 */
export type PartitionOptions = {
    /**
     * columns, and paths in them; all by default
     */
    columns?: readonly string[] | undefined;
    /**
     * a condition of SQL without subqueries
     */
    filter?: string | undefined;
    /**
     * of a collection, only the documents put after this position (`Collection.position`)
     */
    since?: string | undefined;
    /**
     * of a collection, only the documents put before this position
     */
    until?: string | undefined;
};
/**
 * The properties of a new collection.
 */
export type CollectionOptions = {
    /**
     * one file of lines, or a file per document
     */
    layout?: "lines" | "files" | undefined;
    /**
     * every document must look like the first (`true`), or
     * follow this JSON Schema (a subset); stored with the collection
     */
    strict?: boolean | Record<string, any> | undefined;
    /**
     * converts values without a JSON form; the database's option by default
     */
    default?: Convert | undefined;
};
export type WriteOptions = {
    /**
     * converts values without a JSON form; the collection's option by default
     */
    default?: Convert | undefined;
};
export type ReadOptions = {
    /**
     * integers beyond 2^53 - 1 as bigints; the database's option by default
     */
    bigint?: boolean | undefined;
};
export type ScanOptions = {
    /**
     * dotted paths; `_id` is always included, first
     */
    fields?: readonly string[] | undefined;
    /**
     * a condition of SQL: `age > ?`
     */
    where?: string | undefined;
    /**
     * the values of the condition's parameters
     */
    params?: Parameters | undefined;
    /**
     * maximum number of documents
     */
    limit?: number | undefined;
    /**
     * documents that are parsed on first access
     */
    lazy?: boolean | undefined;
    /**
     * integers beyond 2^53 - 1 as bigints; the database's option by default
     */
    bigint?: boolean | undefined;
};
export type PutManyOptions = {
    /**
     * the field with the id, as a dotted path; by default `_id`
     */
    id?: string | undefined;
    /**
     * converts values without a JSON form; the collection's option by default
     */
    default?: Convert | undefined;
};
/**
 * The formats of files, as options name them. Extensions select them too: `.jsonl`,
 * `.json`, `.csv`, `.tsv`, `.ion`, `.10n` (binary Ion), `.parquet`, `.arrow`, each also with
 * `.gz` or `.zst`.
 */
export type FileFormat = "jsonl" | "json" | "csv" | "tsv" | "ion" | "ion-binary" | "arrow" | "parquet";
/**
 * The conversion of a file into documents. Its extension selects the format, otherwise its first
 * bytes do; gzip and zstd are decompressed.
 */
export type ImportOptions = {
    /**
     * overrides the name
     */
    format?: FileFormat | undefined;
    /**
     * the field with the id, as a dotted path; by default `_id`
     */
    id?: string | undefined;
    /**
     * gives ids to records without one (UUID version 7, which sort by time)
     */
    generateIds?: boolean | undefined;
    /**
     * what happens to a record whose id has a document;
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
    columns?: readonly string[] | undefined;
    /**
     * CSV: numbers, `true` and `false` are typed; true by default
     */
    inferTypes?: boolean | undefined;
    /**
     * a file for the records that cannot become documents
     */
    rejectedPath?: string | undefined;
    /**
     * starts again instead of resuming an interrupted import
     */
    restart?: boolean | undefined;
};
/**
 * An index on fields.
 */
export type IndexOptions = {
    /**
     * its name; by default one after the collection and the fields
     */
    name?: string | undefined;
    /**
     * refuses documents whose values another document has
     */
    unique?: boolean | undefined;
    /**
     * only documents that meet this condition of SQL: comparisons of fields with literals
     */
    where?: string | undefined;
    /**
     * what kind of index it is: `fields` finds documents by values, `columns` is
     * a copy of the documents for scans and groupings
     */
    using?: "columns" | "fields" | undefined;
};
export type ExportOptions = {
    /**
     * required if the name has no known extension; a format that contradicts
     * the extension is refused; `zds` makes a directory
     */
    format?: FileFormat | "zds" | undefined;
    /**
     * dotted paths; `_id` is always included, first
     */
    fields?: readonly string[] | undefined;
    /**
     * a condition of SQL: `age > 30`
     */
    where?: string | undefined;
    /**
     * maximum number of documents
     */
    limit?: number | undefined;
};
/**
 * For long operations on another thread.
 */
export type WorkOptions = {
    /**
     * receives from time to time
     * the number of bytes done and in total (0 if unknown)
     */
    progress?: ((doneSize: number, totalSize: number) => void) | undefined;
    /**
     * stops the work, which then fails with the code `cancelled`
     */
    signal?: AbortSignal | undefined;
};
export type ImportSqliteOptions = {
    /**
     * only these tables and views; by default all
     */
    tables?: readonly string[] | undefined;
};
export type PackOptions = {
    /**
     * makes the archive smaller, and slower to read in place
     */
    compress?: boolean | undefined;
};
