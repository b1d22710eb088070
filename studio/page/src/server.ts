// What the server is asked, and what it answers.

import { host } from './host'
import { parse, type Json } from './json'

export interface Relation {
  name: string
  kind: 'table' | 'collection' | 'view'
  count: number | null
  columns: string[]
  size?: number
  index_size?: number
  dead?: number
  indexes?: { name: string; size: number; is_ready: boolean }[]
  broken?: string[]
  /** When its file was last changed, in milliseconds since 1970. */
  changed?: number | null
}

/** How many rows relations have, and a text for each that is another after a change. */
export type States = Record<string, { count: number | null; revision: string | null }>

export interface Overview {
  name: string
  path: string
  is_writable: boolean
  version: string
  relations: Relation[]
  tables_size?: number | null
  tables_changed?: number | null
}

export interface Column {
  name: string
  type: string
}

export interface Answer {
  columns?: Column[]
  rows?: Json[][]
  count: number | null
  is_cut?: boolean
  /** Whether the statement changes something, and has not run. */
  waits?: boolean
  /** Another one after a change of the relation. */
  revision?: string | null
  ms: number
}

/** The texts of the tests of a column, by their names. */
export const TESTS: Record<string, string> = {
  contains: 'contains',
  is: '=',
  not: '≠',
  less: '<',
  most: '≤',
  greater: '>',
  least: '≥',
  null: 'is null',
  some: 'is not null',
}

/** What is known of a column, or of a path below one. */
export interface Field {
  path: string
  type: string
  share?: number
  distinct?: number | null
  least?: Json
  most?: Json
  examples?: Json[]
}

export interface Link {
  from: string
  to: string
  columns: [string, string][]
  is_declared: boolean
}

export interface Fields {
  fields: Field[]
  key: string[]
  links: Link[]
}

export interface Facet {
  values: [Json, number][]
  type: string
  /** How many rows were looked at, if not all. */
  sample: number | null
  ms: number
}

/** How numbers and moments are spread; without bounds, there are none. */
export interface Histogram {
  bounds: string[] | null
  counts: number[] | null
  sample: number | null
}

export interface Schema {
  relations: { name: string; kind: Relation['kind']; key: string[]; count: number | null; fields: Field[]; definition: string }[]
  links: Link[]
  functions: string[]
  schema: string
}

/** A document as it stands in the file. */
export interface Shown {
  line: string | null
  is_writable: boolean
}

/** The lines of a document that a later one has superseded, the newest first. */
export interface History {
  /** Without a text, the line deleted the document. */
  lines: { number: number; text: string | null; is_cut: boolean }[]
  /** Whether there may be earlier ones. */
  is_partial: boolean
  /** The number of the document's own line. */
  line_number: number | null
}

/** A statement that is kept with the database. */
export interface Saved {
  name: string
  language: string
  text: string
}

export interface Test {
  column: string
  test: string
  value: string
}

export interface Order {
  column: string
  descending: boolean
}

/** An error of the server: what is wrong, what helps, and where. */
export class Failure extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string | null,
    readonly place: [number, number, number, number] | null,
  ) {
    super(message)
  }
}

/** Aborts what a page has asked once it is left. */
let page = new AbortController()

/** Changes are made even if their page is left meanwhile. */
const CHANGES = new Set(['put', 'save', 'forget', 'import', 'unload', 'stop'])

/** Says later whether the page of now has been left. */
export function leaving(): AbortSignal {
  return page.signal
}

/** Lets go of everything that the page has asked; nobody waits for it any more. */
export function leavePage(): void {
  page.abort()
  page = new AbortController()
}

async function call(action: string, asked: object, signal?: AbortSignal): Promise<unknown> {
  const left = CHANGES.has(action) ? undefined : page.signal
  const signals = [signal, left].filter((one) => one !== undefined)
  try {
    const { text, isOk } = await host.send(action, JSON.stringify(asked), AbortSignal.any(signals))
    return answered(text, isOk)
  } catch (error) {
    if (left?.aborted) return new Promise(() => {})
    if (signal?.aborted || error instanceof Failure) throw error
    throw new Failure('io', 'the studio has ended', 'run `folio studio` again', null)
  }
}

function answered(text: string, isOk: boolean): unknown {
  if (!isOk) throw new Failure('io', text, null, null)
  const answer = parse(text) as unknown as { error?: Failure }
  const error = answer.error
  if (error) throw new Failure(error.code, error.message, error.hint, error.place)
  return answer
}

/** What an import has done. */
export interface Imported {
  count: number
  tables?: string[]
  rejected_count?: number
  rejected?: string[]
}

/** Sends a file; the answer is how to ask for it. */
async function upload(file: File, show: (done: number, total: number) => void, signal: AbortSignal): Promise<string> {
  if (!host.upload) throw new Failure('unsupported', 'files are not imported here', null, null)
  const { text, isOk } = await host.upload(file, show, signal)
  if (!isOk) throw new Failure('io', text, null, null)
  return (JSON.parse(text) as { file: string }).file
}

export const server = {
  upload,
  preview: (file: string) => call('preview', { file }) as Promise<Answer & { is_tables?: boolean }>,
  import: (asked: object, signal: AbortSignal) => call('import', asked, signal) as Promise<Imported>,
  progress: (file: string) => call('progress', { file }) as Promise<{ done: number; total: number }>,
  unload: (file: string) => call('unload', { file }),
  overview: () => call('overview', {}) as Promise<Overview>,
  /** The names in the database, without waiting for counts and sizes. */
  names: () => call('names', {}) as Promise<Overview>,
  window: (asked: object, signal?: AbortSignal) => call('window', asked, signal) as Promise<Answer>,
  /** The rows that a collection begins with, without waiting for what a window needs. */
  first: (relation: string, limit: number) => call('first', { relation, limit }) as Promise<Answer>,
  /** Puts the rows of a view in order, so that windows far from the first rows come soon. */
  order: (asked: object) => call('order', asked) as Promise<{ count: number | null; ms: number }>,
  facet: (asked: object, signal?: AbortSignal) => call('facet', asked, signal) as Promise<Facet>,
  histogram: (asked: object, signal?: AbortSignal) => call('histogram', asked, signal) as Promise<Histogram>,
  fields: (relation: string) => call('fields', { relation }) as Promise<Fields>,
  schema: () => call('schema', {}) as Promise<Schema>,
  document: (collection: string, id: string) => call('document', { collection, id }) as Promise<Shown>,
  history: (collection: string, id: string) => call('history', { collection, id }) as Promise<History>,
  /** Puts a line in place of the one that was shown; without one, deletes the document. */
  put: (change: { collection: string; id: string; was: string | null; line: string | null }) => call('put', change) as Promise<Shown>,
  pulse: () => call('pulse', {}) as Promise<{ states: States }>,
  /** Runs a statement; one that nobody has pressed Run for, only if it reads. */
  ask: (language: string, text: string, is_pressed: boolean, signal: AbortSignal) => call('ask', { language, text, is_pressed }, signal) as Promise<Answer>,
  saved: () => call('saved', {}) as Promise<{ statements: Saved[]; is_writable: boolean }>,
  save: (statement: Saved) => call('save', statement),
  forget: (name: string) => call('forget', { name }),
  stop: () => call('stop', {}),
}
