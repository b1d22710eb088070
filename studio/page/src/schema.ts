// What the database is made of: a diagram of the relations, and for each its columns with what is
// known of them, and its definition.

import { counted, fill, h, several } from './dom'
import { diagram } from './diagram'
import { highlight } from './highlight'
import { line, type Json } from './json'
import { empty } from './overview'
import { spoken } from './paths'
import { server, type Field, type Schema } from './server'
import { address, note, state } from './state'

type Relation = Schema['relations'][number]

export async function schemaPage(main: HTMLElement): Promise<void> {
  const all = await server.schema()
  const open = new Set(state().all('open'))
  const legend = all.links.length === 0 ? 'No links between them.' : all.links.some(({ is_declared }) => !is_declared) ? 'A dashed line is a link by its examples: the values are ids of the collection.' : 'Lines lead to what is linked to.'
  const parts = all.relations.length === 0
    ? [empty('The database is empty', 'Put a document with folio put, or import a file with folio import.')]
    : [
        h('p', { class: 'soft' }, legend),
        h('div', { class: 'diagram', tabindex: 0, role: 'region', 'aria-label': 'Diagram' }, diagram(all)),
        ...all.relations.map((relation) => section(relation, open)),
        all.schema.trim() === '' ? null : h('section', {}, h('h2', {}, 'As a schema of ZiQL'), code(all.schema)),
      ]
  fill(main, h('div', { class: 'page wide' }, h('h1', {}, 'Schema'), ...parts))
}

function section(relation: Relation, open: Set<string>): HTMLElement {
  const { name, kind, count, fields } = relation
  const details = h('details', { class: 'relation', open: open.has(name) },
    h('summary', {}, h('b', { dir: 'auto' }, name), h('span', { class: `badge ${kind}` }, kind), h('span', { class: 'soft' }, `${several(fields.length, kind === 'collection' ? 'path' : 'column')}${count === null ? '' : ` · ${several(count, kind === 'collection' ? 'document' : 'row')}`}`)))
  const draw = () => details.append(h('div', { class: 'inside' }, h('p', {}, h('a', { href: address('grid', { name }) }, 'Open the grid')), table(relation), relation.definition.trim() === '' ? null : code(relation.definition)))
  if (open.has(name)) draw()
  details.addEventListener('toggle', () => {
    if (details.open === open.has(name)) return
    if (details.open) open.add(name)
    else open.delete(name)
    note('schema', { open: [...open] })
    if (details.childElementCount === 1) draw()
  })
  return details
}

function table({ name, fields, key }: Relation): HTMLElement {
  const isSampled = fields.some(({ share }) => share !== undefined)
  const titles = isSampled ? ['Path', 'Type', 'Have it', 'Distinct', 'Least', 'Greatest', 'Examples'] : ['Column', 'Type']
  const value = (shown: Json | undefined) => (shown === undefined || shown === null ? '–' : line(shown))
  const percent = (part: number) => (part > 0 && part < 0.01 ? '< 1 %' : `${Math.round(100 * part)} %`)
  const row = (field: Field) => {
    const first = [h('th', { scope: 'row' }, h('code', { dir: 'auto' }, spoken(field.path)), key.includes(spoken(field.path)) ? h('span', { class: 'badge key' }, 'key') : null), h('td', { class: 'soft' }, field.type)]
    if (!isSampled) return h('tr', {}, ...first)
    return h('tr', {}, ...first,
      h('td', { class: 'number soft' }, percent(field.share ?? 0)),
      h('td', { class: 'number' }, field.distinct == null ? '–' : counted(field.distinct)),
      h('td', { dir: 'auto' }, value(field.least)), h('td', { dir: 'auto' }, value(field.most)),
      h('td', { class: 'soft', dir: 'auto' }, (field.examples ?? []).map(line).join(' · ') || '–'))
  }
  return h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Columns of ${name}` },
    h('table', { class: 'list' }, h('thead', {}, h('tr', {}, ...titles.map((title) => h('th', { scope: 'col', class: ['Distinct', 'Have it'].includes(title) ? 'number' : '' }, title)))), h('tbody', {}, ...fields.map(row))))
}

function code(text: string): HTMLElement {
  const copy = h('button', { class: 'plain', onclick: () => void navigator.clipboard.writeText(text).then(() => (copy.textContent = 'Copied')) }, 'Copy')
  return h('div', { class: 'code' }, copy, h('pre', { class: 'line', tabindex: 0, 'aria-label': 'definition' }, ...highlight(text.trim(), null)))
}
