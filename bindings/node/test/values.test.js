// What goes in comes out, or is refused with the path at which it stands.
'use strict'

const assert = require('node:assert/strict')
const { test } = require('node:test')
const foliodb = require('foliodb')
const { scratch } = require('./scratch.js')

class User {
  constructor(name) {
    this.name = name
  }
}

/** Values that come out as they went in. */
const EXACT = {
  'every kind': { a: null, b: true, c: -7, d: 2.5, e: 'x', f: [1, [2], {}], g: { h: { i: [] } } },
  'numbers at their ends': { a: 1e308, b: 5e-324, c: 2 ** 53 - 1, d: 1 - 2 ** 53, e: -0, f: 1.7976931348623157e308 },
  'large integers': { a: 123456789012345678901234567890n, b: -(2n ** 64n), c: [2n ** 53n + 1n] },
  'text of every plane': { a: 'größe 日本 😀', b: '\u2028\u2029\0\u001f\\"/', 'é.ü': 1, '': 2 },
  'text that looks like our marks': { a: '\0i5', b: ['\0s', '\0'], c: { d: '\0\0i1' } },
  'names of the language': JSON.parse('{"__proto__": {"x": 1}, "constructor": 2, "toString": null, "hasOwnProperty": []}'),
  'as deep as it goes': nested(126),
  'a long array': { a: Array.from({ length: 10_000 }, (_, n) => n) },
}

for (const [name, document] of Object.entries(EXACT)) {
  test(`exact: ${name}`, async (context) => {
    const docs = foliodb.open(scratch(context), { bigint: true }).collection('docs')
    docs.put('now', document)
    await docs.putAsync('later', document)
    docs.putMany([['many', document]])
    const all = ['now', 'later', 'many'].map((id) => JSON.parse('{"_id":0}', (key, value) => (key === '_id' ? id : value)))
    for (const expected of all) {
      for (const [key, value] of Object.entries(document)) {
        Object.defineProperty(expected, key, { value, enumerable: true, writable: true, configurable: true })
      }
      assert.deepStrictEqual(docs.get(expected._id), expected)
      assert.deepStrictEqual(await docs.getAsync(expected._id), expected)
    }
    assert.deepStrictEqual([...docs.scan()], all)
    assert.deepStrictEqual(docs.scan({ lazy: true }).toArray().map((found) => found.toValue()), all)
    assert.deepStrictEqual(docs.getMany(['now', 'later', 'many']), all)
  })
}

/** What is written as JSON.stringify would. */
const WRITTEN = {
  'members that are undefined are left out': [{ a: undefined, b: 1 }, '{"_id":"d","b":1}'],
  'instances count as what they hold': [{ user: new User('Ada') }, '{"_id":"d","user":{"name":"Ada"}}'],
  'toJSON has the word': [{ a: { toJSON: () => ({ b: [1n] }) }, c: [{ toJSON: () => 2 }] }, '{"_id":"d","a":{"b":[1]},"c":[2]}'],
  'objects without prototype': [Object.assign(Object.create(null), { a: 1 }), '{"_id":"d","a":1}'],
  'symbols as names are nobody\'s': [{ [Symbol('a')]: 1, b: 2 }, '{"_id":"d","b":2}'],
  'one object twice is no cycle': [((a) => ({ a, b: [a] }))({ c: 1 }), '{"_id":"d","a":{"c":1},"b":[{"c":1}]}'],
  'a Date is its ISO string': [{ at: new Date(5), all: [new Date(0)] }, '{"_id":"d","at":"1970-01-01T00:00:00.005Z","all":["1970-01-01T00:00:00.000Z"]}'],
  'a Date beside a bigint': [{ at: new Date(0), n: 2n ** 64n }, '{"_id":"d","at":"1970-01-01T00:00:00.000Z","n":18446744073709551616}'],
  'toJSON of what is no plain object': [{ url: new URL('http://a/'), n: new (class Decimal { get [Symbol.toStringTag]() { return 'Decimal' } toJSON() { return '1.10' } })() }, '{"_id":"d","url":"http://a/","n":"1.10"}'],
  'toJSON of the document': [new (class { toJSON() { return { a: 1 } } })(), '{"_id":"d","a":1}'],
  'toJSON that answers nothing, among bigints': [{ a: [1n, new (class { toJSON() {} })()], b: new (class { toJSON() {} })() }, '{"_id":"d","a":[1,null]}'],
  'a proxy': [new Proxy({ a: 1 }, {}), '{"_id":"d","a":1}'],
}

