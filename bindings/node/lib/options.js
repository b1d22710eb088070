// The types of the options. `argument.js` checks them at run time.
'use strict'

/**
 * A JSON object.
 * @typedef {Record<string, any>} Fields
 */

/**
 * A document as it is read, with `_id` first.
 * @template {object} T
 * @typedef {T & { _id: string }} Stored
 */

/**
 * A document to store, which may have its id.
 * @template {object} T
 * @typedef {T & { _id?: string | number | bigint }} Storable
 */

/**
 * @typedef {object} OpenOptions
 * @property {'r' | 'rw'} [mode] `r` never writes; `rw` is the default
 * @property {'none' | 'on_flush' | 'every_put'} [durability] when a write reaches the device;
 *   `on_flush` (and at close and at the end of a batch) is the default
 * @property {number} [timeoutMs] how long a write waits for another process to finish writing, 5000 by default
 * @property {number} [writeBehindMs] the maximum time that puts stay in memory before they are
 *   written to the file, 1000 by default, or a megabyte of them; with `Infinity` only `flush`,
 *   `close` and the end of the process write them
 * @property {number} [cacheSize] bytes of recently read data kept in memory per collection
 * @property {boolean} [create] whether a missing database is created at the first write, true by default
 * @property {boolean} [bigint] read integers beyond 2^53 - 1 as bigints instead of rounding them
 * @property {Convert} [default] converts values of documents and parameters that have no JSON or SQL form
 */

/**
 * Called with a value that has no JSON form, such as a Map or NaN; returns one that has:
 * `(value) => value instanceof Map ? Object.fromEntries(value) : undefined`. If it returns
 * undefined, the value is refused.
 * @typedef {(value: any) => any} Convert
 */

/**
 * Values for the parameters of a statement: an array for `?` and `$1`, an object for
 * `:name`. Strings, booleans, null, numbers (an integral number is an SQL integer),
 * bigints, Dates, Uint8Arrays; arrays of one type; objects, which are JSON.
 * @typedef {readonly any[] | Record<string, any>} Parameters
 */

/**
 * A single value after the text of a statement: anything that is neither an array nor a plain
 * object.
 * @typedef {string | number | bigint | boolean | null | Date | ArrayBuffer | ArrayBufferView} Value
 */

/** The arguments after the text of a statement: the parameters in an array or an object, or as
 * separate values. The first one decides.
 * @typedef {[params?: Parameters | undefined] | [first: Value, ...others: any[]]} Given
 */

/**
 * The same with options, which may only follow an array or an object.
 * @typedef {[params?: Parameters | undefined, options?: SqlOptions | undefined] | [first: Value, ...others: any[]]} GivenAsync
 */

/**
 * The same for a statement that writes documents.
 * @typedef {[params?: Parameters | undefined, options?: WriteOptions | undefined] | [first: Value, ...others: any[]]} GivenUpdate
 */

/**
 * The same for a statement that may have limits.
 * @typedef {[params?: Parameters | undefined, options?: (SqlOptions & LimitOptions) | undefined] | [first: Value, ...others: any[]]} GivenLimited
 */

/** The limits of a statement.
 * @typedef {object} LimitOptions
 * @property {number} [timeoutMs] ends a statement that takes longer, in milliseconds; it fails with `timeout`
 * @property {number} [memoryLimit] ends a statement that uses more memory, in bytes; it fails with `memory_limit`
 */

/**
 * @typedef {object} SqlOptions
 * @property {AbortSignal} [signal] ends the statement, which fails with `cancelled`
 */

/**
 * @typedef {object} SchemaOptions
 * @property {boolean} [allowDrop] drop structs and members that the schema lacks, with their data
 */

/**
 * The parameters and result of a function of the program. Types are named as in SQL: `text`,
 * `bigint`, `numeric(10, 2)`, `text[]`.
 * @typedef {object} FunctionOptions
 * @property {readonly string[]} [parameters] the types of its arguments; none by default
 * @property {string} returns the type of its result
 * @property {boolean} [volatile] its result may differ for the same arguments
 * @property {boolean} [takesNull] it is also called with nulls; otherwise the result is null if an argument is
 */

/**
 * What is read of each partition.
 * @typedef {object} PartitionOptions
 * @property {readonly string[]} [columns] columns, and paths in them; all by default
 * @property {string} [filter] a condition of SQL without subqueries
 * @property {string} [since] of a collection, only the documents put after this position (`Collection.position`)
 * @property {string} [until] of a collection, only the documents put before this position
 */

