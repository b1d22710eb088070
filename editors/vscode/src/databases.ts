// The databases that are known: those in the workspace, and those that somebody opened.

import { existsSync } from 'node:fs'
import * as path from 'node:path'
import * as vscode from 'vscode'

import { databaseAround } from './places'
import { setting } from './setting'

const ADDED = 'foliodb.added'
const COUNT_MAX = 200

export interface Known {
  path: string
  /** Somebody opened it; it may be outside of the workspace. */
  isAdded: boolean
}

export class Databases {
  #changed = new vscode.EventEmitter<void>()
  readonly onDidChange = this.#changed.event

  constructor(readonly memory: vscode.Memento) {}

  get added(): string[] {
    return this.memory.get<string[]>(ADDED, [])
  }

  async add(database: string): Promise<void> {
    if (!this.added.includes(database)) await this.memory.update(ADDED, [...this.added, database])
    this.#changed.fire()
  }

  async forget(database: string): Promise<void> {
    await this.memory.update(ADDED, this.added.filter((one) => one !== database))
    this.#changed.fire()
  }

  refresh(): void {
    this.#changed.fire()
  }

  /** All of them, by path. */
  async all(): Promise<Known[]> {
    const find = (pattern: string) => vscode.workspace.findFiles(pattern, '**/node_modules/**', COUNT_MAX)
    const [folders, archives] = await Promise.all([find('**/folio.json'), find('**/*.zds')])
    const { added } = this
    const found = [...folders.map(({ fsPath }) => path.dirname(fsPath)), ...archives.map(({ fsPath }) => fsPath)]
    const own = found.filter((one) => !added.includes(one)).map((path) => ({ path, isAdded: false }))
    return [...added.map((path) => ({ path, isAdded: true })), ...own].sort((one, other) => (one.path < other.path ? -1 : 1))
  }

  /** The database of statements: the one around the file, of the settings, or the only one. */
  async of(file?: string): Promise<string | undefined> {
    const around = file === undefined ? undefined : databaseAround(file, existsSync)
    if (around) return around
    const [named, folder] = [setting.database(), vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '']
    if (named !== '') return path.resolve(folder, named)
    const all = await this.all()
    return all.length === 1 ? all[0]?.path : undefined
  }
}
