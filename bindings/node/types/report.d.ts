// @generated from lib/report.js by scripts/node types
/**
 * The counts of a batch.
 */
export type Counts = {
    /**
     * documents under new ids
     */
    inserted: number;
    /**
     * documents that replaced another
     */
    replaced: number;
    /**
     * documents deleted
     */
    deleted: number;
};
/**
 * Sizes in bytes, and counts.
 */
export type Stats = {
    /**
     * live documents
     */
    documentCount: number;
    /**
     * lines that are superseded, tombstones, blank or invalid
     */
    deadCount: number;
    /**
     * the live lines
     */
    liveSize: number;
    /**
     * the data file, or all document files
     */
    dataSize: number;
    /**
     * the index and the other derived files
     */
    indexSize: number;
};
/**
 * What is known of one path of the documents.
 */
export type FieldSummary = {
    /**
     * names with points between them, and `[]` after lists
     */
    path: string;
    /**
     * the type, as SQL writes it
     */
    type: string;
    /**
     * the share of documents that have it; in a list, of its elements
     */
    share: number;
    /**
     * about how many distinct values there are, if there are scalars
     */
    distinct: number | null;
    /**
     * the smallest value, if all are numbers, or all are strings
     */
    min: any;
    /**
     * the largest value
     */
    max: any;
    /**
     * up to three values
     */
    examples: any[];
    /**
     * the number of values of each kind
     */
    kinds: Record<string, number>;
};
/**
 * A line that is not a document, or not one that the schema allows.
 */
export type InvalidLine = {
    /**
     * the file
     */
    path: string;
    /**
     * its number, from 1
     */
    line: number;
    /**
     * where it starts, in bytes
     */
    offset: number;
    /**
     * what is wrong with it
     */
    reason: string;
};
export type CheckReport = {
    /**
     * whether there is no damage
     */
    isClean: boolean;
    /**
     * live documents, counted line by line
     */
    documentCount: number;
    /**
     * lines whose id has a later line
     */
    supersededCount: number;
    /**
     * delete markers
     */
    tombstoneCount: number;
    /**
     * the first lines that are not documents
     */
    invalid: InvalidLine[];
    /**
     * how many there are in all
     */
    invalidCount: number;
    /**
     * the first documents that do not follow the schema of a strict collection; the reason begins with the path of the value
     */
    mismatches: InvalidLine[];
    /**
     * how many there are in all
     */
    mismatchCount: number;
    /**
     * damage elsewhere, a sentence each
     */
    problems: string[];
};
/**
 * An index of a collection or a table.
 */
