// Compiled, not run: what an editor must know about the package. A line under
// `@ts-expect-error` that compiles is an error.
import { FolioError, open, type Counts, type Document, type Prepared, type Scan, type Stats } from 'foliodb'
import { BulkWriter, ZdsRoot, ZdsStore } from 'foliodb/zds'

interface User {
  name: string
  age?: number
}

const db = open('mydata', { mode: 'rw', durability: 'every_put' })
const users = db.collection<User>('users', { strict: { type: 'object' } })

const kind: 'inserted' | 'replaced' = users.put('ada', { name: 'Ada' })
const name: string | undefined = users.get('ada')?.name
const id: string | undefined = users.get('ada')?._id
const several: (User | undefined)[] = users.getMany(['ada'])
const counts: Counts = users.putMany(new Map([['bob', { name: 'Bob' }]]))
const lazy: Scan<Document> = users.scan({ lazy: true })
const later: Promise<Stats> = users.statsAsync()
void [kind, name, id, several, counts, lazy, later]

async function stream() {
  for await (const user of users.scan({ fields: ['name'], limit: 10 })) user.name.toUpperCase()
  for await (const id of users.idsAsync()) id.toUpperCase()
  const { inserted } = await users.importAsync('users.jsonl', { progress: (done, total) => done / total })
  return inserted.toFixed()
}
void stream

async function query() {
  const found: User | undefined = db.sql<User>('select name from users where age > ?', [30]).next()
  const changed: number | null = db.sql('delete from t').count
  for await (const user of await db.ziqlAsync<User>('GRAB User', { min: 30n })) user.name.toUpperCase()
  const total: number = db.transaction((tx) => tx.sql<{ n: number }>('select 1 as n').toArray().length)
  const prepared: Prepared<User> = db.prepare<User>('select name from users')
  return [found?.name, changed, total, prepared.execute().columns, await db.transactionAsync(async (tx) => tx.isInTransaction)]
}
void query

async function values() {
  const found: User | undefined = db.prepare<User>('select name from users where age > ? and born < ?').get(30, new Date())
  const all: User[] = await db.prepare<User>('select name from users where age > :age').allAsync({ age: 30 })
  for (const user of db.prepare<User>('select name from users').iterate()) user.name.toUpperCase()
  for await (const user of db.prepare<User>('select name from users where age = any(?)').iterateAsync([[30, 31]])) user.name.toUpperCase()
  const { changes } = await db.prepare('delete from t where a = ? and b = ?').runAsync(null, [1, 2])
  const answer = await db.sqlAsync<User>('select name from users where age > ?', [30], { signal: AbortSignal.timeout(5) })
  const other = db.sql('select ?, ?, ?', 'x', 1n, new Uint8Array()).next()
  users.update('age > ?', { age: 1 }, 30)
  return [found, all, changes.toFixed(), answer, other, users.update('age > ?', { age: 1 }, [30], { default: String })]
}
void values

interface Row {
  age: number
}
const row: Row = { age: 3 }
db.sql('select :age', row)
users.put('eve', { name: 'Eve' }, { default: (value) => (value instanceof Map ? [...value] : undefined) })
db.collection('dates', { default: String }).put('a', { at: new Date() })
const byNumber: User | undefined = users.get(5)
void byNumber

db.createFunction('slug', { parameters: ['text'], returns: 'text' }, (title: string) => title.toLowerCase())
const registered: number = db.register('wanted', [{ id: 1 }]) + db.register('table', new Uint8Array())
void registered

const anything = db.collection('anything')
anything.put('x', { nested: { list: [1, 'two', null] } })
const value: number = anything.get('x')?.nested.list[0]
void value

try {
  users.delete('ada')
} catch (error) {
  if (error instanceof FolioError && error.code === 'locked') console.error(error.message)
}

const store = ZdsStore.open('mydata', 'users', 1000)
const line: Buffer = store.readJsonlBlob()
BulkWriter.create('mydata').put('a', { n: 1 })
const names: string[] = ZdsRoot.open('mydata', 5000, 'r').listCollections()
void [line, names]

users.add({ _id: 1, name: 'Cy' })
users.putMany([{ _id: 'dan', name: 'Dan' }])
const few = ['ada', 5] as const
users.scan({ fields: ['name'] as const, params: few })
db.sql('select ?, ?', users.getMany(few))
// @ts-expect-error a name is missing
users.put('bob', { age: 3 })
// @ts-expect-error documents are objects
anything.put('x', 'text')
// @ts-expect-error there is no such mode
open('mydata', { mode: 'w' })
// @ts-expect-error there is no such option
users.scan({ filter: 'age > 3' })
// @ts-expect-error options follow an array
db.sqlAsync('select ?', undefined as string | undefined)
// @ts-expect-error nothing follows an array here
db.sql('select ?', [1], 2)
// @ts-expect-error a default is a function
users.put('ada', { name: 'Ada' }, { default: 'text' })
// @ts-expect-error a function returns something
db.createFunction('slug', { parameters: ['text'] }, (title: string) => title)
// @ts-expect-error nobody makes collections but a database
new (Object.getPrototypeOf(users).constructor as typeof import('foliodb').Collection)()
