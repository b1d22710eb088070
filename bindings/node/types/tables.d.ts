// @generated from lib/tables.js by scripts/node types
/** @import { PageInspection, SalvageReport, TableCheckReport, TableStatistics, TableSummary, VacuumReport } from './report.js' */
/** The tables of an open database. None need exist. */
export class Tables {
    /**
     * @param {any} inner
     * @private
     */
    private constructor();
    /** @private */
    private inner;
    /**
     * Whether there are tables. Making the first makes their file.
     * @returns {boolean}
     */
    exist(): boolean;
    /**
     * All tables, by name.
     * @returns {TableSummary[]}
     */
    list(): TableSummary[];
    /**
     * Sizes, and what the buffer pool has been doing; null without tables.
     * @returns {TableStatistics | null}
     */
    statistics(): TableStatistics | null;
    /**
     * Looks at every page, tree and index entry, as of one moment; null without tables.
     * @returns {TableCheckReport | null}
     */
    check(): TableCheckReport | null;
    /** @returns {Promise<TableCheckReport | null>} */
    checkAsync(): Promise<TableCheckReport | null>;
    /**
     * What a page of the data file holds, whole or not.
     * @param {number} page
     * @returns {PageInspection}
     */
    inspect(page: number): PageInspection;
    /**
     * Brings the log into the data file; false when somebody who reads stands in the way.
     * @returns {boolean}
     */
    checkpoint(): boolean;
    /**
     * Writes the data file anew without its free pages; null without tables.
     * @returns {VacuumReport | null}
     */
    vacuum(): VacuumReport | null;
    /** @returns {Promise<VacuumReport | null>} */
    vacuumAsync(): Promise<VacuumReport | null>;
}
/**
 * Saves the rows that survive in damaged tables into a new database.
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
import type { TableStatistics } from './report.js';
import type { TableCheckReport } from './report.js';
import type { PageInspection } from './report.js';
import type { VacuumReport } from './report.js';
import type { SalvageReport } from './report.js';
