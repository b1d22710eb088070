// What the commands do: ask for what they need, run `folio`, and say what came of it.

import { randomUUID } from 'node:crypto'
import * as path from 'node:path'
import * as vscode from 'vscode'

import { relationsOf } from './catalog'
import type { Databases } from './databases'
import { addressOf } from './documents'
import { DAMAGE, run, type Ran } from './folio'
import { lines } from './lines'
import { askOf, gridOf } from './places'
import { setting } from './setting'
import type { Node } from './tree'

/** Shows a page of a database's studio. */
export type Show = (database: string, hash: string) => Promise<void>

const NAME_MAX = 255

export class Actions {
  constructor(
    readonly databases: Databases,
    readonly show: Show,
    readonly output: vscode.OutputChannel,
  ) {}

  /** The commands by name. An error of any is shown, in the words of `folio`. */
  register(): vscode.Disposable[] {
    const actions: Record<string, (...given: never[]) => Promise<unknown>> = {
      openFolder: (uri?: vscode.Uri) => this.openFolder(uri),
      createDatabase: () => this.createDatabase(),
      selectDatabase: () => this.selectDatabase(),
      forget: (node: Node) => this.databases.forget(databaseOf(node) ?? ''),
      refresh: async () => this.databases.refresh(),
      open: (node?: Node) => this.open(node),
      newStatement: (node?: Node) => this.newStatement(node),
      createCollection: (node?: Node) => this.createCollection(node),
      addDocument: (node?: Node) => this.addDocument(node),
      editDocument: (node?: Node) => this.editDocument(node),
      deleteDocument: (node?: Node) => this.deleteDocument(node),
      import: (node?: Node) => this.import(node),
      export: (node?: Node) => this.export(node),
      validate: (node?: Node) => this.validate(node),
      statistics: (node?: Node) => this.statistics(node),
      run: (uri: string, range: vscode.Range) => this.run(uri, range),
    }
    return Object.entries(actions).map(([name, act]) => vscode.commands.registerCommand(`foliodb.${name}`, async (...given: never[]) => {
      try {
        await act(...given)
      } catch (error) {
        void vscode.window.showErrorMessage((error as Error).message)
      }
    }))
  }

  async openFolder(uri?: vscode.Uri): Promise<void> {
    const chosen = uri ?? (await vscode.window.showOpenDialog({ canSelectFolders: true, canSelectFiles: true, filters: { 'Archives of FolioDB': ['zds'] }, openLabel: 'Open as Database' }))?.[0]
    if (!chosen) return
    // What is no database says so before it is in the list.
    await this.#folio(lines.list(chosen.fsPath))
    await this.databases.add(chosen.fsPath)
    await this.show(chosen.fsPath, '#/')
  }

