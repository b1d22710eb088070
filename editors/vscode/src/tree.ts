// The tree of databases, their collections, tables and structs, and the members of these.

import * as path from 'node:path'
import * as vscode from 'vscode'

import { membersOf, relationsOf, type Member, type Relation } from './catalog'
import type { Databases } from './databases'
import { run } from './folio'
import { lines } from './lines'
import { setting } from './setting'

export type Node =
  | { kind: 'database'; database: string; isAdded: boolean }
  | { kind: 'relation'; database: string; relation: Relation }
  | { kind: 'member'; member: Member }
  | { kind: 'problem'; message: string }

const ICONS = { collection: 'json', table: 'table', struct: 'symbol-struct' }

export class Tree implements vscode.TreeDataProvider<Node> {
  #changed = new vscode.EventEmitter<void>()
  readonly onDidChangeTreeData = this.#changed.event

  constructor(readonly databases: Databases) {
    databases.onDidChange(() => this.#changed.fire())
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case 'database': {
        const item = new vscode.TreeItem(path.basename(node.database), vscode.TreeItemCollapsibleState.Collapsed)
        const icon = new vscode.ThemeIcon(node.database.endsWith('.zds') ? 'archive' : 'database')
        return Object.assign(item, { id: node.database, contextValue: node.isAdded ? 'added' : 'database', iconPath: icon, tooltip: node.database })
      }
      case 'relation': {
        const { name, kind, count } = node.relation
        const item = new vscode.TreeItem(name, vscode.TreeItemCollapsibleState.Collapsed)
        const open = { command: 'foliodb.open', title: 'Open', arguments: [node] }
        return Object.assign(item, { contextValue: kind === 'collection' ? 'collection' : 'table', iconPath: new vscode.ThemeIcon(ICONS[kind]), description: count.toLocaleString('en'), tooltip: `${kind} ${name}`, command: open })
      }
      case 'member':
        return Object.assign(new vscode.TreeItem(node.member.name), { description: node.member.type, iconPath: new vscode.ThemeIcon('symbol-field') })
      case 'problem':
        return Object.assign(new vscode.TreeItem(node.message), { iconPath: new vscode.ThemeIcon('warning'), tooltip: node.message })
    }
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (!node) return (await this.databases.all()).map(({ path, isAdded }) => ({ kind: 'database', database: path, isAdded }))
    try {
      return await children(node)
    } catch (error) {
      return [{ kind: 'problem', message: (error as Error).message }]
    }
  }
}

async function children(node: Node): Promise<Node[]> {
  const command = setting.command()
  if (node.kind === 'database') {
    const { database } = node
    // One after the other: a database that is not there is an error first, and would be created then.
    const list = await run(command, lines.list(database))
    const schema = await run(command, lines.structs(database))
    return relationsOf(list.output, schema.output).map((relation) => ({ kind: 'relation', database, relation }))
  }
  if (node.kind === 'relation') {
    const { output } = await run(command, lines.members(node.database, node.relation.name))
    return membersOf(output).map((member) => ({ kind: 'member', member }))
  }
  return []
}
