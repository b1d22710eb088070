// What is published: the packages where there is nothing else, and what they hold.
'use strict'

const assert = require('node:assert/strict')
const { execFileSync, spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { test } = require('node:test')
const { PLATFORMS, platformName } = require('../lib/platform.js')
const { scratch } = require('./scratch.js')

const ROOT = path.join(__dirname, '../../..')
const STAGED = path.join(ROOT, 'build/npm')
const skip = process.platform === 'win32' ? 'the script is for a Unix shell' : false

function script(...args) {
  const { status, stdout, stderr } = spawnSync(path.join(ROOT, 'scripts/node'), args, { encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
  return stdout
}

test('the packages run where there is no compiler and no registry', { skip }, () => {
  script('pack')
  const said = script('tour', 'README.md', 'docs/shell.md')
  assert.match(said, /README\.md: 1 blocks, 5 claims[^]*2 packages: installed in an empty project, toured/)
  // The command that they bring prints what the pages say.
  assert.match(said, /^console: \d\d passed, 0 failed$/m)
})

test('what the packages hold', { skip }, () => {
  const manifest = (name) => JSON.parse(fs.readFileSync(path.join(STAGED, name, 'package.json'), 'utf8'))
  const whole = manifest('foliodb')
  const native = manifest(platformName())
  assert.deepEqual(Object.keys(whole.optionalDependencies), PLATFORMS.map((name) => `@foliodb/${name}`))
  for (const { scripts, dependencies, devDependencies } of [whole, native]) {
    assert.deepEqual([scripts, dependencies, devDependencies], [undefined, undefined, undefined])
  }
  assert.deepEqual([native.name, native.version], [`@foliodb/${platformName()}`, whole.version])
  assert.deepEqual([native.os, native.cpu], [[process.platform], [process.arch]])
  for (const file of [whole.main, whole.types, whole.exports['./zds'].types, 'LICENSE-MIT', 'README.md']) {
    assert.ok(fs.existsSync(path.join(STAGED, 'foliodb', file)), file)
  }
  assert.equal(whole.version, spawnSync(path.join(ROOT, 'scripts/version'), { encoding: 'utf8' }).stdout.trim())
})

test('what the packed files hold and say', { skip }, () => {
  const { version } = require('../package.json')
  for (const name of ['foliodb', `foliodb-${platformName()}`]) {
    const file = path.join(ROOT, `build/dist/${name}-${version}.tgz`)
    const tar = (mode, ...names) => execFileSync('tar', [mode, file, ...names], { encoding: 'utf8' })
    const files = tar('-tzf').split('\n')
    for (const license of ['LICENSE-APACHE', 'LICENSE-MIT', 'README.md']) assert.ok(files.includes(`package/${license}`), `${name}: ${license}`)
    const packed = JSON.parse(tar('-xzOf', 'package/package.json'))
    assert.equal(packed.license, 'Apache-2.0 OR MIT')
    for (const key of ['author', 'homepage', 'bugs', 'description']) assert.ok(packed[key], `${name}: ${key}`)
    assert.match(packed.repository.url, /^git\+https:.*\.git$/)
    if (name !== 'foliodb') continue
    // One command: `npx foliodb` runs it whatever its name.
    assert.deepEqual(packed.bin, { folio: 'bin/folio.js' })
    assert.ok(packed.keywords.length > 5)
    assert.match(tar('-tvzf'), /^-rwxr-xr-x.* package\/bin\/folio\.js$/m)
  }
})

test('without the native half it is said which package is missing', { skip }, (context) => {
  const folder = scratch(context)
  fs.cpSync(path.join(STAGED, 'foliodb'), folder, { recursive: true })
  const { status, stderr } = spawnSync(process.execPath, ['-e', `require(${JSON.stringify(folder)})`], { encoding: 'utf8' })
  assert.equal(status, 1)
  assert.match(stderr, new RegExp(`install the package @foliodb/${platformName()}`))
})
