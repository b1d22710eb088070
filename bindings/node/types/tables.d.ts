// @generated from lib/tables.js by scripts/node types
/** @import { IndexStats, PageInspection, SalvageReport, TableCheckReport, TableStatistics, TableSummary, VacuumReport } from './report.js' */
/** The tables of an open database, which may have none. */
export class Tables {
    /**
     * @param {any} inner
     * @private
     */
    private constructor();
    /** @private */
    private inner;
    /**
     * Whether the database has tables. The first one creates their file.
     * @returns {boolean}
     */
    exist(): boolean;
    /**
     * All tables, by name.
     * @returns {TableSummary[]}
     */
    list(): TableSummary[];
    /**
     * The indexes of a table, with sizes and states.
     * @param {string} table
     * @returns {IndexStats[]}
     */
    indexes(table: string): IndexStats[];
    /**
     * @param {string} table
     * @returns {Promise<IndexStats[]>}
     */
    indexesAsync(table: string): Promise<IndexStats[]>;
    /**
     * Sizes, and statistics of the buffer pool; null without tables.
     * @returns {TableStatistics | null}
     */
    statistics(): TableStatistics | null;
    /**
     * Checks every page, tree, index entry and copy in columns of one snapshot; null without tables.
     * @returns {TableCheckReport | null}
     */
    check(): TableCheckReport | null;
    /** @returns {Promise<TableCheckReport | null>} */
    checkAsync(): Promise<TableCheckReport | null>;
    /**
     * The content of a page of the data file, damaged or not.
     * @param {number} page
     * @returns {PageInspection}
     */
    inspect(page: number): PageInspection;
    /**
     * Copies the log into the data file; false if a reader prevents it.
     * @returns {boolean}
     */
    checkpoint(): boolean;
    /**
     * Makes the files of all columns indexes again. Returns the number of these indexes.
     * @returns {number}
     */
    reindex(): number;
    /** @returns {Promise<number>} */
    reindexAsync(): Promise<number>;
    /**
     * The notices since the last call, a sentence each: files of columns that are missing or damaged.
     * @returns {string[]}
     */
    takeNotices(): string[];
    /**
     * Rewrites the data file without its free pages; null without tables.
     * @returns {VacuumReport | null}
     */
    vacuum(): VacuumReport | null;
    /** @returns {Promise<VacuumReport | null>} */
    vacuumAsync(): Promise<VacuumReport | null>;
}
/**
 * Saves the readable rows of damaged tables into a new database.
 * @param {string | URL} source a database, which need not open
 * @param {string | URL} target a directory that does not exist yet
 * @returns {SalvageReport}
 */
export function salvage(source: string | URL, target: string | URL): SalvageReport;
/**
 * @param {string | URL} source
 * @param {string | URL} target
 * @returns {Promise<SalvageReport>}
 */
export function salvageAsync(source: string | URL, target: string | URL): Promise<SalvageReport>;
import type { TableSummary } from './report.js';
import type { IndexStats } from './report.js';
import type { TableStatistics } from './report.js';
import type { TableCheckReport } from './report.js';
import type { PageInspection } from './report.js';
import type { VacuumReport } from './report.js';
import type { SalvageReport } from './report.js';
