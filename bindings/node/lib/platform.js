// The names of the platforms that have a prebuilt native half.
'use strict'

/** The platforms that have a prebuilt package, by `platformName()`. */
const PLATFORMS = [
  'linux-x64-gnu',
  'linux-arm64-gnu',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-x64',
  'darwin-arm64',
  'win32-x64-msvc',
  'win32-arm64-msvc',
]

/** The name of the platform package, such as `linux-x64-gnu`. */
function platformName() {
  const { platform, arch } = process
  if (platform === 'linux') return `linux-${arch}-${isMusl() ? 'musl' : 'gnu'}`
  if (platform === 'win32') return `win32-${arch}-msvc`
  return `${platform}-${arch}`
}

function isMusl() {
  const report = /** @type {any} */ (process.report)
  // Otherwise it resolves the names of all peers, which may take seconds.
  const { excludeNetwork } = report
  report.excludeNetwork = true
  const { header } = report.getReport()
  report.excludeNetwork = excludeNetwork
  return !header.glibcVersionRuntime
}

module.exports = { PLATFORMS, platformName }
