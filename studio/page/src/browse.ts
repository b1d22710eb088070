// The grid of a relation: filters, sorting, facets beside it, and the row that is opened.

import { fill, h, several, timed } from './dom'
import { early } from './early'
import { exporter, type Rows } from './export'
import { facets, share } from './facets'
import { failure } from './failure'
import { Grid } from './grid'
import { leadsOf } from './links'
import { follow, news as newsOf } from './live'
import { empty } from './overview'
import { pathOf, spoken } from './paths'
import { openRow } from './row'
import { leaving, server, TESTS, type Answer, type Fields, type Order, type Test } from './server'
import { address, note, state, type Parameters } from './state'

const FIRST = 200
/** Rows from here on wait until the server has put the view in order. */
const FAR = 2_000
const EXPORT_MAX = 10_000

/** What the address says about the grid. */
interface View {
  name: string
  tests: Test[]
  order: Order[]
  /** Whether the facets are shown, and the paths that are open there. */
  isOpen: boolean
  open: string[]
  hidden: string[]
}

function view(): View {
  const { get, all } = state()
  const tests = all('where').map((text) => {
    const [column = '', test = '', value = ''] = JSON.parse(text) as string[]
    return { column, test, value }
  })
  const order = all('sort').map((text) => ({ column: text.replace(/^-/, ''), descending: text.startsWith('-') }))
  return { name: get('name'), tests, order, isOpen: get('facets') !== '', open: all('facet'), hidden: all('hide') }
}

function parameters({ name, tests, order, isOpen, open, hidden }: View): Parameters {
  const where = tests.map(({ column, test, value }) => JSON.stringify([column, test, value]))
  const sort = order.map(({ column, descending }) => (descending ? '-' : '') + column)
  return { name, where, sort, facets: isOpen ? '1' : '', facet: open, hide: hidden }
}

/** Shows a view; the same one again is read again. */
function show(now: View): void {
  const next = address('grid', parameters(now))
  if (location.hash === next) dispatchEvent(new Event('hashchange'))
  else location.hash = next
}

export async function browse(main: HTMLElement): Promise<void> {
  const now = view()
  const asked = { relation: now.name, tests: now.tests, order: now.order }
  const known = server.fields(now.name)
  known.catch(() => {}) // the grid is there without them
  const whole = server.window({ ...asked, offset: 0, limit: FIRST, count: true })
  const page = new Page(main, now, known, whole)
  const left = leaving()
  // A file without an index or without types is read first; its beginning is there before that.
  const isPlain = now.tests.length === 0 && now.order.length === 0
  const beginning = isPlain ? await early(whole, () => server.first(now.name, FIRST)) : undefined
  if (!beginning?.rows) return page.show(await whole, await soon(known))
  page.show(beginning, undefined)
  const end = async () => {
    const [answer, fields] = [await whole, await soon(known)]
    if (!left.aborted) page.show(answer, fields)
  }
  end().catch((error: unknown) => left.aborted || fill(main, failure(error)))
}

/** The fields if they are there within a moment. */
function soon(known: Promise<Fields>): Promise<Fields | undefined> {
  return Promise.race([known, new Promise<undefined>((resolve) => setTimeout(resolve, 60))]).catch(() => undefined)
}

/** What is shown of a view: its rows, or those that the file begins with until they are there. */
class Page {
  #grid: Grid | undefined
  #detail = h('aside', { class: 'detail', hidden: true, 'aria-label': 'The row' })
  #ordering = h('span', { class: 'ordering', role: 'status' })

  constructor(
    readonly main: HTMLElement,
    readonly now: View,
    readonly known: Promise<Fields>,
    readonly whole: Promise<Answer>,
  ) {}

