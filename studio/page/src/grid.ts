// A grid of any number of rows. Only those in sight have elements, and only those near have been
// asked for.

import { fill, h } from './dom'
import { line, type Json } from './json'
import { pathOf } from './paths'
import { Failure, type Column, type Order } from './server'
import { kind, type Leads } from './tree'

const ROW_HEIGHT = 30
/** Rows of one request. */
const BLOCK = 200
const BLOCKS_MAX = 40
/** Requests at once. */
const LOADING_MAX = 3
/** How long rows stay where others are waited for, in milliseconds. */
const PATIENCE = 100
/** Browsers have no taller elements; longer grids scroll by more than a row a row. */
const HEIGHT_MAX = 15_000_000
const TEXT_MAX = 300
const NUMBERS = /^(smallint|int|bigint|numeric|decimal|real|double|float)/

export interface Source {
  count: number
  columns: Column[]
  /** Rows from a position on. */
  load(offset: number, limit: number): Promise<Json[][]>
  first: Json[][]
  /** Opens a row. */
  open?(row: Json[], place: number): void
  /** Sorts by a column. */
  sort?(column: string): void
  order?: Order[]
  /** Adds a filter of a column, as it was typed. */
  filter?(column: string, text: string): void
  /** Where the value of a column leads. */
  leads?: Leads
  /** Columns that are not shown. */
  hidden?: Set<string>
}

export class Grid {
  readonly element: HTMLElement
  #body = h('div', { class: 'rows', role: 'rowgroup' })
  #scroller: HTMLElement
  #blocks = new Map<number, Json[][]>()
  #loading = new Set<number>()
  /** The first of the rows that were drawn last, and when. */
  #drawn = 0
  #drawnAt = 0
  #waiting: ReturnType<typeof setTimeout> | undefined
  #active = -1
  #height: number
  #headers = new Map<string, HTMLElement>()
  #widths: number[]
  /** The positions of the columns that are shown. */
  #shown: number[]

