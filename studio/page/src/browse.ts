// The grid of a relation: filters, sorting, facets beside it, and the row that is opened.

import { fill, h, several, timed } from './dom'
import { early } from './early'
import { exporter, type Rows } from './export'
import { facets, share } from './facets'
import { failure } from './failure'
import { Grid } from './grid'
import type { Json } from './json'
import { leadsOf } from './links'
import { follow, news as newsOf, stateOf } from './live'
import { empty } from './overview'
import { pathOf, spoken } from './paths'
import { openRow } from './row'
import { leaving, server, TESTS, type Answer, type Fields, type Order, type Test } from './server'
import { address, note, state, type Parameters } from './state'

const FIRST = 200
/** Rows from here on wait until the server has put the view in order. */
const FAR = 2_000
const EXPORT_MAX = 10_000

/** What the address says about the grid. What changes without another view of the rows is changed here
 * and noted: the row that is open, and widths. */
interface View {
  name: string
  tests: Test[]
  order: Order[]
  /** Whether the facets are shown, and the paths that are open there. */
  isOpen: boolean
  open: string[]
  hidden: string[]
  pinned: string[]
  widths: Map<string, number>
  /** The position of the row that is open. */
  row: string
}

function view(): View {
  const { get, all } = state()
  const tests = all('where').map((text) => {
    const [column = '', test = '', value = ''] = JSON.parse(text) as string[]
    return { column, test, value }
  })
  const order = all('sort').map((text) => ({ column: text.replace(/^-/, ''), descending: text.startsWith('-') }))
  const widths = all('width').map((text): [string, number] => [text.replace(/^\d+ /, ''), parseInt(text)])
  return { name: get('name'), tests, order, isOpen: get('facets') !== '', open: all('facet'), hidden: all('hide'), pinned: all('pin'), widths: new Map(widths.filter(([, width]) => width > 0)), row: get('row') }
}

function parameters({ name, tests, order, isOpen, open, hidden, pinned, widths, row }: View): Parameters {
  const where = tests.map(({ column, test, value }) => JSON.stringify([column, test, value]))
  const sort = order.map(({ column, descending }) => (descending ? '-' : '') + column)
  const width = [...widths].map(([name, width]) => `${width} ${name}`)
  return { name, where, sort, facets: isOpen ? '1' : '', facet: open, hide: hidden, pin: pinned, width, row }
}

/** Shows a view; the same one again is read again. */
function show(now: View): void {
  const next = address('grid', parameters(now))
  if (location.hash === next) dispatchEvent(new Event('hashchange'))
  else location.hash = next
}

