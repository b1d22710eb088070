// What operations can be asked for, as types. For those who write plain JavaScript
// the same stands in `argument.js`.
'use strict'

/**
 * A JSON object.
 * @typedef {Record<string, any>} Fields
 */

/**
 * A document as it is read: `_id` stands first.
 * @template {object} T
 * @typedef {T & { _id: string }} Stored
 */

/**
 * @typedef {object} OpenOptions
 * @property {'r' | 'rw'} [mode] `r` reads only and writes nothing, ever; `rw` is the default
 * @property {'none' | 'on_flush' | 'every_put'} [durability] when a write reaches the device;
 *   `on_flush` (and at close and at the end of a batch) is the default
 * @property {number} [timeoutMs] how long a write waits for another process to finish writing, 5000 by default
 * @property {number} [writeBehindMs] how long puts stay in memory at most before they are written to the file,
 *   1000 by default, or a megabyte of them; `Infinity` leaves them to `flush`, `close` and the end of the process
 * @property {number} [cacheSize] bytes of recently read data kept in memory per collection
 * @property {boolean} [create] whether a missing database is created at the first write, true by default
 * @property {boolean} [bigint] read integers beyond 2^53 - 1 as bigints instead of rounding them
 * @property {Convert} [default] gives documents and parameters a value for what has no form there
 */

/**
 * Called with a value that has no JSON form, such as a Map or NaN, and answers one that has:
 * `(value) => value instanceof Map ? Object.fromEntries(value) : undefined`. Undefined
 * leaves the value refused.
 * @typedef {(value: any) => any} Convert
 */

/**
 * Values for the parameters of a statement: an array for `?` and `$1`, an object for
 * `:name`. Strings, booleans, null, numbers (an integer among them is one of SQL too),
 * bigints, Dates, Uint8Arrays; arrays of one type; objects, which are JSON.
 * @typedef {any[] | Record<string, any>} Parameters
 */

/**
 * A value that may stand by itself behind the text of a statement. What is neither an
 * array nor a plain object may.
 * @typedef {string | number | bigint | boolean | null | Date | ArrayBuffer | ArrayBufferView} Value
 */

/**
 * What stands behind the text of a statement: the parameters in an array or an object, or
 * as values one after another. The first decides which.
 * @typedef {[params?: Parameters | undefined] | [first: Value, ...others: any[]]} Given
 */

/**
 * The same with options, which only an array or an object can have behind it.
 * @typedef {[params?: Parameters | undefined, options?: SqlOptions | undefined] | [first: Value, ...others: any[]]} GivenAsync
 */

/**
 * The same where the statement writes documents.
 * @typedef {[params?: Parameters | undefined, options?: WriteOptions | undefined] | [first: Value, ...others: any[]]} GivenUpdate
 */

/**
 * The same where the statement may have limits.
 * @typedef {[params?: Parameters | undefined, options?: (SqlOptions & LimitOptions) | undefined] | [first: Value, ...others: any[]]} GivenLimited
 */

/**
 * What a statement may use.
 * @typedef {object} LimitOptions
 * @property {number} [timeoutMs] ends a statement that takes longer, in milliseconds; it fails with `timeout`
 * @property {number} [memoryLimit] ends a statement that holds more, in bytes; it fails with `memory_limit`
 */

/**
 * @typedef {object} SqlOptions
 * @property {AbortSignal} [signal] ends the statement, which fails with `cancelled`
 */

/**
 * @typedef {object} SchemaOptions
 * @property {boolean} [allowDrop] drop structs and members that the schema does not have, with all they hold
 */

/**
 * What a function of the program takes and answers. Types are named as in SQL: `text`,
 * `bigint`, `numeric(10, 2)`, `text[]`.
 * @typedef {object} FunctionOptions
 * @property {string[]} [parameters] the types of its arguments; none when left out
 * @property {string} returns the type of what it returns
 * @property {boolean} [volatile] it returns something else for the same arguments
 * @property {boolean} [takesNull] it is called with nulls, too; otherwise the answer is null where an argument is
 */

