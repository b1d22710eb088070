// Runs the JavaScript blocks of Markdown files: what they claim must be so.
//
//   node blocks.js FILE…
//
// The blocks of a file run in order, as one module, in an empty folder, with the
// packages of the folder this is started in. A comment behind an expression is a
// claim: `users.get('ann')  // { _id: 'ann' }` must be what `util.inspect` makes of
// the value, in which `...` stands for anything and white space does not count. Needs
// nothing but Node, so that it runs where only the package is.
'use strict'

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const { inspect } = require('node:util')

const FENCE = /^```js\n([^]*?)^```$/gm
const CLAIM = /^(?!(?:const|let|import|export|for|if|else|while|try|throw|function|class|async|\/\/)\b|[\s}\])])(.+?);?\s+\/\/ (.+)$/

/** The module that a page's blocks make, each line of it where it stands in the page. */
function moduleOf(text) {
  const lines = Array(text.split('\n').length).fill('')
  let count = 0
  let claims = 0
  for (const match of text.matchAll(FENCE)) {
    const first = text.slice(0, match.index).split('\n').length
    for (const [index, line] of match[1].split('\n').entries()) {
      const claim = CLAIM.exec(line)
      if (claim) claims += 1
      lines[first + index] = claim
        ? `globalThis.claim(${first + index + 1}, ${JSON.stringify(claim[2])}, await (${claim[1]}));`
        : line
    }
    count += 1
  }
  return { code: lines.join('\n'), count, claims }
}

/** Whether a value is as claimed. */
function matches(value, claim) {
  const bare = (text) => text.replace(/\s/g, '')
  const shown = bare(inspect(value, { depth: 9, breakLength: Infinity, maxArrayLength: null }))
  const parts = bare(claim).split('...').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*')}$`).test(shown)
}

/** Runs the blocks of a page; answers how many there were, and how many claims. */
async function runPage(file) {
  const { code, count, claims } = moduleOf(fs.readFileSync(file, 'utf8'))
  if (count === 0) throw new Error(`${file} has no blocks`)
  const before = process.cwd()
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'foliodb-page-'))
  try {
    fs.symlinkSync(path.join(before, 'node_modules'), path.join(folder, 'node_modules'), 'junction')
    fs.writeFileSync(path.join(folder, 'page.mjs'), code)
    process.chdir(folder)
    globalThis.claim = (line, claim, value) => {
      if (!matches(value, claim)) throw new Error(`${path.basename(file)}:${line}: claims ${claim}\n    but it is ${inspect(value, { depth: 9 })}`)
    }
    await import(pathToFileURL(path.join(folder, 'page.mjs')).href)
  } finally {
    process.chdir(before)
    fs.rmSync(folder, { recursive: true, force: true })
  }
  return { count, claims }
}

async function main(files) {
  for (const file of files) {
    const { count, claims } = await runPage(path.resolve(file))
    console.log(`${path.basename(file)}: ${count} blocks, ${claims} claims`)
  }
}

if (require.main === module) {
  main(process.argv.slice(2)).catch((error) => {
    console.error(error)
    process.exitCode = 1
  })
}

module.exports = { runPage }
