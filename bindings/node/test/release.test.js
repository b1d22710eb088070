// What is published: the packages where there is nothing else, and what they hold.
'use strict'

const assert = require('node:assert/strict')
const { spawnSync } = require('node:child_process')
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
  assert.match(script('tour'), /README\.md: 1 blocks, 5 claims[^]*2 packages: installed in an empty project, toured/)
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

test('without the native half it is said which package is missing', { skip }, (context) => {
  const folder = scratch(context)
  fs.cpSync(path.join(STAGED, 'foliodb'), folder, { recursive: true })
  const { status, stderr } = spawnSync(process.execPath, ['-e', `require(${JSON.stringify(folder)})`], { encoding: 'utf8' })
  assert.equal(status, 1)
  assert.match(stderr, new RegExp(`install the package @foliodb/${platformName()}`))
})