for (const [name, [document, line]] of Object.entries(WRITTEN)) {
  test(`written: ${name}`, (context) => {
    const docs = foliodb.open(scratch(context)).collection('docs')
    docs.put('d', document)
    assert.equal(docs.getRaw('d'), line)
    docs.putMany([['d', document]])
    assert.equal(docs.getRaw('d'), line)
  })
}

const cycle = { a: { b: [] } }
cycle.a.b.push(cycle)
const knot = { toJSON: () => ({ knot }) }

/** What has no JSON: the path, and words of the reason. */
const REFUSED = [
  [{ a: [1, { b: NaN }] }, 'a[1].b', 'is NaN'],
  [{ a: -Infinity }, 'a', 'is -Infinity'],
  [{ d: [new Date(NaN)] }, 'd[0]', 'is an invalid Date; store null'],
  [{ x: [Buffer.from('a')] }, 'x[0]', "is a Buffer; store text, such as toString('base64')"],
  [{ x: new Uint8Array(2) }, 'x', 'is a Uint8Array'],
  [{ x: new ArrayBuffer(1) }, 'x', 'is an ArrayBuffer'],
  [{ m: new Map() }, 'm', 'is a Map; store Object.fromEntries(map)'],
  [{ s: new Set() }, 's', 'is a Set; store an array, [...set]'],
  [{ r: /x/ }, 'r', 'is a RegExp'],
  [{ e: new Error('x') }, 'e', 'is an Error'],
  [{ p: Promise.resolve() }, 'p', 'is a Promise; await it'],
  [{ f: new Float32Array(1) }, 'f', 'is a Float32Array; store an array, Array.from(view)'],
  [{ b: new Number(5) }, 'b', 'is a Number'],
  [{ f() {} }, 'f', 'is a function'],
  [{ 'a.b': [Symbol('x')] }, 'a.b[0]', 'is a symbol'],
  [{ a: [1, undefined] }, 'a[1]', 'is undefined'],
  [{ a: [1, , 2] }, 'a[1]', 'is undefined'], // eslint-disable-line no-sparse-arrays
  [{ a: { b: ['x', 'half \ud800 only'] } }, 'a.b[1]', 'has half of a surrogate pair'],
  [{ a: { ['\udc00']: 1 } }, 'a.\udc00', 'has half of a surrogate pair'],
  [cycle, 'a.b[0]', 'refers to an object that contains it'],
  [{ a: knot }, 'a.knot', 'refers to an object that contains it'],
  [nested(127), 'x', 'is nested deeper than 127 levels'],
  [{ a: JSON.parse('['.repeat(5_000) + ']'.repeat(5_000)) }, 'a[0]', 'is nested deeper than 127 levels'],
]

test('what JSON does not have is refused with its path', async (context) => {
  const docs = foliodb.open(scratch(context)).collection('docs')
  for (const [document, path, reason] of REFUSED) {
    const says = (error) => {
      const { code, message } = error
      assert.equal(code, 'invalid_input')
      assert.ok(message.includes(reason) && message.includes(` at "${JSON.stringify(path).slice(1, -1)}`), message)
      return true
    }
    assert.throws(() => docs.put('d', document), says)
    assert.throws(() => docs.batch().put('d', document), says)
    assert.throws(() => docs.putMany([['a', { n: 1 }], ['d', document]]), (error) => says(error) && /document 2 of the batch/.test(error.message))
    await assert.rejects(docs.putAsync('d', document), says)
    await assert.rejects(docs.putManyAsync([['d', document]]), says)
  }
  assert.equal(docs.count(), 0)
})

const PLAIN = (value) => {
  if (value instanceof Map) return Object.fromEntries(value)
  if (value instanceof Set) return [...value]
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (typeof value === 'symbol') return value.description
  return Number.isNaN(value) ? null : undefined
}

