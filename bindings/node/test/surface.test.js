// Parity: what is public here stands in `conformance/surface.toml`, and what stands
// there is here. Types are public too: those that are generated are compared with
// those that are committed.
'use strict'

const assert = require('node:assert/strict')
const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { test } = require('node:test')
const foliodb = require('foliodb')
const { scratch } = require('./scratch.js')

const PACKAGE = path.join(__dirname, '..')

// What JavaScript's own protocols ask for, and the twins' way of iterating.
const OWN = {
  Document: ['toJSON'],
  Scan: ['toArray', 'toJSON'],
  Answer: ['toArray', 'toJSON', 'next'],
}

// What an instance has for itself.
const FIELDS = ['path', 'text', 'count', 'columns']

/** The names of the Node column. */
function listed() {
  const text = fs.readFileSync(path.join(PACKAGE, '../../conformance/surface.toml'), 'utf8')
  return [...text.matchAll(/^node = "(.*)"$/gm)].map(([, name]) => name)
}

/** The public operations of a class; a twin counts as its operation. */
function operations(kind) {
  const file = kind === 'Prepared' ? 'session' : kind.toLowerCase()
  const types = fs.readFileSync(path.join(PACKAGE, 'types', `${file}.d.ts`), 'utf8')
  const [, members] = new RegExp(`export class ${kind}\\b([^]*?)\\n}`).exec(types)
  const hidden = new Set([...members.matchAll(/^ {4}private (\w+)/gm)].map(([, name]) => name))
  const names = [...members.matchAll(/^ {4}(?:get |readonly )?(\w+)(?:<.*?>)?[(:]/gm)].map(([, name]) => name)
  return [...new Set(names.map(withoutTwin))].filter((name) => !hidden.has(name) && name !== 'constructor')
}

function withoutTwin(name) {
  return name.replace(/Async$/, '')
}

for (const kind of ['Database', 'Collection', 'Batch', 'Document', 'Scan', 'Session', 'Prepared', 'Answer', 'Tables']) {
  test(`names of ${kind}`, () => {
    const expected = listed().filter((name) => name.startsWith(`${kind}.`)).map((name) => name.split('.')[1])
    const found = operations(kind).filter((name) => !(OWN[kind] ?? []).includes(name))
    assert.deepEqual(found.sort(), expected.sort())
    for (const name of found.filter((name) => !FIELDS.includes(name))) assert.ok(name in foliodb[kind].prototype, `${kind}.${name}`)
  })
}

test('names of the package', async () => {
  const functions = Object.keys(foliodb).filter((name) => /^[a-z]/.test(name)).map(withoutTwin)
  const expected = listed().filter((name) => !name.includes('.'))
  assert.deepEqual([...new Set(functions)].sort(), [...expected, 'version'].sort())
  const { default: whole, ...named } = await import('foliodb')
  assert.equal(whole, foliodb)
  for (const name of Object.keys(foliodb)) assert.equal(named[name], foliodb[name], `import { ${name} }`)
})

const TSC = path.join(PACKAGE, 'node_modules/typescript/bin/tsc')
const skip = fs.existsSync(TSC) ? false : 'typescript is not installed; run scripts/setup where the registry can be reached'

test('the committed types are those generated from the source', { skip }, () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'foliodb-types-'))
  try {
    tsc('--project', PACKAGE, '--outDir', folder)
    const committed = path.join(PACKAGE, 'types')
    for (const name of fs.readdirSync(committed)) {
      const generated = fs.readFileSync(path.join(folder, name), 'utf8')
      const kept = fs.readFileSync(path.join(committed, name), 'utf8')
      assert.equal(kept, `// @generated from lib/${name.replace('.d.ts', '.js')} by scripts/node types\n${generated}`, 'run scripts/node types')
    }
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
})

test('the types say what users of TypeScript rely on', { skip }, () => {
  tsc('--project', path.join(__dirname, 'types'))
})

test('the types of documents that `folio schema types` writes take the documents', { skip }, (context) => {
  const folder = path.dirname(scratch(context))
  const data = path.join(folder, 'typed')
  const documents = [
    { _id: 'a', n: 1, 'k v': true, tags: ['x', null], geo: { lat: 1.5, at: { city: 'Oslo' } }, any: 1, list: [{ n: 1 }] },
    { _id: 'b', n: null, tags: [], geo: { lat: -1 }, any: 'x', list: [], class: 'c' },
    { _id: 'c', n: 0.5, geo: { lat: 0, at: null }, any: { deep: [1] }, votes: Object.fromEntries(Array.from({ length: 1200 }, (_, n) => [`u${n}`, n])) },
  ]
  const db = foliodb.open(data)
  db.collection('docs').putMany(documents)
  db.close()
  const command = [path.join(PACKAGE, 'bin/folio.js'), 'schema', 'types', data, '-c', 'docs', '--lang', 'ts']
  const source = execFileSync(process.execPath, command, { encoding: 'utf8' })
  fs.writeFileSync(path.join(folder, 'docs.ts'), source)
  const check = (name, document) => {
    const text = `import type { Docs } from './docs'\nexport const docs: Docs[] = ${JSON.stringify(document)}\n`
    fs.writeFileSync(path.join(folder, name), text)
    const compilerOptions = { strict: true, noEmit: true, exactOptionalPropertyTypes: true, types: [], lib: ['es2023'] }
    fs.writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [name] }))
    return () => execFileSync(process.execPath, [TSC, '--project', folder], { encoding: 'utf8' })
  }
  assert.doesNotThrow(check('good.ts', documents), source)
  const [first] = documents
  for (const [name, wrong] of [['kind.ts', { ...first, n: 'text' }], ['nested.ts', { ...first, geo: { lat: 'x' } }], ['missing.ts', { ...first, geo: undefined }]]) {
    assert.throws(check(name, [wrong]), (error) => /error TS2(322|741)/.test(error.stdout), `${name}: ${source}`)
  }
})

function tsc(...args) {
  try {
    execFileSync(process.execPath, [TSC, ...args], { encoding: 'utf8' })
  } catch (error) {
    assert.fail(error.stdout)
  }
}
