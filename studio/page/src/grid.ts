// A grid of any number of rows. Only those in sight have elements, and only those near have been
// asked for.

import { fill, h } from './dom'
import { line, type Json } from './json'
import { pathOf } from './paths'
import { Scale } from './scale'
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
/** After this time without a scroll, it rests. */
const REST = 150
const TEXT_MAX = 300
const [WIDTH_MIN, WIDTH_MAX, WIDTH_STEP] = [48, 2_000, 16]
const NUMBERS = /^(smallint|int|bigint|numeric|decimal|real|double|float)/

export interface Source {
  count: number
  columns: Column[]
  /** Rows from a position on. */
  load(offset: number, limit: number): Promise<Json[][]>
  first: Json[][]
  /** The row that keys move from, in the grid of before. */
  active?: number
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
  /** Columns that stay at the left. */
  pinned?: string[]
  /** Widths of columns that somebody has set. */
  widths?: Map<string, number>
  /** Takes the width of a column that somebody sets. */
  resized?(column: string, width: number): void
}

export class Grid {
  readonly element: HTMLElement
  #body = h('div', { class: 'rows', role: 'rowgroup' })
  #scroller: HTMLElement
  #failed = h('div', { class: 'failure', role: 'alert' })
  #blocks = new Map<number, Json[][]>()
  #loading = new Set<number>()
  /** Blocks that could not be had, and are not asked for until somebody wants that. */
  #lost = new Set<number>()
  /** The first of the rows that were drawn last, and when. */
  #drawn = 0
  #drawnAt = 0
  #waiting: ReturnType<typeof setTimeout> | undefined
  #resting: ReturnType<typeof setTimeout> | undefined
  #active = -1
  #scale: Scale
  /** What is at the top, in pixels of all rows, and where the bar was then. */
  #top = 0
  #bar = 0
  #headers = new Map<string, HTMLElement>()
  #widths: number[]
  /** The positions of the columns that are shown, those that stay at the left first. */
  #shown: number[]
  /** How many of them stay. */
  #pinned: number

