// The change of a document as text: what is typed is checked as JSON before it is sent, and what it
// replaces can be put back.

import { fill, h } from './dom'
import { Failure, server, type Shown } from './server'

type Draw = (shown: Shown, before?: string | null) => void

/** The buttons of a document that may be changed; `before` is what stood there until just now. */
export function edits(collection: string, id: string, { line }: Shown, before: string | null | undefined, draw: Draw): HTMLElement {
  const place = h('div', { class: 'edits' })
  const fail = (error: unknown) => place.append(h('div', { class: 'failure', role: 'alert' }, h('b', {}, error instanceof Error ? error.message : String(error)), error instanceof Failure && error.hint ? h('p', {}, error.hint) : null))
  const put = (next: string | null) => server.put({ collection, id, was: line, line: next }).then((shown) => draw(shown, line), fail)
  const buttons = () => fill(place,
    line === null ? null : h('button', { class: 'plain', onclick: () => edit(line) }, 'Edit'),
    line === null ? null : h('button', { class: 'plain', onclick: () => void put(null) }, 'Delete'),
    before === undefined ? null : h('button', { class: 'plain', onclick: () => void put(before) }, 'Undo'),
    before === undefined ? null : h('span', { class: 'soft', role: 'status' }, line === null ? 'Deleted.' : 'Saved.'))
  const edit = (line: string) => {
    const text = h('textarea', { 'aria-label': 'Document', spellcheck: 'false', rows: Math.min(24, 3 + line.length / 80) })
    text.value = line
    const save = () => {
      place.querySelector('.failure')?.remove()
      try {
        const value: unknown = JSON.parse(text.value)
        if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new SyntaxError('a document is an object: { … }')
      } catch (error) {
        return fail(error)
      }
      void put(text.value.trim())
    }
    text.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) save()
      if (event.key === 'Escape') buttons()
    })
    fill(place, text, h('div', { class: 'tools' }, h('button', { class: 'primary', onclick: save, title: 'Ctrl+Enter' }, 'Save'), h('button', { class: 'plain', onclick: buttons }, 'Cancel')))
    text.focus()
  }
  buttons()
  return place
}
