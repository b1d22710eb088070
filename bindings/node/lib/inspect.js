// The display of rows by `console.log` and `util.inspect`: a title, and the first rows as a table.
//
// Display is cheap and consumes nothing: a few rows are read, with a short time limit, and remain
// for the next reader. Inside another value only the title is shown, for which nothing is read. It
// never throws: a closed handle is shown as closed.
'use strict'

const { FolioError, asFolioError } = require('./error.js')

const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/** Rows of a table. */
const ROWS_MAX = 10
/** Rows that are read to count the remaining ones. */
const LOOKED_MAX = 1000
/** The time limit for rows. */
const WAIT_MS = 200
/** The maximum number of columns considered. */
const COLUMNS_MAX = 64
/** The maximum characters of a cell, and the maximum if the columns would not fit otherwise. */
const CELL_SIZE = 40
const CELL_SIZE_MIN = 12
/** The maximum characters of a text considered. */
const TEXT_SIZE = 200

/**
 * What is shown below a title.
 * @typedef {object} Shown
 * @property {string} [note] after the title: the number of rows
 * @property {string[]} [columns] the names; by default those of the rows' members
 * @property {Record<string, any>[]} [rows] the first
 * @property {string} [rest] the footer
 */

/** The prototypes of handles and answers, which are not data. */
const handles = new Set()

/**
 * Whether a value is a handle or an answer, whose data is elsewhere.
 * @param {any} value
 */
function isHandle(value) {
  return handles.has(Object.getPrototypeOf(value))
}

/**
 * Defines the display of the instances of a class by `util.inspect`.
 * @param {any} kind a class
 * @param {(value: any) => string} title a line, for which nothing is read
 * @param {(value: any) => Shown} shown
 */
function inspectable(kind, title, shown) {
  /**
   * @this {any}
   * @param {number} depth that is left
   * @param {any} options
   * @param {any} inspect
   */
  function show(depth, options, inspect) {
    let line = `[${kind.name}]`
    try {
      line = title(this)
      if (depth !== options.depth) return options.stylize(`[${line}]`, 'special')
      return described(line, shown(this), options, inspect)
    } catch (thrown) {
      const error = asFolioError(/** @type {any} */ (thrown))
      if (!(error instanceof FolioError)) return line // such as the prototype itself
      return error.code === 'closed' ? `${line} (closed)` : `${line}: ${printable(error.message.split('\n')[0])}`
    }
  }
  Object.defineProperty(kind.prototype, INSPECT, { value: show, writable: true, configurable: true })
  Object.defineProperty(kind.prototype, Symbol.toStringTag, { value: kind.name, configurable: true })
  handles.add(kind.prototype)
}

/**
 * The footer after the shown rows.
 * @param {number} shown
 * @param {number} seen
 * @param {number} [known] how many there are
 */
function restOf(shown, seen, known) {
  const left = (known ?? seen) - shown
  if (left <= 0) return known === undefined ? 'more' : undefined
  return `${known === undefined ? 'at least ' : ''}${left.toLocaleString('en-US')} more`
}

/**
 * Makes `util.inspect` show instances of a class as plain objects with its name.
 * @param {any} kind a class
 * @param {(value: any) => any} plain
 */
function inspectableAs(kind, plain) {
  /**
   * @this {any}
   * @param {number} depth that is left
   * @param {any} options
   * @param {any} inspect
   */
  function show(depth, options, inspect) {
    try {
      if (depth < 0) return options.stylize(`[${kind.name}]`, 'special')
      return `${kind.name} ${inspect(plain(this), { ...options, depth })}`
    } catch (thrown) {
      const error = asFolioError(/** @type {any} */ (thrown))
      return error instanceof FolioError && error.code === 'closed' ? `${kind.name} (closed)` : `[${kind.name}]`
    }
  }
  Object.defineProperty(kind.prototype, INSPECT, { value: show, writable: true, configurable: true })
}

/**
 * @param {string} title
 * @param {Shown} shown
 * @param {any} options of `util.inspect`
 * @param {any} inspect
 */
function described(title, { note, columns, rows = [], rest }, options, inspect) {
  const lines = [note === undefined ? title : `${title}: ${note}`]
  const names = columns ?? namesOf(rows)
  const ends = rest === undefined ? [] : [rest]
  if (rows.length > 0 && names.length > 0) {
    const table = new Table(names, rows, inspect)
    const width = widthOf(options) - 2
    const count = table.fit(width)
    lines.push(...table.lines(count, options.stylize))
    if (count < names.length) ends.push(`${plural(names.length - count, 'more column')}: ${fitted(names.slice(count).map(printable).join(', '), Math.min(width, 80) - 20).trimEnd()}`)
  }
  if (ends.length > 0) lines.push(options.stylize(`… ${ends.join('; ')}`, 'undefined'))
  return lines.join('\n  ')
}

/**
 * The names of the rows' members, in order of first appearance.
 * @param {Record<string, any>[]} rows
 */
