// The plan of a statement as a picture: an operator a box, what it reads below it. EXPLAIN writes an
// operator per line, and what it reads indented below.

import { h, several } from './dom'

export interface Step {
  words: string
  /** The rows that the planner expects. */
  expected: number | undefined
  below: Step[]
}

const ADVICE = 'advice: '

/** The steps of the lines of EXPLAIN, and the indexes that it advises. */
export function steps(lines: string[]): { roots: Step[]; advice: string[] } {
  const roots: Step[] = []
  const open: { depth: number; step: Step }[] = []
  const advice = lines.filter((text) => text.startsWith(ADVICE)).map((text) => text.slice(ADVICE.length))
  for (const text of lines.filter((text) => !text.startsWith(ADVICE))) {
    const depth = text.length - text.trimStart().length
    const [, words = text.trim(), rows] = /^(.*) \(about ([\d,]+) rows?\)$/.exec(text.trim()) ?? []
    const step: Step = { words, expected: rows === undefined ? undefined : Number(rows.replaceAll(',', '')), below: [] }
    while (open.length > 0 && (open[open.length - 1]?.depth ?? 0) >= depth) open.pop()
    const parent = open[open.length - 1]
    if (parent) parent.step.below.push(step)
    else roots.push(step)
    open.push({ depth, step })
  }
  return { roots, advice }
}

const NOUNS = /^(hash \w+ join|merge \w+ join|loop \w+ join|look-up \w+ join|hash join|row count of|short path:|one row|working table|[a-z-]+)\b\s*/i

/** The picture. A bar says how many rows are expected, beside the others. */
export function plan(lines: string[]): HTMLElement {
  const { roots, advice } = steps(lines)
  const most = Math.max(1, ...roots.flatMap(all).map(({ expected }) => expected ?? 0))
  return h('div', { class: 'plan', tabindex: 0, role: 'group', 'aria-label': 'The plan' }, h('ul', {}, ...roots.map((step) => drawn(step, most))), advice.length === 0 ? null : hints(advice))
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

function drawn({ words, expected, below }: Step, most: number): HTMLElement {
  const name = NOUNS.exec(words)?.[0] ?? ''
  const rest = words.slice(name.length)
  const bar = h('i', {})
  bar.style.width = `${Math.max(3, (100 * (expected ?? 0)) / most)}%`
  const isWhole = /^(scan|row count of)/.test(words) && !/ by (key|index)| from /.test(words)
  return h('li', {},
    h('div', { class: isWhole ? 'step whole' : 'step' }, h('b', {}, name.trim() || words), name ? h('code', { dir: 'auto' }, rest) : null, expected === undefined ? null : h('span', { class: 'soft expected' }, `about ${several(expected, 'row')} `, h('span', { class: 'share', 'aria-hidden': 'true' }, bar))),
    below.length > 0 ? h('ul', {}, ...below.map((step) => drawn(step, most))) : null)
}
