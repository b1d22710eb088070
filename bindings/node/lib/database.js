// A database: a directory of collections, or a `.zds` archive of one.
'use strict'

const { OPTIONS, checkCount, checkOptions, checkPath, checkText } = require('./argument.js')
const { arrowContent } = require('./arrow.js')
const { Collection, warnOfBrokenLines } = require('./collection.js')
const { FolioError, call, rethrow } = require('./error.js')
const { called, signatureOf } = require('./function.js')
const { inspectable, plural } = require('./inspect.js')
const { native } = require('./native.js')
const { Partition } = require('./partition.js')
const { columnsText, given, givenAlone, parametersText } = require('./parameter.js')
const { split, watched } = require('./progress.js')
const { Session, answered, interruptible, limited, sessionOf } = require('./session.js')
const { Tables } = require('./tables.js')
const { Turns, atOnce, inTurn } = require('./turns.js')

/** @import { Answer } from './answer.js' */
/** @import { CollectionOptions, Convert, Fields, FunctionOptions, Given, GivenLimited, ImportSqliteOptions, LimitOptions, OpenOptions, PackOptions, PartitionOptions, SchemaOptions, SqlOptions, WorkOptions } from './options.js' */
/** @import { BackupReport, PackReport, SqliteReport, UnpackReport } from './report.js' */
/** @import { Prepared } from './session.js' */

/** Collections and tables that `console.log` shows of a database. */
const NAMES_MAX = 20

/** An open database. */
class Database {
  /**
   * @param {string} path
   * @param {any} inner
   * @param {boolean} bigint
   * @param {number} [timeoutMs]
   * @param {Convert} [convert]
   * @private
   */
  constructor(path, inner, bigint, timeoutMs, convert) {
    if (inner === undefined) throw new FolioError('invalid_input', 'a database is opened by open(path)')
    /** The path as given. */
    this.path = path
    /** @private */
    this.inner = inner
    /** @private */
    this.bigint = bigint
    /** @private The program's `default`. */
    this.convert = convert
    /** @private @type {any[]} idle sessions of the native half */
    this.idle = []
    /** @private */
    this.turns = inner.isWritable ? new Turns(timeoutMs) : undefined
  }

  /** Whether the handle accepts writes. */
  get isWritable() {
    return /** @type {boolean} */ (this.inner.isWritable)
  }

  /**
   * A collection by name. Through a handle that writes it need not exist yet: the
   * first write creates it.
   * @template {object} [T=Fields] the type of the documents, for TypeScript
   * @param {string} name
   * @param {CollectionOptions} [options]
   * @returns {Collection<T>}
   */
  collection(name, options = {}) {
    checkText(name, 'collection name')
    const { layout, strict, default: convert = this.convert } = checkOptions(options, OPTIONS.collection)
    const chosen = { layout, ...(typeof strict === 'object' ? { schema: JSON.stringify(strict) } : { strict }) }
    const inner = call(() => this.inner.collection(name, chosen))
    warnOfBrokenLines(inner)
    return new /** @type {any} */ (Collection)(inner, this.bigint, convert)
  }

  /**
   * The names of all collections, sorted.
   * @returns {string[]}
   */
  collections() {
    return call(() => this.inner.collections())
  }

  /**
   * Drops a collection with all its documents. Its objects fail with `closed` afterwards.
   * @param {string} name
   */
  dropCollection(name) {
    call(() => this.inner.dropCollection(checkText(name, 'collection name')))
  }

  /**
   * @param {string} name
   * @returns {Promise<void>}
   */
  async dropCollectionAsync(name) {
    await this.inner.dropCollectionAsync(checkText(name, 'collection name')).catch(rethrow)
  }

  /**
   * Renames a collection. Its objects fail with `closed` afterwards.
   * @param {string} name
   * @param {string} newName
   */
  renameCollection(name, newName) {
    call(() => this.inner.renameCollection(checkText(name, 'collection name'), checkText(newName, 'new name')))
  }

  /**
   * @param {string} name
   * @param {string} newName
   * @returns {Promise<void>}
   */
  async renameCollectionAsync(name, newName) {
    await this.inner.renameCollectionAsync(checkText(name, 'collection name'), checkText(newName, 'new name')).catch(rethrow)
  }

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
  sql(text, ...params) {
    checkText(text, 'SQL')
    const values = givenAlone(params, this.convert)
    return this.borrowed((session, waitMs) => session.sql(text, values, true, waitMs))
  }