export async function browse(main: HTMLElement): Promise<void> {
  const now = view()
  const known = server.fields(now.name)
  known.catch(() => {}) // the grid is there without them
  const page = new Page(main, now, known)
  const left = leaving()
  // A file without an index or without types is read first; its beginning is there before that.
  const isPlain = now.tests.length === 0 && now.order.length === 0
  const beginning = isPlain ? await early(page.whole, () => server.first(now.name, FIRST)) : undefined
  if (!beginning?.rows) {
    page.show(await page.whole, await soon(known))
    return page.follow()
  }
  page.show(beginning, undefined)
  const end = async () => {
    const [answer, fields] = [await page.whole, await soon(known)]
    if (left.aborted) return
    page.show(answer, fields)
    page.follow()
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
  #answer: Answer | undefined
  #fields: Fields | undefined
  /** The row that is open. */
  #opened: Json[] | undefined
  #rows = h('div', { class: 'split' })
  #status = h('p', { class: 'status' })
  #news = h('span', { class: 'follows', role: 'status' })
  #detail = h('aside', { class: 'detail', hidden: true, 'aria-label': 'The row' })
  #ordering = h('span', { class: 'ordering', role: 'status' })
  /** The first rows, and how many there are. */
  whole: Promise<Answer>

  constructor(
    main: HTMLElement,
    readonly now: View,
    readonly known: Promise<Fields>,
  ) {
    this.whole = this.#read()
    this.whole.catch(() => {}) // who waits for it says so
    const sides = h('div', { class: 'split' }, now.isOpen ? panel(now, known) : null, this.#rows, this.#detail)
    const press = (event: KeyboardEvent) => {
      if (event.key === 'Escape') this.#close()
    }
    fill(main, h('div', { class: 'browse', onkeydown: press }, tools(now, () => this.whole), sides, this.#status))
  }

  get #asked() {
    const { name, tests, order } = this.now
    return { relation: name, tests, order }
  }

  #read(): Promise<Answer> {
    return server.window({ ...this.#asked, offset: 0, limit: FIRST, count: true })
  }

  /** Shows rows; an answer without a count is a beginning. */
  show(answer: Answer, fields: Fields | undefined): void {
    const { now, known } = this
    const { columns = [], rows = [], count, ms } = answer
    const before = this.#grid
    const isFirst = this.#answer?.count == null
    ;[this.#answer, this.#fields] = [answer, fields]
    const grid = (this.#grid = this.#made(answer, before, this.#order(count ?? 0)))
    void known.then(({ fields }) => fields.forEach((field) => {
      const bar = share(field)
      if (bar) grid.mark(spoken(field.path), bar)
    }), () => {})
    const nothing = now.tests.length > 0 ? empty('No row passes', 'Remove a filter above to see more.') : empty('There are no rows', 'They appear here once something is stored.')
    const hidden = now.hidden.length > 0 ? `, ${now.hidden.length} hidden` : ''
    const words = count === null ? [h('span', { role: 'status' }, `The first ${several(rows.length, 'row')} of the file; the rest is being read…`)] : [this.#news, `${several(count, 'row')} · ${several(columns.length, 'column')}${hidden} · ${timed(ms)}`, this.#ordering]
    const typing = document.activeElement
    const isHere = before?.element.contains(typing) ?? false
    fill(this.#rows, rows.length > 0 ? grid.element : nothing)
    fill(this.#status, ...words)
    fill(this.#news)
    if (isHere) grid.goOn(typing)
    if (isFirst && count !== null && now.row !== '') requestAnimationFrame(() => void this.#openAt(Number(now.row)))
  }

  /** Has the rows put in order where that pays, and says so meanwhile. Rows as they are stored are in
   * order, and only found. */
  #order(count: number): Promise<unknown> {
    if (count <= FAR) return Promise.resolve()
    if (this.now.tests.length + this.now.order.length > 0) fill(this.#ordering, h('progress', { 'aria-label': 'Putting the rows in order' }), 'putting them in order…')
    // Without an order, windows are slow and the same.
    return server.order(this.#asked).catch(() => {}).finally(() => fill(this.#ordering))
  }

  #made({ columns = [], rows = [], count }: Answer, before: Grid | undefined, ordered: Promise<unknown>): Grid {
    const { now } = this
    const sort = (name: string) => {
      const column = pathOf(name)
      const old = now.order.find((key) => key.column === column)
      show({ ...now, row: '', order: old?.descending ? [] : [{ column, descending: old !== undefined }] })
    }
    return new Grid({
      count: count ?? rows.length, columns, first: rows, sort, order: now.order, hidden: new Set(now.hidden), pinned: now.pinned, widths: now.widths, active: before?.active,
      load: async (offset, limit) => {
        if (offset >= FAR) await ordered
        return (await server.window({ ...this.#asked, offset, limit })).rows ?? []
      },
      open: (row, place) => this.#open(row, place),
      filter: (name, text) => show({ ...now, row: '', tests: [...now.tests, typed(pathOf(name), text)] }),
      resized: (name, width) => {
        now.widths.set(name, width)
        note('grid', parameters(now))
      },
      leads: this.#fields && leadsOf(now.name, this.#fields),
    }, now.name, before?.first ?? 0)
  }

  #open(row: Json[], place: number, isAgain = false): void {
    this.#opened = row
    if (!isAgain) this.now.row = String(place)
    note('grid', parameters(this.now))
    const close = () => this.#close()
    void openRow(this.#detail, { relation: this.now.name, columns: this.#answer?.columns ?? [], row, place, known: this.known, close, isAgain })
  }

  /** Opens the row of the address. */
  async #openAt(place: number): Promise<void> {
    const row = this.#answer?.rows?.[place] ?? (await server.window({ ...this.#asked, offset: place, limit: 1 })).rows?.[0]
    if (!row) return
    this.#grid?.activate(place)
    this.#open(row, place)
  }

  #close(): void {
    if (this.#detail.hidden) return
    this.#detail.hidden = true
    this.now.row = ''
    note('grid', parameters(this.now))
  }

  /** Follows what others change: reads the rows again where that moves nothing that somebody looks at,
   * which are the first rows of a view that is not sorted, and otherwise says what has changed. */
  follow(): void {
    const { now } = this
    let shown = this.#answer?.revision ?? undefined
    follow(async (states) => {
      const state = stateOf(states, now.name)
      shown ??= state
      if (states[now.name] === undefined || state === shown) return
      if (this.#opened && !this.#detail.hidden) this.#open(this.#opened, Number(now.row), true)
      if (now.order.length === 0 && this.#grid?.first === 0) {
        this.whole = this.#read()
        const answer = await this.whole
        shown = answer.revision ?? state
        return this.show(answer, this.#fields)
      }
      const { count } = await server.window({ ...this.#asked, offset: 0, limit: 0, count: true })
      fill(this.#news, newsOf((count ?? 0) - (this.#answer?.count ?? 0), () => show(now)))
    })
  }
}

/** The first rows that pass, as many as an answer may have. */
async function all(now: View, { columns = [], rows = [], count }: Answer): Promise<Rows> {
  const found = [...rows]
  const most = Math.min(EXPORT_MAX, count ?? 0)
  while (found.length < most) {
    const asked = { relation: now.name, tests: now.tests, order: now.order, offset: found.length, limit: Math.min(1000, most - found.length) }
    const more = (await server.window(asked)).rows ?? []
    if (more.length === 0) break
    found.push(...more)
  }
  return { names: columns.map(({ name }) => name), rows: found, total: (count ?? 0) > found.length ? (count ?? 0) : undefined }
}

function tools(now: View, whole: () => Promise<Answer>): HTMLElement {
  const turn = () => show({ ...now, isOpen: !now.isOpen })
  return h('div', { class: 'tools' },
    h('h1', { dir: 'auto' }, now.name),
    h('button', { class: 'plain', 'aria-expanded': now.isOpen ? 'true' : 'false', onclick: turn }, 'Facets'),
    ...now.tests.map((test) => chip(now, test)),
    h('span', { class: 'gap' }),
    h('a', { class: 'plain', href: address('ask', { text: `select * from "${now.name.replaceAll('"', '""')}" limit 100` }) }, 'Ask'),
    exporter(now.name, async () => all(now, await whole())),
  )
}

/** The facets, once the fields are known. */
function panel(now: View, known: Promise<Fields>): HTMLElement {
  const aside = h('aside', { class: 'facets', 'aria-label': 'Facets' }, h('p', { class: 'soft' }, 'Reading the types…'))
  const open = new Set(now.open)
  const renew = () => {
    now.open = [...open]
    note('grid', parameters(now))
  }
  const hide = (path: string) => {
    const name = spoken(path)
    show({ ...now, open: [...open], hidden: now.hidden.includes(name) ? now.hidden.filter((other) => other !== name) : [...now.hidden, name] })
  }
  const pin = (path: string) => {
    const name = spoken(path)
    show({ ...now, open: [...open], pinned: now.pinned.includes(name) ? now.pinned.filter((other) => other !== name) : [...now.pinned, name] })
  }
  const filter = (tests: Test[]) => show({ ...now, row: '', open: [...open], tests })
  known.then(
    ({ fields }) => fill(aside, facets({ relation: now.name, tests: now.tests, fields, open, hidden: new Set(now.hidden.map(pathOf)), pinned: new Set(now.pinned.map(pathOf)), note: renew, filter, hide, pin })),
    (error: unknown) => fill(aside, h('p', { class: 'soft' }, String(error))),
  )
  return aside
}

function chip(now: View, test: Test): HTMLElement {
  const words = `${spoken(test.column) || test.column} ${TESTS[test.test] ?? test.test} ${test.value}`.trim()
  const remove = () => show({ ...now, row: '', tests: now.tests.filter((other) => other !== test) })
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
