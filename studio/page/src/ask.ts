// A statement, and what it answers.

import { fill, h, several, timed } from './dom'
import { Grid } from './grid'
import { highlight, offsets } from './highlight'
import type { Json } from './json'
import { empty } from './overview'
import { Failure, server, type Answer } from './server'
import { note, state } from './state'

const EXAMPLE = 'select 1 + 1 as two'

/** Stops what runs when the page goes away. */
let running: AbortController | undefined

export function leaveAsk(): void {
  running?.abort()
  running = undefined
}

export async function ask(main: HTMLElement): Promise<void> {
  const { get } = state()
  const back = h('pre', { 'aria-hidden': 'true' })
  const editor = h('textarea', { spellcheck: 'false', 'aria-label': 'Statement', rows: 5, placeholder: EXAMPLE, autocapitalize: 'off', autocomplete: 'off' })
  const language = h('select', { 'aria-label': 'Language' }, h('option', { value: 'sql' }, 'SQL'), h('option', { value: 'ziql' }, 'ZiQL'))
  const view = h('select', { 'aria-label': 'Show as' }, h('option', { value: 'grid' }, 'Grid'), h('option', { value: 'json' }, 'JSON'))
  const run = h('button', { class: 'primary', title: 'Ctrl+Enter' }, 'Run')
  const status = h('span', { class: 'soft', role: 'status' })
  const result = h('div', { class: 'result' })
  editor.value = get('text')
  language.value = get('language') || 'sql'
  view.value = get('view') || 'grid'
  let answer: Answer | undefined

  const keep = () => note('ask', { language: language.value, text: editor.value, view: view.value })
  const paint = (wrong: [number, number] | null = null) => {
    fill(back, ...highlight(`${editor.value}\n`, wrong))
    back.scrollTop = editor.scrollTop
  }
  const draw = () => {
    if (answer) fill(result, shown(answer, view.value))
  }
  const start = async () => {
    if (running) return leaveAsk()
    const [mine, text] = [new AbortController(), editor.value || EXAMPLE]
    editor.value = text
    keep()
    paint()
    running = mine
    run.textContent = 'Stop'
    fill(status, 'running…')
    try {
      answer = await server.ask(language.value, text, mine.signal)
      fill(status, told(answer))
      draw()
    } catch (error) {
      answer = undefined
      fill(status, mine.signal.aborted ? 'stopped' : '')
      if (error instanceof Failure) {
        paint(error.place && offsets(text, error.place))
        fill(result, failed(error))
      } else if (!mine.signal.aborted) throw error
    } finally {
      if (running === mine) running = undefined
      run.textContent = 'Run'
    }
  }

  editor.addEventListener('input', () => (paint(), keep()))
  editor.addEventListener('scroll', () => (back.scrollTop = editor.scrollTop))
  editor.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    void start()
  })
  run.addEventListener('click', () => void start())
  language.addEventListener('change', keep)
  view.addEventListener('change', () => (keep(), draw()))
  paint()
  fill(result, empty('Ask the database', 'Write a statement and press Ctrl+Enter. The address keeps it, so it can be sent as a link.'))
  fill(
    main,
    h('div', { class: 'ask' },
      h('h1', { class: 'unseen' }, 'Ask'),
      h('div', { class: 'editor' }, back, editor),
      h('div', { class: 'tools' }, run, language, view, status),
      result,
    ),
  )
  editor.focus()
  if (get('text') !== '') void start()
}

function told({ rows, count, ms, is_cut }: Answer): string {
  const what = rows ? several(rows.length, 'row') : count === null ? 'done' : `${several(count, 'row')} changed`
  return `${what}${is_cut ? ', the first of more' : ''} · ${timed(ms)}`
}

function shown({ columns = [], rows, count }: Answer, view: string): HTMLElement {
  if (!rows) return empty('Done', count === null ? 'The statement has no rows.' : `${several(count, 'row')} changed.`)
  if (rows.length === 0) return empty('No rows', 'The statement ran and found nothing.')
  if (view === 'json') return h('pre', { class: 'json', tabindex: 0, 'aria-label': 'rows as JSON' }, asJson(columns.map(({ name }) => name), rows))
  return new Grid({ count: rows.length, columns, first: rows.slice(0, 200), load: async (offset, limit) => rows.slice(offset, offset + limit) }, 'rows of the statement').element
}

const JSON_ROWS_MAX = 1_000

function asJson(names: string[], rows: Json[][]): string {
  const lines = rows.slice(0, JSON_ROWS_MAX).map((row) => JSON.stringify(Object.fromEntries(names.map((name, column) => [name, row[column] ?? null]))))
  return lines.join('\n') + (rows.length > JSON_ROWS_MAX ? '\n…' : '')
}

function failed({ message, hint, code }: Failure): HTMLElement {
  return h('div', { class: 'failure', role: 'alert' }, h('b', {}, message), hint ? h('p', {}, hint) : null, h('p', { class: 'soft' }, code))
}

