// A statement, and what it answers.

import { chart, chosen, type Chart, type Kind } from './chart'
import { Completion } from './complete'
import { fill, h, several, timed } from './dom'
import { asJson, exporter } from './export'
import { Grid } from './grid'
import { highlight, offsets } from './highlight'
import { line } from './json'
import { empty } from './overview'
import { plan } from './plan'
import { Failure, server, type Answer } from './server'
import { note, state, type Parameters } from './state'
import { remember, statements } from './statements'

const EXAMPLE = 'select 1 + 1 as two'
const JSON_ROWS_MAX = 1_000
const VIEWS: [string, string][] = [['grid', 'Grid'], ['json', 'JSON'], ['chart', 'Chart'], ['plan', 'Plan']]

/** Stops what runs when the page goes away. */
let running: AbortController | undefined

export function leaveAsk(): void {
  running?.abort()
  running = undefined
}

export async function ask(main: HTMLElement): Promise<void> {
  const page = new Page()
  fill(main, page.element)
  page.start()
}

class Page {
  #back = h('pre', { 'aria-hidden': 'true' })
  #editor = h('textarea', { spellcheck: 'false', 'aria-label': 'Statement', rows: 5, placeholder: EXAMPLE, autocapitalize: 'off', autocomplete: 'off' })
  #language = h('select', { 'aria-label': 'Language' }, h('option', { value: 'sql' }, 'SQL'), h('option', { value: 'ziql' }, 'ZiQL'))
  #views = h('div', { class: 'views', role: 'group', 'aria-label': 'Show as' })
  #run = h('button', { class: 'primary', title: 'Ctrl+Enter', onclick: () => void this.#ask() }, 'Run')
  #status = h('span', { class: 'soft', role: 'status' })
  #result = h('div', { class: 'result' })
  #completion = new Completion(this.#editor, this.#back)
  #view = state().get('view') || 'grid'
  #answer: Answer | undefined
  #lines: string[] | undefined
  /** Whether the plan is run, and its steps are timed. */
  #isMeasured = state().get('measured') !== ''
  #chart: Chart | undefined
  readonly element: HTMLElement

