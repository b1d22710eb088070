// A statement, and what it answers. One that came with the address runs if it only reads; one that
// changes something waits until somebody presses Run. A plan is seen without a run.

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
import { remember, statements } from './statements'

const EXAMPLE = 'select 1 + 1 as two'
const JSON_ROWS_MAX = 1_000
const VIEWS: [string, string][] = [['grid', 'Grid'], ['json', 'JSON'], ['chart', 'Chart'], ['plan', 'Plan']]

/** What the address says about a cell. */
export type Asked = { [name in 'language' | 'text' | 'view' | 'chart' | 'x' | 'y' | 'measured']?: string }

/** What a cell wants of its page. */
interface Around {
  /** Keeps what is asked in the address. */
  keep(): void
  add(): void
  remove(): void
}

export class Cell {
  #back = h('pre', { 'aria-hidden': 'true' })
  #editor = h('textarea', { spellcheck: 'false', 'aria-label': 'Statement', rows: 5, placeholder: EXAMPLE, autocapitalize: 'off', autocomplete: 'off' })
  #language = h('select', { 'aria-label': 'Language' }, h('option', { value: 'sql' }, 'SQL'), h('option', { value: 'ziql' }, 'ZiQL'))
  #views = h('div', { class: 'views', role: 'group', 'aria-label': 'Show as' })
  #run = h('button', { class: 'primary', title: 'Ctrl+Enter', onclick: () => void this.#act(true) }, 'Run')
  #status = h('span', { class: 'soft', role: 'status' })
  #result = h('div', { class: 'result' })
  #completion = new Completion(this.#editor, this.#back)
  #view: string
  #answer: Answer | undefined
  #lines: string[] | undefined
  /** Whether the plan is run, and its steps are timed. */
  #isMeasured: boolean
  #chart: Chart | undefined
  #running: AbortController | undefined
  readonly element: HTMLElement

