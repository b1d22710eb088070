// Documents whose shape is known are decoded by a function made for it; they must be
// what JSON.parse makes of the same text, always.
'use strict'

const assert = require('node:assert/strict')
const { execFileSync } = require('node:child_process')
const { test } = require('node:test')
const foliodb = require('foliodb')
const { random } = require('../../../bench/node/record.js')
const { native } = require('../lib/native.js')
const { scratch } = require('./scratch.js')

const SIGHTS = 4 // the function is there with the third

/** Looks a line up until its shape is common, and compares each time. */
function compare(docs, line) {
  const id = JSON.parse(line)._id
  docs.putRaw(id, line)
  const stored = docs.getRaw(id)
  const expected = JSON.parse(stored)
  for (let sight = 0; sight < SIGHTS; sight++) {
    const found = docs.get(id)
    assert.deepStrictEqual(found, expected, stored)
    assert.equal(JSON.stringify(found), JSON.stringify(expected), 'the order of the keys')
  }
}

/** Members, each as it stands in the text. */
const MEMBERS = {
  'words': '"a":null,"b":true,"c":false',
  'integers': '"a":0,"b":-0,"c":7,"d":-7,"e":2147483647,"f":-2147483648,"g":2147483648,"h":-2147483649',
  'large integers': '"a":999999999999999,"b":9007199254740993,"c":-123456789012345678901234567890',
  'fractions': '"a":0.1,"b":-0.0,"c":87.5,"d":3.14159265358979,"e":0.000000000000001,"f":123456789.123456789',
  'exponents': '"a":1e5,"b":1E+2,"c":-1.5e-7,"d":1e308,"e":5e-324,"f":1e400,"g":0e0',
  'texts': '"a":"","b":"x","c":"shorter","d":"long enough to be cut out of the line"',
  'escapes': String.raw`"a":"\n","b":"say \"hi\"","c":"C:\\x","d":"\u00e9\u0041\/","e":["\t","plain","\b\f\r"]`,
  'escaped pairs': String.raw`"a":"\ud83d\ude00","b":["x\uD83D\uDE00y"]`,
  'lists': '"a":[],"b":[1],"c":["x","y"],"d":[null,true,1.5,"z",-3]',
  'lists of more than values': '"a":[[1],[2,[3]]],"b":[{"c":1},{"c":2}],"c":[1,"x",{}],"d":[1,2]',
  'brackets in texts': String.raw`"a":[{"b":"]}"},"\\"],"c":["]",["[\"{"]],"d":"after"`,
  'objects': '"a":{},"b":{"c":{"d":1,"e":{"f":"x"}},"g":2}',
  'spaces': '"a" : 1 ,\t"b": { "c" : [ 1 , 2 ] , "d":"x" } , "e" : [ ]',
  'keys twice': '"a":1,"b":2,"a":3',
  'keys of digits': '"b":1,"7":2,"a":3,"1":4,"-1":5,"01":6',
  'strange keys': String.raw`"":1,"a b":2,"a-b":3,"if":4,"\"":5,"\u0041":6,"a'b":7,"$\{x}":8,"*/":9`.replace('\\{', '{'),
  'names of the language': '"constructor":1,"toString":"x","hasOwnProperty":null,"__proto__":{"polluted":true}',
  'the prototype alone': '"a":{"__proto__":[1]}',
  'other alphabets': '"a":"größe","b":"日本","c":"😀","d":["ü",1,"ß😀x","y"],"e":"after all of that","f":[{"ä":"😀"}],"g":"ö"',
  'escapes in other alphabets': String.raw`"a":"größe\n","b":"日\u0041本","c":"😀\"","d":"after"`,
  'keys in other alphabets': '"größe":1,"日本":{"😀":2},"after":"x"',
  'separators of lines': '"a":"\u2028\u2029"',
  'a delete character': '"a":"\x7f"',
  'as deep as shapes go': deep(15),
  'deeper': deep(40),
  'as many values as shapes have': many(126),
  'more values': many(127),
  'a long list': `"a":[${'1,'.repeat(400)}1]`,
  'as long as shapes are': `"a":"${'x'.repeat(1000)}"`,
  'longer': `"a":"${'x'.repeat(2000)}"`,
}

