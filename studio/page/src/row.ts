// One row or document: its members, where they lead, what leads here, and its line.

import { counted, fill, h, several } from './dom'
import { parse, type Json, type Members } from './json'
import { backLinks, leadsOf } from './links'
import { follow, stateOf } from './live'
import { empty } from './overview'
import { pathOf } from './paths'
import { edits } from './edit'
import { server, type Column, type Fields, type Shown } from './server'
import { address, state } from './state'
import { tree } from './tree'

/** The members of a row of a grid. */
export function membersOf(columns: Column[], row: Json[]): Members {
  return Object.fromEntries(columns.map(({ name }, column) => [name, row[column] ?? null]))
}

const NOTHING: Fields = { fields: [], key: [], links: [] }

interface Opened {
  relation: string
  columns: Column[]
  row: Json[]
  place: number
  known: Promise<Fields>
  close(): void
  /** Whether it is open, and shown again only if it has changed. */
  isAgain: boolean
}

/** The line that is shown beside a grid. */
let shownLine: string | null = null

/** Shows a row of a grid beside it. */
export async function openRow(detail: HTMLElement, { relation, columns, row, place, known, close, isAgain }: Opened): Promise<void> {
  const members = membersOf(columns, row)
  const id = columns[0]?.name === '_id' && typeof row[0] === 'string' ? row[0] : undefined
  const fields = await known.catch(() => NOTHING)
  const key = fields.key.map((name) => [name, String(members[name])] as [string, string])
  const page = id !== undefined ? address('document', { collection: relation, id }) : key.length > 0 ? address('row', { name: relation, is: key.map((pair) => JSON.stringify(pair)) }) : undefined
  const head = h('div', { class: 'title' }, h('h2', { dir: 'auto' }, id ?? `Row ${counted(place + 1)}`), page ? h('a', { class: 'plain', href: page, title: 'Open as a page' }, 'Open') : null, h('button', { class: 'plain', onclick: close, 'aria-label': 'close' }, '×'))
  const turn = (Number(detail.dataset.turn ?? 0) + 1).toString()
  detail.dataset.turn = turn
  if (!isAgain) [detail.hidden, detail.scrollTop] = [false, 0]
  const line = id === undefined ? null : (await server.document(relation, id)).line
  if (detail.dataset.turn !== turn || (isAgain && line === shownLine)) return // another row was opened meanwhile
  shownLine = line
  const changed = isAgain ? changedNote(line) : null
  fill(detail, head, changed, ...parts(relation, fields, members, line, 'h3'))
}

/** Says that a document is no longer what was shown. */
function changedNote(line: string | null): HTMLElement {
  return h('p', { class: 'changed', role: 'status' }, line === null ? 'It has just been deleted.' : 'It has just changed.')
}

/** Everything about a row below its title. */
function parts(relation: string, fields: Fields, members: Members, line: string | null, heading: 'h2' | 'h3'): (HTMLElement | null)[] {
  const back = backLinks(relation, fields, members)
  return [
    h(heading, { class: 'part' }, 'Members'), tree(line === null ? members : parse(line), leadsOf(relation, fields)),
    back && h(heading, { class: 'part' }, 'Linked from'), back,
    line === null ? null : h(heading, { class: 'part' }, 'Line'),
    line === null ? null : h('pre', { class: 'line', tabindex: 0, dir: 'auto', 'aria-label': 'the line in the file' }, line.slice(0, 20_000) + (line.length > 20_000 ? '…' : '')),
  ]
}

/** What stood under an id before, as far as the file still has it; filled in once it is known, with the
 * number of its line now. */
