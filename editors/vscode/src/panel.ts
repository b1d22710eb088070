// A webview that shows the pages of a studio: messages of the page become requests, and answers
// messages. The page never knows the address of the studio.

import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import * as path from 'node:path'
import * as vscode from 'vscode'

import { html } from './html'
import type { FromPage, ToPage } from './messages'
import { setting } from './setting'
import type { Studio, Studios } from './studio'

export class Panel {
  #running = new Map<number, AbortController>()

  private constructor(
    readonly webview: vscode.Webview,
    readonly studio: Studio,
  ) {}

  /** Shows a page of a database's studio in a panel, until the panel is closed. */
  static async show(panel: vscode.WebviewPanel, studios: Studios, database: string, begin: string, folder: string): Promise<Panel> {
    let isClosed = false
    let close = () => {}
    panel.onDidDispose(() => {
      isClosed = true
      close()
    })
    const { studio, release } = await studios.use(setting.command(), database, setting.isWritable())
    const shown = new Panel(panel.webview, studio)
    close = () => {
      shown.#stop()
      release()
    }
    if (isClosed) {
      close()
      return shown
    }
    const [script, style, bridge] = await Promise.all([studio.file('studio.js'), studio.file('studio.css'), readFile(path.join(folder, 'dist', 'bridge.js'), 'utf8')])
    if (isClosed) return shown
    panel.webview.options = { enableScripts: true, localResourceRoots: [] }
    panel.webview.onDidReceiveMessage((message: FromPage) => void shown.take(message))
    panel.webview.html = html({ script, style, bridge, begin, nonce: randomBytes(16).toString('base64url') })
    return shown
  }

  /** Goes to another page. */
  go(hash: string): void {
    this.#tell({ kind: 'go', hash })
  }

  async take(message: FromPage): Promise<void> {
    if (message.kind === 'stop') this.#running.get(message.id)?.abort()
    else if (message.kind === 'save') await save(message.name, message.bytes)
    else if (message.kind === 'ask') await this.#ask(message.id, message.action, message.body)
  }

  async #ask(id: number, action: string, body: string): Promise<void> {
    const running = new AbortController()
    this.#running.set(id, running)
    try {
      this.#tell({ kind: 'answer', id, ...(await this.studio.ask(action, body, running.signal)) })
    } catch (error) {
      if (!running.signal.aborted) this.#tell({ kind: 'answer', id, text: `the studio has ended: ${(error as Error).message}`, isOk: false })
    } finally {
      this.#running.delete(id)
    }
  }

  #tell(message: ToPage): void {
    void this.webview.postMessage(message)
  }

  /** Nobody waits for what runs. */
  #stop(): void {
    for (const one of this.#running.values()) one.abort()
  }
}

/** Saves what a page exports. */
async function save(name: string, bytes: ArrayBuffer): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri
  const file = path.basename(name)
  const target = await vscode.window.showSaveDialog({ defaultUri: folder ? vscode.Uri.joinPath(folder, file) : vscode.Uri.file(file) })
  if (target) await vscode.workspace.fs.writeFile(target, new Uint8Array(bytes))
}
