// Who carries what the pages ask, and what they save: a browser, by HTTP and as a download. An editor
// that shows the pages puts a host of its own into `folioHost` before this script runs.

import { h } from './dom'

export interface Answered {
  text: string
  isOk: boolean
}

export interface Host {
  /** Sends what is asked to an action of the server. */
  send(action: string, body: string, signal: AbortSignal): Promise<Answered>
  /** Sends a file. Without it, files are not imported from these pages. */
  upload?(file: File, show: (done: number, total: number) => void, signal: AbortSignal): Promise<Answered>
  /** Saves a file where the person wants it. */
  save(name: string, content: Blob): void
  /** The address of a statement for which somebody has just pressed Run outside of the page. */
  pressed?: string
}

declare global {
  var folioHost: Host | undefined
}

const browser: Host = {
  async send(action, body, signal) {
    const response = await fetch(`api/${action}`, { method: 'POST', body, signal })
    return { text: await response.text(), isOk: response.ok }
  },
  /** `fetch` would not say how far it is. */
  upload: (file, show, signal) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest()
      request.open('POST', 'api/file')
      request.setRequestHeader('X-Name', encodeURIComponent(file.name))
      request.upload.onprogress = ({ loaded, total }) => show(loaded, total)
      request.onload = () => resolve({ text: request.responseText, isOk: request.status === 200 })
      request.onerror = request.onabort = () => reject(new Error('the file did not arrive'))
      signal.addEventListener('abort', () => request.abort())
      request.send(file)
    }),
  save(name, content) {
    const url = URL.createObjectURL(content)
    h('a', { href: url, download: name }).click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  },
}

export const host: Host = globalThis.folioHost ?? browser
