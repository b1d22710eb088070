// The tables of a database, for maintenance: checks, salvage and vacuum. Statements read and change
// rows.
'use strict'

const { checkPath, checkText } = require('./argument.js')
const { FolioError, call, rethrow } = require('./error.js')
const { inspectableAs } = require('./inspect.js')
const { native } = require('./native.js')

/** @import { IndexStats, PageInspection, SalvageReport, TableCheckReport, TableStatistics, TableSummary, VacuumReport } from './report.js' */

/** The tables of an open database, which may have none. */
class Tables {
  /**
   * @param {any} inner
   * @private
   */
  constructor(inner) {
    /** @private */
    this.inner = inner
  }

  /**
   * Whether the database has tables. The first one creates their file.
   * @returns {boolean}
   */
  exist() {
    return this.inner.exist()
  }

  /**
   * All tables, by name.
   * @returns {TableSummary[]}
   */
  list() {
    return call(() => this.inner.list())
  }

  /**
   * The indexes of a table, with sizes and states.
   * @param {string} table
   * @returns {IndexStats[]}
   */
  indexes(table) {
    return call(() => this.inner.indexes(checkText(table, 'table')))
  }

  /**
   * @param {string} table
   * @returns {Promise<IndexStats[]>}
   */
  async indexesAsync(table) {
    return this.inner.indexesAsync(checkText(table, 'table')).catch(rethrow)
  }

  /**
   * Sizes, and statistics of the buffer pool; null without tables.
   * @returns {TableStatistics | null}
   */
  statistics() {
    return call(() => this.inner.statistics())
  }

  /**
   * Checks every page, tree, index entry and copy in columns of one snapshot; null without tables.
   * @returns {TableCheckReport | null}
   */
  check() {
    return call(() => this.inner.check())
  }

  /** @returns {Promise<TableCheckReport | null>} */
  async checkAsync() {
    return this.inner.checkAsync().catch(rethrow)
  }

  /**
   * The content of a page of the data file, damaged or not.
   * @param {number} page
   * @returns {PageInspection}
   */
  inspect(page) {
    if (!Number.isInteger(page) || page < 0 || page >= 2 ** 32) {
      throw new FolioError('invalid_input', `${page} is not a page number`)
    }
    return call(() => this.inner.inspect(page))
  }

  /**
   * Copies the log into the data file; false if a reader prevents it.
   * @returns {boolean}
   */
  checkpoint() {
    return call(() => this.inner.checkpoint())
  }

  /**
   * Makes the files of all columns indexes again. Returns the number of these indexes.
   * @returns {number}
   */
  reindex() {
    return call(() => this.inner.reindex())
  }

  /** @returns {Promise<number>} */
  async reindexAsync() {
    return this.inner.reindexAsync().catch(rethrow)
  }

  /**
   * The notices since the last call, a sentence each: files of columns that are missing or damaged.
   * @returns {string[]}
   */
  takeNotices() {
    return this.inner.takeNotices()
  }

  /**
   * Rewrites the data file without its free pages; null without tables.
   * @returns {VacuumReport | null}
   */
  vacuum() {
    return call(() => this.inner.vacuum())
  }

  /** @returns {Promise<VacuumReport | null>} */
  async vacuumAsync() {
    return this.inner.vacuumAsync().catch(rethrow)
  }
}

inspectableAs(Tables, (tables) => Object.fromEntries(tables.list().map((/** @type {any} */ { name, rowCount }) => [name, { rowCount }])))

/**
 * Saves the readable rows of damaged tables into a new database.
 * @param {string | URL} source a database, which need not open
 * @param {string | URL} target a directory that does not exist yet
 * @returns {SalvageReport}
 */
function salvage(source, target) {
  return call(() => native.salvage(checkPath(source, 'source'), checkPath(target, 'target')))
}

/**
 * @param {string | URL} source
 * @param {string | URL} target
 * @returns {Promise<SalvageReport>}
 */
async function salvageAsync(source, target) {
  return native.salvageAsync(checkPath(source, 'source'), checkPath(target, 'target')).catch(rethrow)
}

module.exports = { Tables, salvage, salvageAsync }
