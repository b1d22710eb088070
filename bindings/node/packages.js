// Lays out what is published: the package, the same for everybody, and a package of
// this platform that holds the native half and nothing else.
//
//   node packages.js TARGET      folders `foliodb` and `PLATFORM` under TARGET
//
// The first depends on the second of every platform, optionally: npm installs the
// one whose `os`, `cpu` and `libc` fit, from its registry or mirror like any other
// package. There is no script that runs at installation.
'use strict'

const fs = require('node:fs')
const path = require('node:path')
const { PLATFORMS, platformName } = require('./lib/platform.js')

const ROOT = path.join(__dirname, '../..')
const LICENSES = ['LICENSE-APACHE', 'LICENSE-MIT']

function main(target) {
  if (!target) throw new Error('say where the packages go')
  layOutPackage(path.join(target, 'foliodb'))
  layOutPlatform(path.join(target, platformName()), platformName())
}

/** Everything that is written in JavaScript. */
function layOutPackage(folder) {
  const { devDependencies, ...manifest } = ownManifest()
  const optionalDependencies = Object.fromEntries(PLATFORMS.map((name) => [`@foliodb/${name}`, manifest.version]))
  fs.mkdirSync(folder, { recursive: true })
  for (const name of ['bin', 'lib', 'types']) fs.cpSync(path.join(__dirname, name), path.join(folder, name), { recursive: true })
  fs.copyFileSync(path.join(__dirname, 'README.md'), path.join(folder, 'README.md'))
  finish(folder, { ...manifest, optionalDependencies })
}

/** The native half. */
function layOutPlatform(folder, name) {
  const { version, author, license, homepage, bugs, repository, engines } = ownManifest()
  const [os, cpu, end] = name.split('-')
  const main = `foliodb.${name}.node`
  fs.mkdirSync(folder, { recursive: true })
  fs.copyFileSync(path.join(__dirname, main), path.join(folder, main))
  fs.writeFileSync(path.join(folder, 'README.md'), `# @foliodb/${name}\n\nThe native half of the package \`foliodb\` for ${name}. Install \`foliodb\`; npm picks this by itself.\n`)
  const description = `The native half of foliodb for ${name}`
  const libc = os === 'linux' ? { libc: [end === 'gnu' ? 'glibc' : end] } : {}
  const manifest = { name: `@foliodb/${name}`, version, description, author, license, homepage, bugs, repository, engines, os: [os], cpu: [cpu], ...libc, main, files: [main, ...LICENSES] }
  finish(folder, manifest)
}

/** @param {object} manifest */
function finish(folder, manifest) {
  for (const name of LICENSES) fs.copyFileSync(path.join(ROOT, name), path.join(folder, name))
  fs.writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

function ownManifest() {
  return JSON.parse(fs.readFileSync(path.join(__dirname, 'package.json'), 'utf8'))
}

main(process.argv[2])
