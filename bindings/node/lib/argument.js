// Checks of arguments, whose errors say more than those of the native half.
'use strict'

const { FolioError } = require('./error.js')
const { TORN, isWellFormed } = require('./fault.js')
const { native } = require('./native.js')

/**
 * @param {any} text
 * @param {string} name of the argument
 * @returns {string}
 */
function checkText(text, name) {
  if (typeof text === 'string') {
    if (isWellFormed(text)) return text
    throw new FolioError('invalid_input', `${name} ${TORN}`)
  }
  throw new FolioError('invalid_input', `${name} must be a string, not ${text === null ? 'null' : typeof text}`)
}

/**
 * An id: text, or an integer, which becomes its digits.
 * @param {any} id
 * @returns {string}
 */
function checkId(id) {
  if (typeof id === 'bigint' || Number.isSafeInteger(id)) return String(id)
  if (typeof id === 'string') return id
  const hint = id !== null && typeof id === 'object' ? '; the id comes before the document, and add takes only a document' : ''
  throw new FolioError('invalid_input', `document id must be a string or an integer, not ${id === null ? 'null' : typeof id === 'number' ? id : `${typeof id}`}${hint}`)
}

/**
 * A path of the file system, as `node:fs` takes them.
 * @param {any} path
 * @param {string} name of the argument
 * @returns {string}
 */
function checkPath(path, name) {
  if (path instanceof URL && path.protocol === 'file:') return require('node:url').fileURLToPath(path)
  return checkText(path, name)
}

/**
 * @param {any} texts
 * @param {string} name of the argument
 * @returns {string[]}
 */
function checkTexts(texts, name) {
  if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts
  throw new FolioError('invalid_input', `${name} must be an array of strings`)
}

/**
 * @param {any} count
 * @returns {number}
 */
function checkCount(count) {
  if (KINDS[LIMIT](count) && count < 2 ** 32) return count
  throw new FolioError('invalid_input', `count must be ${LIMIT}`)
}

/**
 * @param {any} number
 * @param {string} name of the argument
 * @returns {number}
 */
function checkWhole(number, name) {
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw new FolioError('invalid_input', `${name} must be a whole number, at least 0`)
}

/**
 * @template T
 * @param {T} documents
 * @param {boolean} [isAsync] whether they may be awaited
 * @returns {T}
 */
function checkIterable(documents, isAsync = false) {
  const any = /** @type {any} */ (documents)
  if (any != null && typeof any !== 'string') {
    if (any[Symbol.iterator] || (isAsync && any[Symbol.asyncIterator])) return documents
    if (any[Symbol.asyncIterator]) throw new FolioError('invalid_input', 'documents that must be awaited are stored by putManyAsync')
  }
  throw new FolioError('invalid_input', 'putMany takes an array or another iterable of documents')
}

/** The valid values of options.
 * @type {Record<string, (value: any) => boolean>}
 */
const KINDS = {
  'a string': (value) => typeof value === 'string',
  'a number': (value) => typeof value === 'number',
  'true or false': (value) => typeof value === 'boolean',
  'an array of strings': (value) => Array.isArray(value) && value.every((text) => typeof text === 'string'),
  'a whole number, at least 1': (value) => Number.isSafeInteger(value) && value >= 1,
  'a number of documents': (value) => Number.isSafeInteger(value) && value >= 0,
  'an array or an object': (value) => typeof value === 'object' && value !== null,
  'a function': (value) => typeof value === 'function',
  'an AbortSignal': (value) => value instanceof AbortSignal,
  'true, false or a JSON Schema': (value) => typeof value === 'boolean' || (typeof value === 'object' && value !== null),
}

const TEXT = 'a string'
const FUNCTION = 'a function'
const NUMBER = 'a number'
const FLAG = 'true or false'
const TEXTS = 'an array of strings'
const COUNT = 'a number of documents'
const LIMIT = 'a whole number, at least 1'

/** The options of each operation, and their valid values. */
const OPTIONS = {
  open: { mode: TEXT, durability: TEXT, timeoutMs: NUMBER, writeBehindMs: NUMBER, cacheSize: NUMBER, create: FLAG, bigint: FLAG, default: FUNCTION },
  collection: { layout: TEXT, strict: 'true, false or a JSON Schema', default: FUNCTION },
  write: { default: FUNCTION },
  read: { bigint: FLAG },
  scan: { fields: TEXTS, where: TEXT, params: 'an array or an object', limit: COUNT, lazy: FLAG, bigint: FLAG },
  putMany: { id: TEXT, default: FUNCTION },
  import: {
    format: TEXT,
    id: TEXT,
    generateIds: FLAG,
    onConflict: TEXT,
    delimiter: TEXT,
    columns: TEXTS,
    inferTypes: FLAG,
    rejectedPath: TEXT,
    restart: FLAG,
  },
  index: { name: TEXT, unique: FLAG, where: TEXT, using: TEXT },
  export: { format: TEXT, fields: TEXTS, where: TEXT, limit: COUNT },
  importSqlite: { tables: TEXTS },
  pack: { compress: FLAG },
  sql: { signal: 'an AbortSignal' },
  sqlAlone: { signal: 'an AbortSignal', timeoutMs: LIMIT, memoryLimit: LIMIT },
  limits: { timeoutMs: LIMIT, memoryLimit: LIMIT },
  schema: { allowDrop: FLAG },
  partitions: { columns: TEXTS, filter: TEXT, since: TEXT, until: TEXT },
  function: { parameters: TEXTS, returns: TEXT, volatile: FLAG, takesNull: FLAG },
  work: { progress: FUNCTION, signal: 'an AbortSignal' },
}

/**
 * Refuses options that do not exist, and values that an option cannot have.
 * @template T
 * @param {T} options
 * @param {Record<string, string>} known one entry of `OPTIONS`
 * @returns {T}
 */
function checkOptions(options, known) {
  if (options === null || typeof options !== 'object') {
    throw new FolioError('invalid_input', `options must be an object, not ${options === null ? 'null' : typeof options}`)
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(known, name)) {
      throw new FolioError('invalid_input', `unknown option ${JSON.stringify(name)}; ${adviceFor(name, Object.keys(known))}`)
    }
    if (value !== undefined && !KINDS[known[name]](value)) {
      throw new FolioError('invalid_input', `option ${name} must be ${known[name]}`)
    }
  }
  return options
}

/**
 * @param {string} name
 * @param {string[]} known
 */
function adviceFor(name, known) {
  const near = native.nearMatch(name, known)
  return near === null ? `available: ${known.join(', ')}` : `did you mean ${JSON.stringify(near)}?`
}

module.exports = { OPTIONS, checkCount, checkId, checkIterable, checkOptions, checkPath, checkText, checkTexts, checkWhole }
