// @generated from lib/database.js by scripts/node types
/** @import { CollectionOptions, Fields, OpenOptions, PackOptions, WorkOptions } from './options.js' */
/** @import { BackupReport, PackReport, UnpackReport } from './report.js' */
/** An open database. */
export class Database {
    /**
     * @param {string} path
     * @param {any} inner
     * @param {boolean} bigint
     * @private
     */
    private constructor();
    /** The path as it was given. */
    path: string;
    /** @private */
    private inner;
    /** @private */
    private bigint;
    /** Whether the handle takes writes. */
    get isWritable(): boolean;
    /**
     * A collection by name. Through a handle that writes it need not exist yet: the
     * first write creates it.
     * @template {object} [T=Fields] what the documents are, for those who write TypeScript
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
    /** Puts an empty database on disk, which the first write does by itself. */
    create(): void;
    /** Makes every write so far durable, in all collections. */
    flush(): void;
    /** @returns {Promise<void>} */
    flushAsync(): Promise<void>;
    /**
     * Copies the whole database to a directory that does not exist yet, while
     * writers go on.
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
     * Packs the live documents of all collections into one `.zds` archive.
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
     * What was noticed on opening, a sentence each.
     * @returns {string[]}
     */
    takeNotices(): string[];
    /**
     * Flushes and closes. What came from this handle fails with `closed` from now on;
     * other handles go on. Closing twice is fine.
     */
    close(): void;
    /** @returns {Promise<void>} */
    closeAsync(): Promise<void>;
}
/**
 * Opens a database: a directory, which is created at the first write, or a `.zds`
 * archive, which is read in place.
 * @param {string | URL} path
 * @param {OpenOptions} [options]
 * @returns {Database}
 */
export function open(path: string | URL, options?: OpenOptions): Database;
/**
 * Turns a `.zds` archive into a database directory.
 * @param {string | URL} archive
 * @param {string | URL} target a directory that holds nothing yet
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
import type { BackupReport } from './report.js';
import type { WorkOptions } from './options.js';
import type { PackOptions } from './options.js';
import type { PackReport } from './report.js';
import type { OpenOptions } from './options.js';
import type { UnpackReport } from './report.js';
