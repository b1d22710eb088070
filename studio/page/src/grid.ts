// A grid of any number of rows. Only those in sight have elements, and only those near have been
// asked for.

import { counted, fill, h } from './dom'
import { line, type Json } from './json'
import { Failure, type Column, type Order } from './server'
import { kind } from './tree'

const ROW_HEIGHT = 30
/** Rows of one request. */
const BLOCK = 200
const BLOCKS_MAX = 40
/** Browsers have no taller elements; longer grids scroll by more than a row a row. */
const HEIGHT_MAX = 15_000_000
const TEXT_MAX = 300
const NUMBERS = /^(smallint|int|bigint|numeric|decimal|real|double|float)/

export interface Source {
  count: number
  columns: Column[]
  /** Rows from a position on. */
  load(offset: number, limit: number, signal: AbortSignal): Promise<Json[][]>
  first: Json[][]
  /** Opens a row. */
  open?(row: Json[], place: number): void
  /** Sorts by a column. */
  sort?(column: string): void
  order?: Order[]
}

export class Grid {
  readonly element: HTMLElement
  #body = h('div', { class: 'rows', role: 'rowgroup' })
  #scroller: HTMLElement
  #blocks = new Map<number, Json[][]>()
  #loading = new Map<number, AbortController>()
  #active = -1
  #height: number

