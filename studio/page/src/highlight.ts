// The words of a statement in colours, and the part of it that is wrong.

import { h } from './dom'

const TOKEN = /(--[^\n]*|\/\*[^]*?(?:\*\/|$))|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|\b(\d+(?:\.\d+)?)\b|([A-Za-z_]\w*)/g

export const WORDS = new Set(
  `select from where group by having order limit offset as and or not in is null like ilike between case when then else end join left right
  full inner outer cross on using union all distinct except intersect with recursive insert into values update set delete create table view index unique
  drop alter add primary key references default check returning explain analyze asc desc cast true false exists
  grab mutate if copy to describe show pragma begin commit rollback link`.split(/\s+/),
)

/** The text, its tokens in elements; what is between the two offsets is marked as wrong. */
export function highlight(text: string, wrong: [number, number] | null): Node[] {
  const nodes: Node[] = []
  const push = (start: number, end: number, name: string) => {
    const cuts = [start, end, ...(wrong ?? [])].filter((cut) => cut >= start && cut <= end).sort((one, other) => one - other)
    for (let place = 0; place + 1 < cuts.length; place++) {
      const [from, to] = [cuts[place] ?? 0, cuts[place + 1] ?? 0]
      if (from === to) continue
      const isWrong = wrong !== null && from >= wrong[0] && to <= wrong[1]
      nodes.push(h('span', { class: `${name}${isWrong ? ' wrong' : ''}` }, text.slice(from, to)))
    }
  }
  let last = 0
  for (const match of text.matchAll(TOKEN)) {
    push(last, match.index, '')
    const [word, comment, string, name, number] = match
    last = match.index + word.length
    const kind = comment ? 'comment' : string ? 'string' : name ? 'name' : number ? 'number' : WORDS.has(word.toLowerCase()) ? 'word' : ''
    push(match.index, last, kind)
  }
  push(last, text.length, '')
  return nodes
}

/** The offsets of a place by lines and columns, which count from 1 in characters. */
export function offsets(text: string, [line, column, endLine, endColumn]: [number, number, number, number]): [number, number] {
  const lines = text.split('\n')
  const offset = (line: number, column: number) => {
    const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0)
    return before + [...(lines[line - 1] ?? '')].slice(0, column - 1).join('').length
  }
  const start = offset(line, column)
  return [start, Math.max(start + 1, offset(endLine, endColumn))]
}