  /**
   * The same on another thread. Options follow an array or an object of params:
   * `db.sqlAsync(text, [30], { signal })`.
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @param {GivenLimited} params
   * @returns {Promise<Answer<T>>}
   */
  async sqlAsync(text, ...params) {
    checkText(text, 'SQL')
    const [values, options = {}] = given(params, this.convert)
    return this.borrowedAsync(options, (session, waitMs) => session.sqlAsync(text, values, true, waitMs))
  }

  /**
   * Runs a script of ZiQL and returns the result of its last statement; `params` are the values of
   * its `$name`s.
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @param {Record<string, any>} [params]
   * @returns {Answer<T>}
   */
  ziql(text, params) {
    checkText(text, 'ZiQL')
    const values = parametersText(params, '$', this.convert)
    return this.borrowed((session, waitMs) => session.ziql(text, values, waitMs))
  }

  /**
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @param {Record<string, any>} [params]
   * @param {SqlOptions & LimitOptions} [options]
   * @returns {Promise<Answer<T>>}
   */
  async ziqlAsync(text, params, options = {}) {
    checkText(text, 'ZiQL')
    const values = parametersText(params, '$', this.convert)
    return this.borrowedAsync(options, (session, waitMs) => session.ziqlAsync(text, values, waitMs))
  }

  /**
   * A new session, whose statements may have limits.
   * @param {LimitOptions} [options]
   * @returns {Session}
   */
  session(options = {}) {
    const limits = checkOptions(options, OPTIONS.limits)
    return new /** @type {any} */ (Session)(call(() => limited(sessionOf(this.inner), limits)), this.turns, this.convert)
  }

  /**
   * Prepares a statement in a new session.
   * @template {object} [T=Record<string, any>]
   * @param {string} text
   * @returns {Prepared<T>}
   */
  prepare(text) {
    return this.session().prepare(text)
  }

  /**
   * Runs a function as a transaction, which is committed when it returns and rolled
   * back when it throws. Its statements run through its session.
   * @template R
   * @param {(session: Session) => R} work
   * @returns {R}
   */
  transaction(work) {
    return this.session().transaction(work)
  }

  /**
   * The same for a function that may await; see `Session.transactionAsync`.
   * @template R
   * @param {(session: Session) => Promise<R> | R} work
   * @param {SqlOptions} [options]
   * @returns {Promise<R>}
   */
  async transactionAsync(work, options = {}) {
    return this.session().transactionAsync(work, options)
  }

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
  register(name, rows) {
    checkText(name, 'name')
    if (Array.isArray(rows)) return call(() => this.inner.registerColumns(name, columnsText(rows, this.convert)))
    const content = arrowContent(rows, 'an array of objects, or ')
    return call(() => this.inner.registerIpc(name, content))
  }

  /**
   * Removes the rows of a name; returns whether there were any.
   * @param {string} name
   * @returns {boolean}
   */
  unregister(name) {
    return call(() => this.inner.unregister(checkText(name, 'name')))
  }

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
  createFunction(name, options, work) {
    checkText(name, 'name')
    const [signature, text] = [signatureOf(options), called(work)]
    call(() => this.inner.createFunction(name, signature, text))
  }

  /**
   * Removes a function; returns whether it existed.
   * @param {string} name
   * @returns {boolean}
   */
  dropFunction(name) {
    return call(() => this.inner.dropFunction(checkText(name, 'name')))
  }

  /**
   * The structs, as the text that declares them.
   * @returns {string}
   */
  schema() {
    return call(() => this.inner.schema())
  }

  /**
   * The changes that a schema would make, a line each.
   * @param {string} text
   * @param {SchemaOptions} [options]
   * @returns {string[]}
   */
  checkSchema(text, options = {}) {
    const { allowDrop = false } = checkOptions(options, OPTIONS.schema)
    return call(() => this.inner.checkSchema(checkText(text, 'schema'), allowDrop))
  }

  /**
   * Creates the structs that a schema declares, in one transaction; returns the changes, a line each.
   * @param {string} text
   * @param {SchemaOptions} [options]
   * @returns {string[]}
   */
  applySchema(text, options = {}) {
    const { allowDrop = false } = checkOptions(options, OPTIONS.schema)
    return call(() => this.inner.applySchema(checkText(text, 'schema'), allowDrop))
  }

  /**
   * Works with an idle session, or a new one.
   * @private
   * @param {(session: any, waitMs: number | undefined) => any} work
   */
  borrowed(work) {
    const session = this.idle.pop() ?? call(() => sessionOf(this.inner))
    try {
      return answered(atOnce(this.turns, session, (waitMs) => work(session, waitMs)))
    } finally {
      this.idle.push(session)
    }
  }

