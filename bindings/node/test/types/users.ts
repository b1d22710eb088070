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

// @ts-expect-error a name is missing
users.put('bob', { age: 3 })
// @ts-expect-error documents are objects
anything.put('x', 'text')
// @ts-expect-error there is no such mode
open('mydata', { mode: 'w' })
// @ts-expect-error there is no such option
users.scan({ filter: 'age > 3' })
// @ts-expect-error a function returns something
db.createFunction('slug', { parameters: ['text'] }, (title: string) => title)
// @ts-expect-error nobody makes collections but a database
new (Object.getPrototypeOf(users).constructor as typeof import('foliodb').Collection)()
