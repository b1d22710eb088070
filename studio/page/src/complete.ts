// What may stand where the caret is: relations, columns and paths of those that the statement names,
// functions, and words of the language.

import { h } from './dom'
import { WORDS } from './highlight'
import { pathOf, spoken } from './paths'
import { server, type Schema } from './server'

export interface Choice {
  text: string
  kind: string
}

const MOST = 8

let known: Promise<Schema> | undefined
/** Editors of one page have lists of different names. */
let last = 0

/** What could end the word before the caret, the likeliest first, and where the word begins. */
export function choices(text: string, caret: number, schema: Schema): { start: number; found: Choice[] } {
  const before = text.slice(0, caret)
  const word = /(?:[\p{L}_][\p{L}\p{N}_]*\.)*[\p{L}_]?[\p{L}\p{N}_]*$/u.exec(before)?.[0] ?? ''
  const start = caret - word.length
  if (word === '' || isQuoted(before)) return { start, found: [] }
  const named = schema.relations.filter(({ name }) => new RegExp(`(^|[^\\p{L}\\p{N}_])"?${escaped(name)}"?($|[^\\p{L}\\p{N}_])`, 'iu').test(text))
  const follows = /\b(from|join|into|update|table|grab|delete|describe)\s+$/i.test(before.slice(0, start))
  const relations = schema.relations.map(({ name, kind }) => ({ text: pathOf(name), kind }))
  const fields = named.flatMap(({ name, fields }) => fields.filter(({ path }) => !path.includes('[]') && !path.includes('*')).flatMap(({ path, type }) => [{ text: path, kind: type }, ...(word.includes('.') ? [{ text: `${pathOf(name)}.${path}`, kind: type }] : [])]))
  const functions = schema.functions.map((name) => ({ text: `${name}(`, kind: 'function' }))
  const words = [...WORDS].map((name) => ({ text: name, kind: '' }))
  const all: Choice[] = follows ? relations : [...fields, ...relations, ...words, ...functions]
  const seen = new Set<string>()
  const lower = word.toLowerCase()
  const found = all.filter(({ text }) => {
    const isNew = !seen.has(text) && text.toLowerCase() !== lower && text.replaceAll('"', '').toLowerCase().startsWith(lower)
    seen.add(text)
    return isNew
  })
  return { start, found: found.slice(0, MOST) }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** Whether a text ends within a string or a comment. */
function isQuoted(text: string): boolean {
  const rest = text.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*\n|\/\*[^]*?\*\//g, '')
  return /'|--|\/\*/.test(rest)
}

/** Completes what is typed into an editor, whose text is also behind it. */
export class Completion {
  readonly #id = `choices-${++last}`
  readonly list = h('ul', { class: 'choices', role: 'listbox', id: this.#id, 'aria-label': 'Completions', hidden: true })
  #found: Choice[] = []
  #start = 0
  #picked = 0

  constructor(readonly editor: HTMLTextAreaElement, readonly back: HTMLElement) {
    editor.setAttribute('aria-autocomplete', 'list')
    editor.setAttribute('aria-controls', this.#id)
    editor.setAttribute('aria-haspopup', 'listbox')
    editor.addEventListener('focus', () => (known ??= server.schema()), { once: true })
    editor.addEventListener('blur', () => this.close())
  }

  /** Offers what fits. */
  async open(): Promise<void> {
    const schema = await (known ??= server.schema()).catch(() => (known = undefined))
    const { selectionStart: caret, selectionEnd, value } = this.editor
    if (!schema || caret !== selectionEnd || document.activeElement !== this.editor) return this.close()
    const { start, found } = choices(value, caret, schema)
    ;[this.#start, this.#found, this.#picked] = [start, found, 0]
    if (found.length === 0) return this.close()
    const items = found.map(({ text, kind }, place) => h('li', { role: 'option', id: `${this.#id}-${place}`, onpointerdown: (event: Event) => (event.preventDefault(), this.#take(place)) }, h('span', { dir: 'auto' }, spoken(text) === text.replaceAll('"', '') ? text : spoken(text)), h('span', { class: 'soft' }, kind)))
    this.list.replaceChildren(...items)
    this.list.hidden = false
    this.#mark()
    this.#place()
  }

  close(): void {
    this.list.hidden = true
    this.editor.removeAttribute('aria-activedescendant')
  }

  /** Takes a key, if it is for the list. */
  press(event: KeyboardEvent): boolean {
    if (this.list.hidden || event.ctrlKey || event.metaKey || event.altKey) return false
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      this.#picked = (this.#picked + step + this.#found.length) % this.#found.length
      this.#mark()
    } else if (event.key === 'Enter' || event.key === 'Tab') this.#take(this.#picked)
    else if (event.key === 'Escape') this.close()
    else return false
    event.preventDefault()
    return true
  }

  #mark(): void {
    ;[...this.list.children].forEach((item, place) => item.setAttribute('aria-selected', place === this.#picked ? 'true' : 'false'))
    this.editor.setAttribute('aria-activedescendant', `${this.#id}-${this.#picked}`)
  }

  #take(place: number): void {
    const { text } = this.#found[place] as Choice
    this.editor.setRangeText(text, this.#start, this.editor.selectionStart, 'end')
    this.close()
    this.editor.dispatchEvent(new Event('input'))
    this.close()
  }

  /** Puts the list below the word, which the text behind the editor shows the place of. */
  #place(): void {
    const range = document.createRange()
    let rest = this.#start
    const walker = document.createTreeWalker(this.back, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const size = node.textContent?.length ?? 0
      if (rest <= size) {
        range.setStart(node, rest)
        range.setEnd(node, rest)
        break
      }
      rest -= size
    }
    const [at, frame] = [range.getBoundingClientRect(), this.back.getBoundingClientRect()]
    const left = Math.min(at.left - frame.left, Math.max(0, frame.width - this.list.offsetWidth - 8))
    this.list.style.left = `${Math.max(0, left)}px`
    this.list.style.top = `${at.bottom - frame.top + 4}px`
  }
}
