// What a database has, from what `folio` prints of it.

export interface Relation {
  name: string
  kind: 'collection' | 'table' | 'struct'
  count: number
}

export interface Member {
  name: string
  type: string
}

const objects = (text: string): Record<string, unknown>[] =>
  text.split('\n').filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as Record<string, unknown>)

/** The relations of `folio list`; tables that `folio schema show` declares are structs. */
export function relationsOf(list: string, schema: string): Relation[] {
  const structs = structsOf(schema)
  const relations = objects(list).map((one): Relation => {
    if (typeof one.collection === 'string') return { name: one.collection, kind: 'collection', count: Number(one.document_count) }
    const name = String(one.table)
    return { name, kind: structs.has(name) ? 'struct' : 'table', count: Number(one.row_count) }
  })
  // The links of structs have tables of their own, which people read as members.
  return relations.filter(({ name }) => !structs.has(name.split('.')[0] ?? '') || !name.includes('.'))
}

/** The names that a schema declares: words before a parenthesis at the begin of a line. */
function structsOf(schema: string): Set<string> {
  return new Set([...schema.matchAll(/^(?:`([^`]+)`|([A-Za-z_]\w*)) *\(/gm)].map(([, quoted, name]) => (quoted ?? name) as string))
}

/** The columns that DESCRIBE has: the first two members of each object. */
export function membersOf(described: string): Member[] {
  return objects(described).map((row) => {
    const [name, type] = Object.values(row)
    return { name: String(name), type: String(type ?? '') }
  })
}