function history(collection: string, id: string, number: HTMLElement): HTMLElement {
  const place = h('section', { class: 'history' })
  server.history(collection, id).then(({ line_number, lines, is_partial }) => {
    if (line_number !== null) fill(number, `line ${counted(line_number)}, `)
    if (lines.length === 0 && !is_partial) return
    const earlier = lines.map(({ number, text, is_cut }) => {
      const words = [h('b', {}, `line ${counted(number)}`), h('span', { class: 'soft', dir: 'auto' }, text === null ? 'deleted' : text.slice(0, 200))]
      if (text === null) return h('p', { class: 'earlier' }, ...words)
      return h('details', { class: 'earlier' }, h('summary', {}, ...words), h('pre', { class: 'line', tabindex: 0, dir: 'auto', 'aria-label': `line ${number}` }, text + (is_cut ? '…' : '')))
    })
    fill(place, h('h2', { class: 'part' }, 'History'), h('p', { class: 'soft' }, 'Lines of this id that are superseded and still in the file, the newest first. A compaction removes them.'), ...earlier, is_partial ? h('p', { class: 'soft' }, 'There may be earlier ones.') : null)
  }, (error: unknown) => fill(place, h('h2', { class: 'part' }, 'History'), h('p', { class: 'soft' }, error instanceof Error ? error.message : String(error))))
  return place
}

function page(main: HTMLElement, relation: string, kind: string, title: string, words: (HTMLElement | string)[], parts: (HTMLElement | null)[]): void {
  const up = h('a', { href: address('grid', { name: relation }), dir: 'auto' }, relation)
  fill(main, h('div', { class: 'page' }, h('p', { class: 'soft' }, `${kind} of `, up), h('h1', { dir: 'auto' }, title), h('p', { class: 'soft path' }, ...words), ...parts))
}

/** The page of one document. */
export async function documentPage(main: HTMLElement): Promise<void> {
  const [collection, id] = [state().get('collection'), state().get('id')]
  const [shown, fields] = await Promise.all([server.document(collection, id), server.fields(collection).catch(() => NOTHING)])
  let now: Shown
  const draw = (shown: Shown, before?: string | null, changed: HTMLElement | null = null) => {
    const { line } = (now = shown)
    const number = h('span', {})
    const size = new TextEncoder().encode(line ?? '').length
    const tools = shown.is_writable ? edits(collection, id, shown, before, draw) : null
    if (line === null) {
      missing(main, collection, `${collection} has no document ${id}.`)
      if (tools && before !== undefined) main.firstElementChild?.append(tools)
      main.firstElementChild?.append(history(collection, id, number))
    } else page(main, collection, 'A document', id, [number, `${several(size, 'byte')} in collections/${collection}/meta/data.jsonl`], [changed, tools, ...parts(collection, fields, parse(line) as Members, line, 'h2'), history(collection, id, number)])
  }
  draw(shown)
  let seen: string | undefined
  follow(async (states) => {
    const next = stateOf(states, collection)
    const isSame = seen === next
    seen = next
    if (isSame) return
    const found = await server.document(collection, id)
    if (found.line === now.line) return
    const editor = main.querySelector('.edits textarea')
    if (!editor) return draw(found, undefined, changedNote(found.line))
    // What somebody is writing stays. It is not saved over the change.
    main.querySelector('.edits .changed')?.remove()
    editor.before(changedNote(found.line))
  })
}

/** The page of one row of a table: the first that has the values of the address. */
export async function rowPage(main: HTMLElement): Promise<void> {
  const name = state().get('name')
  const is = state().all('is').map((text) => JSON.parse(text) as [string, string])
  const words = is.map(([column, value]) => `${column} ${value}`).join(', ')
  const tests = is.map(([column, value]) => ({ column: pathOf(column), test: 'is', value }))
  const [{ columns = [], rows = [] }, fields] = await Promise.all([server.window({ relation: name, tests, offset: 0, limit: 1 }), server.fields(name)])
  const [row] = rows
  if (!row) return missing(main, name, `${name} has no row with ${words}.`)
  page(main, name, 'A row', words, fields.key.length > 0 ? [`Its key is ${fields.key.join(', ')}`] : [], parts(name, fields, membersOf(columns, row), null, 'h2'))
}

function missing(main: HTMLElement, relation: string, words: string): void {
  fill(main, h('div', { class: 'page' }, h('h1', { class: 'unseen' }, 'Nothing here'), empty('There is no such document', words), h('p', { class: 'middle' }, h('a', { href: address('grid', { name: relation }), dir: 'auto' }, relation))))
}
