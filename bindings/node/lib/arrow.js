// Tables of Arrow, as bytes.
'use strict'

const { FolioError } = require('./error.js')

/**
 * The bytes of an Arrow table.
 * @param {any} rows
 * @param {string} [other] what else `rows` may be
 * @returns {Uint8Array}
 */
function arrowContent(rows, other = '') {
  const content = rows?.toArrowIPC?.() ?? rows?.writeIPC?.() ?? rows
  if (ArrayBuffer.isView(content)) return new Uint8Array(content.buffer, content.byteOffset, content.byteLength)
  if (content instanceof ArrayBuffer) return new Uint8Array(content)
  throw new FolioError('invalid_input', `rows must be ${other}the bytes of an Arrow table; give tableToIPC(table)`)
}

module.exports = { arrowContent }
