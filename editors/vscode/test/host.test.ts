// The extension in an editor without a window, over the real command and real databases.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import type * as vscode from 'vscode'

import { Documents, addressOf, placeOf } from '../src/documents'
import { activate, deactivate } from '../src/extension'
import { start } from '../src/studio'
import { Databases } from '../src/databases'
import { Tree, type Node } from '../src/tree'
import { FakePanel, Uri, editor } from './fake'
import { servers } from './fake-client'

const FOLIO = path.resolve(process.env.FOLIO ?? '../../build/bin/folio')
const NAMES = { [path.join('collections', 'users')]: 'users' }

let folder: string, database: string, subscriptions: vscode.Disposable[]
const folio = (...args: string[]) => execFileSync(FOLIO, args, { cwd: folder, stdio: 'pipe' }).toString()
const users = (): Node => ({ kind: 'relation', database, relation: { name: 'users', kind: 'collection', count: 2 } })
const act = (name: string, ...given: unknown[]) => editor.commands.get(`foliodb.${name}`)?.(...given) as Promise<void>
const memory = new Map<string, unknown>()
const context = { extensionPath: process.cwd(), subscriptions: [] as vscode.Disposable[], workspaceState: { get: (name: string, value: unknown) => memory.get(name) ?? value, update: async (name: string, value: unknown) => void memory.set(name, value) } } as unknown as vscode.ExtensionContext

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'folio-vscode-'))
  database = path.join(folder, 'shop')
  fs.writeFileSync(path.join(folder, 'users.jsonl'), '{"_id":"ann","name":"Ann"}\n{"_id":"bob","name":"größe 😀"}\n')
  fs.writeFileSync(path.join(folder, 'schema.ziql'), 'User ( name: str, friends: []User )\n')
  folio('import', 'shop', '-c', 'users', 'users.jsonl', '-q')
  folio('sql', 'shop', '-q', 'create table cities (id int primary key, name text); insert into cities values (1, \'Oslo\')')
  folio('schema', 'apply', '-q', 'shop', 'schema.ziql')
  folio('pack', '-q', 'shop', 'shop.zds')
  editor.folder = folder
  editor.files = { '**/folio.json': [path.join(database, 'folio.json')] }
  editor.settings = { 'foliodb.command': FOLIO }
  await activate(context)
  subscriptions = context.subscriptions
})

beforeEach(() => {
  Object.assign(editor, { answers: [], questions: [], messages: [], printed: [], opened: [], panels: [], isTrusted: true })
  editor.settings = { 'foliodb.command': FOLIO, 'foliodb.allowWrite': true }
})

after(async () => {
  for (const one of subscriptions) one.dispose()
  await deactivate()
  assert.ok(servers.every(({ isRunning }) => !isRunning), 'the language server ends with the window')
  fs.rmSync(folder, { recursive: true })
})