  constructor() {
    const { get } = state()
    this.#editor.value = get('text')
    this.#language.value = get('language') || 'sql'
    this.#editor.addEventListener('input', () => {
      this.#isMeasured = false // of the statement that was there
      this.#paint()
      this.#keep()
      void this.#completion.open()
    })
    this.#editor.addEventListener('scroll', () => (this.#back.scrollTop = this.#editor.scrollTop))
    this.#editor.addEventListener('keydown', (event) => this.#press(event))
    this.#language.addEventListener('change', () => this.#keep())
    this.#paint()
    this.#drawViews()
    fill(this.#result, empty('Ask the database', 'Write a statement and press Ctrl+Enter. The address keeps it, so it can be sent as a link.'))
    const rows = async () => ({ names: (this.#answer?.columns ?? []).map(({ name }) => name), rows: this.#answer?.rows ?? [] })
    const take = ({ language, text }: { language: string; text: string }) => {
      ;[this.#language.value, this.#editor.value] = [language, text]
      this.#paint()
      this.#keep()
      this.#editor.focus()
    }
    const now = () => ({ language: this.#language.value, text: this.#editor.value })
    this.element = h('div', { class: 'ask' },
      h('h1', { class: 'unseen' }, 'Ask'),
      h('div', { class: 'editor' }, this.#back, this.#editor, this.#completion.list),
      h('div', { class: 'tools' }, this.#run, this.#language, this.#views, this.#status, h('span', { class: 'gap' }), statements(now, take), exporter('answer', rows)),
      this.#result,
    )
  }

  start(): void {
    if (state().get('text') !== '') void this.#ask()
  }

  #press(event: KeyboardEvent): void {
    if (this.#completion.press(event)) return
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void this.#ask()
    else if (event.key === ' ' && event.ctrlKey) void this.#completion.open()
    else if (event.key === 'Escape' && running) leaveAsk()
    else return
    event.preventDefault()
  }

  #keep(): void {
    const { kind, x, y } = this.#chart ?? { kind: 'bar', x: -1, y: -1 }
    const drawn: Parameters = this.#view === 'chart' && this.#chart ? { chart: kind, x: String(x), y: String(y) } : {}
    const measured: Parameters = this.#view === 'plan' && this.#isMeasured ? { measured: '1' } : {}
    note('ask', { language: this.#language.value, text: this.#editor.value, view: this.#view, ...drawn, ...measured })
  }

  #paint(wrong: [number, number] | null = null): void {
    fill(this.#back, ...highlight(`${this.#editor.value}\n`, wrong))
    this.#back.scrollTop = this.#editor.scrollTop
  }

  #drawViews(): void {
    const press = (name: string) => {
      this.#view = name
      this.#drawViews()
      this.#keep()
      void this.#draw()
    }
    fill(this.#views, ...VIEWS.map(([name, words]) => h('button', { 'aria-pressed': this.#view === name ? 'true' : 'false', onclick: () => press(name) }, words)))
  }

  /** Runs the statement, or stops the one that runs. */
  async #ask(): Promise<void> {
    if (running) return leaveAsk()
    const [mine, text, language] = [new AbortController(), this.#editor.value || EXAMPLE, this.#language.value]
    const drawn = state()
    this.#editor.value = text
    this.#completion.close()
    this.#paint()
    running = mine
    this.#run.textContent = 'Stop'
    fill(this.#status, 'running…')
    try {
      const answer = await server.ask(language, text, mine.signal)
      const [columns, rows] = [answer.columns ?? [], answer.rows ?? []]
      ;[this.#answer, this.#lines] = [answer, undefined]
      this.#chart = chosen(columns, rows)
      const [kind, x, y] = [drawn.get('chart') as Kind, Number(drawn.get('x')), Number(drawn.get('y'))]
      if (this.#chart && kind && columns[x] && columns[y]) this.#chart = { kind, x, y }
      fill(this.#status, told(answer))
      remember({ language, text, at: Date.now(), rows: answer.rows?.length ?? null, ms: answer.ms })
      this.#keep()
      await this.#draw()
    } catch (error) {
      this.#answer = undefined
      fill(this.#status, mine.signal.aborted ? 'stopped' : '')
      this.#keep()
      if (error instanceof Failure) {
        this.#paint(error.place && offsets(text, error.place))
        fill(this.#result, failed(error, text))
      } else if (!mine.signal.aborted) throw error
    } finally {
      if (running === mine) running = undefined
      this.#run.textContent = 'Run'
    }
  }

  async #draw(): Promise<void> {
    const answer = this.#answer
    if (!answer) return
    if (this.#view === 'plan') return this.#explain()
    const change = (now: Chart) => {
      this.#chart = now
      this.#keep()
      void this.#draw()
    }
    fill(this.#result, this.#view === 'chart' && (answer.rows?.length ?? 0) > 0 ? chart(answer, this.#chart, change) : shown(answer, this.#view))
  }

  async #explain(): Promise<void> {
    const [language, text] = [this.#language.value, this.#editor.value]
    const measure = () => {
      ;[this.#isMeasured, this.#lines] = [true, undefined]
      this.#keep()
      fill(this.#result, h('p', { class: 'measuring', role: 'status' }, 'running…'))
      void this.#explain()
    }
    try {
      this.#lines ??= await explained(language, text, this.#isMeasured)
      fill(this.#result, plan(this.#lines, language === 'sql' ? measure : undefined))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      fill(this.#result, failed(error, ''))
    }
  }
}

/** The lines of the plan; of SQL, with the rows that are expected, and with what each step did. */
async function explained(language: string, text: string, isMeasured: boolean): Promise<string[]> {
  const { signal } = new AbortController()
  const explain = language === 'sql' ? `explain (estimates, advice${isMeasured ? ', analyze' : ''})` : 'EXPLAIN'
  const answer = await server.ask(language, `${explain} ${text}`, signal)
  return (answer.rows ?? []).map(([cell]) => line(cell ?? null))
}

function told({ rows, count, ms, is_cut }: Answer): string {
  const what = rows ? several(rows.length, 'row') : count === null ? 'done' : `${several(count, 'row')} changed`
  return `${what}${is_cut ? ', the first of more' : ''} · ${timed(ms)}`
}

function shown({ columns = [], rows, count }: Answer, view: string): HTMLElement {
  if (!rows) return empty('Done', count === null ? 'The statement has no rows.' : `${several(count, 'row')} changed.`)
  if (rows.length === 0) return empty('No rows', 'The statement ran and found nothing.')
  const names = columns.map(({ name }) => name)
  const rest = rows.length > JSON_ROWS_MAX ? '…' : ''
  if (view === 'json') return h('pre', { class: 'json', tabindex: 0, 'aria-label': 'rows as JSON' }, asJson({ names, rows: rows.slice(0, JSON_ROWS_MAX) }) + rest)
  return new Grid({ count: rows.length, columns, first: rows.slice(0, 200), load: async (offset, limit) => rows.slice(offset, offset + limit) }, 'rows of the statement').element
}

/** An error, with the line that it means and marks under its words. */
function failed({ message, hint, code, place }: Failure, text: string): HTMLElement {
  const parts = place && text ? under(text, place) : null
  return h('div', { class: 'failure', role: 'alert' }, h('b', {}, message), parts, hint ? h('p', {}, hint) : null, h('p', { class: 'soft' }, code))
}

function under(text: string, [row, column, endRow, endColumn]: [number, number, number, number]): HTMLElement {
  const source = text.split('\n')[row - 1] ?? ''
  const width = Math.max(1, (endRow === row ? endColumn : [...source].length + 1) - column)
  return h('pre', { class: 'under-words', dir: 'ltr' }, `${source}\n${' '.repeat(column - 1)}${'^'.repeat(width)}`)
}
