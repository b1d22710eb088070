// In the webview, before the studio's own script: carries what the pages ask as messages, keeps their
// address while the tab is hidden, and follows links and colours, which an editor handles its own way.

import type { FromPage, ToPage } from '../messages'

interface Editor {
  postMessage(message: FromPage): void
  getState(): { hash?: string } | undefined
  setState(state: { hash: string }): void
}

declare function acquireVsCodeApi(): Editor

interface Waiting {
  resolve(answer: { text: string; isOk: boolean }): void
}

const editor = acquireVsCodeApi()
const waiting = new Map<number, Waiting>()
let last = 0

function send(action: string, body: string, signal: AbortSignal): Promise<{ text: string; isOk: boolean }> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const id = ++last
    waiting.set(id, { resolve })
    signal.addEventListener('abort', () => {
      if (!waiting.delete(id)) return
      editor.postMessage({ kind: 'stop', id })
      reject(signal.reason)
    })
    editor.postMessage({ kind: 'ask', id, action, body })
  })
}

function save(name: string, content: Blob): void {
  void content.arrayBuffer().then((bytes) => editor.postMessage({ kind: 'save', name, bytes }))
}

const host: { send: typeof send; save: typeof save; pressed?: string | undefined } = { send, save }
Object.assign(globalThis, { folioHost: host })

addEventListener('message', ({ data }: MessageEvent<ToPage>) => {
  if (data.kind === 'answer') {
    const one = waiting.get(data.id)
    waiting.delete(data.id)
    one?.resolve(data)
  } else if (data.kind === 'go') {
    host.pressed = data.hash
    if (location.hash === data.hash) dispatchEvent(new Event('hashchange'))
    else location.hash = data.hash
  }
})

/** The address comes back after the tab was hidden, or the window was loaded again. */
const note = history.replaceState.bind(history)
const remember = () => editor.setState({ hash: location.hash })
history.replaceState = (...change) => {
  note(...change)
  remember()
}
addEventListener('hashchange', remember)
const before = editor.getState()?.hash
const begin = before ?? document.querySelector<HTMLMetaElement>('meta[name=folio-begin]')?.content
if (begin) note(null, '', begin)
// Run was pressed in the editor for a page that begins. One that comes back has run already.
if (before === undefined) host.pressed = begin
remember()

/** Editors scroll to the target of such a link and change no address. */
addEventListener('click', (event) => {
  const link = event.composedPath().find((part): part is HTMLAnchorElement => part instanceof HTMLAnchorElement)
  const target = link?.getAttribute('href')
  if (!target?.startsWith('#/')) return
  event.preventDefault()
  location.hash = target
}, true)

/** The colours of the editor. */
function paint(): void {
  const kind = document.body.dataset.vscodeThemeKind
  if (kind) document.documentElement.dataset.theme = kind.endsWith('light') ? 'light' : 'dark'
}
new MutationObserver(paint).observe(document.body, { attributes: true })
addEventListener('load', paint)
