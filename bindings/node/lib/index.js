// FolioDB for Node: JSON documents in files you can cat, grep and edit.
//
//   const foliodb = require('foliodb')
//   const users = foliodb.open('mydata').collection('users')
//   users.put('ada', { name: 'Ada', born: 1815 })
//   for await (const user of users.scan({ fields: ['name'] })) console.log(user)
//
// What is where: `database.js` and `collection.js` are the operations, `scan.js`
// and `document.js` what a scan yields, `encode.js` how objects become text.
'use strict'

const { Collection } = require('./collection.js')
const { Database, open, unpack, unpackAsync, version } = require('./database.js')
const { Document } = require('./document.js')
const { FolioError } = require('./error.js')
const { Scan } = require('./scan.js')

module.exports = { Collection, Database, Document, FolioError, Scan, open, unpack, unpackAsync, version }