  /**
   * @private
   * @param {SqlOptions & LimitOptions} options
   * @param {(session: any, waitMs: number | undefined) => Promise<any>} work
   */
  async borrowedAsync(options, work) {
    const { signal, timeoutMs, memoryLimit } = checkOptions(options, OPTIONS.sqlAlone)
    const hasLimits = timeoutMs !== undefined || memoryLimit !== undefined
    const session = call(() => {
      if (hasLimits) return limited(sessionOf(this.inner), { timeoutMs, memoryLimit })
      return this.idle.pop() ?? sessionOf(this.inner)
    })
    const run = (/** @type {number | undefined} */ waitMs) => work(session, waitMs)
    const answer = await interruptible(session, { signal }, () => inTurn(this.turns, session, signal, run))
    // Interrupting it must end no other statement, as long as there may be a signal.
    if (signal === undefined && !hasLimits) this.idle.push(session)
    return answer
  }

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
  partitions(relation, count, options = {}) {
    const { columns, filter, since, until } = checkOptions(options, OPTIONS.partitions)
    checkText(relation, 'name')
    const texts = call(() => this.inner.partitions(relation, checkCount(count), columns, filter, since, until))
    return texts.map((/** @type {string} */ text) => new Partition(text))
  }

  /**
   * @param {string} relation
   * @param {number} count
   * @param {PartitionOptions} [options]
   * @returns {Promise<Partition[]>}
   */
  async partitionsAsync(relation, count, options = {}) {
    const { columns, filter, since, until } = checkOptions(options, OPTIONS.partitions)
    checkText(relation, 'name')
    const texts = await this.inner
      .partitionsAsync(relation, checkCount(count), columns, filter, since, until)
      .catch(rethrow)
    return texts.map((/** @type {string} */ text) => new Partition(text))
  }

  /**
   * The number of partitions for so many processors that divide the work: four for each, none below 4 MiB
   * and none above 128 MiB of lines.
   * @param {string} relation
   * @param {number} processors
   * @returns {number}
   */
  partitionCount(relation, processors) {
    checkText(relation, 'name')
    return call(() => this.inner.partitionCount(relation, checkCount(processors)))
  }

  /**
   * Reads a partition that `partitions` planned, of this database or of a copy of it.
   * @template {object} [T=Record<string, any>]
   * @param {Partition} partition
   * @returns {Answer<T>}
   */
  readPartition(partition) {
    return this.borrowed((session) => session.readPartition(String(partition)))
  }

  /**
   * @template {object} [T=Record<string, any>]
   * @param {Partition} partition
   * @param {SqlOptions} [options]
   * @returns {Promise<Answer<T>>}
   */
  async readPartitionAsync(partition, options = {}) {
    return this.borrowedAsync(options, (session) => session.readPartitionAsync(String(partition)))
  }

  /**
   * The tables, for maintenance.
   * @returns {Tables}
   */
  tables() {
    return new /** @type {any} */ (Tables)(call(() => this.inner.tables()))
  }

  /** Creates an empty database on disk; otherwise the first write does. */
  create() {
    call(() => this.inner.create())
  }

  /** Makes all writes so far durable, in all collections. */
  flush() {
    call(() => this.inner.flush())
  }

  /** @returns {Promise<void>} */
  async flushAsync() {
    await this.inner.flushAsync().catch(rethrow)
  }

  /**
   * Copies the whole database to a directory that does not exist yet, while
   * writers continue.
   * @param {string | URL} target
   * @returns {BackupReport}
   */
  backup(target) {
    return call(() => this.inner.backup(checkPath(target, 'target')))
  }

  /**
   * @param {string | URL} target
   * @param {WorkOptions} [options]
   * @returns {Promise<BackupReport>}
   */
  async backupAsync(target, options = {}) {
    const [, work] = split(options, {})
    return watched(work, (progress) => this.inner.backupAsync(progress, checkPath(target, 'target')))
  }

  /**
   * Imports the tables and views of an SQLite file as typed tables, in one
   * transaction. The report lists what was left out or became another type.
   * @param {string | URL} path
   * @param {ImportSqliteOptions} [options]
   * @returns {SqliteReport}
   */
  importSqlite(path, options = {}) {
    const { tables = [] } = checkOptions(options, OPTIONS.importSqlite)
    return call(() => this.inner.importSqlite(checkPath(path, 'path'), tables))
  }

  /**
   * @param {string | URL} path
   * @param {ImportSqliteOptions & WorkOptions} [options]
   * @returns {Promise<SqliteReport>}
   */
  async importSqliteAsync(path, options = {}) {
    const [{ tables = [] }, work] = split(options, OPTIONS.importSqlite)
    return watched(work, (progress) => this.inner.importSqliteAsync(progress, checkPath(path, 'path'), tables))
  }

