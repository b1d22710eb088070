// The extension: registers what it offers, and ends with the window.
//
//   client     the language server `folio lsp`: errors, completion, and the lenses that run statements
//   viewer     data files and archives, in the pages of a studio (panel, html, page/bridge)
//   studio     the processes behind those pages
//   tree       databases, and what they have (catalog)
//   actions    the commands, each by a run of `folio` (folio, lines)
//   documents  single documents, as files of the editor

import * as path from 'node:path'
import * as vscode from 'vscode'

import { Actions } from './actions'
import { Client } from './client'
import { Databases } from './databases'
import { Documents, SCHEME } from './documents'
import { Panel } from './panel'
import { setting } from './setting'
import { Studios } from './studio'
import { Tree } from './tree'
import { Viewer } from './viewer'

let client: Client | undefined

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const folder = context.extensionPath
  const [studios, databases, own] = [new Studios(), new Databases(context.workspaceState), new Client()]
  const output = vscode.window.createOutputChannel('FolioDB')
  const viewer = new Viewer(studios, folder)
  const actions = new Actions(databases, showIn(studios, folder), output)
  const readers = { supportsMultipleEditorsPerDocument: true }
  const serve = async () => {
    try {
      await own.start(setting.command(), await databases.of())
    } catch (error) {
      output.appendLine(`no language server: ${(error as Error).message}`)
    }
  }
  client = own
  context.subscriptions.push(
    studios,
    output,
    vscode.window.registerTreeDataProvider('foliodb.databases', new Tree(databases)),
    vscode.window.registerCustomEditorProvider('foliodb.collection', viewer, readers),
    vscode.window.registerCustomEditorProvider('foliodb.archive', viewer, readers),
    vscode.workspace.registerFileSystemProvider(SCHEME, new Documents(), { isCaseSensitive: true }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('foliodb')) void serve()
    }),
    databases.onDidChange(() => void serve()),
    ...actions.register(),
  )
  await serve()
}

export async function deactivate(): Promise<void> {
  await client?.stop()
}

/** One tab for each database, which goes to the page that is asked for. */
function showIn(studios: Studios, folder: string): (database: string, hash: string) => Promise<void> {
  const open = new Map<string, { panel: vscode.WebviewPanel; shown: Promise<Panel> }>()
  return async (database, hash) => {
    const known = open.get(database)
    if (known) {
      known.panel.reveal()
      return (await known.shown).go(hash)
    }
    const panel = vscode.window.createWebviewPanel('foliodb.studio', path.basename(database), vscode.ViewColumn.Beside, { enableScripts: true, retainContextWhenHidden: true })
    const shown = Panel.show(panel, studios, database, hash, folder)
    open.set(database, { panel, shown })
    panel.onDidDispose(() => open.delete(database))
    try {
      await shown
    } catch (error) {
      panel.dispose()
      throw error
    }
  }
}
