// Where values lead: from a row to the rows that it names, and to those that name it.

import { counted, h } from './dom'
import { line, type Members } from './json'
import { spoken, steps } from './paths'
import { server, type Fields, type Link } from './server'
import { address } from './state'
import type { Leads } from './tree'

/** The address of the row of a relation that has values in columns. */
function rowAddress(to: string, values: [string, string][]): string {
  const [first] = values
  if (values.length === 1 && first?.[0] === '_id') return address('document', { collection: to, id: first[1] })
  return address('row', { name: to, is: values.map((pair) => JSON.stringify(pair)) })
}

/** Where the value of a path of a relation leads. */
export function leadsOf(relation: string, { links }: Fields): Leads {
  const own = links.filter(({ from, columns }) => from === relation && columns.length === 1)
  const byPath = new Map(own.map((link) => [steps(link.columns[0]?.[0] ?? '').join('\n'), link]))
  return (path, value) => {
    const link = byPath.get(path.join('\n'))
    if (!link || value === null || typeof value === 'boolean') return undefined
    return rowAddress(link.to, [[link.columns[0]?.[1] ?? '', line(value)]])
  }
}

/** The rows that a row is named by, counted. */
export function backLinks(relation: string, { links }: Fields, row: Members): HTMLElement | null {
  const found = links.filter(({ to }) => to === relation).map((link) => backLink(link, row)).filter((item) => item !== null)
  return found.length === 0 ? null : h('ul', { class: 'back' }, ...found)
}

function backLink({ from, columns, is_declared }: Link, row: Members): HTMLElement | null {
  const tests = columns.map(([path, column]) => ({ column: path, test: 'is', value: row[column] ?? null }))
    .map((test) => ({ ...test, value: line(test.value), isNull: test.value === null }))
  if (tests.some(({ isNull }) => isNull)) return null
  const count = h('span', { class: 'soft' }, '…')
  const where = tests.map(({ column, test, value }) => JSON.stringify([column, test, value]))
  const window = { relation: from, tests, offset: 0, limit: 0, count: true }
  server.window(window).then((answer) => count.replaceChildren(counted(answer.count ?? 0)), () => count.replaceChildren('?'))
  const words = tests.map(({ column }) => spoken(column)).join(', ')
  return h('li', {}, h('a', { href: address('grid', { name: from, where }), dir: 'auto' }, `${from} · ${words}`), ' ', count, is_declared ? null : h('span', { class: 'soft guess', title: 'No schema says so: the examples of the path are ids of this collection.' }, 'by its examples'))
}