/**
 * What a collection is, where that is not settled yet.
 * @typedef {object} CollectionOptions
 * @property {'lines' | 'files'} [layout] one file of lines, or a file per document
 * @property {boolean | Record<string, any>} [strict] every document must look like the first (`true`), or
 *   follow this JSON Schema (a subset); remembered with the collection
 * @property {Convert} [default] gives documents a value for what has no JSON; the database's option when left out
 */

/**
 * @typedef {object} WriteOptions
 * @property {Convert} [default] gives the document a value for what has no JSON; the collection's option when left out
 */

/**
 * @typedef {object} ReadOptions
 * @property {boolean} [bigint] integers beyond 2^53 - 1 as bigints; the database's option when left out
 */

/**
 * @typedef {object} ScanOptions
 * @property {string[]} [fields] dotted paths; `_id` always stays, first
 * @property {string} [where] a condition of SQL: `age > ?`
 * @property {Parameters} [params] the values of the condition's parameters
 * @property {number} [limit] how many documents at most
 * @property {boolean} [lazy] documents that are parsed only when looked into
 * @property {boolean} [bigint] integers beyond 2^53 - 1 as bigints; the database's option when left out
 */

/**
 * @typedef {object} PutManyOptions
 * @property {string} [id] the field that holds the id, as a dotted path; `_id` when left out
 * @property {Convert} [default] gives documents a value for what has no JSON; the collection's option when left out
 */

/**
 * The formats of files, as options name them. The extensions of a name say them too: `.jsonl`,
 * `.json`, `.csv`, `.tsv`, `.ion`, `.10n` (binary Ion), `.parquet`, `.arrow`, each also with
 * `.gz` or `.zst`.
 * @typedef {'jsonl' | 'json' | 'csv' | 'tsv' | 'ion' | 'ion-binary' | 'arrow' | 'parquet'} FileFormat
 */

/**
 * How a file becomes documents. Its name says the format, or else its first bytes; gzip and zstd
 * are unpacked on the way.
 * @typedef {object} ImportOptions
 * @property {FileFormat} [format] overrides the name
 * @property {string} [id] the field that holds the id, as a dotted path; `_id` when left out
 * @property {boolean} [generateIds] gives ids to records without one (UUID version 7, which sort by time)
 * @property {'replace' | 'skip' | 'error'} [onConflict] what becomes of a record whose id has a document;
 *   `replace` is the default
 * @property {string} [delimiter] CSV: the character between fields
 * @property {string[]} [columns] CSV: the names of the columns, for a file without a header
 * @property {boolean} [inferTypes] CSV: numbers, `true` and `false` become such; true by default
 * @property {string} [rejectedPath] a file that takes the records that cannot become documents
 * @property {boolean} [restart] begins at the start, also where an interrupted import could go on
 */

/**
 * @typedef {object} ExportOptions
 * @property {FileFormat | 'zds'} [format] needed where the name has no known extension; one that contradicts
 *   the extension is refused; `zds` makes a directory
 * @property {string[]} [fields] dotted paths; `_id` always stays, first
 * @property {string} [where] a condition of SQL: `age > 30`
 * @property {number} [limit] how many documents at most
 */

/**
 * For work on another thread that takes its time.
 * @typedef {object} WorkOptions
 * @property {(doneSize: number, totalSize: number) => void} [progress] told now and then how many bytes
 *   are done, of how many (0 where that is not known)
 * @property {AbortSignal} [signal] stops the work, which then fails with the code `cancelled`
 */

/**
 * @typedef {object} ImportSqliteOptions
 * @property {string[]} [tables] these tables and views alone; all when left out
 */

/**
 * @typedef {object} PackOptions
 * @property {boolean} [compress] makes the archive smaller, and slower to read in place
 */

module.exports = {}