async function until<T>(what: () => T | undefined | false): Promise<T> {
  const end = Date.now() + 20_000
  for (;;) {
    const found = what()
    if (found) return found
    if (Date.now() > end) assert.fail(`not in time: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

test('the manifest and the code name the same commands, views and editors', () => {
  const { contributes } = JSON.parse(fs.readFileSync('package.json', 'utf8'))
  const names = contributes.commands.map(({ command }: { command: string }) => command)
  assert.deepEqual([...editor.commands.keys()].sort(), names.sort())
  assert.deepEqual([...editor.viewers.keys()], contributes.customEditors.map(({ viewType }: { viewType: string }) => viewType))
  for (const { command } of Object.values(contributes.menus).flat() as { command: string }[]) assert.ok(names.includes(command), command)
})

test('the language server knows the database of the workspace, and follows the settings', async () => {
  assert.deepEqual(servers.at(-1), { command: FOLIO, args: ['lsp', `--db=${database}`], languages: ['ziql', 'sql'], isRunning: true })
  editor.answers = [{ description: path.join(folder, 'other') }]
  editor.files['**/folio.json'] = [database, path.join(folder, 'other')].map((one) => path.join(one, 'folio.json'))
  await act('selectDatabase')
  await until(() => servers.at(-1)?.args[1] === `--db=${path.join(folder, 'other')}` && servers.at(-1)?.isRunning)
  assert.equal(servers.at(-2)?.isRunning, false)
  // Without a database, files of SQL are for somebody else.
  editor.settings['foliodb.database'] = ''
  editor.files['**/folio.json'] = []
  await act('refresh')
  await until(() => servers.at(-1)?.args.length === 1)
  assert.deepEqual(servers.at(-1)?.languages, ['ziql'])
  editor.files['**/folio.json'] = [path.join(database, 'folio.json')]
  await act('refresh')
  await until(() => servers.at(-1)?.args.length === 2)
  // Changes in a row leave one server.
  for (const name of ['a', 'b', 'c']) {
    editor.settings['foliodb.command'] = `/bin/${name}`
    editor.configured.fire({ affectsConfiguration: () => true })
  }
  await until(() => servers.at(-1)?.command === '/bin/c' && servers.at(-1)?.isRunning)
  assert.equal(servers.filter(({ isRunning }) => isRunning).length, 1)
})

test('the tree has databases, what is in them, and members', async () => {
  const tree = new Tree(new Databases(context.workspaceState))
  const [root] = await tree.getChildren()
  assert.deepEqual(root, { kind: 'database', database, isAdded: false })
  const relations = await tree.getChildren(root)
  assert.deepEqual(relations.map((node) => node.kind === 'relation' && [node.relation.name, node.relation.kind, node.relation.count]), [['users', 'collection', 2], ['cities', 'table', 1], ['User', 'struct', 0]])
  const members = await tree.getChildren(relations[1])
  assert.deepEqual(members.map((node) => node.kind === 'member' && node.member.name), ['id', 'name'])
  assert.match(JSON.stringify(members), /integer/)
  assert.ok((await tree.getChildren(relations[0])).some((node) => node.kind === 'member' && node.member.name === '_id'))
  const item = tree.getTreeItem(relations[0] as Node)
  assert.equal(item.contextValue, 'collection')
  const [broken] = await tree.getChildren({ kind: 'database', database: path.join(folder, 'none'), isAdded: true })
  assert.ok(broken?.kind === 'problem' && broken.message.includes('none'), JSON.stringify(broken))
  assert.ok(!fs.existsSync(path.join(folder, 'none')), 'looking creates nothing')
})

test('documents are added, edited, and deleted', async () => {
  editor.answers = ['new-one']
  await act('addDocument', users())
  assert.deepEqual(editor.messages, [])
  assert.equal(folio('get', 'shop', '-c', 'users', 'new-one').trim(), '{"_id":"new-one"}')
  const place = { database, collection: 'users', id: 'new-one' }
  assert.deepEqual(editor.opened, [addressOf(place).toString()])
  // Again is a mistake, and changes nothing.
  editor.answers = ['ann']
  await act('addDocument', users())
  assert.match(editor.messages.at(-1) ?? '', /has a document ann/)
  // The editor reads and saves it.
  const [documents, uri] = [new Documents(), addressOf(place)]
  assert.deepEqual(placeOf(uri), place)
  assert.match(Buffer.from(await documents.readFile(uri)).toString(), /"_id": "new-one"/)
  await documents.writeFile(uri, Buffer.from('{"_id":"new-one","name":"größe"}'))
  assert.match(folio('get', 'shop', '-c', 'users', 'new-one'), /größe/)
  await assert.rejects(documents.writeFile(uri, Buffer.from('{"name":')), /JSON|expected/i)
  // Somebody else was faster.
  folio('put', 'shop', '-q', '-c', 'users', 'new-one', '--data', '{"name":"theirs"}')
  await assert.rejects(documents.writeFile(uri, Buffer.from('{"name":"mine"}')), /has changed since/)
  assert.match(folio('get', 'shop', '-c', 'users', 'new-one'), /theirs/)
  editor.answers = ['new-one', undefined]
  await act('deleteDocument', users())
  assert.match(folio('get', 'shop', '-c', 'users', 'new-one'), /theirs/, 'Escape deletes nothing')
  editor.answers = ['new-one', 'Delete']
  await act('deleteDocument', users())
  assert.throws(() => folio('get', 'shop', '-c', 'users', 'new-one'))
  editor.answers = ['nobody']
  await act('editDocument', users())
  assert.match(editor.messages.at(-1) ?? '', /nobody/)
})

test('nothing is changed unless it is allowed', async () => {
  editor.settings['foliodb.allowWrite'] = false
  for (const [name, ...answers] of [['addDocument'], ['deleteDocument', 'ann'], ['editDocument', 'ann'], ['import'], ['createCollection']]) {
    editor.answers = [...answers, undefined]
    await act(name as string, users())
    assert.match(editor.questions.at(-1) ?? '', /only reads/, name)
  }
  const documents = new Documents()
  const uri = addressOf({ database, collection: 'users', id: 'ann' })
  assert.equal((await documents.stat(uri)).permissions, 1)
  await assert.rejects(documents.writeFile(uri, Buffer.from('{}')), /allowWrite/)
  // A workspace that is not trusted cannot allow it.
  editor.isTrusted = false
  editor.answers = ['Allow in This Workspace']
  await act('addDocument', users())
  assert.match(editor.messages.at(-1) ?? '', /trust/)
  assert.equal(folio('list', 'shop', '-c', 'users'), 'ann\nbob\n')
  editor.isTrusted = true
  editor.settings['foliodb.allowWrite'] = false
  editor.answers = ['Allow in This Workspace', 'x']
  await act('addDocument', users())
  assert.equal(editor.settings['foliodb.allowWrite'], true)
  folio('delete', 'shop', '-q', '-c', 'users', 'x')
})

test('databases and collections are created, and folders opened as databases', async () => {
  const made = path.join(folder, 'made here')
  editor.answers = [Uri.file(made)]
  await act('createDatabase')
  assert.ok(fs.existsSync(path.join(made, 'folio.json')))
  editor.answers = ['letters', 'a']
  await act('createCollection', { kind: 'database', database: made, isAdded: true })
  assert.equal(folio('list', made, '--names'), 'letters\n')
  editor.answers = [[Uri.file(folder)]]
  fs.writeFileSync(path.join(folder, 'folio.json'), 'no database')
  await act('openFolder')
  assert.match(editor.messages.at(-1) ?? '', /^error: /, 'what is no database is refused')
  fs.rmSync(path.join(folder, 'folio.json'))
  await act('openFolder', Uri.file(path.join(folder, 'shop.zds')))
  assert.equal(editor.panels.length, 1)
  editor.panels[0]?.dispose()
  const all = await new Databases(context.workspaceState).all()
  assert.deepEqual(all.filter(({ isAdded }) => isAdded).map(({ path }) => path), [made, path.join(folder, 'shop.zds')])
  for (const { path: database } of all) await act('forget', { kind: 'database', database, isAdded: true })
  assert.equal((await new Databases(context.workspaceState).all()).length, 1)
})

test('files are imported and exported; validation and statistics are printed', async () => {
  const target = path.join(folder, 'out.csv')
  editor.answers = [Uri.file(target)]
  await act('export', users())
  assert.match(fs.readFileSync(target, 'utf8'), /^_id,name\r?\nann,Ann/)
  editor.answers = [[Uri.file(target)], 'copies']
  await act('import', { kind: 'database', database, isAdded: false })
  assert.equal(JSON.parse(folio('sql', 'shop', 'select count(*) as n from copies')).n, 2)
  folio('drop', '-q', 'shop', 'copies')
  await act('validate', users())
  assert.deepEqual(editor.messages, ['All is well.'])
  await act('statistics', { kind: 'database', database, isAdded: false })
  assert.match(editor.printed.at(-1) ?? '', /users/)
  const data = path.join(database, ...Object.keys(NAMES), 'meta', 'data.jsonl')
  fs.appendFileSync(data, 'no document\n')
  await act('validate', users())
  assert.match(editor.messages.at(-1) ?? '', /damage/)
  assert.match(editor.printed.at(-1) ?? '', /line/)
  folio('validate', 'shop', '--fix')
})

/** A panel with a viewer in it, and its page's questions. */
async function view(type: string, file: string) {
  const panel = new FakePanel()
  const viewer = editor.viewers.get(type) as vscode.CustomReadonlyEditorProvider
  const document = await viewer.openCustomDocument(Uri.file(file) as unknown as vscode.Uri, {} as never, {} as never)
  await viewer.resolveCustomEditor(document, panel as unknown as vscode.WebviewPanel, {} as never)
  let id = 0
  const ask = async (action: string, asked: object) => {
    const own = ++id
    panel.send({ kind: 'ask', id: own, action, body: JSON.stringify(asked) })
    const answered = await until(() => (panel.told as { id: number; text: string; isOk: boolean }[]).find((one) => one.id === own))
    return { ...answered, value: answered.isOk ? JSON.parse(answered.text) : undefined }
  }
  return { panel, ask }
}

test('a data file opens in the studio of its database, read-only unless allowed', async () => {
  const file = path.join(database, 'collections', 'users', 'meta', 'data.jsonl')
  for (const isWritable of [false, true]) {
    editor.settings['foliodb.allowWrite'] = isWritable
    const { panel, ask } = await view('foliodb.collection', file)
    assert.match(panel.webview.html, /<meta name="folio-begin" content="#\/grid\?name=users">/)
    assert.match(panel.webview.html, /script-src 'nonce-[\w-]{20,}'/)
    assert.ok(!/127\.0\.0\.1/.test(panel.webview.html), 'the page does not know the address')
    const { value } = await ask('overview', {})
    assert.equal(value.is_writable, isWritable)
    const rows = await ask('window', { relation: 'users', offset: 0, limit: 10 })
    assert.match(rows.text, /größe 😀/)
    panel.dispose()
  }
})

test('an archive opens without being unpacked', async () => {
  editor.settings['foliodb.allowWrite'] = false
  const { panel, ask } = await view('foliodb.archive', path.join(folder, 'shop.zds'))
  const { value } = await ask('ask', { language: 'sql', text: 'select count(*) from users' })
  assert.equal(value.rows[0][0], 2)
  panel.dispose()
})

test('a statement that nobody waits for ends, and the studio with its last tab', async () => {
  const file = path.join(database, 'collections', 'users', 'meta', 'data.jsonl')
  const { panel } = await view('foliodb.collection', file)
  const other = await view('foliodb.collection', file)
  // The same twice; the first is stopped, so that the second alone is answered.
  const body = JSON.stringify({ language: 'sql', text: 'select count(*) from generate_series(1, 3000) a, generate_series(1, 3000) b where a < b' })
  panel.send({ kind: 'ask', id: 1000, action: 'ask', body })
  panel.send({ kind: 'ask', id: 1001, action: 'ask', body })
  panel.send({ kind: 'stop', id: 1000 })
  const answers = panel.told as { id: number }[]
  await until(() => answers.some(({ id }) => id === 1001))
  await new Promise((resolve) => setTimeout(resolve, 500))
  assert.ok(!answers.some(({ id }) => id === 1000))
  panel.dispose()
  assert.equal((await other.ask('overview', {})).isOk, true, 'the other tab still has its studio')
  other.panel.dispose()
  const end = Date.now() + 20_000
  while ((await other.ask('overview', {})).isOk) assert.ok(Date.now() < end, 'the studio has not ended')
})

test('a studio ends when its editor does, and says why it cannot start', async () => {
  const studio = await start(FOLIO, database, false)
  assert.ok((await studio.file('studio.js')).length > 10_000)
  const ended = new Promise((resolve) => studio.child.on('close', resolve))
  studio.end()
  assert.equal(await ended, 0)
  await assert.rejects(start(FOLIO, path.join(folder, 'none'), false), /none/)
  await assert.rejects(start('/no/folio', database, false), /install FolioDB/)
})

test('a lens runs its statement in one tab of its database', async () => {
  const text = 'select 1;\nselect \'größe\' as a;'
  const file = path.join(database, 'studio', 'x.sql')
  editor.documents[file] = { languageId: 'sql', text }
  const range = { start: { line: 1, character: 0 }, end: { line: 1, character: 19 } }
  await act('run', `file://${encodeURI(file)}`, range)
  assert.deepEqual(editor.messages, [])
  const [panel] = editor.panels as [FakePanel]
  const begin = /folio-begin" content="([^"]*)"/.exec(panel.webview.html)?.[1]?.replaceAll('&#38;', '&')
  assert.equal(new URLSearchParams(begin?.split('?')[1]).get('text'), 'select \'größe\' as a')
  await act('run', `file://${encodeURI(file)}`, { start: { line: 0, character: 0 }, end: { line: 0, character: 8 } })
  assert.equal(editor.panels.length, 1)
  assert.deepEqual([panel.revealed, panel.told.at(-1)], [1, { kind: 'go', hash: '#/ask?language=sql&text=select+1' }])
  editor.answers = [Uri.file(path.join(folder, 'rows.csv'))]
  panel.send({ kind: 'save', name: '../rows.csv', bytes: new TextEncoder().encode('a\r\n').buffer })
  await until(() => editor.saved.get(path.join(folder, 'rows.csv')))
  panel.dispose()
})

test('a new statement is about what was chosen', async () => {
  await act('newStatement', users())
  await act('newStatement', { kind: 'relation', database, relation: { name: 'User', kind: 'struct', count: 0 } })
  assert.deepEqual(editor.opened, ['sql: select * from "users" limit 10', 'ziql: GRAB User [10; *] {}'])
})