/** What `default` makes of documents. */
const CONVERTED = [
  [{ m: new Map([['s', new Set([1, new Map()])]]) }, '{"_id":"d","m":{"s":[1,{}]}}'],
  [{ b: Buffer.from('hi'), n: [NaN], s: Symbol('x'), gone: undefined }, '{"_id":"d","b":"aGk=","n":[null],"s":"x"}'],
  [{ n: NaN, big: 2n ** 64n, at: new Date(0) }, '{"_id":"d","n":null,"big":18446744073709551616,"at":"1970-01-01T00:00:00.000Z"}'],
  [new Map([['a', 1]]), '{"_id":"d","a":1}'],
  [JSON.parse('{"__proto__": 1}', (key, value) => (key === '' ? Object.defineProperty(value, 's', { value: new Set([2]), enumerable: true }) : value)), '{"_id":"d","__proto__":1,"s":[2]}'],
]

test('default gives what has no JSON a value, at every write', async (context) => {
  const path = scratch(context)
  const db = foliodb.open(path)
  const docs = db.collection('docs')
  const options = { default: PLAIN }
  const byCollection = db.collection('docs', options)
  const byDatabase = foliodb.open(path, options).collection('docs')
  for (const [document, line] of CONVERTED) {
    const writes = [
      () => docs.put('d', document, options), () => docs.putAsync('d', document, options),
      () => docs.putMany([['d', document]], options), () => docs.putManyAsync([['d', document]], options),
      () => byCollection.put('d', document), () => byCollection.putMany([['d', document]]),
      () => byDatabase.put('d', document), () => byDatabase.putManyAsync([['d', document]]),
      () => [docs.batch(options)].forEach((batch) => (batch.put('d', document), batch.commit())),
    ]
    for (const write of writes) {
      docs.delete('d')
      await write()
      assert.equal(docs.getRaw('d'), line, String(write))
    }
    for (const id of [docs.add(document, options), await byDatabase.addAsync(document)]) {
      assert.equal(docs.getRaw(id).replace(id, 'd'), line)
    }
  }
  docs.put('d', { n: 1 })
  assert.deepEqual(docs.patch('d', { s: new Set([1]) }, options), { _id: 'd', n: 1, s: [1] })
  assert.deepEqual(await byCollection.patchAsync('d', { s: new Set([2]) }), { _id: 'd', n: 1, s: [2] })
  assert.equal(docs.update("_id = 'd'", { s: new Set([3]) }, undefined, options), 1)
  assert.deepEqual(docs.get('d').s, [3])
})

test('what default leaves is refused with its path', (context) => {
  const docs = foliodb.open(scratch(context)).collection('docs')
  const refused = (document, convert, message) => {
    assert.throws(() => docs.put('d', document, { default: convert }), { name: 'FolioError', code: 'invalid_input', message })
    assert.throws(() => docs.putMany([['d', document]], { default: convert }), { code: 'invalid_input' })
  }
  const endless = () => new Map()
  refused({ a: [new Map([['x', [() => 1]]])] }, PLAIN, 'document "d" at "a[0].x[0]" is a function, which JSON does not have; leave it out')
  refused({ a: new Map() }, (value) => value, /at "a" is a Map/)
  refused({ a: new Map() }, endless, /at "a" is nested deeper than 127 levels/)
  refused({ a: new Map() }, async () => 1, /default returned a promise/)
  refused(new Map(), () => 5, 'document "d" is written as a number, not as an object; wrap it in one')
  refused(cycle, PLAIN, /refers to an object that contains it/)
  refused(5, PLAIN, 'document "d" is a number, not an object; wrap it in one')
  refused({ a: 1 }, 'text', 'option default must be a function')
  assert.throws(() => docs.put('d', { a: new Map() }, { default() { throw new RangeError('mine') } }), RangeError)
  assert.throws(() => docs.put('d', {}, { defualt: PLAIN }), { code: 'invalid_input', message: 'unknown option "defualt"; did you mean "default"?' })
  assert.equal(docs.count(), 0)
})

test('what is no document is refused by name', (context) => {
  const docs = foliodb.open(scratch(context)).collection('docs')
  for (const [document, kind] of [[[1], 'an array'], ['x', 'a string'], [5, 'a number'], [null, 'null'], [undefined, 'undefined'], [1n, 'a bigint']]) {
    assert.throws(() => docs.put('d', document), { code: 'invalid_input', message: `document "d" is ${kind}, not an object; wrap it in one` })
    assert.throws(() => docs.putMany([['d', document]]), { code: 'invalid_input' })
  }
  assert.throws(() => docs.put('d', { _id: 'e' }), { code: 'invalid_input' })
  assert.throws(() => docs.put('d', new Date(0)), { code: 'invalid_input', message: 'document "d" is written as a string, not as an object; wrap it in one' })
  assert.throws(() => docs.putMany([new Date(0)]), { code: 'invalid_input', message: /document 1 of the batch is written as a string/ })
  assert.throws(() => docs.put('d', Promise.resolve({})), { code: 'invalid_input', message: /is a Promise; await it/ })
  assert.throws(() => docs.put({ _id: 'd' }), { code: 'invalid_input', message: /the id comes before the document, and add takes only a document/ })
  assert.equal(docs.count(), 0)
})

