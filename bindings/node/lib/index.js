// FolioDB for Node: JSON documents in files you can cat, grep and edit.
//
//   const foliodb = require('foliodb')
//   const users = foliodb.open('mydata').collection('users')
//   users.put('ada', { name: 'Ada', born: 1815 })
//   for await (const user of users.scan({ fields: ['name'] })) console.log(user)
//
// `database.js` and `collection.js` are the operations, `scan.js` and `document.js` the results of
// a scan, `encode.js` the encoding of objects.
'use strict'

const { Answer } = require('./answer.js')
const { Batch } = require('./batch.js')
const { Collection } = require('./collection.js')
const { Database, open, readPartition, readPartitionAsync, unpack, unpackAsync, version } = require('./database.js')
const { Document } = require('./document.js')
const { FolioError } = require('./error.js')
const { Partition } = require('./partition.js')
const { Scan } = require('./scan.js')
const { Prepared, Session } = require('./session.js')
const { Tables, salvage, salvageAsync } = require('./tables.js')
const { PartWriter, PartitionedWriter, WrittenPart } = require('./writer.js')

/** @typedef {import('./error.js').ErrorCode} ErrorCode */
/** @typedef {import('./options.js').Fields} Fields */
/** @typedef {import('./options.js').OpenOptions} OpenOptions */
/** @typedef {import('./options.js').CollectionOptions} CollectionOptions */
/** @typedef {import('./options.js').ReadOptions} ReadOptions */
/** @typedef {import('./options.js').ScanOptions} ScanOptions */
/** @typedef {import('./options.js').PutManyOptions} PutManyOptions */
/** @typedef {import('./options.js').ImportOptions} ImportOptions */
/** @typedef {import('./options.js').IndexOptions} IndexOptions */
/** @typedef {import('./options.js').ExportOptions} ExportOptions */
/** @typedef {import('./options.js').ImportSqliteOptions} ImportSqliteOptions */
/** @typedef {import('./options.js').PackOptions} PackOptions */
/** @typedef {import('./options.js').WriteOptions} WriteOptions */
/** @typedef {import('./options.js').Convert} Convert */
/** @typedef {import('./options.js').Parameters} Parameters */
/** @typedef {import('./options.js').Value} Value */
/** @typedef {import('./options.js').FunctionOptions} FunctionOptions */
/** @typedef {import('./options.js').PartitionOptions} PartitionOptions */
/** @typedef {import('./options.js').SchemaOptions} SchemaOptions */
/** @typedef {import('./options.js').SqlOptions} SqlOptions */
/** @typedef {import('./options.js').WorkOptions} WorkOptions */
/** @typedef {import('./report.js').Counts} Counts */
/** @typedef {import('./report.js').FieldSummary} FieldSummary */
/** @typedef {import('./report.js').Stats} Stats */
/** @typedef {import('./report.js').InvalidLine} InvalidLine */
/** @typedef {import('./report.js').CheckReport} CheckReport */
/** @typedef {import('./report.js').IndexStats} IndexStats */
/** @typedef {import('./report.js').IndexCheck} IndexCheck */
/** @typedef {import('./report.js').CompactReport} CompactReport */
/** @typedef {import('./report.js').ImportReport} ImportReport */
/** @typedef {import('./report.js').ExportReport} ExportReport */
/** @typedef {import('./report.js').BackupReport} BackupReport */
/** @typedef {import('./report.js').SqliteReport} SqliteReport */
/** @typedef {import('./report.js').PackReport} PackReport */
/** @typedef {import('./report.js').UnpackReport} UnpackReport */
/** @typedef {import('./report.js').TableSummary} TableSummary */
/** @typedef {import('./report.js').TableStatistics} TableStatistics */
/** @typedef {import('./report.js').TableCheckReport} TableCheckReport */
/** @typedef {import('./report.js').PageInspection} PageInspection */
/** @typedef {import('./report.js').VacuumReport} VacuumReport */
/** @typedef {import('./report.js').SalvagedTable} SalvagedTable */
/** @typedef {import('./report.js').SalvageReport} SalvageReport */

module.exports = { Answer, Batch, Collection, Database, Document, FolioError, PartWriter, Partition, PartitionedWriter, Prepared, Scan, Session, Tables, WrittenPart, open, readPartition, readPartitionAsync, salvage, salvageAsync, unpack, unpackAsync, version }
