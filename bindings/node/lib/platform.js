// The names of the platforms that have a prebuilt native half.
'use strict'

/** The platforms that have a prebuilt package, by `platformName()`. */
const PLATFORMS = [
  'linux-x64-gnu',
  'linux-arm64-gnu',
  'darwin-x64',
  'darwin-arm64',
  'win32-x64-msvc',
  'win32-arm64-msvc',
]

/** `linux-x64-gnu` and the like: how the platform packages are named. */
function platformName() {
  const { platform, arch } = process
  if (platform === 'linux') return `linux-${arch}-${isMusl() ? 'musl' : 'gnu'}`
  if (platform === 'win32') return `win32-${arch}-msvc`
  return `${platform}-${arch}`
}

function isMusl() {
  const { header } = /** @type {any} */ (process.report.getReport())
  return !header.glibcVersionRuntime
}

module.exports = { PLATFORMS, platformName }
