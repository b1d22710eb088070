// An editor without a window: what the extension calls of its API, typed by @types/vscode. It writes
// down what it is told, and answers questions with what a test has put into `answers`.

import type * as real from 'vscode'

type Api = typeof real

export class EventEmitter<T> implements real.EventEmitter<T> {
  #listeners = new Set<(event: T) => unknown>()
  readonly event: real.Event<T> = (listener) => {
    this.#listeners.add(listener)
    return { dispose: () => void this.#listeners.delete(listener) }
  }
  fire(event: T): void {
    for (const listener of this.#listeners) listener(event)
  }
  dispose(): void {}
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
    readonly query: string,
  ) {}
  get fsPath(): string {
    return this.path
  }
  toString(): string {
    return `${this.scheme}:${this.path}${this.query === '' ? '' : `?${encodeURIComponent(this.query)}`}`
  }
  static from({ scheme, path = '', query = '' }: { scheme: string; path?: string; query?: string }): Uri {
    return new Uri(scheme, path, query)
  }
  static file(path: string): Uri {
    return new Uri('file', path, '')
  }
  static parse(text: string): Uri {
    const { protocol, pathname } = new URL(text)
    return new Uri(protocol.slice(0, -1), decodeURIComponent(pathname), '')
  }
  static joinPath(base: Uri, ...parts: string[]): Uri {
    return new Uri(base.scheme, [base.path, ...parts].join('/'), base.query)
  }
}

export class TreeItem {
  constructor(
    readonly label: string,
    readonly collapsibleState?: number,
  ) {}
}

export class ThemeIcon {
  constructor(readonly id: string) {}
}

export class Range {
  readonly start: { line: number; character: number }
  readonly end: { line: number; character: number }
  constructor(line: number, character: number, endLine: number, endCharacter: number) {
    this.start = { line, character }
    this.end = { line: endLine, character: endCharacter }
  }
}

export class FileSystemError extends Error {
  static NoPermissions = (message: string) => new FileSystemError(message)
  static Unavailable = (message: string) => new FileSystemError(message)
}

export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 } satisfies Record<keyof Api['TreeItemCollapsibleState'] & string, number>
export const FileType = { Unknown: 0, File: 1, Directory: 2, SymbolicLink: 64 } satisfies Record<keyof Api['FileType'] & string, number>
export const FilePermission = { Readonly: 1 } satisfies Record<keyof Api['FilePermission'] & string, number>
export const FileChangeType = { Changed: 1, Created: 2, Deleted: 3 } satisfies Record<keyof Api['FileChangeType'] & string, number>
export const ConfigurationTarget = { Global: 1, Workspace: 2, WorkspaceFolder: 3 } satisfies Record<keyof Api['ConfigurationTarget'] & string, number>
export const ProgressLocation = { SourceControl: 1, Window: 10, Notification: 15 } satisfies Record<keyof Api['ProgressLocation'] & string, number>
export const ViewColumn = { Active: -1, Beside: -2 }

/** What a test sets and sees. */
export const editor = {
  settings: {} as Record<string, unknown>,
  isTrusted: true,
  folder: '',
  files: {} as Record<string, string[]>,
  /** The answers to what is asked, in order; `undefined` is Escape. */
  answers: [] as unknown[],
  questions: [] as string[],
  messages: [] as string[],
  printed: [] as string[],
  opened: [] as string[],
  documents: {} as Record<string, { languageId: string; text: string }>,
  commands: new Map<string, (...given: unknown[]) => unknown>(),
  viewers: new Map<string, real.CustomReadonlyEditorProvider>(),
  panels: [] as FakePanel[],
  saved: new Map<string, Uint8Array>(),
  configured: new EventEmitter<real.ConfigurationChangeEvent>(),
}

function answer<T>(question: string): Thenable<T> {
  editor.questions.push(question)
  if (editor.answers.length === 0) throw new Error(`nobody expected to be asked: ${question}`)
  return Promise.resolve(editor.answers.shift() as T)
}

/** A webview and its panel. */
export class FakePanel {
  readonly told: unknown[] = []
  readonly #disposed = new EventEmitter<void>()
  readonly #received = new EventEmitter<unknown>()
  readonly onDidDispose = this.#disposed.event
  readonly webview = {
    html: '',
    options: {},
    onDidReceiveMessage: this.#received.event,
    postMessage: async (message: unknown) => this.told.push(message) > 0,
  }
  revealed = 0
  reveal(): void {
    this.revealed += 1
  }
  send(message: unknown): void {
    this.#received.fire(message)
  }
  dispose(): void {
    this.#disposed.fire()
  }
}

