// Reads the scripts under `conformance/`; their format is described there.
'use strict'

const fs = require('node:fs')
const path = require('node:path')

const FOLDER = path.join(__dirname, '../../../conformance/documents')

/**
 * One operation with what must come of it, as answer lines.
 * @typedef {{ line: number, operation: string, args: any[], text?: string, expected: string[] }} Step
 */

/** All sections of all scripts: the script's name, the section's, its needs and steps. */
function sections() {
  const names = fs.readdirSync(FOLDER).filter((name) => name.endsWith('.txt')).sort()
  return names.flatMap((script) => parse(script, fs.readFileSync(path.join(FOLDER, script), 'utf8')))
}

/**
 * @param {string} script
 * @param {string} text
 */
function parse(script, text) {
  const found = []
  for (const [index, line] of text.split('\n').entries()) {
    const rest = line.slice(1).replace(/^ /, '')
    const steps = found.at(-1)?.steps
    if (line.startsWith('== ')) {
      const [, name, needs] = /^== (.*?)(?: \[(.*)\])?$/.exec(line)
      found.push({ script, name, needs: needs ? needs.split(' ') : [], steps: [] })
    } else if (line.startsWith('|')) steps.at(-1).text = `${steps.at(-1).text ?? ''}${rest}\n`
    else if (line.startsWith('=')) steps.at(-1).expected.push(valueLine(JSON.parse(rest)))
    else if (/^[:!]/.test(line)) steps.at(-1).expected.push(`${line[0]} ${rest}`)
    else if (/^[a-z]/.test(line)) steps.push({ line: index + 1, ...operation(line), expected: [] })
    else if (line !== '' && !line.startsWith('#')) throw new Error(`${script}:${index + 1}: what is this line?`)
  }
  return found
}

/** @param {string} line */
function operation(line) {
  const [, name, args] = /^(\w+) ?(.*)$/.exec(line)
  return { operation: name, args: JSON.parse(args || '[]') }
}

/** A value as an answer line; the order of fields counts. */
function valueLine(value) {
  return `= ${JSON.stringify(value)}`
}

module.exports = { sections, valueLine }