  constructor(readonly source: Source, label: string, start = 0) {
    this.#blocks.set(Math.floor(start / BLOCK), source.first)
    this.#height = Math.min(source.count * ROW_HEIGHT, HEIGHT_MAX)
    const sizer = h('div', { class: 'sizer', role: 'presentation' }, this.#body)
    sizer.style.height = `${this.#height}px`
    this.#scroller = h('div', {
      class: 'grid', role: 'grid', tabindex: 0, 'aria-label': label,
      'aria-rowcount': source.count + 1, 'aria-colcount': source.columns.length,
      onscroll: () => this.#draw(), onkeydown: (event: KeyboardEvent) => this.#press(event),
    }, this.#head(), sizer)
    this.#scroller.style.setProperty('--columns', widths(source))
    this.element = this.#scroller
    new ResizeObserver(() => this.#draw()).observe(this.#scroller)
    if (start > 0) requestAnimationFrame(() => this.#scrollTo(start))
  }

  /** The first row in sight. */
  get first(): number {
    const [room, rest] = [this.#scroller.clientHeight - ROW_HEIGHT, this.source.count * ROW_HEIGHT]
    const part = this.#height > room ? this.#scroller.scrollTop / (this.#height - room) : 0
    return Math.max(0, Math.floor((Math.min(1, part) * (rest - room)) / ROW_HEIGHT))
  }

  #head(): HTMLElement {
    const { columns, order, sort } = this.source
    const cells = columns.map(({ name, type }) => {
      const by = order?.find((key) => key.column === name)
      const state = by ? (by.descending ? 'descending' : 'ascending') : undefined
      const words = [h('span', { class: 'name', dir: 'auto' }, name), h('span', { class: 'type' }, type)]
      const content = sort ? [h('button', { title: `sort by ${name}`, onclick: () => sort(name) }, ...words, by && h('span', { 'aria-hidden': 'true' }, by.descending ? '▼' : '▲'))] : words
      return h('div', { role: 'columnheader', class: NUMBERS.test(type) ? 'number' : '', 'aria-sort': state }, ...content)
    })
    return h('div', { class: 'head', role: 'rowgroup' }, h('div', { role: 'row', class: 'row' }, ...cells))
  }

  #draw(): void {
    const first = this.first
    const count = Math.ceil(this.#scroller.clientHeight / ROW_HEIGHT) + 1
    const last = Math.min(this.source.count, first + count)
    const offset = this.#height < HEIGHT_MAX ? first * ROW_HEIGHT : this.#scroller.scrollTop
    this.#body.style.transform = `translateY(${Math.max(0, Math.min(offset, this.#height - (last - first) * ROW_HEIGHT))}px)`
    const rows = []
    for (let place = first; place < last; place++) rows.push(this.#row(place))
    fill(this.#body, ...rows)
    this.#load(Math.floor(first / BLOCK), Math.floor(Math.max(first, last - 1) / BLOCK))
  }

  #row(place: number): HTMLElement {
    const row = this.#blocks.get(Math.floor(place / BLOCK))?.[place % BLOCK]
    const cells = this.source.columns.map(({ type }, column) => {
      const value = row?.[column]
      if (value === undefined) return h('div', { role: 'gridcell', class: 'waiting' })
      return h('div', { role: 'gridcell', class: `${kind(value)} ${NUMBERS.test(type) ? 'number' : ''}`, dir: 'auto' }, line(value).slice(0, TEXT_MAX))
    })
    const open = () => row && this.#open(row, place)
    return h('div', { role: 'row', class: `row${place === this.#active ? ' active' : ''}`, id: `row-${place}`, 'aria-rowindex': place + 2, 'aria-selected': place === this.#active ? 'true' : 'false', onclick: open }, ...cells)
  }

  #open(row: Json[], place: number): void {
    this.#active = place
    this.#draw()
    this.source.open?.(row, place)
  }

  /** Asks for the blocks in sight that are not there, and forgets what is far. */
  #load(from: number, to: number): void {
    for (const [block, loading] of this.#loading) {
      if (block < from - 1 || block > to + 1) loading.abort()
    }
    for (let block = from; block <= to; block++) {
      if (this.#blocks.has(block) || this.#loading.has(block)) continue
      const loading = new AbortController()
      this.#loading.set(block, loading)
      // A scroll that goes on passes by what it does not need.
      setTimeout(() => this.#take(block, loading), 40)
    }
  }

  async #take(block: number, loading: AbortController): Promise<void> {
    try {
      if (loading.signal.aborted) return
      this.#blocks.set(block, await this.source.load(block * BLOCK, BLOCK, loading.signal))
      for (const old of this.#blocks.keys()) if (this.#blocks.size > BLOCKS_MAX) this.#blocks.delete(old)
    } catch (error) {
      if (!(error instanceof Failure)) return
      this.#scroller.setAttribute('data-error', error.message)
    } finally {
      this.#loading.delete(block)
      this.#draw()
    }
  }

  #press(event: KeyboardEvent): void {
    const page = Math.floor(this.#scroller.clientHeight / ROW_HEIGHT) - 2
    const from = this.#active < 0 ? this.first - 1 : this.#active
    const steps: Record<string, number> = { ArrowDown: from + 1, ArrowUp: from - 1, PageDown: from + page, PageUp: from - page, Home: 0, End: this.source.count - 1 }
    const place = steps[event.key]
    if (event.key === 'Enter' && event.target === this.#scroller) {
      const row = this.#blocks.get(Math.floor(this.#active / BLOCK))?.[this.#active % BLOCK]
      if (row) this.#open(row, this.#active)
    }
    if (place === undefined || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    this.#active = Math.max(0, Math.min(this.source.count - 1, place))
    if (this.#active < this.first || this.#active >= this.first + page) this.#scrollTo(this.#active < this.first ? this.#active : Math.max(0, this.#active - page))
    this.#scroller.setAttribute('aria-activedescendant', `row-${this.#active}`)
    this.#draw()
  }

  #scrollTo(place: number): void {
    const [room, rest] = [this.#scroller.clientHeight - ROW_HEIGHT, this.source.count * ROW_HEIGHT]
    this.#scroller.scrollTop = rest > room ? ((place * ROW_HEIGHT + 1) / (rest - room)) * (this.#height - room) : 0
  }
}

/** The widths of columns, by what the first rows have. */
function widths({ columns, first }: Source): string {
  const all = columns.map(({ name, type }, column) => {
    const sample = first.slice(0, 50).map((row) => Math.min(48, line(row[column] ?? null).length))
    const wide = Math.max(name.length + type.length + 3, ...sample)
    return `${Math.max(80, Math.min(400, wide * 8 + 30))}px`
  })
  return all.length === 0 ? '1fr' : `${all.join(' ')} minmax(0,1fr)`
}

/** What a grid says below it. */
export function summary(count: number, all: number | null): string {
  return all === null || all === count ? `${counted(count)} rows` : `${counted(count)} of ${counted(all)} rows`
}
