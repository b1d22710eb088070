// The plan of a statement as a picture: an operator a box, what it reads below it. EXPLAIN writes an
// operator per line, and what it reads indented below.

import { counted, h, several, timed } from './dom'

export interface Step {
  words: string
  /** The rows that the planner expects. */
  expected: number | undefined
  /** What it did, in a plan that was run: its rows, and its own time in milliseconds. */
  did: { rows: number; time: number } | undefined
  below: Step[]
}

const ADVICE = 'advice: '
const STEP = /^(.*?)(?: \(about ([\d,]+) rows?\))?(?: \(([\d,]+) rows? in ([\d.]+) ms\))?$/
/** The last line of EXPLAIN ANALYZE. */
const SUM = /^(\d+) rows in ([\d.]+) ms$/

const number = (text: string) => Number(text.replaceAll(',', ''))

/** The steps of the lines of EXPLAIN, the indexes that it advises, and how long all steps took. */
export function steps(lines: string[]): { roots: Step[]; advice: string[]; time: number | undefined } {
  const roots: Step[] = []
  const open: { depth: number; step: Step }[] = []
  const advice = lines.filter((text) => text.startsWith(ADVICE)).map((text) => text.slice(ADVICE.length))
  const sum = lines.map((text) => SUM.exec(text)?.[2]).find((time) => time !== undefined)
  for (const text of lines.filter((text) => !text.startsWith(ADVICE) && !SUM.test(text))) {
    const depth = text.length - text.trimStart().length
    const [, words = text.trim(), about, rows, time] = STEP.exec(text.trim()) ?? []
    const did = rows === undefined || time === undefined ? undefined : { rows: number(rows), time: Number(time) }
    const step: Step = { words, expected: about === undefined ? undefined : number(about), did, below: [] }
    while (open.length > 0 && (open[open.length - 1]?.depth ?? 0) >= depth) open.pop()
    const parent = open[open.length - 1]
    if (parent) parent.step.below.push(step)
    else roots.push(step)
    open.push({ depth, step })
  }
  return { roots, advice, time: sum === undefined ? undefined : Number(sum) }
}

const NOUNS = /^(hash \w+ join|merge \w+ join|loop \w+ join|look-up \w+ join|hash join|row count of|short path:|one row|working table|[a-z-]+)\b\s*/i

/** The picture. A bar says how many rows are expected, beside the others; of a plan that was run, which
 * part of the time a step took. `measure` runs it. */
export function plan(lines: string[], measure: (() => void) | undefined): HTMLElement {
  const { roots, advice, time } = steps(lines)
  const every = roots.flatMap(all)
  const most = Math.max(1, ...every.map(({ expected }) => expected ?? 0))
  const spent = every.reduce((sum, { did }) => sum + (did?.time ?? 0), 0)
  const told = time !== undefined ? h('p', { class: 'soft' }, `It ran in ${timed(time)}. The time of a step is its own; steps that run on several threads add theirs up.`) : measure ? h('p', {}, h('button', { class: 'plain measure', onclick: measure }, 'Run it and measure each step')) : null
  return h('div', { class: 'plan', tabindex: 0, role: 'group', 'aria-label': 'The plan' }, told, h('ul', {}, ...roots.map((step) => drawn(step, most, spent))), advice.length === 0 ? null : hints(advice))
}

/** Statements that would make it faster, ready to copy. */
function hints(advice: string[]): HTMLElement {
  const hint = (text: string) => {
    const copy = h('button', { class: 'plain', onclick: () => void navigator.clipboard.writeText(text).then(() => (copy.textContent = 'Copied')) }, 'Copy')
    return h('li', {}, h('code', { dir: 'auto' }, text), copy)
  }
  return h('section', { class: 'advice' }, h('h2', {}, 'An index would let it read less'), h('ul', {}, ...advice.map(hint)))
}

function all(step: Step): Step[] {
  return [step, ...step.below.flatMap(all)]
}

/** Which part of the time a step took, redder the more. */
function share(time: number, spent: number): HTMLElement {
  const part = spent > 0 ? time / spent : 0
  const bar = h('i', {})
  bar.style.width = `${100 * part}%`
  bar.style.setProperty('--heat', `${Math.round(100 * part)}%`)
  return h('span', { class: 'soft took' }, `${timed(time)} · ${Math.round(100 * part)} % `, h('span', { class: 'share', 'aria-hidden': 'true' }, bar))
}

function drawn({ words, expected, did, below }: Step, most: number, spent: number): HTMLElement {
  const name = NOUNS.exec(words)?.[0] ?? ''
  const rest = words.slice(name.length)
  const bar = h('i', {})
  bar.style.width = `${Math.max(3, (100 * (expected ?? 0)) / most)}%`
  const figures = [
    did && h('span', { class: 'soft did' }, several(did.rows, 'row')),
    expected !== undefined && (did ? h('span', { class: 'soft expected' }, `about ${counted(expected)} expected`) : h('span', { class: 'soft expected' }, `about ${several(expected, 'row')} `, h('span', { class: 'share', 'aria-hidden': 'true' }, bar))),
    did && share(did.time, spent),
  ].filter((figure) => figure !== undefined && figure !== false)
  const isWhole = /^(scan|row count of)/.test(words) && !/ by (key|index)| from /.test(words)
  return h('li', {},
    h('div', { class: isWhole ? 'step whole' : 'step' }, h('b', {}, name.trim() || words), name && rest ? h('code', { dir: 'auto' }, rest) : null, figures.length > 0 ? h('div', { class: 'figures' }, ...figures) : null),
    below.length > 0 ? h('ul', {}, ...below.map((step) => drawn(step, most, spent))) : null)
}
