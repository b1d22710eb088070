// A file becomes documents or tables: dropped, looked at, imported.

import { counted, fill, h, several, sized } from './dom'
import { Grid } from './grid'
import { host } from './host'
import { empty } from './overview'
import { Failure, server, type Answer, type Imported } from './server'
import { address } from './state'

const FORMATS = '.jsonl,.ndjson,.json,.csv,.tsv,.ion,.10n,.parquet,.arrow,.arrows,.feather,.gz,.zst,.sqlite,.db'

export async function importPage(main: HTMLElement): Promise<void> {
  const { is_writable } = await server.overview()
  const body = h('div', { class: 'import' })
  fill(main, h('div', { class: 'page' }, h('h1', {}, 'Import'), body))
  if (!host.upload) fill(body, empty('Files are not imported here', 'The command folio import and the commands of this editor do that.'))
  else if (is_writable) start(body)
  else fill(body, empty('The studio only reads', 'Start it with folio studio --write to import files.'))
}

/** The place where files are dropped. */
function start(body: HTMLElement, problem?: unknown): void {
  const input = h('input', { type: 'file', accept: FORMATS, id: 'file', class: 'unseen', onchange: () => begin(input.files?.[0]) })
  const zone = h('label', { class: 'zone', for: 'file' }, h('b', {}, 'Drop a file here, or choose one'), h('span', { class: 'soft' }, 'JSON Lines, JSON, CSV, Ion, Parquet, Arrow, compressed or not, or SQLite'))
  const begin = (file: File | undefined) => {
    if (file) void upload(body, file)
  }
  zone.addEventListener('dragover', (event) => {
    event.preventDefault()
    zone.classList.add('over')
  })
  zone.addEventListener('dragleave', () => zone.classList.remove('over'))
  zone.addEventListener('drop', (event) => {
    event.preventDefault()
    begin(event.dataTransfer?.files[0])
  })
  fill(body, input, zone, problem === undefined ? null : failed(problem))
}

function failed(error: unknown): HTMLElement {
  return h('div', { class: 'failure', role: 'alert' }, h('b', {}, error instanceof Error ? error.message : String(error)), error instanceof Failure && error.hint ? h('p', {}, error.hint) : null)
}

/** A bar by bytes, with a way to stop. */
function bar(words: string, stop: () => void): { element: HTMLElement; show(done: number, total: number): void } {
  const meter = h('progress', { 'aria-label': words, max: 1 })
  const label = h('span', { class: 'soft', role: 'status' }, words)
  const show = (done: number, total: number) => {
    if (total > 0) meter.value = done / total
    fill(label, `${words} · ${sized(done)} of ${sized(total)}`)
  }
  return { element: h('div', { class: 'bar-by' }, meter, label, h('button', { class: 'plain', onclick: stop }, 'Stop')), show }
}

async function upload(body: HTMLElement, file: File): Promise<void> {
  const sending = new AbortController()
  const { element, show } = bar(`Reading ${file.name}`, () => sending.abort())
  fill(body, element)
  try {
    const id = await server.upload(file, show, sending.signal)
    const preview = await server.preview(id)
    choose(body, file, id, preview)
  } catch (error) {
    start(body, sending.signal.aborted ? undefined : error)
  }
}

/** What the file would become, and how. */
function choose(body: HTMLElement, file: File, id: string, preview: Answer & { is_tables?: boolean }): void {
  const { columns = [], rows = [] } = preview
  const hasIds = columns.some(({ name }) => name === '_id')
  const name = h('input', { id: 'collection', required: true, maxlength: 255 })
  name.value = file.name.replace(/\.(gz|zst)$/, '').replace(/\.[^.]*$/, '').replace(/[^\p{L}\p{N}_-]+/gu, '_')
  const ids = h('select', { id: 'ids' }, hasIds ? h('option', { value: '_id' }, 'of _id') : h('option', { value: '' }, 'new ones'), ...columns.filter(({ name }) => name !== '_id').map(({ name }) => h('option', { value: `.${name}` }, `of ${name}`)))
  const run = (event: Event) => {
    event.preventDefault()
    const field = ids.value.startsWith('.') ? ids.value.slice(1) : undefined
    void read(body, { file: id, collection: name.value, ...(field === undefined ? {} : { id_field: field }), generate_ids: !hasIds && field === undefined }, preview.is_tables ? undefined : name.value)
  }
  const away = () => {
    void server.unload(id)
    start(body)
  }
  const buttons = h('div', { class: 'tools' }, h('button', { class: 'primary' }, 'Import'), h('button', { class: 'plain', type: 'button', onclick: away }, 'Cancel'))
  if (preview.is_tables) {
    fill(body, h('p', {}, `${file.name} is a database of SQLite: its tables become tables, with keys, indexes and views.`), h('form', { onsubmit: run }, buttons))
    return
  }
  const grid = new Grid({ count: rows.length, columns, first: rows, load: async () => rows }, 'the first rows of the file')
  const sample = h('div', { class: 'sample' }, grid.element)
  sample.style.height = `${60 + 30 * Math.min(rows.length, 10)}px`
  fill(body,
    h('p', { class: 'soft' }, `${file.name}, ${sized(file.size)}: the first ${several(rows.length, 'row')} of it.`),
    sample,
    h('form', { class: 'choices-of', onsubmit: run }, h('label', { for: 'collection' }, 'Collection'), name, h('label', { for: 'ids' }, 'Ids'), ids, buttons))
}

async function read(body: HTMLElement, asked: { file: string; [name: string]: unknown }, collection: string | undefined): Promise<void> {
  const reading = new AbortController()
  const { element, show } = bar('Importing', () => reading.abort())
  fill(body, element)
  const timer = setInterval(() => void server.progress(asked.file).then(({ done, total }) => show(done, total), () => {}), 200)
  try {
    report(body, await server.import(asked, reading.signal), collection)
  } catch (error) {
    start(body, reading.signal.aborted ? undefined : error)
  } finally {
    clearInterval(timer)
  }
}

function report(body: HTMLElement, { count, tables, rejected_count = 0, rejected = [] }: Imported, collection: string | undefined): void {
  const names = tables ?? (collection === undefined ? [] : [collection])
  const links = names.map((name) => h('li', {}, h('a', { href: address('grid', { name }), dir: 'auto' }, name)))
  fill(body,
    h('p', { role: 'status' }, h('b', {}, `${several(count, collection === undefined ? 'row' : 'document')} imported.`)),
    h('ul', {}, ...links),
    rejected_count === 0 ? null : h('section', { class: 'note' }, h('h2', {}, `${counted(rejected_count)} rejected`), h('ul', {}, ...rejected.slice(0, 20).map((text) => h('li', {}, text)))),
    h('button', { class: 'plain', onclick: () => start(body) }, 'Import another file'))
}
