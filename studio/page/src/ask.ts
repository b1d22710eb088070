// The page of statements: cells, each with a statement and what it answers. The address has all of
// them: the first by its names, further ones as `cell`.

import { Cell, type Asked } from './cell'
import { fill, h } from './dom'
import { host } from './host'
import { note, state } from './state'

const NAMES = ['language', 'text', 'view', 'chart', 'x', 'y', 'measured'] as const

export async function ask(main: HTMLElement): Promise<void> {
  const page = new Page()
  fill(main, page.element)
  page.start()
}

class Page {
  #cells: Cell[]
  #list = h('div', { class: 'cells' })
  readonly element: HTMLElement

  constructor() {
    const { get, all } = state()
    const first: Asked = Object.fromEntries(NAMES.map((name) => [name, get(name)]))
    const others = all('cell').map((text) => JSON.parse(text) as Asked)
    this.#cells = [first, ...others].map((asked) => this.#made(asked))
    this.element = h('div', { class: 'ask' }, h('h1', { class: 'unseen' }, 'Ask'), this.#list)
    this.#show()
  }

  /** Runs what the address has, as far as it reads only; more where somebody has just pressed Run. */
  start(): void {
    const isPressed = host.pressed === location.hash
    host.pressed = undefined
    for (const cell of this.#cells) cell.start(isPressed)
  }

  #made(asked: Asked): Cell {
    const cell: Cell = new Cell(asked, {
      keep: () => this.#keep(),
      add: () => {
        const next = this.#made({})
        this.#cells.splice(this.#cells.indexOf(cell) + 1, 0, next)
        this.#lay()
        next.focus()
      },
      remove: () => {
        cell.stop()
        this.#cells = this.#cells.filter((other) => other !== cell)
        this.#lay()
        this.#cells[0]?.focus()
      },
    })
    return cell
  }

  #lay(): void {
    this.#show()
    this.#keep()
  }

  #show(): void {
    this.element.classList.toggle('several', this.#cells.length > 1)
    this.#cells.forEach(({ element }, place) => (element.ariaLabel = `Statement ${place + 1} and its answer`))
    fill(this.#list, ...this.#cells.map(({ element }) => element))
  }

  #keep(): void {
    if (state().page !== 'ask') return
    const [first, ...others] = this.#cells.map((cell) => cell.asked)
    note('ask', { ...first, cell: others.map((asked) => JSON.stringify(asked)) })
  }
}