export const window = {
  createOutputChannel: (() => ({ appendLine: (text: string) => void editor.printed.push(text), show() {}, dispose() {} })) as unknown as Api['window']['createOutputChannel'],
  createWebviewPanel: (() => {
    const panel = new FakePanel()
    editor.panels.push(panel)
    return panel
  }) as unknown as Api['window']['createWebviewPanel'],
  registerTreeDataProvider: () => ({ dispose() {} }),
  registerCustomEditorProvider: ((type: string, viewer: real.CustomReadonlyEditorProvider) => {
    editor.viewers.set(type, viewer)
    return { dispose() {} }
  }) as Api['window']['registerCustomEditorProvider'],
  showErrorMessage: ((message: string) => {
    editor.messages.push(`error: ${message}`)
    return Promise.resolve(undefined)
  }) as unknown as Api['window']['showErrorMessage'],
  showInformationMessage: ((message: string) => {
    editor.messages.push(message)
    return Promise.resolve(undefined)
  }) as unknown as Api['window']['showInformationMessage'],
  showWarningMessage: ((message: string) => answer(message)) as unknown as Api['window']['showWarningMessage'],
  showInputBox: ((options: real.InputBoxOptions) => answer(options.prompt ?? '')) as Api['window']['showInputBox'],
  showQuickPick: ((items: unknown[], options: real.QuickPickOptions) => answer(`${options.placeHolder} of ${items.length}`)) as unknown as Api['window']['showQuickPick'],
  showOpenDialog: ((options: real.OpenDialogOptions) => answer(options.openLabel ?? '')) as Api['window']['showOpenDialog'],
  showSaveDialog: ((options: real.SaveDialogOptions) => answer(options.saveLabel ?? 'Save')) as Api['window']['showSaveDialog'],
  showTextDocument: ((document: { toString(): string }) => {
    editor.opened.push(String(document))
    return Promise.resolve({})
  }) as unknown as Api['window']['showTextDocument'],
  withProgress: ((_: real.ProgressOptions, task: (progress: unknown, token: unknown) => unknown) => task({}, { onCancellationRequested: () => ({ dispose() {} }) })) as unknown as Api['window']['withProgress'],
} satisfies Partial<Api['window']>

export const workspace = {
  get isTrusted(): boolean {
    return editor.isTrusted
  },
  get workspaceFolders() {
    return editor.folder === '' ? undefined : ([{ uri: Uri.file(editor.folder), name: 'folder', index: 0 }] as unknown as Api['workspace']['workspaceFolders'])
  },
  fs: { writeFile: async (uri: Uri, bytes: Uint8Array) => void editor.saved.set(uri.fsPath, bytes) } as unknown as Api['workspace']['fs'],
  getConfiguration: ((section: string) => ({
    get: (name: string, value: unknown) => editor.settings[`${section}.${name}`] ?? value,
    update: async (name: string, value: unknown) => {
      editor.settings[`${section}.${name}`] = value
      editor.configured.fire({ affectsConfiguration: (own: string) => own === section })
    },
  })) as unknown as Api['workspace']['getConfiguration'],
  onDidChangeConfiguration: editor.configured.event,
  registerFileSystemProvider: () => ({ dispose() {} }),
  findFiles: (async (pattern: string) => (editor.files[pattern] ?? []).map((path) => Uri.file(path))) as unknown as Api['workspace']['findFiles'],
  openTextDocument: (async (given: Uri | { language: string; content: string }) => {
    if (!(given instanceof Uri)) return `${given.language}: ${given.content}`
    const { languageId, text } = editor.documents[given.path] as { languageId: string; text: string }
    const getText = ({ start, end }: Range) => text.split('\n').slice(start.line, end.line + 1).join('\n').slice(start.character, end.character)
    return { uri: given, languageId, getText }
  }) as unknown as Api['workspace']['openTextDocument'],
}

export const commands = {
  registerCommand: ((name: string, act: (...given: unknown[]) => unknown) => {
    editor.commands.set(name, act)
    return { dispose: () => void editor.commands.delete(name) }
  }) as Api['commands']['registerCommand'],
} satisfies Partial<Api['commands']>
