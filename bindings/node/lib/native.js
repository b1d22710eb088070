// Finds the native half: beside this package when it was built from source, or
// in the platform package that npm installed with it. Nothing is downloaded or
// compiled at installation.
'use strict'

const { existsSync } = require('node:fs')
const { join } = require('node:path')
const { PLATFORMS, platformName } = require('./platform.js')

/** Loads the native half for this platform. */
function load() {
  const name = platformName()
  const built = join(__dirname, '..', `foliodb.${name}.node`)
  if (existsSync(built)) return require(built)
  try {
    return require(`@foliodb/${name}`)
  } catch (cause) {
    const known = PLATFORMS.includes(name)
      ? `install the package @foliodb/${name} (npm leaves it out with --omit=optional)`
      : `there is no prebuilt package for ${name}; build foliodb from source`
    throw new Error(`foliodb has no native part for this platform: ${known}`, { cause })
  }
}

const native = load()

// The end of a process flushes all open databases: the last statement, `process.exit` and an
// uncaught error run this. For a signal without a listener the native half flushes
// (`src/signal.rs`).
process.on('exit', () => {
  try {
    for (const notice of native.flushAll()) console.error(`foliodb: ${notice}`)
  } catch (error) {
    console.error(`foliodb: the last writes were not flushed: ${/** @type {Error} */ (error).message}`)
    process.exitCode ||= 1
  }
})

module.exports = { native }
