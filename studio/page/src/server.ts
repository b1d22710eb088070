// What the server is asked, and what it answers.

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
}

export interface Overview {
  name: string
  path: string
  is_writable: boolean
  version: string
  relations: Relation[]
  tables_size: number | null
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

async function call(action: string, asked: object, signal?: AbortSignal): Promise<unknown> {
  const request = { method: 'POST', body: JSON.stringify(asked), signal: signal ?? null }
  const response = await fetch(`api/${action}`, request).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new Failure('io', 'the studio has ended', 'run `folio studio` again', null)
  })
  const text = await response.text()
  if (!response.ok) throw new Failure('io', text, null, null)
  const answer = parse(text) as unknown as { error?: Failure }
  const error = answer.error
  if (error) throw new Failure(error.code, error.message, error.hint, error.place)
  return answer
}

export const server = {
  overview: () => call('overview', {}) as Promise<Overview>,
  window: (asked: object, signal?: AbortSignal) => call('window', asked, signal) as Promise<Answer>,
  document: (collection: string, id: string) => call('document', { collection, id }) as Promise<{ line: string | null }>,
  ask: (language: string, text: string, signal: AbortSignal) => call('ask', { language, text }, signal) as Promise<Answer>,
  stop: () => call('stop', {}),
}
