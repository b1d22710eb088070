// Paths, as the server names them: `town`, `geo.city`, `"a name"`, and `tags[]` for the elements of a
// list.

/** The path of a column, by its name. */
export function pathOf(name: string): string {
  return /^[\p{L}\p{N}_]+$/u.test(name) && !/^\p{N}/u.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}

const STEP = /"((?:[^"]|"")*)"|([^."[\]]+)|(\[\])/g

/** The steps of a path: names, and `[]` for all elements. */
export function steps(path: string): string[] {
  return [...path.matchAll(STEP)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '[]')
}

/** The name of a path for people. */
export function spoken(path: string): string {
  return steps(path).join('.').replaceAll('.[]', '[]')
}