export type IndexStats = {
    /**
     * its name
     */
    name: string;
    /**
     * dotted paths, with `[]` for the elements of a list and ` desc` after descending ones
     */
    fields: string[];
    /**
     * whether two documents may not have the same values
     */
    unique: boolean;
    /**
     * the condition of documents that have entries, in SQL
     */
    condition?: string | undefined;
    /**
     * its entries, those of superseded lines included
     */
    entryCount: number;
    /**
     * bytes of its files
     */
    size: number;
    /**
     * whether lookups use it; otherwise they read all documents until a writer has built it
     */
    isReady: boolean;
};
export type IndexCheck = {
    /**
     * entries: one per document, or per distinct element of its list
     */
    entryCount: number;
    /**
     * damage, differences from the documents, and equal documents, a sentence each
     */
    problems: string[];
    /**
     * whether documents have the same values, although the index is unique
     */
    isNotUnique: boolean;
    /**
     * whether its files do not fit the data; the next write builds them again
     */
    isBehind: boolean;
};
export type CompactReport = {
    /**
     * live documents kept
     */
    documentCount: number;
    /**
     * bytes of the data before
     */
    sizeBefore: number;
    /**
     * bytes of the data after
     */
    sizeAfter: number;
    /**
     * invalid lines that were moved to another file
     */
    rejectedCount: number;
    /**
     * the file with them
     */
    rejectedPath?: string | undefined;
};
export type ImportReport = {
    /**
     * documents under new ids
     */
    inserted: number;
    /**
     * documents that replaced another
     */
    replaced: number;
    /**
     * records that a later one of the same batch replaced or deleted
     */
    superseded: number;
    /**
     * documents deleted, by tombstones in the source
     */
    deleted: number;
    /**
     * records skipped because their id had a document
     */
    skipped: number;
    /**
     * records that could not become documents
     */
    rejectedCount: number;
    /**
     * the first of them: file, line and reason
     */
    rejected: string[];
    /**
     * documents whose id was converted from text that is not a valid id
     */
    derivedIdCount: number;
    /**
     * the offset in the source, in bytes, where an earlier import had stopped
     */
    resumedAt?: number | undefined;
    /**
     * bytes of the source read
     */
    size: number;
};
export type ExportReport = {
    documentCount: number;
    /**
     * bytes written
     */
    size: number;
};
export type BackupReport = {
    fileCount: number;
    /**
     * bytes copied
     */
    size: number;
};
export type SqliteReport = {
    tables: {
        name: string;
        rowCount: number;
    }[];
    /**
     * the rows of all of them
     */
    rowCount: number;
    views: string[];
    /**
     * secondary indexes
     */
    indexCount: number;
    /**
     * differences from the source, a sentence each
     */
    notes: string[];
};
export type PackReport = {
    collectionCount: number;
    documentCount: number;
    /**
     * bytes of the archive
     */
    size: number;
    /**
     * notices about the collections
     */
    notices: string[];
};
export type UnpackReport = {
    fileCount: number;
    /**
     * bytes written
     */
    size: number;
    /**
     * the first members that are not part of a database and were left out
     */
    skipped: string[];
    /**
     * how many there were in all
     */
    skippedCount: number;
};
export type TableSummary = {
    name: string;
    rowCount: number;
    columns: string[];
    /**
     * the names of its secondary indexes
     */
    indexes: string[];
};
export type TableStatistics = {
    /**
     * bytes
     */
    pageSize: number;
    /**
     * bytes of the data file, including the log
     */
    dataSize: number;
    /**
     * bytes of the log that the next checkpoint copies
     */
    logSize: number;
    /**
     * requests that found their page in memory
     */
    hits: number;
    /**
     * requests that loaded or created it
     */
    misses: number;
    /**
     * pages evicted
     */
    evictions: number;
};
export type TableCheckReport = {
    pageCount: number;
    freePageCount: number;
    tableCount: number;
    rowCount: number;
    indexEntryCount: number;
    /**
     * what is wrong, with its page
     */
    problems: string[];
    isClean: boolean;
};
export type PageInspection = {
    page: number;
    /**
     * its offset in the data file, in bytes
     */
    offset: number;
    /**
     * `leaf`, `inner node`, `overflow`, `free list` or `unknown`
     */
    kind: string;
    /**
     * 0 for a leaf
     */
    level: number;
    /**
     * cells, bytes of overflow, or free pages
     */
    count: number;
    /**
     * bytes in use, without the header
     */
    usedSize: number;
    /**
     * what is wrong with it
     */
    problem?: string | undefined;
};
export type VacuumReport = {
    /**
     * bytes of the data file
     */
    sizeBefore: number;
    sizeAfter: number;
};
export type SalvagedTable = {
    name: string;
    /**
     * rows that are in the new database
     */
    rowCount: number;
    /**
     * the number of rows in the damaged table, if readable
     */
    expectedCount?: number | undefined;
    /**
     * rows that were found damaged
     */
    brokenCount: number;
};
export type SalvageReport = {
    tables: SalvagedTable[];
    viewCount: number;
    /**
     * referenced pages that could not be read
     */
    damagedPageCount: number;
    /**
     * what is wrong with the files, and what could not be recreated
     */
    problems: string[];
};
