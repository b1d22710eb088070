// An evaluation that can be interrupted, eight questions at a time, and its failures
// inspected with jq.
//
// Each verdict is stored as it is reached. Started again, the run asks only for what
// is missing; afterwards every tool that reads JSON Lines reads the verdicts.
//
// Prints:
//
//     interrupted after 40 of 120 questions
//     resumed: 80 questions to go
//     accuracy 0.75
//     failures by kind, with jq: {"add":10,"multiply":10,"subtract":10}
//     $ jq -r 'select(.passed | not) | .question' …/data.jsonl | sort | head -2
//     103 - 1 = ?
//     107 * 2 = ?

import { spawnSync } from 'node:child_process'
import { open } from 'foliodb'

const KINDS = {
  add: ['+', (left, right) => left + right],
  subtract: ['-', (left, right) => left - right],
  multiply: ['*', (left, right) => left * right],
}
const VERDICTS = 'evaluation/collections/verdicts/meta/data.jsonl'
const AT_ONCE = 8

/** 120 small sums, by id. */
function* questions() {
  for (let number = 0; number < 120; number++) {
    const kind = Object.keys(KINDS)[number % 3]
    const [sign, compute] = KINDS[kind]
    const right = number % 3 || 3
    const question = `${number} ${sign} ${right} = ?`
    yield [`q${String(number).padStart(3, '0')}`, { kind, question, expected: compute(number, right) }]
  }
}

/** Stands for a model: slow, and wrong every fourth time. */
async function model({ _id, expected }) {
  await new Promise((resolve) => setTimeout(resolve, 1))
  return Number(_id.slice(1)) % 4 === 3 ? expected + 1 : expected
}

/** Asks what was not asked yet, some at once; answers how many questions that were. */
async function evaluate(db, limit = Infinity) {
  const verdicts = db.collection('verdicts')
  const missing = [...db.collection('questions').scan()].filter(({ _id }) => !verdicts.has(_id)).slice(0, limit)
  const count = missing.length
  const worker = async () => {
    for (let asked = missing.shift(); asked; asked = missing.shift()) {
      const { _id, expected, ...question } = asked
      const given = await model(asked)
      await verdicts.putAsync(_id, { ...question, expected, given, passed: given === expected })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return count
}

/** What jq makes of the verdicts. */
function jq(...words) {
  return spawnSync('jq', [...words, VERDICTS], { encoding: 'utf8' }).stdout.trim()
}

if (spawnSync('jq', ['--version']).error) {
  console.error('SKIPPED: jq is not installed')
  process.exit(77)
}

let db = open('evaluation')
db.collection('questions').putMany(questions())
console.log(`interrupted after ${await evaluate(db, 40)} of 120 questions`)
db.close()

db = open('evaluation')
console.log(`resumed: ${await evaluate(db)} questions to go`)
db.close() // on the disk, for everybody to read

const verdicts = open('evaluation', { mode: 'r' }).collection('verdicts')
const passed = [...verdicts.scan({ fields: ['passed'] })].filter((verdict) => verdict.passed)
console.log(`accuracy ${passed.length / verdicts.count()}`)
const count = 'map(select(.passed | not)) | group_by(.kind) | map({(.[0].kind): length}) | add'
console.log(`failures by kind, with jq: ${jq('-sc', count)}`)
const filter = 'select(.passed | not) | .question'
console.log(`$ jq -r '${filter}' …/data.jsonl | sort | head -2`)
console.log(jq('-r', filter).split('\n').sort().slice(0, 2).join('\n'))