for (const [name, members] of Object.entries(MEMBERS)) {
  test(`as JSON.parse has it: ${name}`, (context) => {
    const docs = foliodb.open(scratch(context)).collection('docs')
    compare(docs, `{"_id":"d",${members}}`)
    compare(docs, `{${members},"_id":"behind"}`)
  })
}

test('documents of any shape', (context) => {
  const docs = foliodb.open(scratch(context)).collection('docs')
  const seed = Number(process.env.FOLIO_SEED ?? 20_261)
  const below = random(seed)
  for (let number = 0; number < 2_000; number++) {
    const line = `{"_id":"d${number % 50}"${Array.from({ length: below(6) }, () => `,${member(below, 0)}`).join('')}}`
    try {
      compare(docs, line)
    } catch (error) {
      throw new Error(`FOLIO_SEED=${seed}, document ${number}: ${line}`, { cause: error })
    }
  }
})

test('more shapes than are kept, over and over', (context) => {
  const docs = foliodb.open(scratch(context)).collection('docs')
  const expected = Array.from({ length: 300 }, (_, number) => ({ _id: `d${number}`, [`key ${number}`]: number, [`text ${number}`]: ['x', number] }))
  docs.putMany(expected)
  for (let round = 0; round < 8; round++) {
    for (const document of expected) {
      for (let sight = 0; sight <= round; sight++) assert.deepStrictEqual(docs.get(document._id), document)
    }
  }
})

test('a common shape is marked, and stays so among wild ones', (context) => {
  const docs = foliodb.open(scratch(context)).collection('docs')
  const marks = new Int32Array(4096)
  const shapes = new native.NativeShapes(marks, new Float64Array(512))
  const lookup = docs.inner.lookup(shapes)
  docs.putMany(Array.from({ length: 1_000 }, (_, number) => [`wild-${number}`, { [`key ${number}`]: number }]))
  docs.put('tame', { a: 'text', b: { c: [1, 2.5] } })
  const isMarked = () => lookup('tame') !== undefined && marks[0] === 1
  assert.deepEqual(Array.from({ length: 4 }, isMarked), [false, false, true, true])
  assert.equal(shapes.outline(marks[2] + 64), null, 'nobody is given another shape')
  assert.equal(shapes.outline(marks[2]), '{"_id":\x01,"a":\x01,"b":{"c":\x02}}')
  let marked = 0
  for (let number = 0; number < 1_000; number++) {
    lookup(`wild-${number}`)
    for (let turn = 0; turn < 4; turn++) marked += isMarked() ? 1 : 0
  }
  assert.ok(marked > 3_900, `${marked} of 4,000`)
})

test('documents outlive those that come after them', (context) => {
  const docs = foliodb.open(scratch(context)).collection('docs')
  const documents = Array.from({ length: 500 }, (_, number) => ({ _id: `${number}`, text: `a text of some length, ${number}`, list: [number, `${number}`] }))
  docs.putMany(documents)
  const found = documents.map(({ _id }) => docs.get(_id))
  found[0].text = 'changed'
  found[0].list.push(1)
  found[0].more = 1
  delete found[1].text
  assert.deepStrictEqual(docs.get('0'), documents[0])
  assert.deepStrictEqual(docs.get('1'), documents[1])
  assert.deepStrictEqual(found.slice(2), documents.slice(2))
})

