// The command lines of what the extension does. Names go after `=`, and paths and ids after `--`, so
// that none is taken for an option.

const of = (collection: string | undefined) => (collection === undefined ? [] : [`--collection=${collection}`])

export const lines = {
  create: (database: string) => ['init', '--quiet', '--', database],
  list: (database: string) => ['list', '--output=jsonl', '--quiet', '--', database],
  structs: (database: string) => ['schema', 'show', '--quiet', '--', database],
  members: (database: string, relation: string) => ['sql', '--output=jsonl', '--quiet', '--', database, `describe "${relation.replaceAll('"', '""')}"`],
  get: (database: string, collection: string, id: string) => ['get', ...of(collection), '--pretty', '--quiet', '--', database, id],
  put: (database: string, collection: string, id: string) => ['put', ...of(collection), '--quiet', '--', database, id],
  remove: (database: string, collection: string, id: string) => ['delete', ...of(collection), '--quiet', '--', database, id],
  import: (database: string, collection: string | undefined, file: string) => ['import', ...of(collection), '--generate-ids', '--', database, file],
  export: (database: string, collection: string, file: string) => ['export', ...of(collection), `--to=${file}`, '--', database],
  validate: (database: string, collection?: string) => ['validate', ...of(collection), '--', database],
  statistics: (database: string, collection?: string) => ['stats', ...of(collection), '--output=vertical', '--', database],
  studio: (database: string, isWritable: boolean) => ['studio', '--no-open', '--end-with-input', ...(isWritable ? ['--write'] : []), '--', database],
  server: (database: string | undefined) => ['lsp', ...(database === undefined ? [] : [`--db=${database}`])],
}
