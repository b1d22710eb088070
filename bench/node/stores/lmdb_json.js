// lmdb-js that stores JSON text, as the others do.
'use strict'

module.exports = require('./lmdb.js').lmdb('lmdb (JSON)', 'json')
