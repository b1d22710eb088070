// Rows as text: copied or saved, as JSON Lines, CSV or Markdown.

import { counted, h, several } from './dom'
import { host } from './host'
import { line, type Json } from './json'

export interface Rows {
  names: string[]
  rows: Json[][]
  /** How many rows pass, where these are only the first of them. */
  total?: number | undefined
}

interface Form {
  words: string
  ending: string
  kind: string
  write(rows: Rows): string
}

const FORMS: Form[] = [
  { words: 'JSON Lines', ending: 'jsonl', kind: 'application/x-ndjson', write: asJson },
  { words: 'CSV', ending: 'csv', kind: 'text/csv', write: asCsv },
  { words: 'Markdown', ending: 'md', kind: 'text/markdown', write: asMarkdown },
]

/** Rows as a document each. */
export function asJson({ names, rows }: Rows): string {
  return rows.map((row) => `${JSON.stringify(Object.fromEntries(names.map((name, column) => [name, row[column] ?? null])))}\n`).join('')
}

function asCsv({ names, rows }: Rows): string {
  const cell = (text: string) => (/[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  const write = (value: Json) => (value === null ? '' : value === '' ? '""' : cell(line(value)))
  return [names.map(cell), ...rows.map((row) => row.map(write))].map((cells) => `${cells.join(',')}\r\n`).join('')
}

function asMarkdown({ names, rows }: Rows): string {
  const cell = (text: string) => text.replace(/[\\|<>`*_[\]]/g, '\\$&').replace(/\r?\n/g, ' ')
  const write = (value: Json) => (value === null ? '' : cell(line(value)))
  return [names.map(cell), names.map(() => '---'), ...rows.map((row) => row.map(write))].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

/** The menu that copies or saves rows. */
export function exporter(name: string, rows: () => Promise<Rows>): HTMLElement {
  const menu = h('details', { class: 'menu' }, h('summary', { class: 'plain' }, 'Export'))
  const summary = menu.firstElementChild as HTMLElement
  const tell = (words: string, seconds: number) => {
    summary.textContent = words
    setTimeout(() => summary.textContent === words && (summary.textContent = 'Export'), seconds * 1000)
  }
  const act = (words: string, done: string, run: (found: Rows) => unknown) => {
    const press = async () => {
      menu.open = false
      try {
        const found = await rows()
        await run(found)
        if (found.total === undefined) tell(done, 2)
        else tell(`${done} the first ${counted(found.rows.length)} of ${several(found.total, 'row')}`, 10)
      } catch {
        tell('Not exported', 2)
      }
    }
    return h('button', { onclick: press }, words)
  }
  const items = FORMS.flatMap(({ words, ending, kind, write }) => [
    act(`Copy as ${words}`, 'Copied', (found) => navigator.clipboard.writeText(write(found))),
    act(`Save as ${words}`, 'Saved', (found) => host.save(`${name}.${ending}`, new Blob([write(found)], { type: kind }))),
  ])
  menu.append(h('div', { class: 'items' }, ...items))
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    menu.open = false
    summary.focus()
  })
  menu.addEventListener('focusout', (event) => {
    if (!menu.contains(event.relatedTarget as Node | null)) menu.open = false
  })
  return menu
}
