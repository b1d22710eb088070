// The relations of a database and their links, as a drawing. What is linked to stands left of what
// links to it; what has no links stands where there is room.

import { svg } from './dom'
import { spoken, steps } from './paths'
import type { Link, Schema } from './server'
import { address } from './state'

type Relation = Schema['relations'][number]

const WIDTH = 220
const GAP_X = 96
const GAP_Y = 28
const HEAD = 34
const ROW = 22
const FIELDS_MAX = 9

interface Box {
  relation: Relation
  fields: Relation['fields']
  layer: number
  x: number
  y: number
  height: number
}

/** The boxes of relations, each in a layer and at a height. */
export function layout(relations: Relation[], links: Link[]): Box[] {
  const linked = new Set(links.flatMap(({ from, to }) => (from === to ? [] : [from, to])))
  const layers = new Map<string, number>()
  const rank = (name: string, above: string[]): number => {
    const known = layers.get(name)
    if (known !== undefined) return known
    if (above.includes(name)) return 0 // a circle has no order
    const targets = links.filter(({ from, to }) => from === name && to !== name)
    const found = targets.reduce((most, { to }) => Math.max(most, 1 + rank(to, [...above, name])), 0)
    layers.set(name, found)
    return found
  }
  const boxes = relations.map((relation): Box => {
    const fields = fieldsOf(relation, links)
    const more = relation.fields.length > fields.length ? 1 : 0
    return { relation, fields, layer: linked.has(relation.name) ? rank(relation.name, []) : -1, x: 0, y: 0, height: HEAD + ROW * (fields.length + more) + 8 }
  })
  const count = Math.max(1, ...boxes.map(({ layer }) => layer + 1), boxes.every(({ layer }) => layer < 0) ? Math.min(4, boxes.length) : 1)
  const columns = Array.from({ length: Math.max(count, Math.min(3, boxes.length)) }, (_, layer) => boxes.filter((box) => box.layer === layer))
  const heights = columns.map((column) => column.reduce((sum, { height }) => sum + height + GAP_Y, 0))
  for (const box of boxes.filter(({ layer }) => layer < 0)) {
    const layer = heights.indexOf(Math.min(...heights))
    columns[layer]?.push(box)
    heights[layer] = (heights[layer] ?? 0) + box.height + GAP_Y
  }
  const placeOf = new Map<string, number>()
  columns.forEach((column, layer) => {
    // Beside what they link to, so that lines cross less.
    const middle = ({ relation }: Box) => {
      const places = links.filter(({ from, to }) => from === relation.name && placeOf.has(to)).map(({ to }) => placeOf.get(to) ?? 0)
      return places.length === 0 ? Infinity : places.reduce((sum, place) => sum + place, 0) / places.length
    }
    column.sort((one, other) => middle(one) - middle(other) || one.relation.name.localeCompare(other.relation.name))
    let y = 0
    for (const box of column) {
      ;[box.x, box.y] = [layer * (WIDTH + GAP_X), y]
      placeOf.set(box.relation.name, y + box.height / 2)
      y += box.height + GAP_Y
    }
  })
  return boxes
}

/** The fields that a box has room for: the key, what links, and the first others. */
function fieldsOf({ name, key, fields }: Relation, links: Link[]): Relation['fields'] {
  const linking = new Set(links.filter(({ from }) => from === name).flatMap(({ columns }) => columns.map(([path]) => path)))
  const top = fields.filter(({ path }) => linking.has(path) || steps(path).length === 1)
  const isFirst = ({ path }: { path: string }) => key.includes(spoken(path)) || linking.has(path)
  return [...top.filter(isFirst), ...top.filter((field) => !isFirst(field))].slice(0, FIELDS_MAX)
}

/** The drawing. */
export function diagram({ relations, links }: Schema): SVGElement {
  const boxes = layout(relations, links)
  const width = Math.max(0, ...boxes.map(({ x }) => x + WIDTH)) + 40
  const height = Math.max(0, ...boxes.map(({ y, height }) => y + height)) + 4
  const lines = links.flatMap((link) => drawnLink(link, boxes))
  const words = `${relations.length} relations and ${links.length} links`
  const arrow = svg('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto-start-reverse' }, svg('path', { d: 'M0 0 L8 4 L0 8 z', class: 'tip' }))
  return svg('svg', { viewBox: `-2 -2 ${width} ${height}`, width, height, role: 'group', 'aria-label': words }, svg('defs', {}, arrow), ...lines, ...boxes.map((box) => drawnBox(box, links)))
}

function drawnBox({ relation, fields, x, y, height }: Box, links: Link[]): SVGElement {
  const { name, kind, key } = relation
  const linking = new Set(links.filter(({ from }) => from === name).flatMap(({ columns }) => columns.map(([path]) => path)))
  const rows = fields.flatMap(({ path, type }, place) => {
    const at = HEAD + ROW * place + 17
    const mark = key.includes(spoken(path)) ? 'key' : linking.has(path) ? 'linking' : ''
    return [svg('text', { x: 12, y: at, class: mark }, cut(spoken(path), 17)), svg('text', { x: WIDTH - 12, y: at, 'text-anchor': 'end', class: 'type' }, cut(type, 12))]
  })
  const rest = relation.fields.length - fields.length
  if (rest > 0) rows.push(svg('text', { x: 12, y: HEAD + ROW * fields.length + 17, class: 'type' }, `${rest} more`))
  const link = svg('a', { href: address('grid', { name }), 'aria-label': `${kind} ${name}` }, svg('rect', { width: WIDTH, height: HEAD, class: 'top' }), svg('text', { x: 12, y: 22, class: 'name' }, cut(name, 18)), svg('text', { x: WIDTH - 12, y: 22, 'text-anchor': 'end', class: 'type' }, kind))
  return svg('g', { transform: `translate(${x} ${y})`, class: `box ${kind}` }, svg('rect', { width: WIDTH, height, rx: 8 }), link, ...rows)
}

function cut(text: string, most: number): string {
  const all = [...text]
  return all.length > most ? `${all.slice(0, most - 1).join('')}…` : text
}

function drawnLink({ from, to, columns, is_declared }: Link, boxes: Box[]): SVGElement[] {
  const [source, target] = [boxes.find(({ relation }) => relation.name === from), boxes.find(({ relation }) => relation.name === to)]
  if (!source || !target) return []
  const place = Math.max(0, source.fields.findIndex(({ path }) => path === columns[0]?.[0]))
  const y1 = source.y + HEAD + ROW * place + 12
  const y2 = target.y + HEAD / 2
  const isLeft = target.x < source.x
  const [x1, x2] = isLeft ? [source.x, target.x + WIDTH] : target.x > source.x ? [source.x + WIDTH, target.x] : [source.x + WIDTH, target.x + WIDTH]
  const bend = Math.max(36, Math.abs(x2 - x1) / 2)
  const [c1, c2] = isLeft ? [x1 - bend, x2 + bend] : target.x > source.x ? [x1 + bend, x2 - bend] : [x1 + bend, x2 + bend]
  return [svg('path', { d: `M${x1} ${y1} C${c1} ${y1} ${c2} ${y2} ${x2} ${y2}`, class: is_declared ? 'link' : 'link found', 'marker-end': 'url(#arrow)' }, svg('title', {}, `${from}.${columns.map(([path]) => spoken(path)).join(', ')} → ${to}${is_declared ? '' : ' (by examples)'}`))]
}
