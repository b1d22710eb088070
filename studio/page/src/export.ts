// Rows as text: copied or saved, as JSON Lines, CSV or Markdown.

import { h } from './dom'
import { host } from './host'
import { line, type Json } from './json'

export interface Rows {
  names: string[]
  rows: Json[][]
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
  const act = (words: string, run: () => Promise<void>) => {
    const press = () => {
      menu.open = false
      run().then(() => (summary.textContent = words.startsWith('Copy') ? 'Copied' : 'Saved'), () => (summary.textContent = 'Not exported'))
      setTimeout(() => (summary.textContent = 'Export'), 2000)
    }
    return h('button', { onclick: press }, words)
  }
  const items = FORMS.flatMap(({ words, ending, kind, write }) => [
    act(`Copy as ${words}`, async () => navigator.clipboard.writeText(write(await rows()))),
    act(`Save as ${words}`, async () => host.save(`${name}.${ending}`, new Blob([write(await rows())], { type: kind }))),
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