function namesOf(rows) {
  const names = new Set()
  for (const row of rows) {
    for (const name of Object.keys(row)) {
      if (names.size < COLUMNS_MAX) names.add(name)
    }
  }
  return [...names]
}

/** @param {any} options */
function widthOf({ breakLength = 80 }) {
  if (breakLength === Infinity) return Infinity
  return Math.max(20, Math.min(breakLength, process.stdout?.columns || 80))
}

/** Rows as text, in columns. */
class Table {
  /**
   * @param {string[]} names
   * @param {Record<string, any>[]} rows
   * @param {any} inspect
   */
  constructor(names, rows, inspect) {
    this.columns = names.slice(0, COLUMNS_MAX).map((name) => {
      const values = rows.map((row) => (Object.hasOwn(row, name) ? row[name] : undefined))
      const cells = values.map((value) => ({ text: cellText(value, inspect), style: styleOf(value) }))
      const isNumeric = values.some(isNumber) && values.every((value) => value == null || isNumber(value))
      const head = printable(name)
      return { head, cells, isNumeric, size: Math.max(sizeOf(head), ...cells.map(({ text }) => sizeOf(text))) }
    })
    this.rowCount = rows.length
    this.cellMax = CELL_SIZE
  }

  /**
   * Narrows the cells until the columns fit. Returns how many fit.
   * @param {number} width
   */
  fit(width) {
    while (this.cellMax > CELL_SIZE_MIN && this.countWithin(width) < this.columns.length) this.cellMax -= 1
    const count = this.countWithin(width)
    if (count > 0) return count
    this.cellMax = width
    return 1
  }

  /** @param {number} width */
  countWithin(width) {
    let left = width + 2
    return this.columns.filter(({ size }) => (left -= Math.min(size, this.cellMax) + 2) >= 0).length
  }

  /**
   * @param {number} count of columns
   * @param {(text: string, style: string) => string} stylize
   */
  lines(count, stylize) {
    const columns = this.columns.slice(0, count)
    const line = (/** @type {(column: any) => { text: string, style: string }} */ cellOf) => {
      const cells = columns.map((column, index) => {
        const { text, style } = cellOf(column)
        const size = Math.min(column.size, this.cellMax)
        const placed = fitted(text, size, column.isNumeric)
        return stylize(index === columns.length - 1 ? placed.trimEnd() : placed, style)
      })
      return cells.join('  ').trimEnd()
    }
    const head = line((column) => ({ text: column.head, style: 'undefined' }))
    return [head, ...Array.from({ length: this.rowCount }, (_, row) => line((column) => column.cells[row]))]
  }
}

/** @param {any} value */
function isNumber(value) {
  return typeof value === 'number' || typeof value === 'bigint'
}

/**
 * @param {any} value
 * @param {any} inspect
 */
function cellText(value, inspect) {
  if (value === undefined) return ''
  if (typeof value === 'string') return value === '' ? "''" : printable(value)
  return printable(inspect(value, { depth: 1, breakLength: Infinity, compact: true, maxArrayLength: 5, maxStringLength: 40, colors: false }))
}

/**
 * The style of `util.inspect` for a value of this type.
 * @param {any} value
 */
function styleOf(value) {
  return value === null ? 'null' : typeof value === 'object' ? 'name' : typeof value
}

const HIDDEN = /(?!\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu
/** @type {Record<string, string>} */
const ESCAPES = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/**
 * Text on one line, without control characters.
 * @param {string} text
 */
function printable(text) {
  const first = text.length > TEXT_SIZE ? `${text.slice(0, TEXT_SIZE)}…` : text
  return first.replace(HIDDEN, (sign) => ESCAPES[sign] ?? `\\u{${sign.codePointAt(0)?.toString(16)}}`)
}

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3ffff}]/u
const NARROW = /[\p{M}\u200d]/u

/** @param {string} sign one code point */
function signSize(sign) {
  if (sign < '\u0300') return 1
  return WIDE.test(sign) ? 2 : NARROW.test(sign) ? 0 : 1
}

/**
 * The approximate width of a text on a terminal.
 * @param {string} text
 */
function sizeOf(text) {
  let size = 0
  for (const sign of text) size += signSize(sign)
  return size
}

/**
 * Text cut or padded to a size.
 * @param {string} text
 * @param {number} size
 * @param {boolean} [atRight]
 */
function fitted(text, size, atRight = false) {
  const own = sizeOf(text)
  if (own <= size) return size === Infinity ? text : atRight ? ' '.repeat(size - own) + text : text + ' '.repeat(size - own)
  let kept = ''
  let left = size - 1
  for (const sign of text) {
    left -= signSize(sign)
    if (left < 0) break
    kept += sign
  }
  return `${kept}…`.padEnd(kept.length + 1)
}

/**
 * @param {number} count
 * @param {string} noun
 */
function plural(count, noun) {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}

module.exports = { LOOKED_MAX, ROWS_MAX, WAIT_MS, inspectable, inspectableAs, isHandle, plural, restOf }
