// The first page: everything in the database.

import { counted, dated, fill, h, several, sized } from './dom'
import { early } from './early'
import { failure } from './failure'
import { follow } from './live'
import { leaving, server, type Overview, type Relation } from './server'
import { address } from './state'

export async function overview(main: HTMLElement): Promise<void> {
  const [whole, left] = [server.overview(), leaving()]
  // Counts wait for the indexes of all collections; names do not.
  const names = await early(whole, server.names)
  if (!names) return new Page(main, await whole).follow()
  const page = new Page(main, names)
  whole.then((all) => {
    if (left.aborted) return
    page.draw(all)
    page.follow()
  }, (error: unknown) => left.aborted || fill(main, failure(error)))
}

class Page {
  #list = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Collections, tables and views' })
  #search = h('input', { type: 'search', placeholder: 'Find a name', 'aria-label': 'Find a name', oninput: () => this.draw(this.all) })
  #sums = h('ul', { class: 'tiles' })
  #health = h('div', {})

  constructor(main: HTMLElement, private all: Overview) {
    this.draw(all)
    fill(
      main,
      h('div', { class: 'page' },
        h('h1', { dir: 'auto' }, all.name),
        all.path === all.name ? null : h('p', { class: 'soft path' }, all.path),
        this.#sums,
        all.relations.length > 0 ? h('div', { class: 'tools' }, this.#search, all.is_writable ? h('a', { class: 'plain', href: '#/import' }, 'Import a file') : null) : null,
        this.#list,
        all.is_writable && all.relations.length === 0 ? h('p', { class: 'middle' }, h('a', { class: 'plain', href: '#/import' }, 'Import a file')) : null,
        this.#health,
      ),
    )
  }

  draw(all: Overview): void {
    this.all = all
    fill(this.#list, relations(all, this.#search.value.toLowerCase()))
    fill(this.#sums, ...facts(all))
    fill(this.#health, health(all))
  }

  /** Shows what changes. */
  follow(): void {
    follow(async (states, isFirst) => {
      // Something may have changed between the overview and the first look.
      const counts = Object.fromEntries(this.all.relations.map(({ name, count }) => [name, count]))
      const isSame = Object.entries(states).every(([name, { count }]) => counts[name] === count)
      if (!isFirst || !isSame) this.draw(await server.overview())
    })
  }
}

function facts({ relations, tables_size, tables_changed, is_writable }: Overview): HTMLElement[] {
  const of = (kind: string) => relations.filter((relation) => relation.kind === kind)
  const sum = (values: (number | null | undefined)[]) => values.reduce<number>((all, value) => all + (value ?? 0), 0)
  const count = (kind: string) => (of(kind).some(({ count }) => count === null) ? '…' : counted(sum(of(kind).map(({ count }) => count))))
  const isKnown = of('collection').every(({ size }) => size !== undefined)
  const size = sum(of('collection').flatMap(({ size, index_size }) => [size, index_size])) + (tables_size ?? 0)
  const changed = Math.max(0, tables_changed ?? 0, ...relations.map(({ changed }) => changed ?? 0))
  const [day, time] = dated(changed).split(' ')
  const facts: [string, string][] = [
    [count('collection'), `documents in ${several(of('collection').length, 'collection')}`],
    [count('table'), `rows in ${several(of('table').length, 'table')}`],
    [isKnown ? sized(size) : '…', 'with indexes'],
    [isKnown ? (day ?? '–') : '…', time === undefined ? 'last change' : `last change, at ${time}`],
    [is_writable ? 'can write' : 'read-only', is_writable ? 'statements may change it' : 'nothing is changed'],
  ]
  return facts.map(([fact, words]) => h('li', {}, h('b', {}, fact), h('span', {}, words)))
}

function relations({ relations, tables_changed }: Overview, word: string): HTMLElement {
  if (relations.length === 0) return empty('The database is empty', 'Put a document with folio put, or import a file with folio import.')
  const found = relations.filter(({ name }) => name.toLowerCase().includes(word))
  if (found.length === 0) return empty('No such name', 'Names that contain the text would be here.')
  const most = Math.max(1, ...relations.map(whole))
  const titles = ['Name', 'Kind', 'Rows', 'Size', '', 'Changed', 'Indexes', 'State']
  return h('table', { class: 'list' },
    h('thead', {}, h('tr', {}, ...titles.map((title) => (title ? h('th', { scope: 'col', class: ['Rows', 'Size'].includes(title) ? 'number' : '' }, title) : h('td', {}))))),
    h('tbody', {}, ...found.map((relation) => row(relation, most, relation.kind === 'table' ? tables_changed : relation.changed))),
  )
}

/** The bytes of a relation with its indexes. */
function whole({ size = 0, index_size = 0 }: Relation): number {
  return size + index_size
}

function row(relation: Relation, most: number, changed: number | null | undefined): HTMLElement {
  const { name, kind, count, size, indexes, dead, broken } = relation
  const bar = h('i', { class: 'bar-of' })
  bar.style.width = `${(100 * whole(relation)) / most}%`
  const state = (broken?.length ?? 0) > 0 ? h('span', { class: 'loss' }, 'damaged lines')
    : indexes?.some(({ is_ready }) => !is_ready) ? h('span', { class: 'loss' }, 'index not ready')
      : kind === 'collection' && size === undefined ? '…' : (dead ?? 0) > 0 ? `${counted(dead ?? 0)} superseded` : 'fine'
  return h('tr', {},
    h('th', { scope: 'row' }, h('a', { href: address('grid', { name }), dir: 'auto' }, name)),
    h('td', {}, h('span', { class: `badge ${kind}` }, kind)),
    h('td', { class: 'number' }, count === null ? '–' : counted(count)),
    h('td', { class: 'number' }, size === undefined ? '–' : sized(whole(relation))),
    h('td', { class: 'track', 'aria-hidden': 'true' }, size === undefined ? null : bar),
    h('td', { class: 'soft' }, changed ? dated(changed) : '–'),
    h('td', { class: 'soft' }, indexes?.map(({ name }) => name).join(', ') || '–'),
    h('td', { class: 'soft' }, state),
  )
}

function health({ relations }: Overview): HTMLElement | null {
  const lines = relations.flatMap(({ broken }) => broken ?? [])
  if (lines.length === 0) return null
  return h('section', { class: 'note' }, h('h2', {}, 'Lines that are no documents'), h('ul', {}, ...lines.map((line) => h('li', {}, line))))
}

/** What stands where nothing is. */
export function empty(title: string, words: string): HTMLElement {
  return h('div', { class: 'empty' }, h('b', {}, title), h('p', {}, words))
}
