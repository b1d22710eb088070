// What the columns hold, beside a grid: their types and shares, and for those that are opened, the
// most frequent values and how numbers are spread. A press on either filters.

import { counted, fill, h, several } from './dom'
import { line, type Json } from './json'
import { spoken } from './paths'
import { server, type Facet, type Field, type Histogram, type Test } from './server'

/** More values than these, each once, say nothing. */
const FEW = 8

export interface Panel {
  relation: string
  tests: Test[]
  fields: Field[]
  /** The paths that are open. */
  open: Set<string>
  hidden: Set<string>
  /** Notes what is open. */
  note(): void
  filter(tests: Test[]): void
  hide(path: string): void
  pinned: Set<string>
  pin(path: string): void
}

export function facets(panel: Panel): HTMLElement {
  const all = panel.fields.filter(({ path, type }) => !path.includes('.*') && type !== 'struct' && path !== '*')
  return h('div', { class: 'fields' }, ...all.map((field) => item(panel, field)))
}

function item(panel: Panel, field: Field): HTMLElement {
  const { path, type } = field
  const details = h('details', {}, h('summary', {}, h('span', { class: 'name', dir: 'auto' }, spoken(path)), share(field), h('span', { class: 'type' }, type)))
  const [body, spread] = [h('div', { class: 'facet' }), h('div', {})]
  details.append(body)
  let loading: AbortController | undefined
  const load = (all: boolean) => {
    loading?.abort()
    loading = new AbortController()
    body.setAttribute('aria-busy', 'true')
    const asked = { relation: panel.relation, tests: panel.tests, path, all }
    server.facet(asked, loading.signal).then(
      (facet) => {
        fill(body, spread, ...shown(panel, field, facet, () => load(true)))
        // The values do not wait for it.
        server.histogram(asked, loading?.signal).then((histogram) => fill(spread, bars(panel, field, histogram)), () => {})
      },
      (error: unknown) => { if (!loading?.signal.aborted) fill(body, h('p', { class: 'soft' }, error instanceof Error ? error.message : String(error))) },
    ).finally(() => body.removeAttribute('aria-busy'))
  }
  if (panel.open.has(path)) {
    details.open = true
    load(false)
  }
  details.addEventListener('toggle', () => {
    if (details.open === panel.open.has(path)) return
    if (details.open) panel.open.add(path)
    else panel.open.delete(path)
    panel.note()
    if (details.open && body.childElementCount === 0) load(false)
  })
  return details
}

/** How many rows have a value, as a bar. */
export function share({ share: part }: Field): HTMLElement | null {
  if (part === undefined || part === 1) return null
  const bar = h('i', {})
  bar.style.width = `${Math.max(2, 100 * part)}%`
  const percent = part > 0 && part < 0.01 ? '< 1 %' : `${Math.round(100 * part)} %`
  return h('span', { class: 'share', title: `${percent} have a value`, role: 'img', 'aria-label': `${percent} have a value` }, bar)
}

function shown(panel: Panel, field: Field, facet: Facet, all: () => void): HTMLElement[] {
  const { values, sample } = facet
  const parts: HTMLElement[] = []
  const most = Math.max(1, ...values.map(([, count]) => count))
  const isKey = values.length >= FEW && most === 1
  if (isKey) parts.push(h('p', { class: 'soft' }, 'Every value is there once.'))
  else parts.push(h('ul', { class: 'values' }, ...values.map(([value, count]) => choice(panel, field, value, count, most))))
  parts.push(h('p', { class: 'facts' }, ...facts(panel, field, sample, all)))
  return parts
}

function choice(panel: Panel, { path }: Field, value: Json, count: number, most: number): HTMLElement {
  const [test, text] = value === null ? ['null', ''] : ['is', line(value)]
  const isOn = panel.tests.some((own) => own.column === path && own.test === test && own.value === text)
  const bar = h('i', { 'aria-hidden': 'true' })
  bar.style.width = `${(100 * count) / most}%`
  const press = () => panel.filter(isOn ? panel.tests.filter((own) => !(own.column === path && own.test === test && own.value === text)) : [...panel.tests, { column: path, test, value: text }])
  const words = text === '' && test === 'is' ? '(empty)' : line(value)
  return h('li', {}, h('button', { 'aria-pressed': isOn ? 'true' : 'false', onclick: press, disabled: typeof value === 'object' && value !== null && !('text' in value) }, bar, h('span', { class: value === null ? 'null' : '', dir: 'auto' }, words.slice(0, 200)), h('b', {}, counted(count))))
}

function bars(panel: Panel, { path }: Field, { bounds, counts, sample }: Histogram): HTMLElement | null {
  if (!bounds || !counts || counts.length < 2) return null
  const most = Math.max(1, ...counts)
  const others = () => panel.tests.filter(({ column, test }) => column !== path || !['least', 'less'].includes(test))
  const parts = counts.map((count, place) => {
    const [low, high] = [bounds[place] ?? '', bounds[place + 1] ?? '']
    const bar = h('i', {})
    bar.style.height = `${count === 0 ? 0 : Math.max(3, (100 * count) / most)}%`
    const press = () => panel.filter([...others(), { column: path, test: 'least', value: low }, { column: path, test: 'less', value: high }])
    const words = `${low} to ${high}: ${several(count, 'row')}`
    return h('button', { title: words, 'aria-label': words, onclick: press }, bar)
  })
  const ends = [bounds[0] ?? '', bounds[bounds.length - 1] ?? '']
  return h('div', { class: 'spread' }, h('div', { class: 'bars', role: 'group', 'aria-label': `values from ${ends[0]} to ${ends[1]}, in ${several(counts.length, 'bin')}` }, ...parts), h('div', { class: 'ends', 'aria-hidden': 'true' }, h('span', {}, brief(ends[0] ?? '')), sample === null ? null : h('span', {}, `the first ${counted(sample)}`), h('span', {}, brief(ends[1] ?? ''))))
}

/** A bound for people: a moment at midnight is a day. */
export function brief(bound: string): string {
  return /^\d{4}-\d\d-\d\d[ T]/.test(bound) ? bound.slice(0, 16).replace(/[ T]00:00$/, '').replace('T', ' ') : Number.isNaN(Number(bound)) ? bound : counted(Number(bound))
}

function facts(panel: Panel, { path, distinct }: Field, sample: number | null, all: () => void): (HTMLElement | string)[] {
  const parts: (HTMLElement | string)[] = []
  if (distinct !== undefined && distinct !== null) parts.push(`about ${several(distinct, 'distinct value')} `)
  if (sample !== null) parts.push(h('span', {}, `the first ${counted(sample)} rows `), h('button', { class: 'more', onclick: all }, 'Count all'))
  const isColumn = !path.includes('.') && !path.endsWith('[]')
  if (isColumn) parts.push(h('button', { class: 'more', onclick: () => panel.hide(path) }, panel.hidden.has(path) ? 'Show the column' : 'Hide the column'), h('button', { class: 'more', onclick: () => panel.pin(path) }, panel.pinned.has(path) ? 'Let the column go' : 'Pin the column'))
  return parts
}
