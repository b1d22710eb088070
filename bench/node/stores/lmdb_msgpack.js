// lmdb-js as it comes, with MessagePack.
'use strict'

module.exports = require('./lmdb.js').lmdb('lmdb (msgpack)', 'msgpack')