  async createDatabase(): Promise<void> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri
    const target = await vscode.window.showSaveDialog({ defaultUri: folder && vscode.Uri.joinPath(folder, 'mydata'), saveLabel: 'Create Database', title: 'The folder of the new database' })
    if (!target || !(await this.#mayChange())) return
    await this.#folio(lines.create(target.fsPath))
    await this.databases.add(target.fsPath)
  }

  async selectDatabase(): Promise<void> {
    const database = await this.#chooseDatabase()
    if (database === undefined) return
    const folder = vscode.workspace.workspaceFolders?.[0]
    const target = folder ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global
    await vscode.workspace.getConfiguration('foliodb').update('database', database, target)
  }

  async open(node?: Node): Promise<void> {
    if (node?.kind === 'relation') return this.show(node.database, gridOf(node.relation.name))
    const database = databaseOf(node) ?? (await this.#chooseDatabase())
    if (database !== undefined) await this.show(database, '#/')
  }

  async newStatement(node?: Node): Promise<void> {
    const name = node?.kind === 'relation' ? node.relation.name : undefined
    const isStruct = node?.kind === 'relation' && node.relation.kind === 'struct'
    const content = name === undefined ? '' : isStruct ? `GRAB ${name} [10; *] {}` : `select * from "${name.replaceAll('"', '""')}" limit 10`
    const document = await vscode.workspace.openTextDocument({ language: isStruct ? 'ziql' : 'sql', content })
    await vscode.window.showTextDocument(document)
  }

  async createCollection(node?: Node): Promise<void> {
    const database = databaseOf(node) ?? (await this.#chooseDatabase())
    if (database === undefined || !(await this.#mayChange())) return
    const collection = await ask('The name of the collection', '', NAME_MAX)
    if (collection) await this.#add(database, collection)
  }

  async addDocument(node?: Node): Promise<void> {
    const place = await this.#collection(node)
    if (place && (await this.#mayChange())) await this.#add(place.database, place.collection)
  }

  async #add(database: string, collection: string): Promise<void> {
    const id = await ask('The id of the document', randomUUID(), NAME_MAX)
    if (!id) return
    const known = await this.#folio(lines.get(database, collection, id)).then(() => true, () => false)
    if (known) throw new Error(`${collection} has a document ${id}; edit it instead`)
    await this.#folio(lines.put(database, collection, id), '{}')
    this.databases.refresh()
    await vscode.window.showTextDocument(addressOf({ database, collection, id }))
  }

  async editDocument(node?: Node): Promise<void> {
    const place = await this.#document(node)
    if (!place || !(await this.#mayChange())) return
    await this.#folio(lines.get(place.database, place.collection, place.id))
    await vscode.window.showTextDocument(addressOf(place))
  }

  async deleteDocument(node?: Node): Promise<void> {
    const place = await this.#document(node)
    if (!place || !(await this.#mayChange())) return
    const { database, collection, id } = place
    const sure = await vscode.window.showWarningMessage(`Delete the document ${id} of ${collection}?`, { modal: true }, 'Delete')
    if (sure !== 'Delete') return
    await this.#folio(lines.remove(database, collection, id))
    this.databases.refresh()
  }

  async import(node?: Node): Promise<void> {
    const database = databaseOf(node) ?? (await this.#chooseDatabase())
    if (database === undefined || !(await this.#mayChange())) return
    const file = (await vscode.window.showOpenDialog({ openLabel: 'Import', title: 'JSON Lines, JSON, CSV, Ion, Parquet, Arrow, compressed or not, or SQLite' }))?.[0]
    if (!file) return
    const own = node?.kind === 'relation' ? node.relation.name : undefined
    const name = own ?? (await ask('The collection; empty for the tables of a SQLite file', path.basename(file.fsPath).replace(/\..*$/, ''), NAME_MAX, true))
    if (name === undefined) return
    await this.#long(`Importing ${path.basename(file.fsPath)}`, lines.import(database, name === '' ? undefined : name, file.fsPath))
    this.databases.refresh()
  }

  async export(node?: Node): Promise<void> {
    const place = await this.#collection(node)
    if (!place) return
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri
    const target = await vscode.window.showSaveDialog({
      defaultUri: folder && vscode.Uri.joinPath(folder, `${place.collection}.jsonl`),
      filters: { 'JSON Lines': ['jsonl'], JSON: ['json'], CSV: ['csv'], TSV: ['tsv'], Ion: ['ion'], 'Binary Ion': ['10n'], Parquet: ['parquet'], Arrow: ['arrow'] },
      saveLabel: 'Export',
    })
    if (target) await this.#long(`Exporting ${place.collection}`, lines.export(place.database, place.collection, target.fsPath))
  }

  async validate(node?: Node): Promise<void> {
    const place = await this.#part(node)
    if (!place) return
    const { code } = await this.#long(`Validating ${path.basename(place.database)}`, lines.validate(place.database, place.collection))
    if (code === DAMAGE) void vscode.window.showErrorMessage('There is damage; the output of FolioDB names it. `folio validate --fix` repairs what can be repaired.')
    else void vscode.window.showInformationMessage('All is well.')
  }

  async statistics(node?: Node): Promise<void> {
    const place = await this.#part(node)
    if (place) await this.#long(`Statistics of ${path.basename(place.database)}`, lines.statistics(place.database, place.collection))
  }

  /** Runs the statement of a code lens, and shows its result. */
  async run(uri: string, range: vscode.Range): Promise<void> {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri))
    const file = document.uri.scheme === 'file' ? document.uri.fsPath : undefined
    const database = (await this.databases.of(file)) ?? (await this.#chooseDatabase())
    if (database === undefined) return
    const part = new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character)
    await this.show(database, askOf(document.languageId === 'ziql' ? 'ziql' : 'sql', document.getText(part)))
  }

  /** Runs `folio`, shows that it runs, and prints what it says. */
  async #long(title: string, args: string[]): Promise<Ran> {
    const ran = await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title, cancellable: true }, (_, token) => {
      const stop = new AbortController()
      token.onCancellationRequested(() => stop.abort())
      return run(setting.command(), args, '', stop.signal)
    })
    this.output.appendLine(`${title}\n${ran.output}`)
    this.output.show(true)
    return ran
  }

  #folio(args: string[], input?: string): Promise<Ran> {
    return run(setting.command(), args, input)
  }

  /** Whether databases may be changed; asks once for each workspace. */
  async #mayChange(): Promise<boolean> {
    if (setting.isWritable()) return true
    const allow = 'Allow in This Workspace'
    if ((await vscode.window.showWarningMessage('FolioDB only reads. Allow changes of databases?', { modal: true }, allow)) !== allow) return false
    await setting.allowWrite()
    if (setting.isWritable()) return true
    throw new Error('trust this workspace to change databases')
  }

  async #chooseDatabase(): Promise<string | undefined> {
    const all = await this.databases.all()
    if (all.length === 0) throw new Error('there is no database; open a folder as one, or create one')
    if (all.length === 1) return all[0]?.path
    const items = all.map(({ path: database }) => ({ label: path.basename(database), description: database }))
    return (await vscode.window.showQuickPick(items, { placeHolder: 'The database' }))?.description
  }

  async #part(node?: Node): Promise<{ database: string; collection?: string } | undefined> {
    if (node?.kind === 'relation') return { database: node.database, collection: node.relation.name }
    const database = databaseOf(node) ?? (await this.#chooseDatabase())
    return database === undefined ? undefined : { database }
  }

  async #collection(node?: Node): Promise<{ database: string; collection: string } | undefined> {
    if (node?.kind === 'relation') return { database: node.database, collection: node.relation.name }
    const database = databaseOf(node) ?? (await this.#chooseDatabase())
    if (database === undefined) return undefined
    const { output } = await this.#folio(lines.list(database))
    const names = relationsOf(output, '').filter(({ kind }) => kind === 'collection').map(({ name }) => name)
    if (names.length === 0) throw new Error('the database has no collections')
    const collection = names.length === 1 ? names[0] : await vscode.window.showQuickPick(names, { placeHolder: 'The collection' })
    return collection === undefined ? undefined : { database, collection }
  }

  async #document(node?: Node): Promise<{ database: string; collection: string; id: string } | undefined> {
    const place = await this.#collection(node)
    const id = place && (await ask(`The id of a document of ${place.collection}`, '', NAME_MAX))
    return place && id ? { ...place, id } : undefined
  }
}

function databaseOf(node?: Node): string | undefined {
  return node && 'database' in node ? node.database : undefined
}

/** Asks for a text that is not empty, unless it may be. */
function ask(prompt: string, value: string, sizeMax: number, mayBeEmpty = false): Thenable<string | undefined> {
  const validateInput = (text: string) => (text === '' && !mayBeEmpty ? 'Type at least one character.' : Buffer.byteLength(text) > sizeMax ? `At most ${sizeMax} bytes.` : undefined)
  return vscode.window.showInputBox({ prompt, value, validateInput })
}
