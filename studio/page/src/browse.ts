// The grid of a relation: filters, sorting, and the row that is opened.

import { counted, fill, h, several, timed } from './dom'
import { Grid } from './grid'
import { parse, type Json } from './json'
import { empty } from './overview'
import { server, TESTS, type Column, type Order, type Test } from './server'
import { go, state } from './state'
import { tree } from './tree'

const FIRST = 200

/** What the address says about the grid. */
interface View {
  name: string
  tests: Test[]
  order: Order[]
}

function view(): View {
  const { get, all } = state()
  const tests = all('where').map((text) => {
    const [column = '', test = '', value = ''] = JSON.parse(text) as string[]
    return { column, test, value }
  })
  const order = all('sort').map((text) => ({ column: text.replace(/^-/, ''), descending: text.startsWith('-') }))
  return { name: get('name'), tests, order }
}

function show({ name, tests, order }: View): void {
  const where = tests.map(({ column, test, value }) => JSON.stringify([column, test, value]))
  const sort = order.map(({ column, descending }) => (descending ? '-' : '') + column)
  go('grid', { name, where, sort })
}

export async function browse(main: HTMLElement): Promise<void> {
  const now = view()
  const asked = { relation: now.name, tests: now.tests, order: now.order }
  const answer = await server.window({ ...asked, offset: 0, limit: FIRST, count: true })
  const [columns, rows, count] = [answer.columns ?? [], answer.rows ?? [], answer.count ?? 0]
  const detail = h('aside', { class: 'detail', hidden: true, 'aria-label': 'The row' })
  const sort = (column: string) => {
    const old = now.order.find((key) => key.column === column)
    show({ ...now, order: old?.descending ? [] : [{ column, descending: old !== undefined }] })
  }
  const load = async (offset: number, limit: number, signal: AbortSignal) => (await server.window({ ...asked, offset, limit }, signal)).rows ?? []
  const open = (row: Json[], place: number) => openRow(detail, now.name, columns, row, place)
  const grid = new Grid({ count, columns, first: rows, load, open, sort, order: now.order }, now.name)
  const nothing = now.tests.length > 0 ? empty('No row passes', 'Remove a filter above to see more.') : empty('There are no rows', 'They appear here once something is stored.')
  fill(
    main,
    h('div', { class: 'browse' },
      h('div', { class: 'tools' },
        h('h1', { dir: 'auto' }, now.name),
        ...now.tests.map((test) => chip(now, test)),
        adder(now, columns),
      ),
      h('div', { class: 'split' }, count > 0 ? grid.element : nothing, detail),
      h('p', { class: 'status', role: 'status' }, `${several(count, 'row')} · ${several(columns.length, 'column')} · ${timed(answer.ms)}`),
    ),
  )
}

function chip(now: View, test: Test): HTMLElement {
  const words = `${test.column} ${TESTS[test.test] ?? test.test} ${test.value}`.trim()
  const remove = () => show({ ...now, tests: now.tests.filter((other) => other !== test) })
  return h('span', { class: 'chip' }, h('span', { dir: 'auto' }, words), h('button', { onclick: remove, 'aria-label': `remove the filter ${words}` }, '×'))
}

/** The form that adds a filter. */
function adder(now: View, columns: Column[]): HTMLElement {
  const column = h('select', { 'aria-label': 'Column' }, ...columns.map(({ name }) => h('option', {}, name)))
  const test = h('select', { 'aria-label': 'Test' }, ...Object.entries(TESTS).map(([name, words]) => h('option', { value: name }, words)))
  const value = h('input', { 'aria-label': 'Value', placeholder: 'value' })
  test.addEventListener('change', () => (value.hidden = ['null', 'some'].includes(test.value)))
  const add = (event: Event) => {
    event.preventDefault()
    const text = value.hidden ? '' : value.value
    show({ ...now, tests: [...now.tests, { column: column.value, test: test.value, value: text }] })
  }
  return h('form', { class: 'adder', onsubmit: add }, column, test, value, h('button', { class: 'plain' }, 'Filter'))
}

async function openRow(detail: HTMLElement, relation: string, columns: Column[], row: Json[], place: number): Promise<void> {
  const id = columns[0]?.name === '_id' ? row[0] : undefined
  const members = Object.fromEntries(columns.map(({ name }, column) => [name, row[column] ?? null]))
  const close = () => (detail.hidden = true)
  const head = (title: string) => h('div', { class: 'title' }, h('h2', { dir: 'auto' }, title), h('button', { class: 'plain', onclick: close, 'aria-label': 'close' }, '×'))
  detail.hidden = false
  if (typeof id !== 'string') {
    fill(detail, head(`Row ${counted(place + 1)}`), tree(members))
    return
  }
  fill(detail, head(id), tree(members))
  const { line } = await server.document(relation, id)
  if (line === null) return
  fill(detail, head(id), ...lineAndTree(line, 'h3'), h('p', {}, h('a', { href: `#/document?${new URLSearchParams({ collection: relation, id })}` }, 'Open as a page')))
}

/** A line as it stands in the file, and the tree of it. */
function lineAndTree(line: string, heading: 'h2' | 'h3'): HTMLElement[] {
  return [
    h(heading, { class: 'part' }, 'Members'), tree(parse(line)),
    h(heading, { class: 'part' }, 'Line'), h('pre', { class: 'line', tabindex: 0, dir: 'auto', 'aria-label': 'the line in the file' }, line.slice(0, 20_000) + (line.length > 20_000 ? '…' : '')),
  ]
}

/** The page of one document. */
export async function documentPage(main: HTMLElement): Promise<void> {
  const [collection, id] = [state().get('collection'), state().get('id')]
  const { line } = await server.document(collection, id)
  const back = h('a', { href: `#/grid?${new URLSearchParams({ name: collection })}`, dir: 'auto' }, collection)
  if (line === null) {
    fill(main, h('div', { class: 'page' }, empty('There is no such document', `${collection} has no document ${id}.`), h('p', {}, back)))
    return
  }
  const size = new TextEncoder().encode(line).length
  fill(
    main,
    h('div', { class: 'page' },
      h('p', { class: 'soft' }, 'A document of ', back),
      h('h1', { dir: 'auto' }, id),
      h('p', { class: 'soft' }, `A line of ${several(size, 'byte')} in collections/${collection}/meta/data.jsonl`),
      ...lineAndTree(line, 'h2'),
    ),
  )
}
