#!/usr/bin/env node
// The command `folio`, which the package brings: all of it is in the native half. Nothing here
// may touch `process.stdout` or read input: both are the command's.
'use strict'

const { native } = require('../lib/native.js')

// Node has handlers of its own, which end the process before the command hears of a signal. A
// listener that comes and goes leaves the system's way behind.
for (const signal of ['SIGINT', 'SIGTERM']) {
  const listener = () => {}
  process.on(signal, listener)
  process.off(signal, listener)
}

process.exitCode = native.runCommand(['folio', ...process.argv.slice(2)])
