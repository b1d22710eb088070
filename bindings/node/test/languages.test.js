// Runs the files under `conformance/sql` and `conformance/ziql`. What they mean stands
// in `conformance/README.md` and in `ziql/script.rs`; this is the runner of Node.
'use strict'

const assert = require('node:assert/strict')
const fs = require('node:fs')
const path = require('node:path')
const { test } = require('node:test')
const foliodb = require('foliodb')
const { scratch } = require('./scratch.js')

const FOLDER = path.join(__dirname, '../../../conformance')

function files(folder, extension) {
  const names = fs.readdirSync(path.join(FOLDER, folder)).filter((name) => name.endsWith(extension))
  return names.sort().map((name) => path.join(FOLDER, folder, name))
}

/** The records of an `.slt` file. */
function records(file) {
  const found = []
  let line = 1
  let skipped = false
  for (const block of fs.readFileSync(file, 'utf8').split(/\n\n/)) {
    const first = line
    line += block.split('\n').length + 1
    const lines = block.split('\n').filter((text) => !text.startsWith('#'))
    while (/^(skipif|onlyif) /.test(lines[0] ?? '')) {
      const [word, name] = lines.shift().split(' ')
      skipped ||= (word === 'skipif') === ['foliodb', 'postgresql'].includes(name)
    }
    if (!lines[0]) continue
    if (!skipped) {
      const end = lines.includes('----') ? lines.indexOf('----') : lines.length
      found.push({ line: first, words: lines[0].split(' '), sql: lines.slice(1, end).join('\n'), expected: lines.slice(end + 1).filter((text) => text !== '') })
    }
    skipped = false
  }
  return found
}

/** A value as the files write it, as far as JavaScript tells types apart. */
function shown(value, type, kind) {
  if (value === null) return 'NULL'
  if (typeof value === 'boolean') return kind === 'I' ? String(Number(value)) : String(value)
  if (kind === 'R') return Number(value).toFixed(3)
  if (kind === 'I' && typeof value === 'number') return String(Math.trunc(value))
  if (kind === 'I' && type.startsWith('numeric')) return value.split('.')[0]
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
  const text = type.startsWith('timestamp') ? value.replace('T', ' ').replace('Z', '+00') : typeof value === 'object' ? JSON.stringify(value) : String(value)
  return text.replaceAll(/[\n\t]/g, ' ') || '(empty)'
}

/** What is wrong with a record, if anything. */
function problemOf(session, { words, sql, expected }) {
  let answer, rows
  try {
    answer = session.sql(sql)
    rows = answer.toArray()
  } catch (error) {
    if (!(error instanceof foliodb.FolioError)) throw error
    return words[1] === 'error' && error.message.includes(expected.join('\n')) ? null : `failed: ${error.message}`
  }
  if (words[1] === 'error') return 'did not fail'
  if (words[0] === 'statement') return words[1] === 'count' && String(answer.count) !== words[2] ? `changed ${answer.count}` : null
  if (answer.columns.length !== words[1].length) return `${answer.columns.length} columns`
  // An object has one member of a name; how floats and JSON are spelled is another language's.
  const isOwn = new Set(answer.columns).size < answer.columns.length || answer.types.some((type) => /json|double|real|\[\]|struct/.test(type))
  if (isOwn) return rows.length === expected.length ? null : `${rows.length} rows`
  const found = rows.map((row) => answer.columns.map((name, index) => shown(row[name], answer.types[index], words[1][index])).join('\t'))
  const wanted = [...expected]
  if (words[2] === 'rowsort') [found, wanted].forEach((lines) => lines.sort())
  return found.join('\n') === wanted.join('\n') ? null : `answered\n${found.join('\n')}`
}

for (const file of files('sql', '.slt')) {
  test(`sql ${path.basename(file)}`, (context) => {
    const db = foliodb.open(scratch(context), { durability: 'none' })
    const session = db.session()
    const all = records(file)
    assert.ok(all.length > 5)
    for (const record of all) {
      const problem = problemOf(session, record)
      assert.equal(problem, null, `${file}:${record.line}: ${record.sql}\n${problem}`)
    }
    db.close()
  })
}

/** The sections of a script of ZiQL. */
function sections(file) {
  const found = []
  let params = {}
  fs.readFileSync(file, 'utf8').split('\n').forEach((line, index) => {
    const steps = found.at(-1)?.steps
    const step = (kind, text, given) => steps.push({ line: index + 1, kind, text, params: given, expected: [] })
    if (line.startsWith('== ')) found.push({ name: line.slice(3), steps: [] })
    else if (line.startsWith('$ ')) params[line.slice(2, line.indexOf('='))] = JSON.parse(line.slice(line.indexOf('=') + 1))
    else if (/^(schema|show)/.test(line)) step(line, '')
    else if (line.startsWith('| ')) steps.at(-1).text += `${line.slice(2)}\n`
    else if (line.startsWith('> ')) steps.at(-1).text += `\n${line.slice(2)}`
    else if (line.startsWith('? ')) [step('ziql', line.slice(2), params), (params = {})]
    else if (line.startsWith('sql ')) step('sql', line.slice(4))
    else if (/^[=~!:]( |$)/.test(line)) steps.at(-1).expected.push(line)
  })
  return found
}

/** The answer lines of a step. */
function answered(db, { kind, text, params, expected }) {
  try {
    if (kind.startsWith('schema')) return db.applySchema(text, { allowDrop: kind.endsWith('drop') }).map((line) => `: ${line}`)
    if (kind === 'show') return db.schema().split('\n').slice(0, -1).map((line) => `: ${line}`)
    const answer = kind === 'sql' ? db.sql(text) : db.ziql(text, params)
    if (answer.columns.length === 0) return []
    const rows = answer.toArray()
    // JSON has numbers for what is text here, because a number of JavaScript is not exact.
    const decimals = answer.columns.filter((_, index) => answer.types[index].startsWith('numeric'))
    for (const row of rows) for (const name of decimals) if (row[name] !== null) row[name] = Number(row[name])
    return expected.some((line) => line.startsWith('~ ')) ? [`~ ${rows.length}`] : [`= ${written(rows)}`]
  } catch (error) {
    if (!(error instanceof foliodb.FolioError)) throw error
    return error.message.split('\n').map((line) => `! ${line}`)
  }
}

/** JSON in which integers, bigints and decimals are spelled alike. */
function written(rows) {
  return JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? Number(value) : value))
}

function normal(line) {
  return line.startsWith('= ') ? `= ${written(JSON.parse(line.slice(2)))}` : line
}

for (const file of files('ziql', '.txt')) {
  for (const { name, steps } of sections(file)) {
    test(`ziql ${path.basename(file)}: ${name}`, (context) => {
      const db = foliodb.open(scratch(context), { durability: 'none' })
      for (const step of steps) {
        assert.deepEqual(answered(db, step).map(normal), step.expected.map(normal), `line ${step.line}: ${step.text}`)
      }
      db.close()
    })
  }
}