  constructor(begun: Asked, readonly around: Around) {
    this.#editor.value = begun.text ?? ''
    this.#language.value = begun.language || 'sql'
    this.#view = begun.view || 'grid'
    this.#isMeasured = Boolean(begun.measured)
    if (begun.chart) this.#chart = { kind: begun.chart as Kind, x: Number(begun.x), y: Number(begun.y) }
    this.#editor.addEventListener('input', () => {
      ;[this.#isMeasured, this.#lines] = [false, undefined] // of the statement that was there
      this.#paint()
      this.around.keep()
      void this.#completion.open()
    })
    this.#editor.addEventListener('scroll', () => (this.#back.scrollTop = this.#editor.scrollTop))
    this.#editor.addEventListener('keydown', (event) => this.#press(event))
    this.#language.addEventListener('change', () => this.around.keep())
    this.#paint()
    this.#drawViews()
    fill(this.#result, empty('Ask the database', 'Write a statement and press Ctrl+Enter. The address keeps it, so it can be sent as a link.'))
    const rows = async () => ({ names: (this.#answer?.columns ?? []).map(({ name }) => name), rows: this.#answer?.rows ?? [] })
    const take = ({ language, text }: { language: string; text: string }) => {
      ;[this.#language.value, this.#editor.value, this.#lines] = [language, text, undefined]
      this.#paint()
      this.around.keep()
      this.#editor.focus()
    }
    const now = () => ({ language: this.#language.value, text: this.#editor.value })
    this.element = h('section', { class: 'cell' },
      h('div', { class: 'editor' }, this.#back, this.#editor, this.#completion.list),
      h('div', { class: 'tools' }, this.#run, this.#language, this.#views, this.#status, h('span', { class: 'gap' }), statements(now, take), exporter('answer', rows),
        h('button', { class: 'plain', 'aria-label': 'Add a statement below', title: 'Add a statement below', onclick: () => this.around.add() }, '+'),
        h('button', { class: 'plain remove', 'aria-label': 'Remove this statement', title: 'Remove this statement', onclick: () => this.around.remove() }, '×')),
      this.#result,
    )
  }

  get asked(): Asked {
    const { kind, x, y } = this.#chart ?? {}
    const drawn = this.#view === 'chart' && kind ? { chart: kind, x: String(x), y: String(y) } : {}
    const measured = this.#view === 'plan' && this.#isMeasured ? { measured: '1' } : {}
    return { language: this.#language.value, text: this.#editor.value, view: this.#view, ...drawn, ...measured }
  }

  start(isPressed: boolean): void {
    if (this.#editor.value !== '') void this.#act(isPressed)
  }

  stop(): void {
    this.#running?.abort()
  }

  focus(): void {
    this.#editor.focus()
  }

  #press(event: KeyboardEvent): void {
    if (this.#completion.press(event)) return
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void this.#act(true)
    else if (event.key === ' ' && event.ctrlKey) void this.#completion.open()
    else if (event.key === 'Escape' && this.#running) this.stop()
    else return
    event.preventDefault()
  }

  #paint(wrong: [number, number] | null = null): void {
    fill(this.#back, ...highlight(`${this.#editor.value}\n`, wrong))
    this.#back.scrollTop = this.#editor.scrollTop
  }

  #drawViews(): void {
    const press = (name: string) => {
      this.#view = name
      this.#drawViews()
      this.around.keep()
      if (name !== 'plan') return this.#draw()
      if (!this.#running && this.#editor.value !== '') void this.#explain(false)
    }
    fill(this.#views, ...VIEWS.map(([name, words]) => h('button', { 'aria-pressed': this.#view === name ? 'true' : 'false', onclick: () => press(name) }, words)))
    this.#label()
  }

  #label(): void {
    this.#run.textContent = this.#running ? 'Stop' : this.#view === 'plan' ? 'Explain' : 'Run'
  }

  /** Runs the statement, or shows its plan, or stops what runs. */
  async #act(isPressed: boolean): Promise<void> {
    if (this.#running) return this.stop()
    this.#editor.value ||= EXAMPLE
    this.#completion.close()
    this.around.keep()
    if (this.#view !== 'plan') return this.#ask(isPressed)
    if (isPressed) [this.#isMeasured, this.#lines] = [false, undefined]
    return this.#explain(isPressed)
  }

  async #ask(isPressed: boolean): Promise<void> {
    const [text, language] = [this.#editor.value, this.#language.value]
    const answer = await this.#answered('', (signal) => server.ask(language, text, isPressed, signal))
    ;[this.#answer, this.#lines] = [answer, undefined]
    if (!answer) return
    const [columns, rows] = [answer.columns ?? [], answer.rows ?? []]
    const { x, y } = this.#chart ?? {}
    const isDrawn = this.#view === 'chart' && x !== undefined && y !== undefined && columns[x] && columns[y]
    if (!isDrawn) this.#chart = chosen(columns, rows)
    fill(this.#status, told(answer))
    remember({ language, text, at: Date.now(), rows: answer.rows?.length ?? null, ms: answer.ms })
    this.around.keep()
    this.#draw()
  }

  /** What the server answers, with Stop in place of Run meanwhile; nothing where it fails or waits. An
   * error is where the statement is, after what is sent before it. */
  async #answered(before: string, work: (signal: AbortSignal) => Promise<Answer>): Promise<Answer | undefined> {
    const [mine, text] = [new AbortController(), this.#editor.value]
    this.#running = mine
    this.#paint()
    this.#label()
    fill(this.#status, 'running…')
    try {
      const answer = await work(mine.signal)
      fill(this.#status)
      if (!answer.waits) return answer
      fill(this.#result, h('div', { class: 'waits' }, empty('Not run yet', 'This statement changes something. It came with the address, which by itself runs only what reads: press Run to run it.')))
    } catch (error) {
      fill(this.#status, mine.signal.aborted ? 'stopped' : '')
      if (error instanceof Failure) {
        const place = error.place && moved(error.place, before.length)
        this.#paint(place && offsets(text, place))
        fill(this.#result, failed(error, place && under(text, place)))
      } else if (!mine.signal.aborted) throw error
    } finally {
      this.#running = undefined
      this.#label()
    }
    return undefined
  }

  #draw(): void {
    const answer = this.#answer
    if (!answer) return this.#lines ? fill(this.#result, empty('Not run yet', 'Press Run to run the statement.')) : undefined
    const change = (now: Chart) => {
      this.#chart = now
      this.around.keep()
      this.#draw()
    }
    fill(this.#result, this.#view === 'chart' && (answer.rows?.length ?? 0) > 0 ? chart(answer, this.#chart, change) : shown(answer, this.#view))
  }

  /** Shows the plan; of SQL, with the rows that are expected, and with what each step did. */
  async #explain(isPressed: boolean): Promise<void> {
    const [language, text] = [this.#language.value, this.#editor.value]
    const measure = () => {
      ;[this.#isMeasured, this.#lines] = [true, undefined]
      this.around.keep()
      fill(this.#result, h('p', { class: 'measuring' }, 'Running the statement…'))
      void this.#explain(true)
    }
    if (!this.#lines) {
      const explain = language === 'sql' ? `explain (estimates, advice${this.#isMeasured ? ', analyze' : ''}) ` : 'EXPLAIN '
      const answer = await this.#answered(explain, (signal) => server.ask(language, explain + text, isPressed, signal))
      if (!answer) return
      this.#lines = (answer.rows ?? []).map(([cell]) => line(cell ?? null))
    }
    fill(this.#result, plan(this.#lines, language === 'sql' ? measure : undefined))
  }
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

type Place = NonNullable<Failure['place']>

/** The place in a text of one with so many characters before it. */
function moved([row, column, endRow, endColumn]: Place, by: number): Place | null {
  const start = row === 1 ? column - by : column
  return start > 0 ? [row, start, endRow, endRow === 1 ? endColumn - by : endColumn] : null
}

/** An error, with the line that it means and marks under its words. */
function failed({ message, hint, code }: Failure, line: HTMLElement | null): HTMLElement {
  return h('div', { class: 'failure', role: 'alert' }, h('b', {}, message), line, hint ? h('p', {}, hint) : null, h('p', { class: 'soft' }, code))
}

function under(text: string, [row, column, endRow, endColumn]: Place): HTMLElement {
  const source = text.split('\n')[row - 1] ?? ''
  const width = Math.max(1, (endRow === row ? endColumn : [...source].length + 1) - column)
  return h('pre', { class: 'under-words', dir: 'ltr' }, `${source}\n${' '.repeat(column - 1)}${'^'.repeat(width)}`)
}