test('arguments of the wrong type are refused by name', async (context) => {
  const path = scratch(context)
  const db = foliodb.open(path)
  const docs = db.collection('docs')
  const invalid = (message) => ({ name: 'FolioError', code: 'invalid_input', message })
  for (const id of [undefined, null, 5.5, NaN, 2 ** 60, {}, [], Symbol('x')]) {
    for (const name of ['get', 'getRaw', 'has', 'delete']) {
      assert.throws(() => docs[name](id), { code: 'invalid_input', message: /^document id must be a string or an integer/ })
      await assert.rejects(docs[`${name}Async`](id), { code: 'invalid_input', message: /^document id must be a string or an integer/ })
    }
    assert.throws(() => docs.put(id, {}), { code: 'invalid_input' })
  }
  assert.throws(() => foliodb.open(), invalid('path must be a string, not undefined'))
  assert.throws(() => foliodb.open(path, null), invalid('options must be an object, not null'))
  assert.throws(() => foliodb.open(path, { mode: 'w' }), invalid('mode "w" is neither "r" nor "rw"'))
  assert.throws(() => foliodb.open(path, { timeoutMs: '5' }), invalid('option timeoutMs must be a number'))
  assert.throws(() => foliodb.open(path, { timeoutMs: -1 }), invalid('timeoutMs -1 is not a wait time in milliseconds'))
  assert.throws(() => foliodb.open(path, { cacheSize: NaN }), invalid('cacheSize NaN is not a number of bytes'))
  assert.throws(() => docs.scan({ wheer: 'n > 1' }), invalid('unknown option "wheer"; did you mean "where"?'))
  assert.throws(() => docs.scan({ predicate: 'n > 1' }), invalid('unknown option "predicate"; available: fields, where, params, limit, lazy, bigint'))
  assert.throws(() => docs.scan({ limit: -1 }), invalid('option limit must be a number of documents'))
  assert.throws(() => docs.scan({ fields: 'a' }), invalid('option fields must be an array of strings'))
  assert.throws(() => docs.get('a', { bigint: 1 }), invalid('option bigint must be true or false'))
  assert.throws(() => docs.getMany(['a', null]), invalid('document id must be a string or an integer, not null'))
  assert.throws(() => docs.putMany('text'), invalid('putMany takes an array or another iterable of documents'))
  assert.throws(() => docs.putMany((async function* () {})()), invalid('documents that must be awaited are stored by putManyAsync'))
  assert.throws(() => docs.putRaw('a', Buffer.from('{}')), invalid('json must be a string, not object'))
  assert.throws(() => docs.putRaw('a', '{"n":'), { code: 'syntax' })
  assert.throws(() => docs.import('x', { format: 'xml' }), { code: 'invalid_input', message: /"xml" is unknown; use one of jsonl/ })
  await assert.rejects(docs.importAsync('x', { progress: true }), invalid('option progress must be a function'))
  assert.throws(() => db.collection('../evil'), { code: 'invalid_input' })
  assert.throws(() => db.collection('x', { strict: 'yes' }), invalid('option strict must be true, false or a JSON Schema'))
})

test('a document of 100 MB', async (context) => {
  const docs = foliodb.open(scratch(context)).collection('docs')
  const text = 'größer '.repeat(13_000_000)
  docs.put('large', { text })
  docs.flush()
  assert.ok(docs.stats().liveSize > 100_000_000)
  assert.ok(docs.get('large').text === text)
  const [only] = await docs.scan().toArrayAsync()
  assert.ok(only.text === text)
})

/** Objects inside one another. */
function nested(depth) {
  const outermost = {}
  let inner = outermost
  for (let level = 0; level < depth; level++) inner = inner.x = {}
  return outermost
}
