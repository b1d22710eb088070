// The machine and the versions a run is taken with.
'use strict'

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { execFileSync } = require('node:child_process')

function describe() {
  return {
    cpu: os.cpus()[0]?.model ?? '',
    cores: os.availableParallelism(),
    memoryGib: Math.round((os.totalmem() / 2 ** 30) * 10) / 10,
    kernel: `${os.type()} ${os.release().split('-')[0]}`,
    node: process.version,
    v8: process.versions.v8,
    commit: commit(),
    loadAtEnd: os.loadavg()[0],
  }
}

function commit() {
  try {
    return execFileSync('git', ['rev-parse', '--short=10', 'HEAD'], { cwd: __dirname, encoding: 'utf8' }).trim()
  } catch {
    return ''
  }
}

/** The version of an installed package. */
function versionOf(name) {
  const file = path.join(__dirname, 'node_modules', name, 'package.json')
  return JSON.parse(fs.readFileSync(file, 'utf8')).version
}

module.exports = { describe, versionOf }