  /**
   * Packs the live documents of all collections into one `.zds` archive: a file, or a URL in a
   * bucket (`s3://`, `gs://`, `az://`).
   * @param {string | URL} target
   * @param {PackOptions} [options]
   * @returns {PackReport}
   */
  pack(target, options = {}) {
    const { compress = false } = checkOptions(options, OPTIONS.pack)
    return call(() => this.inner.pack(checkPath(target, 'target'), compress))
  }

  /**
   * @param {string | URL} target
   * @param {PackOptions & WorkOptions} [options]
   * @returns {Promise<PackReport>}
   */
  async packAsync(target, options = {}) {
    const [{ compress = false }, work] = split(options, OPTIONS.pack)
    return watched(work, (progress) => this.inner.packAsync(progress, checkPath(target, 'target'), compress))
  }

  /**
   * The notices of opening, a sentence each.
   * @returns {string[]}
   */
  takeNotices() {
    return call(() => this.inner.takeNotices())
  }

  /**
   * Flushes and closes. Objects from this handle fail with `closed` afterwards;
   * other handles continue. Closing twice is allowed.
   */
  close() {
    this.idle = []
    call(() => this.inner.close())
  }

  /** @returns {Promise<void>} */
  async closeAsync() {
    this.idle = []
    await this.inner.closeAsync().catch(rethrow)
  }

  /** For `using`. */
  [Symbol.dispose]() {
    this.close()
  }

  /** For `await using`. */
  async [Symbol.asyncDispose]() {
    await this.closeAsync()
  }
}

inspectable(
  Database,
  ({ path }) => `Database ${JSON.stringify(path)}`,
  (database) => {
    const collections = database.collections().map((/** @type {string} */ name) => ({ name, kind: 'collection' }))
    const tables = database.tables().list().map((/** @type {any} */ { name, rowCount }) => ({ name, kind: 'table', rows: rowCount }))
    const all = [...collections, ...tables]
    const left = all.length - NAMES_MAX
    return {
      note: `${plural(collections.length, 'collection')}, ${plural(tables.length, 'table')}`,
      rows: all.slice(0, NAMES_MAX),
      rest: left > 0 ? `${left.toLocaleString('en-US')} more` : undefined,
    }
  },
)

/**
 * Opens a database: a directory, which is created at the first write, or a `.zds`
 * archive, which is read without unpacking.
 * @param {string | URL} path
 * @param {OpenOptions} [options]
 * @returns {Database}
 */
function open(path, options = {}) {
  const { bigint = false, default: convert, ...rest } = checkOptions(options, OPTIONS.open)
  const place = checkPath(path, 'path')
  const inner = call(() => native.NativeDatabase.open(place, rest))
  return new /** @type {any} */ (Database)(place, inner, bigint, rest.timeoutMs, convert)
}

/**
 * Reads a partition that `Database.partitions` planned, in this or another thread or process.
 * @template {object} [T=Record<string, any>]
 * @param {Partition} partition
 * @param {string | URL} [path] where the database is here, if it is at another path than it was there
 * @returns {Answer<T>}
 */
function readPartition(partition, path = new Partition(String(partition)).uri) {
  return open(path, { mode: 'r' }).readPartition(partition)
}

/**
 * @template {object} [T=Record<string, any>]
 * @param {Partition} partition
 * @param {string | URL} [path]
 * @returns {Promise<Answer<T>>}
 */
async function readPartitionAsync(partition, path = new Partition(String(partition)).uri) {
  return open(path, { mode: 'r' }).readPartitionAsync(partition)
}

/**
 * Turns a `.zds` archive into a database directory.
 * @param {string | URL} archive
 * @param {string | URL} target an empty or missing directory
 * @returns {UnpackReport}
 */
function unpack(archive, target) {
  return call(() => native.unpack(checkPath(archive, 'archive'), checkPath(target, 'target')))
}

/**
 * @param {string | URL} archive
 * @param {string | URL} target
 * @param {WorkOptions} [options]
 * @returns {Promise<UnpackReport>}
 */
async function unpackAsync(archive, target, options = {}) {
  const [, work] = split(options, {})
  return watched(work, (progress) => native.unpackAsync(progress, checkPath(archive, 'archive'), checkPath(target, 'target')))
}

/** The version of the library. */
const version = /** @type {string} */ (native.version())

module.exports = { Database, open, readPartition, readPartitionAsync, unpack, unpackAsync, version }
