// Documents as files of the editor: read by `folio get`, saved by `folio put`. A document that has
// changed since it was read is not overwritten.

import * as vscode from 'vscode'

import { run } from './folio'
import { lines } from './lines'
import { setting } from './setting'

export const SCHEME = 'foliodb'

export interface Place {
  database: string
  collection: string
  id: string
}

/** The address of a document in the editor. */
export function addressOf({ database, collection, id }: Place): vscode.Uri {
  const path = `/${encodeURIComponent(collection)}/${encodeURIComponent(id)}.json`
  return vscode.Uri.from({ scheme: SCHEME, path, query: database })
}

export function placeOf({ path, query }: vscode.Uri): Place {
  const [, collection = '', file = ''] = path.split('/')
  return { database: query, collection: decodeURIComponent(collection), id: decodeURIComponent(file.replace(/\.json$/, '')) }
}

export class Documents implements vscode.FileSystemProvider {
  #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>()
  readonly onDidChangeFile = this.#changed.event
  /** What was read last, and when it was saved. */
  #read = new Map<string, { text: string; mtime: number }>()

  watch(): vscode.Disposable {
    return { dispose() {} }
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const known = this.#read.get(uri.toString()) ?? (await this.#get(uri))
    const permissions = setting.isWritable() ? undefined : vscode.FilePermission.Readonly
    return { type: vscode.FileType.File, ctime: 0, mtime: known.mtime, size: Buffer.byteLength(known.text), permissions }
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return Buffer.from((await this.#get(uri)).text)
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    if (!setting.isWritable()) throw vscode.FileSystemError.NoPermissions('set foliodb.allowWrite to change documents')
    const { database, collection, id } = placeOf(uri)
    const known = this.#read.get(uri.toString())
    if (known && (await text(uri)) !== known.text) {
      throw vscode.FileSystemError.Unavailable('the document has changed since it was opened; copy what you wrote, and open it again')
    }
    await told(run(setting.command(), lines.put(database, collection, id), Buffer.from(content).toString()))
    this.#read.set(uri.toString(), { text: await text(uri), mtime: Date.now() })
    this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }])
  }

  async #get(uri: vscode.Uri): Promise<{ text: string; mtime: number }> {
    const now = await text(uri)
    const known = this.#read.get(uri.toString())
    if (known?.text === now) return known
    const read = { text: now, mtime: Date.now() }
    this.#read.set(uri.toString(), read)
    return read
  }

  readDirectory(): [string, vscode.FileType][] {
    return []
  }

  createDirectory(): void {
    throw vscode.FileSystemError.NoPermissions('a collection is created with its first document')
  }

  delete(): void {
    throw vscode.FileSystemError.NoPermissions('delete documents by the command FolioDB: Delete Document')
  }

  rename(): void {
    throw vscode.FileSystemError.NoPermissions('a document has its id')
  }
}

async function text(uri: vscode.Uri): Promise<string> {
  const { database, collection, id } = placeOf(uri)
  return (await told(run(setting.command(), lines.get(database, collection, id)))).output
}

/** An error in the words of `folio`, as the editor shows it. */
async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw vscode.FileSystemError.Unavailable((error as Error).message)
  }
}
