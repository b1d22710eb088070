// Where things are: the database of a file, the collection of a data file, pages of the studio.

import * as path from 'node:path'

/** The database and the collection whose data file this is. */
export function collectionOf(file: string): { database: string; collection: string } | undefined {
  const found = /^(.+)[\\/]collections[\\/]([^\\/]+)[\\/]meta[\\/]data\.jsonl$/.exec(file)
  return found ? { database: found[1] as string, collection: found[2] as string } : undefined
}

/** The database that a file is in: its saved statements, its data. */
export function databaseAround(file: string, exists: (path: string) => boolean): string | undefined {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    if (exists(path.join(folder, 'folio.json'))) return folder
    if (folder === path.dirname(folder)) return undefined
  }
}

/** The page of the studio that shows a collection or a table. */
export const gridOf = (name: string) => `#/grid?${new URLSearchParams({ name })}`

/** The page of the studio that runs a statement. */
export const askOf = (language: string, text: string) => `#/ask?${new URLSearchParams({ language, text })}`
