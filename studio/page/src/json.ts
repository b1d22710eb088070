// JSON with its digits: a number that JavaScript cannot hold keeps the text that it has in the file.

/** A number by its text. */
export class Digits {
  constructor(readonly text: string) {}
  toJSON(): unknown {
    return 'rawJSON' in JSON ? (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(this.text) : this.text
  }
}

export type Json = null | boolean | number | string | Digits | Json[] | { [key: string]: Json }

/** An object, as a row or a document is one. */
export type Members = { [key: string]: Json }

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown

const keepDigits: Reviver = (_, value, context) => {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value
  return new Digits(source)
}

/** The value of a text. One that nests too deep for a function per value is read without. */
export function parse(text: string): Json {
  try {
    return JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown) as Json
  } catch (error) {
    if (error instanceof RangeError) return JSON.parse(text) as Json
    throw error
  }
}

/** A value in a line, as a cell shows it. */
export function line(value: Json): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return value
  if (value instanceof Digits) return value.text
  if (typeof value !== 'object') return String(value)
  try {
    return JSON.stringify(value)
  } catch {
    return Array.isArray(value) ? '[…]' : '{…}'
  }
}