  /** Shows rows; an answer without a count is a beginning. */
  show(answer: Answer, fields: Fields | undefined): void {
    const { now, known, main } = this
    const { columns = [], rows = [], count, ms } = answer
    const before = this.#grid
    const ordered = this.#order(count ?? 0)
    const grid = (this.#grid = this.#made(answer, fields, before?.first ?? 0, ordered))
    void known.then(({ fields }) => fields.forEach((field) => {
      const bar = share(field)
      if (bar) grid.mark(spoken(field.path), bar)
    }), () => {})
    const nothing = now.tests.length > 0 ? empty('No row passes', 'Remove a filter above to see more.') : empty('There are no rows', 'They appear here once something is stored.')
    const hidden = now.hidden.length > 0 ? `, ${now.hidden.length} hidden` : ''
    const words = count === null ? [h('span', { role: 'status' }, `The first ${several(rows.length, 'row')} of the file; the rest is being read…`)] : [this.#news(count), `${several(count, 'row')} · ${several(columns.length, 'column')}${hidden} · ${timed(ms)}`, this.#ordering]
    const typing = document.activeElement
    const isHere = before?.element.contains(typing) ?? false
    fill(
      main,
      h('div', { class: 'browse', onkeydown: (event: KeyboardEvent) => { if (event.key === 'Escape') this.#detail.hidden = true } },
        tools(now, this.whole),
        h('div', { class: 'split' }, now.isOpen ? panel(now, known) : null, rows.length > 0 ? grid.element : nothing, this.#detail),
        h('p', { class: 'status' }, ...words),
      ),
    )
    if (isHere) grid.goOn(typing)
  }

  /** Has the rows put in order where that pays, and says so meanwhile. Rows as they are stored are in
   * order, and only found. */
  #order(count: number): Promise<unknown> {
    const { name, tests, order } = this.now
    if (count <= FAR) return Promise.resolve()
    if (tests.length + order.length > 0) fill(this.#ordering, h('progress', { 'aria-label': 'Putting the rows in order' }), 'putting them in order…')
    // Without an order, windows are slow and the same.
    return server.order({ relation: name, tests, order }).catch(() => {}).finally(() => fill(this.#ordering))
  }

  #made({ columns = [], rows = [], count }: Answer, fields: Fields | undefined, start: number, ordered: Promise<unknown>): Grid {
    const { now, known } = this
    const asked = { relation: now.name, tests: now.tests, order: now.order }
    const sort = (name: string) => {
      const column = pathOf(name)
      const old = now.order.find((key) => key.column === column)
      show({ ...now, order: old?.descending ? [] : [{ column, descending: old !== undefined }] })
    }
    return new Grid({
      count: count ?? rows.length, columns, first: rows, sort, order: now.order, hidden: new Set(now.hidden),
      load: async (offset, limit) => {
        if (offset >= FAR) await ordered
        return (await server.window({ ...asked, offset, limit })).rows ?? []
      },
      open: (row, place) => void openRow(this.#detail, now.name, columns, row, place, known),
      filter: (name, text) => show({ ...now, tests: [...now.tests, typed(pathOf(name), text)] }),
      leads: fields && leadsOf(now.name, fields),
    }, now.name, start)
  }

  /** How many rows others have added or removed since, as they do. */
  #news(count: number): HTMLElement {
    const { now } = this
    const news = h('span', { class: 'follows', role: 'status' })
    follow(async (counts, isFirst) => {
      if (counts[now.name] === undefined || (isFirst && now.tests.length > 0)) return
      const counted = { relation: now.name, tests: now.tests, order: now.order, offset: 0, limit: 0, count: true }
      const all = now.tests.length === 0 ? (counts[now.name] ?? count) : ((await server.window(counted)).count ?? count)
      fill(news, all === count ? null : newsOf(all - count, () => show(now)))
    })
    return news
  }
}

/** The first rows that pass, as many as an answer may have. */
async function all(now: View, { columns = [], rows = [], count }: Answer): Promise<Rows> {
  const found = [...rows]
  const most = Math.min(EXPORT_MAX, count ?? 0)
  while (found.length < most) {
    const asked = { relation: now.name, tests: now.tests, order: now.order, offset: found.length, limit: 1000 }
    const more = (await server.window(asked)).rows ?? []
    if (more.length === 0) break
    found.push(...more)
  }
  return { names: columns.map(({ name }) => name), rows: found }
}

function tools(now: View, whole: Promise<Answer>): HTMLElement {
  const turn = () => show({ ...now, isOpen: !now.isOpen })
  return h('div', { class: 'tools' },
    h('h1', { dir: 'auto' }, now.name),
    h('button', { class: 'plain', 'aria-expanded': now.isOpen ? 'true' : 'false', onclick: turn }, 'Facets'),
    ...now.tests.map((test) => chip(now, test)),
    h('span', { class: 'gap' }),
    h('a', { class: 'plain', href: address('ask', { text: `select * from "${now.name.replaceAll('"', '""')}" limit 100` }) }, 'Ask'),
    exporter(now.name, async () => all(now, await whole)),
  )
}

/** The facets, once the fields are known. */
function panel(now: View, known: Promise<Fields>): HTMLElement {
  const aside = h('aside', { class: 'facets', 'aria-label': 'Facets' }, h('p', { class: 'soft' }, 'Reading the types…'))
  const open = new Set(now.open)
  const renew = () => note('grid', parameters({ ...now, open: [...open] }))
  const hide = (path: string) => {
    const name = spoken(path)
    show({ ...now, open: [...open], hidden: now.hidden.includes(name) ? now.hidden.filter((other) => other !== name) : [...now.hidden, name] })
  }
  const filter = (tests: Test[]) => show({ ...now, open: [...open], tests })
  known.then(
    ({ fields }) => fill(aside, facets({ relation: now.name, tests: now.tests, fields, open, hidden: new Set(now.hidden.map(pathOf)), note: renew, filter, hide })),
    (error: unknown) => fill(aside, h('p', { class: 'soft' }, String(error))),
  )
  return aside
}

function chip(now: View, test: Test): HTMLElement {
  const words = `${spoken(test.column) || test.column} ${TESTS[test.test] ?? test.test} ${test.value}`.trim()
  const remove = () => show({ ...now, tests: now.tests.filter((other) => other !== test) })
  return h('span', { class: 'chip' }, h('span', { dir: 'auto' }, words), h('button', { onclick: remove, 'aria-label': `remove the filter ${words}` }, '×'))
}

const SIGNS: [RegExp, string][] = [[/^(!=|<>|≠)\s*/, 'not'], [/^(<=|≤)\s*/, 'most'], [/^(>=|≥)\s*/, 'least'], [/^<\s*/, 'less'], [/^>\s*/, 'greater'], [/^=\s*/, 'is']]

/** The test that a typed text means. */
function typed(column: string, text: string): Test {
  if (/^(is )?null$/i.test(text)) return { column, test: 'null', value: '' }
  if (/^(is )?not null$/i.test(text)) return { column, test: 'some', value: '' }
  for (const [sign, test] of SIGNS) if (sign.test(text)) return { column, test, value: text.replace(sign, '') }
  return { column, test: 'contains', value: text }
}
