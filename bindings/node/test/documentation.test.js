// The guide, the tours and the examples: every block runs, every claim holds.
'use strict'

const assert = require('node:assert/strict')
const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { test } = require('node:test')

const ROOT = path.join(__dirname, '../../..')
const BLOCKS = path.join(__dirname, 'blocks.js')
const EXAMPLES = path.join(ROOT, 'examples/node')
const SKIPPED = 77 // the exit status of an example that lacks a tool

/** A folder with the package and nothing else. */
function project(context) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'foliodb-project-'))
  context.after(() => fs.rmSync(folder, { recursive: true, force: true }))
  fs.mkdirSync(path.join(folder, 'node_modules'))
  fs.symlinkSync(path.join(__dirname, '..'), path.join(folder, 'node_modules/foliodb'), 'junction')
  return folder
}

function run(cwd, ...args) {
  return spawnSync(process.execPath, args, { cwd, encoding: 'utf8' })
}

for (const page of ['README.md', 'bindings/node/README.md', 'docs/guide/node.md', 'docs/guide/scale.md']) {
  test(page, (context) => {
    const { status, stdout, stderr } = run(project(context), BLOCKS, path.join(ROOT, page))
    assert.equal(status, 0, stderr)
    assert.match(stdout, /[1-9]\d* blocks, [1-9]\d* claims/)
  })
}

const examples = fs.readdirSync(EXAMPLES).filter((name) => name.endsWith('.mjs'))

for (const name of examples) {
  test(`examples/node/${name}`, (context) => {
    const folder = project(context)
    fs.copyFileSync(path.join(EXAMPLES, name), path.join(folder, name))
    const { status, stdout, stderr } = run(folder, name)
    if (status === SKIPPED) return context.skip(stderr.trim())
    assert.equal(status, 0, stderr)
    assert.equal(stdout, shown(path.join(EXAMPLES, name)))
  })
}

/** What an example says that it prints: the comment behind `Prints:`. */
function shown(file) {
  const [, block] = /^\/\/ Prints:\n\/\/\n((?:\/\/ {5}.*\n)+)/m.exec(fs.readFileSync(file, 'utf8'))
  return block.replace(/^\/\/ {5}/gm, '')
}

test('a false claim is found', (context) => {
  const folder = project(context)
  const page = path.join(folder, 'page.md')
  const found = (text) => {
    fs.writeFileSync(page, text)
    const { status, stdout, stderr } = run(folder, BLOCKS, page)
    return status === 0 ? stdout.trim() : stderr
  }
  assert.match(found("```js\nconst x = { a: 1 }\nx  // { a: 2 }\n```\n"), /page\.md:3: claims \{ a: 2 \}\n {4}but it is \{ a: 1 \}/)
  assert.match(found('```js\nthrow new Error("boom")\n```\n'), /boom/)
  assert.equal(found("```js\nawait 1  // 1\n[1, 'é', 3] // [1, ..., 3]\n```\n"), 'page.md: 1 blocks, 2 claims')
  assert.match(found('no blocks'), /has no blocks/)
})

test('there are examples, and the list of them is whole', () => {
  const list = fs.readFileSync(path.join(EXAMPLES, 'README.md'), 'utf8')
  assert.deepEqual([...list.matchAll(/^\| \[(\S+)\]/gm)].map(([, name]) => name).sort(), examples.sort())
  assert.ok(examples.length >= 3)
})
