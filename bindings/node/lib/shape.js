// Decodes documents of known shape, several times as fast as JSON.parse.
//
// The native half marks the text of a document (bindings/node/src/shape has the
// layout of the marks). Here each shape gets a function: an object literal with its
// keys, in which the values are cut out of the text. Functions are cached by outline, since a
// database that is opened again has the same shapes.
//
// If Node may not generate code from strings (--disallow-code-generation-from-strings), nothing is
// marked, and JSON.parse does all the work.
'use strict'

const { native } = require('./native.js')

const VALUE = '\x01' // in an outline
const FIRST = 2 // the place of the first document
const SHAPES_MAX = 64 // the same in the native half
const DECODERS_MAX = 256

/** Half for documents, half for the elements of their lists. */
const marks = new Int32Array(8192)
const numbers = new Float64Array(2048)

/** The marker of documents; null if it would have no effect. */
const shapes = canCompile() ? new native.NativeShapes(marks, numbers) : null

/** The numbers of the shapes that have a decoder, each at its position, and the decoders. */
const known = new Int32Array(SHAPES_MAX).fill(-1)
/** @type {Decoder[]} */
const decoders = new Array(SHAPES_MAX).fill(JSON.parse)
/** @type {Map<string, Decoder>} */
const compiled = new Map()

/**
 * Decodes a text whose document is marked at a position.
 * @typedef {(text: string, at: number) => any} Decoder
 */

/**
 * Parses the text of the document that was marked last.
 * @param {string} text
 * @returns {any}
 */
function parseMarked(text) {
  return marks[0] === 0 || shapes === null ? JSON.parse(text) : decoderAt(FIRST)(text, FIRST)
}

/**
 * Parses the text of the documents that were marked last, or an array of them.
 * @param {string} text
 * @returns {any[]}
 */
function parseAllMarked(text) {
  let count = marks[0]
  if (count === 0 || shapes === null) return JSON.parse(text)
  const documents = []
  for (let at = FIRST; count > 0; count--) {
    documents.push(decoderAt(at)(text, at))
    at = marks[at + 1]
  }
  return documents
}

/**
 * @param {number} at
 * @returns {Decoder}
 */
function decoderAt(at) {
  const number = marks[at]
  if (number < 0) return missing
  const place = number % SHAPES_MAX
  if (known[place] !== number) learn(number, place)
  return decoders[place]
}

function missing() {
  return undefined
}

/**
 * @param {number} number
 * @param {number} place
 */
function learn(number, place) {
  const outline = /** @type {any} */ (shapes).outline(number)
  let decoder = compiled.get(outline)
  if (decoder === undefined) {
    if (compiled.size >= DECODERS_MAX) compiled.clear()
    decoder = decoderOf(outline)
    compiled.set(outline, decoder)
  }
  known[place] = number
  decoders[place] = decoder
}

/**
 * A function of the text of a document with this outline. The keys in it have no
 * escapes, so they are the same in JavaScript as in JSON.
 * @param {string} outline
 * @returns {Decoder}
 */
function decoderOf(outline) {
  let place = 0
  const literal = outline.replace(/[\x01\x02]/g, (kind) => {
    place += 2
    return kind === VALUE ? `value(text,at+${place})` : `list(text,at+${place})`
  })
  return new Function('value', 'list', `return (text, at) => (${literal})`)(value, list)
}

/**
 * The value marked at a position.
 * @param {string} text
 * @param {number} place
 * @returns {any}
 */
function value(text, place) {
  const first = marks[place]
  const second = marks[place + 1]
  if (first >= 0) return text.slice(first, second)
  switch (first) {
    case -1:
      return second === 0 ? null : second === 2
    case -2:
      return second
    case -3:
      return numbers[second]
    default:
      return json(text, first, second)
  }
}

/**
 * @param {string} text
 * @param {number} first
 * @param {number} second
 */
function json(text, first, second) {
  return JSON.parse(text.slice(-4 - first, second))
}

/**
 * The array marked at a position. A growing array allocates sixteen more elements, so short ones
 * are literals.
 * @param {string} text
 * @param {number} place
 * @returns {any[]}
 */
function list(text, place) {
  const first = marks[place]
  if (first < 0) return json(text, first, marks[place + 1])
  switch (marks[place + 1]) {
    case 0:
      return []
    case 1:
      return [value(text, first)]
    case 2:
      return [value(text, first), value(text, first + 2)]
    case 3:
      return [value(text, first), value(text, first + 2), value(text, first + 4)]
    default:
      return longList(text, first, marks[place + 1])
  }
}

/**
 * @param {string} text
 * @param {number} first
 * @param {number} count
 */
function longList(text, first, count) {
  const values = []
  for (let place = first; place < first + 2 * count; place += 2) values.push(value(text, place))
  return values
}

function canCompile() {
  try {
    return new Function('return true')()
  } catch {
    return false
  }
}

module.exports = { parseAllMarked, parseMarked, shapes }
