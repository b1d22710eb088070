// A value as a tree. What is folded has no elements until it is opened.

import { h, several } from './dom'
import { Digits, line, type Json } from './json'

const TEXT_MAX = 2_000
const ITEMS_MAX = 200

/** Where the value at a path leads, if anywhere. */
export type Leads = (path: string[], value: Json) => string | undefined

/** The tree of a value, its first level open. */
export function tree(value: Json, leads: Leads = () => undefined): HTMLElement {
  return h('div', { class: 'tree' }, ...(isNested(value) ? items(value, { leads, path: [] }) : [leaf(value)]))
}

/** Where a part of the tree is. */
interface Place {
  leads: Leads
  path: string[]
}

type Nested = Json[] | { [key: string]: Json }

function isNested(value: Json): value is Nested {
  return typeof value === 'object' && value !== null && !(value instanceof Digits)
}

function items(value: Nested, place: Place, start = 0): HTMLElement[] {
  const all = Object.entries(value)
  const below = (key: string) => ({ ...place, path: [...place.path, Array.isArray(value) ? '[]' : key] })
  const shown = all.slice(start, start + ITEMS_MAX).map(([key, item]) => node(key, item, below(key)))
  const rest = all.length - start - shown.length
  if (rest > 0) {
    const more = h('button', { class: 'more', onclick: () => more.replaceWith(...items(value, place, start + ITEMS_MAX)) }, `${several(rest, 'more item')}…`)
    shown.push(more)
  }
  return shown
}

function node(key: string, value: Json, place: Place): HTMLElement {
  const name = h('span', { class: 'key', dir: 'auto' }, key)
  if (!isNested(value)) return h('div', { class: 'item' }, name, leaf(value, place.leads(place.path, value)))
  const count = Object.keys(value).length
  const what = Array.isArray(value) ? several(count, 'element') : several(count, 'member')
  const details = h('details', {}, h('summary', {}, name, h('span', { class: 'soft' }, what)))
  const open = () => details.append(h('div', { class: 'tree' }, ...items(value, place)))
  details.addEventListener('toggle', open, { once: true })
  return details
}

function leaf(value: Json, href?: string): HTMLElement {
  const text = line(value)
  if (href) return h('a', { class: 'value', dir: 'auto', href }, text.slice(0, TEXT_MAX))
  const shown = h('span', { class: `value ${kind(value)}`, dir: 'auto' }, text.slice(0, TEXT_MAX))
  if (text.length <= TEXT_MAX) return shown
  const all = () => shown.replaceChildren(text)
  return h('span', {}, shown, h('button', { class: 'more', onclick: (event: Event) => (all(), (event.target as Element).remove()) }, `all ${several(text.length, 'character')}`))
}

/** The class of a value. */
export function kind(value: Json): string {
  if (value === null) return 'null'
  if (value instanceof Digits) return 'number'
  return typeof value
}