/**
 * The properties of a new collection.
 * @typedef {object} CollectionOptions
 * @property {'lines' | 'files'} [layout] one file of lines, or a file per document
 * @property {boolean | Record<string, any>} [strict] every document must look like the first (`true`), or
 *   follow this JSON Schema (a subset); stored with the collection
 * @property {Convert} [default] converts values without a JSON form; the database's option by default
 */

/**
 * @typedef {object} WriteOptions
 * @property {Convert} [default] converts values without a JSON form; the collection's option by default
 */

/**
 * @typedef {object} ReadOptions
 * @property {boolean} [bigint] integers beyond 2^53 - 1 as bigints; the database's option by default
 */

/**
 * @typedef {object} ScanOptions
 * @property {readonly string[]} [fields] dotted paths; `_id` is always included, first
 * @property {string} [where] a condition of SQL: `age > ?`
 * @property {Parameters} [params] the values of the condition's parameters
 * @property {number} [limit] maximum number of documents
 * @property {boolean} [lazy] documents that are parsed on first access
 * @property {boolean} [bigint] integers beyond 2^53 - 1 as bigints; the database's option by default
 */

/**
 * @typedef {object} PutManyOptions
 * @property {string} [id] the field with the id, as a dotted path; by default `_id`
 * @property {Convert} [default] converts values without a JSON form; the collection's option by default
 */

/**
 * The formats of files, as options name them. Extensions select them too: `.jsonl`,
 * `.json`, `.csv`, `.tsv`, `.ion`, `.10n` (binary Ion), `.parquet`, `.arrow`, each also with
 * `.gz` or `.zst`.
 * @typedef {'jsonl' | 'json' | 'csv' | 'tsv' | 'ion' | 'ion-binary' | 'arrow' | 'parquet'} FileFormat
 */

/**
 * The conversion of a file into documents. Its extension selects the format, otherwise its first
 * bytes do; gzip and zstd are decompressed.
 * @typedef {object} ImportOptions
 * @property {FileFormat} [format] overrides the name
 * @property {string} [id] the field with the id, as a dotted path; by default `_id`
 * @property {boolean} [generateIds] gives ids to records without one (UUID version 7, which sort by time)
 * @property {'replace' | 'skip' | 'error'} [onConflict] what happens to a record whose id has a document;
 *   `replace` is the default
 * @property {string} [delimiter] CSV: the character between fields
 * @property {readonly string[]} [columns] CSV: the names of the columns, for a file without a header
 * @property {boolean} [inferTypes] CSV: numbers, `true` and `false` are typed; true by default
 * @property {string} [rejectedPath] a file for the records that cannot become documents
 * @property {boolean} [restart] starts again instead of resuming an interrupted import
 */

/**
 * An index on fields.
 * @typedef {object} IndexOptions
 * @property {string} [name] its name; by default one after the collection and the fields
 * @property {boolean} [unique] refuses documents whose values another document has
 * @property {string} [where] only documents that meet this condition of SQL: comparisons of fields with literals
 * @property {'fields' | 'columns'} [using] what kind of index it is: `fields` finds documents by values, `columns` is
 *   a copy of the documents for scans and groupings
 */

/**
 * @typedef {object} ExportOptions
 * @property {FileFormat | 'zds'} [format] required if the name has no known extension; a format that contradicts
 *   the extension is refused; `zds` makes a directory
 * @property {readonly string[]} [fields] dotted paths; `_id` is always included, first
 * @property {string} [where] a condition of SQL: `age > 30`
 * @property {number} [limit] maximum number of documents
 */

/**
 * For long operations on another thread.
 * @typedef {object} WorkOptions
 * @property {(doneSize: number, totalSize: number) => void} [progress] receives from time to time
 *   the number of bytes done and in total (0 if unknown)
 * @property {AbortSignal} [signal] stops the work, which then fails with the code `cancelled`
 */

/**
 * @typedef {object} ImportSqliteOptions
 * @property {readonly string[]} [tables] only these tables and views; by default all
 */

/**
 * @typedef {object} PackOptions
 * @property {boolean} [compress] makes the archive smaller, and slower to read in place
 */

module.exports = {}
