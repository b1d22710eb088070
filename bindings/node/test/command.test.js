// The command `folio` that the package brings: how its process differs from that of a program.
// What the command does is tested elsewhere; `scripts/test` runs those tests with this script, too.
'use strict'

const assert = require('node:assert/strict')
const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { test } = require('node:test')
const { setTimeout: sleep } = require('node:timers/promises')
const { scratch } = require('./scratch.js')

const SCRIPT = path.join(__dirname, '../bin/folio.js')
const ENDLESS = 'with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n'

function run(cwd, ...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { cwd, encoding: 'utf8' })
  return [status, stdout + stderr]
}

test('exit codes and output are those of the command', (context) => {
  const cwd = path.dirname(scratch(context))
  assert.deepEqual(run(cwd, 'put', 'db', '-c', 't', 'a', '--data', '{"n": 1}'), [0, 'inserted a\n'])
  assert.deepEqual(run(cwd, 'get', 'db', 'a'), [0, '{"_id":"a","n":1}\n'])
  assert.equal(run(cwd, 'get', 'db', 'b')[0], 1)
  assert.equal(run(cwd, 'gett', 'db', 'a')[0], 2)
})

test('Ctrl-C reaches the command, not Node', { skip: process.platform === 'linux' ? false : '/proc says how far it is' }, async (context) => {
  const child = spawn(process.execPath, [SCRIPT, 'sql', ':memory:', ENDLESS], { cwd: path.dirname(scratch(context)) })
  while (!fs.readFileSync(`/proc/${child.pid}/maps`, 'utf8').includes('foliodb.')) await sleep(10)
  await sleep(1000) // it computes now
  let errors = ''
  child.stderr.on('data', (text) => { errors += text })
  child.kill('SIGINT')
  assert.deepEqual(await once(child, 'close'), [130, null])
  assert.equal(errors, 'error: the statement was cancelled\n')
})