  constructor(readonly source: Source, label: string, start = 0) {
    const places = source.columns.flatMap(({ name }, place) => (source.hidden?.has(name) ? [] : [place]))
    const stays = (place: number) => source.pinned?.includes(source.columns[place]?.name ?? '') ?? false
    this.#shown = [...places.filter(stays), ...places.filter((place) => !stays(place))]
    this.#pinned = places.filter(stays).length
    this.#widths = widths(source)
    this.#blocks.set(Math.floor(start / BLOCK), source.first)
    this.#active = source.active ?? -1
    this.#scale = new Scale(source.count * ROW_HEIGHT)
    const sizer = h('div', { class: 'sizer', role: 'presentation' }, this.#body)
    sizer.style.height = `${this.#scale.height}px`
    this.#scroller = h('div', {
      class: 'grid', role: 'grid', tabindex: 0, 'aria-label': label,
      'aria-rowcount': source.count + 1, 'aria-colcount': this.#shown.length,
      onscroll: () => this.#scroll(), onkeydown: (event: KeyboardEvent) => this.#press(event),
    }, this.#head(), sizer)
    this.element = h('div', { class: 'holder' }, this.#scroller)
    this.#lay()
    new ResizeObserver(() => this.#draw()).observe(this.#scroller)
    if (start > 0) requestAnimationFrame(() => this.#scrollTo(start))
  }

  /** The height below the head. */
  get #room(): number {
    return this.#scroller.clientHeight - ((this.#scroller.firstElementChild as HTMLElement | null)?.offsetHeight ?? 0)
  }

  /** The first row in sight. */
  get first(): number {
    return Math.floor(this.#top / ROW_HEIGHT)
  }

  /** The row that keys move from, or -1. */
  get active(): number {
    return this.#active
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

  /** Makes a row the one that keys move from, and brings it into sight. */
  activate(place: number): void {
    this.#active = Math.max(0, Math.min(this.source.count - 1, place))
    const page = Math.floor(this.#room / ROW_HEIGHT) - 1
    if (this.#active < this.#top / ROW_HEIGHT) this.#scrollTo(this.#active)
    else if (this.#active >= this.first + page) this.#scrollTo(Math.max(0, this.#active - page))
    this.#scroller.setAttribute('aria-activedescendant', `row-${this.#active}`)
    this.#draw()
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
      const box = filter && h('input', {
        class: 'filter', 'aria-label': `filter ${name}`, placeholder: 'filter', spellcheck: 'false', autocomplete: 'off',
        title: 'A text to find, or =, !=, <, <=, >, >= and a value, or null, or not null',
        onkeydown: (event: KeyboardEvent) => {
          event.stopPropagation()
          if (event.key === 'Enter' && box && box.value.trim() !== '') filter(name, box.value.trim())
        },
      })
      return h('div', { role: 'columnheader', class: NUMBERS.test(type) ? 'number' : '', 'aria-sort': state }, title, under, box || null, this.#grip(name, place))
    })
    return h('div', { class: filter ? 'head filtered' : 'head', role: 'rowgroup' }, h('div', { role: 'row', class: 'row' }, ...cells))
  }

  /** The edge of a column, which a pointer or arrow keys move. */
  #grip(name: string, place: number): HTMLElement {
    const grip = h('span', { class: 'grip', role: 'separator', tabindex: 0, 'aria-orientation': 'vertical', 'aria-label': `width of ${name}`, 'aria-valuemin': WIDTH_MIN, 'aria-valuemax': WIDTH_MAX })
    const set = (width: number) => {
      this.#widths[place] = Math.round(Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, width)))
      grip.setAttribute('aria-valuenow', String(this.#widths[place]))
      this.#lay()
      this.#draw()
    }
    const keep = () => this.source.resized?.(name, this.#widths[place] ?? 0)
    grip.setAttribute('aria-valuenow', String(Math.round(this.#widths[place] ?? 0)))
    grip.addEventListener('keydown', (event) => {
      event.stopPropagation()
      const step = { ArrowLeft: -WIDTH_STEP, ArrowRight: WIDTH_STEP }[event.key]
      if (step === undefined) return
      event.preventDefault()
      set((this.#widths[place] ?? 0) + step)
      keep()
    })
    grip.addEventListener('pointerdown', (start) => {
      const width = this.#widths[place] ?? 0
      const move = (event: PointerEvent) => set(width + event.clientX - start.clientX)
      start.preventDefault()
      grip.setPointerCapture(start.pointerId)
      grip.addEventListener('pointermove', move)
      grip.addEventListener('pointerup', () => {
        grip.removeEventListener('pointermove', move)
        keep()
      }, { once: true })
    })
    return grip
  }

  /** Gives the cells of a row their widths, and those that stay their places. */
  #place(cells: Iterable<Element>): void {
    let [at, left] = [0, 0]
    for (const cell of cells as Iterable<HTMLElement>) {
      const width = this.#widths[this.#shown[at] ?? 0] ?? 0
      cell.style.width = `${width}px`
      if (at < this.#pinned) {
        cell.classList.add('pinned')
        cell.style.left = `${left}px`
        left += width
      }
      at += 1
    }
  }

  #lay(): void {
    this.#place(this.#scroller.querySelectorAll('.head .row > *'))
  }

  /** Moves the rows as the bar was moved. */
  #scroll(): void {
    const bar = this.#scroller.scrollTop
    this.#top = this.#scale.moved(this.#top, this.#bar, bar, this.#room)
    this.#bar = bar
    this.#draw()
    clearTimeout(this.#resting)
    const isAtEnd = bar <= 0 || bar >= this.#scale.height - this.#room - 1
    this.#resting = setTimeout(() => this.#setBar(), isAtEnd ? 0 : REST)
  }

  #scrollTo(place: number): void {
    this.#top = Math.max(0, Math.min(this.#scale.all - this.#room, place * ROW_HEIGHT))
    this.#setBar()
  }

  /** Puts the bar where it is for what is at the top. */
  #setBar(): void {
    const bar = this.#scale.bar(this.#top, this.#room)
    if (Math.abs(bar - this.#bar) < 1) return
    this.#scroller.scrollTop = bar
    this.#bar = this.#scroller.scrollTop
    this.#draw()
  }

  /** Draws the rows in sight. Those that are not there yet leave the last ones in their place for a
   * moment, so that a scroll through all of them shows rows and not their absence. */
  #draw(): void {
    const first = this.first
    const last = Math.min(this.source.count, first + this.#rowCount)
    const isThere = this.#isThere(first)
    this.#load(Math.floor(first / BLOCK), Math.floor(Math.max(first, last - 1) / BLOCK), first)
    this.#tell()
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
    const within = first === this.first ? this.#top - first * ROW_HEIGHT : 0
    this.#body.style.transform = `translateY(${Math.max(0, Math.min(this.#bar - within, this.#scale.height - (last - first) * ROW_HEIGHT))}px)`
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
    this.#place(cells)
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
      if (this.#blocks.has(block) || this.#loading.has(block) || this.#lost.has(block) || this.#loading.size >= LOADING_MAX) continue
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
      this.#lost.add(block)
      const again = () => {
        this.#lost.clear()
        this.#draw()
        this.#scroller.focus()
      }
      fill(this.#failed, h('b', {}, 'Some rows could not be read: '), error.message, ' ', h('button', { class: 'plain', onclick: again }, 'Try again'))
    } finally {
      this.#loading.delete(block)
      this.#draw()
    }
  }

  /** Says that rows are missing, as long as they are. */
  #tell(): void {
    if (this.#lost.size === 0) this.#failed.remove()
    else if (!this.#failed.isConnected) this.element.append(this.#failed)
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
    this.activate(place)
  }
}

/** The widths of columns: those that were set, and others by what the first rows have. */
function widths({ columns, first, filter, widths }: Source): number[] {
  const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16
  return columns.map(({ name, type }, column) => {
    const sample = first.slice(0, 50).map((row) => Math.min(48, line(row[column] ?? null).length))
    const wide = Math.max(name.length + 2, Math.min(24, type.length + 6), ...sample)
    const edge = column === 0 ? 8 : 0 // the first column has the margin of the page
    return widths?.get(name) ?? scale * (edge + Math.max(filter ? 104 : 80, Math.min(420, wide * 8.6 + 30)))
  })
}