  constructor(readonly source: Source, label: string, start = 0) {
    this.#shown = source.columns.flatMap(({ name }, place) => (source.hidden?.has(name) ? [] : [place]))
    this.#widths = widths(source)
    this.#blocks.set(Math.floor(start / BLOCK), source.first)
    this.#height = Math.min(source.count * ROW_HEIGHT, HEIGHT_MAX)
    const sizer = h('div', { class: 'sizer', role: 'presentation' }, this.#body)
    sizer.style.height = `${this.#height}px`
    this.#scroller = h('div', {
      class: 'grid', role: 'grid', tabindex: 0, 'aria-label': label,
      'aria-rowcount': source.count + 1, 'aria-colcount': this.#shown.length,
      onscroll: () => this.#draw(), onkeydown: (event: KeyboardEvent) => this.#press(event),
    }, this.#head(), sizer)
    this.#lay()
    this.element = this.#scroller
    new ResizeObserver(() => this.#draw()).observe(this.#scroller)
    if (start > 0) requestAnimationFrame(() => this.#scrollTo(start))
  }

  /** The height below the head. */
  get #room(): number {
    return this.#scroller.clientHeight - ((this.#scroller.firstElementChild as HTMLElement | null)?.offsetHeight ?? 0)
  }

  /** The first row in sight. */
  get first(): number {
    const [room, rest] = [this.#room, this.source.count * ROW_HEIGHT]
    const part = this.#height > room ? this.#scroller.scrollTop / (this.#height - room) : 0
    return Math.max(0, Math.floor((Math.min(1, part) * (rest - room)) / ROW_HEIGHT))
  }

  /** Puts something under the name of a column. */
  mark(column: string, mark: HTMLElement): void {
    this.#headers.get(column)?.append(mark)
  }

  /** Takes over from a grid of the same columns, in whose place it stands: what had the focus there,
   * and what was typed. */
  goOn(before: Element | null): void {
    const same = [...this.#scroller.querySelectorAll('input')].find((box) => box.ariaLabel === before?.ariaLabel)
    if (!same || !(before instanceof HTMLInputElement)) return this.#scroller.focus()
    same.value = before.value
    same.focus()
  }

  #head(): HTMLElement {
    const { columns, order, sort, filter } = this.source
    const cells = this.#shown.map((place) => {
      const { name, type } = columns[place] as Column
      const by = order?.find((key) => key.column === pathOf(name))
      const state = by ? (by.descending ? 'descending' : 'ascending') : undefined
      const words = [h('span', { class: 'name', dir: 'auto' }, name), by && h('span', { class: 'arrow', 'aria-hidden': 'true' }, by.descending ? '▼' : '▲')]
      const title = sort ? h('button', { title: `sort by ${name}`, onclick: () => sort(name) }, ...words) : h('span', { class: 'words' }, ...words)
      const under = h('span', { class: 'under' }, h('span', { class: 'type' }, type))
      this.#headers.set(name, under)
      const grip = h('span', { class: 'grip', 'aria-hidden': 'true', onpointerdown: (event: PointerEvent) => this.#resize(event, place) })
      const box = filter && h('input', {
        class: 'filter', 'aria-label': `filter ${name}`, placeholder: 'filter', spellcheck: 'false', autocomplete: 'off',
        title: 'A text to find, or =, !=, <, <=, >, >= and a value, or null, or not null',
        onkeydown: (event: KeyboardEvent) => {
          event.stopPropagation()
          if (event.key === 'Enter' && box && box.value.trim() !== '') filter(name, box.value.trim())
        },
      })
      return h('div', { role: 'columnheader', class: NUMBERS.test(type) ? 'number' : '', 'aria-sort': state }, title, under, box || null, grip)
    })
    return h('div', { class: filter ? 'head filtered' : 'head', role: 'rowgroup' }, h('div', { role: 'row', class: 'row' }, ...cells))
  }

  /** Makes a column wider or narrower while the pointer moves. */
  #resize(start: PointerEvent, place: number): void {
    const grip = start.target as HTMLElement
    const [from, width] = [start.clientX, this.#widths[place] ?? 0]
    const move = (event: PointerEvent) => {
      this.#widths[place] = Math.max(48, width + event.clientX - from)
      this.#lay()
    }
    start.preventDefault()
    grip.setPointerCapture(start.pointerId)
    grip.addEventListener('pointermove', move)
    grip.addEventListener('pointerup', () => grip.removeEventListener('pointermove', move), { once: true })
  }

  #lay(): void {
    const all = this.#shown.map((place) => `${this.#widths[place]}px`)
    this.#scroller.style.setProperty('--columns', all.length === 0 ? '1fr' : `${all.join(' ')} minmax(0,1fr)`)
  }

  /** Draws the rows in sight. Those that are not there yet leave the last ones in their place for a
   * moment, so that a scroll through all of them shows rows and not their absence. */
  #draw(): void {
    const first = this.first
    const last = Math.min(this.source.count, first + this.#rowCount)
    const isThere = this.#isThere(first)
    this.#load(Math.floor(first / BLOCK), Math.floor(Math.max(first, last - 1) / BLOCK), first)
    if (isThere || performance.now() - this.#drawnAt > PATIENCE || this.#drawnAt === 0) return this.#paint(first, isThere)
    this.#paint(this.#drawn, false)
    clearTimeout(this.#waiting)
    this.#waiting = setTimeout(() => this.#draw(), PATIENCE)
  }

  get #rowCount(): number {
    return Math.ceil(this.#room / ROW_HEIGHT) + 1
  }

  #isThere(first: number): boolean {
    const last = Math.max(first, Math.min(this.source.count, first + this.#rowCount) - 1)
    return this.#blocks.has(Math.floor(first / BLOCK)) && this.#blocks.has(Math.floor(last / BLOCK))
  }

  /** Puts the rows from one on where the view is. */
  #paint(first: number, isThere: boolean): void {
    const last = Math.min(this.source.count, first + this.#rowCount)
    if (isThere) [this.#drawn, this.#drawnAt] = [first, performance.now()]
    const isOwn = first === this.first && this.#height < HEIGHT_MAX
    const offset = isOwn ? first * ROW_HEIGHT : this.#scroller.scrollTop
    this.#body.style.transform = `translateY(${Math.max(0, Math.min(offset, this.#height - (last - first) * ROW_HEIGHT))}px)`
    const rows = []
    for (let place = first; place < last; place++) rows.push(this.#row(place))
    fill(this.#body, ...rows)
  }

  #row(place: number): HTMLElement {
    const row = this.#blocks.get(Math.floor(place / BLOCK))?.[place % BLOCK]
    const cells = this.#shown.map((column) => {
      const { name, type } = this.source.columns[column] as Column
      const value = row?.[column]
      if (value === undefined) return h('div', { role: 'gridcell', class: 'waiting' })
      const href = this.source.leads?.([name], value)
      if (href) return h('div', { role: 'gridcell', class: NUMBERS.test(type) ? 'number' : '', dir: 'auto' }, h('a', { href, tabindex: -1, onclick: (event: Event) => event.stopPropagation() }, line(value).slice(0, TEXT_MAX)))
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

  /** Asks for the blocks in sight that are not there. Of a scroll that goes on, few are asked for at
   * once, and each is shown when it comes. */
  #load(from: number, to: number, first: number): void {
    for (let block = from; block <= to; block++) {
      if (this.#blocks.has(block) || this.#loading.has(block) || this.#loading.size >= LOADING_MAX) continue
      this.#loading.add(block)
      void this.#take(block, first)
    }
  }

  async #take(block: number, first: number): Promise<void> {
    try {
      this.#blocks.set(block, await this.source.load(block * BLOCK, BLOCK))
      for (const old of this.#blocks.keys()) if (this.#blocks.size > BLOCKS_MAX) this.#blocks.delete(old)
      // A view that has gone on is shown what it has passed by.
      if (!this.#isThere(this.first) && this.#isThere(first)) this.#paint(first, true)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.#scroller.setAttribute('data-error', error.message)
    } finally {
      this.#loading.delete(block)
      if (!this.#scroller.hasAttribute('data-error')) this.#draw()
    }
  }

  #press(event: KeyboardEvent): void {
    const page = Math.floor(this.#room / ROW_HEIGHT) - 1
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
    const [room, rest] = [this.#room, this.source.count * ROW_HEIGHT]
    this.#scroller.scrollTop = rest > room ? ((place * ROW_HEIGHT + 1) / (rest - room)) * (this.#height - room) : 0
  }
}

/** The widths of columns, by what the first rows have. */
function widths({ columns, first, filter }: Source): number[] {
  const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16
  return columns.map(({ name, type }, column) => {
    const sample = first.slice(0, 50).map((row) => Math.min(48, line(row[column] ?? null).length))
    const wide = Math.max(name.length + 2, Math.min(24, type.length + 6), ...sample)
    const edge = column === 0 ? 8 : 0 // the first column has the margin of the page
    return scale * (edge + Math.max(filter ? 104 : 80, Math.min(420, wide * 8.6 + 30)))
  })
}
