// What a page shows that cannot be shown.

import { h } from './dom'
import { Failure } from './server'

export function failure(error: unknown): HTMLElement {
  const hint = error instanceof Failure ? error.hint : null
  const words = h('div', { class: 'failure', role: 'alert' }, h('b', {}, error instanceof Error ? error.message : String(error)), hint ? h('p', {}, hint) : null, h('p', {}, h('a', { href: '#/' }, 'Back to the overview')))
  return h('div', { class: 'page' }, h('h1', { class: 'unseen' }, 'Error'), words)
}
