// The types of reports of operations.
'use strict'

/** The counts of a batch.
 * @typedef {object} Counts
 * @property {number} inserted documents under new ids
 * @property {number} replaced documents that replaced another
 * @property {number} deleted documents deleted
 */

/**
 * Sizes in bytes, and counts.
 * @typedef {object} Stats
 * @property {number} documentCount live documents
 * @property {number} deadCount lines that are superseded, tombstones, blank or invalid
 * @property {number} liveSize the live lines
 * @property {number} dataSize the data file, or all document files
 * @property {number} indexSize the index and the other derived files
 */

/**
 * What is known of one path of the documents.
 * @typedef {object} FieldSummary
 * @property {string} path names with points between them, and `[]` after lists
 * @property {string} type the type, as SQL writes it
 * @property {number} share the share of documents that have it; in a list, of its elements
 * @property {number | null} distinct about how many distinct values there are, if there are scalars
 * @property {any} min the smallest value, if all are numbers, or all are strings
 * @property {any} max the largest value
 * @property {any[]} examples up to three values
 * @property {Record<string, number>} kinds the number of values of each kind
 */

/**
 * A line that is not a document, or not one that the schema allows.
 * @typedef {object} InvalidLine
 * @property {string} path the file
 * @property {number} line its number, from 1
 * @property {number} offset where it starts, in bytes
 * @property {string} reason what is wrong with it
 */

/**
 * @typedef {object} CheckReport
 * @property {boolean} isClean whether there is no damage
 * @property {number} documentCount live documents, counted line by line
 * @property {number} supersededCount lines whose id has a later line
 * @property {number} tombstoneCount delete markers
 * @property {InvalidLine[]} invalid the first lines that are not documents
 * @property {number} invalidCount how many there are in all
 * @property {InvalidLine[]} mismatches the first documents that do not follow the schema of a strict collection; the reason begins with the path of the value
 * @property {number} mismatchCount how many there are in all
 * @property {string[]} problems damage elsewhere, a sentence each
 */

/**
 * An index of a collection or a table.
 * @typedef {object} IndexStats
 * @property {string} name its name
 * @property {string[]} fields dotted paths, with `[]` for the elements of a list and ` desc` after descending ones
 * @property {boolean} unique whether two documents may not have the same values
 * @property {string} [condition] the condition of documents that have entries, in SQL
 * @property {number} entryCount its entries, those of superseded lines included
 * @property {number} size bytes of its files
 * @property {boolean} isReady whether lookups use it; otherwise they read all documents until a writer has built it
 */

/**
 * @typedef {object} IndexCheck
 * @property {number} entryCount entries: one per document, or per distinct element of its list
 * @property {string[]} problems damage, differences from the documents, and equal documents, a sentence each
 * @property {boolean} isNotUnique whether documents have the same values, although the index is unique
 * @property {boolean} isBehind whether its files do not fit the data; the next write builds them again
 */

/**
 * @typedef {object} CompactReport
 * @property {number} documentCount live documents kept
 * @property {number} sizeBefore bytes of the data before
 * @property {number} sizeAfter bytes of the data after
 * @property {number} rejectedCount invalid lines that were moved to another file
 * @property {string} [rejectedPath] the file with them
 */

/**
 * @typedef {object} ImportReport
 * @property {number} inserted documents under new ids
 * @property {number} replaced documents that replaced another
 * @property {number} superseded records that a later one of the same batch replaced or deleted
 * @property {number} deleted documents deleted, by tombstones in the source
 * @property {number} skipped records skipped because their id had a document
 * @property {number} rejectedCount records that could not become documents
 * @property {string[]} rejected the first of them: file, line and reason
 * @property {number} derivedIdCount documents whose id was converted from text that is not a valid id
 * @property {number} [resumedAt] the offset in the source, in bytes, where an earlier import had stopped
 * @property {number} size bytes of the source read
 */

/**
 * @typedef {object} ExportReport
 * @property {number} documentCount
 * @property {number} size bytes written
 */

/**
 * @typedef {object} BackupReport
 * @property {number} fileCount
 * @property {number} size bytes copied
 */

/**
 * @typedef {object} SqliteReport
 * @property {{ name: string, rowCount: number }[]} tables
 * @property {number} rowCount the rows of all of them
 * @property {string[]} views
 * @property {number} indexCount secondary indexes
 * @property {string[]} notes differences from the source, a sentence each
 */

/**
 * @typedef {object} PackReport
 * @property {number} collectionCount
 * @property {number} documentCount
 * @property {number} size bytes of the archive
 * @property {string[]} notices notices about the collections
 */

/**
 * @typedef {object} UnpackReport
 * @property {number} fileCount
 * @property {number} size bytes written
 * @property {string[]} skipped the first members that are not part of a database and were left out
 * @property {number} skippedCount how many there were in all
 */

/**
 * @typedef {object} TableSummary
 * @property {string} name
 * @property {number} rowCount
 * @property {string[]} columns
 * @property {string[]} indexes the names of its secondary indexes
 */

/**
 * @typedef {object} TableStatistics
 * @property {number} pageSize bytes
 * @property {number} dataSize bytes of the data file, including the log
 * @property {number} logSize bytes of the log that the next checkpoint copies
 * @property {number} hits requests that found their page in memory
 * @property {number} misses requests that loaded or created it
 * @property {number} evictions pages evicted
 */

/**
 * @typedef {object} TableCheckReport
 * @property {number} pageCount
 * @property {number} freePageCount
 * @property {number} tableCount
 * @property {number} rowCount
 * @property {number} indexEntryCount
 * @property {string[]} problems what is wrong, with its page
 * @property {boolean} isClean
 */

/**
 * @typedef {object} PageInspection
 * @property {number} page
 * @property {number} offset its offset in the data file, in bytes
 * @property {string} kind `leaf`, `inner node`, `overflow`, `free list` or `unknown`
 * @property {number} level 0 for a leaf
 * @property {number} count cells, bytes of overflow, or free pages
 * @property {number} usedSize bytes in use, without the header
 * @property {string} [problem] what is wrong with it
 */

/**
 * @typedef {object} VacuumReport
 * @property {number} sizeBefore bytes of the data file
 * @property {number} sizeAfter
 */

/**
 * @typedef {object} SalvagedTable
 * @property {string} name
 * @property {number} rowCount rows that are in the new database
 * @property {number} [expectedCount] the number of rows in the damaged table, if readable
 * @property {number} brokenCount rows that were found damaged
 */

/**
 * @typedef {object} SalvageReport
 * @property {SalvagedTable[]} tables
 * @property {number} viewCount
 * @property {number} damagedPageCount referenced pages that could not be read
 * @property {string[]} problems what is wrong with the files, and what could not be recreated
 */

module.exports = {}