test('scans of shapes that come and go', (context) => {
  const docs = foliodb.open(scratch(context)).collection('docs')
  const seed = Number(process.env.FOLIO_SEED ?? 20_262)
  const below = random(seed)
  const lines = []
  for (let number = 0; lines.length < 6_000; number++) {
    // Runs of one shape, of wild ones, of other alphabets, and long documents.
    const run = 1 + below(below(4) === 0 ? 400 : 5)
    const kind = below(5)
    for (let index = 0; index < run; index++) {
      const id = `"_id":"d${lines.length}"`
      if (kind < 2) lines.push(`{${id},"n":${index},"text":"a text of some length ${index}","list":[${'1,'.repeat(index % 4)}2]}`)
      else if (kind === 2) lines.push(`{${id},"k${below(1000)}":${anything(below, 0)}}`)
      else if (kind === 3) lines.push(`{"n":${index},"ü":"größe ${'日😀'.repeat(index % 3)}","items":[{"n":${index}}],${id}}`)
      else lines.push(`{${id},"text":"${'x'.repeat(below(3_000))}"}`)
    }
  }
  const batch = docs.batch()
  for (const line of lines) batch.putRaw(JSON.parse(line)._id, line)
  batch.commit()
  const expected = lines.map((line) => JSON.parse(line)).map(({ _id, ...rest }) => ({ _id, ...rest }))
  assert.deepStrictEqual([...docs.scan()], expected, `FOLIO_SEED=${seed}`)
  assert.deepStrictEqual(docs.scan().toArray(), expected)
  assert.deepStrictEqual([...docs.scan({ fields: ['n', 'text'] })], expected.map((document) => pick(document, ['_id', 'n', 'text'])))
  const ids = expected.map(({ _id }) => _id).flatMap((id, place) => (place % 7 === 0 ? [id, 'none', 'none'] : [id]))
  const byId = new Map(expected.map((document) => [document._id, document]))
  assert.deepStrictEqual(docs.getMany(ids), ids.map((id) => byId.get(id)))
  assert.deepStrictEqual(docs.getMany(Array(3_000).fill('none')), Array(3_000).fill(undefined))
  // A scan is not disturbed by what happens in its loop.
  let place = 0
  for (const document of docs.scan()) {
    assert.deepStrictEqual(document, expected[place])
    const other = expected[below(expected.length)]
    assert.deepStrictEqual(docs.get(other._id), other)
    if (place++ % 500 === 0) assert.deepStrictEqual([...docs.scan({ limit: 40 })], expected.slice(0, 40))
  }
  assert.equal(place, expected.length)
})

function pick(document, keys) {
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(document, key)).map((key) => [key, document[key]]))
}

test('where no code may be made of text', (context) => {
  const program = `
    const docs = require('foliodb').open(process.argv[1]).collection('docs')
    docs.put('a', { n: 1, text: 'x' })
    for (let sight = 0; sight < 5; sight++) if (docs.get('a').text !== 'x') throw new Error('another document')
    console.log(JSON.stringify(docs.get('a')))`
  const found = execFileSync(process.execPath, ['--disallow-code-generation-from-strings', '-e', program, scratch(context)], { cwd: __dirname, encoding: 'utf8' })
  assert.equal(found, '{"_id":"a","n":1,"text":"x"}\n')
})

function deep(levels) {
  return `"a":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
}

function many(count) {
  return Array.from({ length: count }, (_, number) => `"${number.toString(12)}":${number}`).join(',')
}

const KEYS = ['"a"', '"b"', '"name"', '"ü"', '"1"', '"__proto__"', '"\\n"', '"a b"']
const SCALARS = ['null', 'true', 'false', '0', '-0', '17', '-2.50', '1e3', '0.1', '12345678901', '99999999999999999999', '""', '"x"', '"text of some length"', '"\\u00e9 and more of it"', '"é"', '" \\\\ "']

function member(below, depth) {
  const space = below(4) === 0 ? ' ' : ''
  return `${KEYS[below(KEYS.length)]}${space}:${space}${anything(below, depth)}`
}

function anything(below, depth) {
  const kind = below(depth > 3 ? 4 : 6)
  if (kind < 4) return SCALARS[below(SCALARS.length)]
  const parts = Array.from({ length: below(4) }, () => (kind === 4 ? anything(below, depth + 1) : member(below, depth + 1)))
  return kind === 4 ? `[${parts.join(',')}]` : `{${parts.join(',')}}`
}
