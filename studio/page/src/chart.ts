// The chart of an answer: bars, lines, points or a histogram, drawn as SVG. Which columns it takes and how is
// chosen by their types, and can be changed.

import { counted, h, svg } from './dom'
import { host } from './host'
import { line, type Json } from './json'
import type { Answer, Column } from './server'

export type Kind = 'bar' | 'line' | 'points' | 'histogram'

export interface Chart {
  kind: Kind
  x: number
  y: number
}

const NUMBERS = /^(smallint|int|bigint|numeric|decimal|real|double|float)/
const MOMENTS = /^(date|timestamp)/
const [WIDTH, HEIGHT] = [960, 420]
const [RIGHT, TOP, BOTTOM] = [20, 44, 64]
const BARS_MAX = 60
const POINTS_MAX = 5_000
const BINS = 20

/** What a chart of these columns shows first; nothing where no column is a number. */
export function chosen(columns: Column[], rows: Json[][]): Chart | undefined {
  const numbers = columns.flatMap(({ type }, place) => (NUMBERS.test(type) ? [place] : []))
  const others = columns.flatMap(({ type }, place) => (NUMBERS.test(type) ? [] : [place]))
  const x = others[0] ?? numbers[0]
  const y = numbers.find((place) => place !== x)
  if (x !== undefined && numbers[0] === x) return { kind: y === undefined ? 'histogram' : 'points', x, y: y ?? x }
  if (x === undefined || y === undefined) return undefined
  const isMoment = MOMENTS.test(columns[x]?.type ?? '') || (rows.length > 2 && rows.slice(0, 20).every((row) => /^\d{4}-\d\d-\d\d/.test(line(row[x] ?? null))))
  return { kind: isMoment ? 'line' : rows.length <= BARS_MAX ? 'bar' : 'points', x, y }
}

/** The controls of a chart and its drawing. */
export function chart({ columns = [], rows = [] }: Answer, now: Chart | undefined, change: (now: Chart) => void): HTMLElement {
  if (!now) return h('div', { class: 'empty' }, h('b', {}, 'Nothing to draw'), h('p', {}, 'A chart needs a column of numbers and another column.'))
  const pick = (label: string, value: number, isNumber: boolean, take: (place: number) => void) => {
    const options = columns.flatMap(({ name, type }, place) => (!isNumber || NUMBERS.test(type) ? [h('option', { value: place, selected: place === value }, name)] : []))
    const select = h('select', { 'aria-label': label, onchange: () => take(Number(select.value)) }, ...options)
    return h('label', {}, h('span', { class: 'soft' }, `${label} `), select)
  }
  const kinds: [Kind, string][] = [['bar', 'Bars'], ['line', 'Line'], ['points', 'Points'], ['histogram', 'Histogram']]
  const kind = h('select', { 'aria-label': 'Chart', onchange: () => change({ ...now, kind: kind.value as Kind }) }, ...kinds.map(([value, words]) => h('option', { value, selected: value === now.kind }, words)))
  const isSpread = now.kind === 'histogram'
  const drawing = isSpread ? histogram(columns[now.y], rows.map((row) => row[now.y] ?? null)) : draw(columns, rows, now)
  const title = isSpread ? `${columns[now.y]?.name}, how often` : `${columns[now.y]?.name} by ${columns[now.x]?.name}`
  return h('div', { class: 'chart' },
    h('div', { class: 'tools' }, kind, isSpread ? null : pick('x', now.x, false, (x) => change({ ...now, x })), pick(isSpread ? 'of' : 'y', now.y, true, (y) => change({ ...now, y })), h('span', { class: 'gap' }),
      h('button', { class: 'plain', onclick: () => saveSvg(drawing, title) }, 'Save as SVG'), h('button', { class: 'plain', onclick: () => savePng(drawing, title) }, 'Save as PNG')),
    h('figure', { tabindex: 0, role: 'group', 'aria-label': title }, drawing))
}

/** Round marks that cover the numbers between two. */
export function marks(low: number, high: number, count: number): number[] {
  const span = high - low || Math.abs(high) || 1
  const power = 10 ** Math.floor(Math.log10(span / count))
  const step = power * ([1, 2, 5, 10].find((times) => span / (power * times) <= count) ?? 10)
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)]
  return Array.from({ length: Math.max(1, last - first) + 1 }, (_, place) => Number(((first + place) * step).toPrecision(12)))
}

/** How often values are in each of some bins of the same width. */
function histogram(column: Column | undefined, values: Json[]): SVGElement {
  const numbers = values.filter((value) => value !== null).map((value) => Number(line(value))).filter(Number.isFinite)
  const [low, high] = [numbers.reduce((a, b) => Math.min(a, b), Infinity), numbers.reduce((a, b) => Math.max(a, b), -Infinity)]
  const edges = numbers.length > 0 ? marks(low, high, BINS) : [0, 1]
  const width = (edges[1] ?? 1) - (edges[0] ?? 0)
  const counts = Array<number>(edges.length - 1).fill(0)
  for (const number of numbers) {
    const bin = Math.max(0, Math.min(counts.length - 1, Math.floor((number - (edges[0] ?? 0)) / width + 1e-9)))
    counts[bin] = (counts[bin] ?? 0) + 1
  }
  const rows = counts.map((count, bin) => [`${counted(edges[bin] ?? 0)} –`, count])
  return draw([{ name: column?.name ?? '', type: 'text' }, { name: 'rows', type: 'bigint' }], rows, { kind: 'bar', x: 0, y: 1 })
}

function draw(columns: Column[], rows: Json[][], { kind, x, y }: Chart): SVGElement {
  const number = (value: Json | undefined) => (value === null || value === undefined ? NaN : Number(line(value)))
  const shown = rows.slice(0, kind === 'bar' ? BARS_MAX : POINTS_MAX).filter((row) => Number.isFinite(number(row[y])))
  const ys = shown.map((row) => number(row[y]))
  const [low, high] = [ys.reduce((a, b) => Math.min(a, b), kind === 'points' ? Infinity : 0), ys.reduce((a, b) => Math.max(a, b), kind === 'points' ? -Infinity : 0)]
  const scale = marks(low, high, 6)
  const [bottom, top] = [scale[0] ?? 0, scale[scale.length - 1] ?? 1]
  const edge = 16 + 7.5 * Math.max(...scale.map((value) => counted(value).length))
  const up = (value: number) => HEIGHT - BOTTOM - ((value - bottom) / (top - bottom || 1)) * (HEIGHT - TOP - BOTTOM)
  const across = horizontal(columns[x], shown.map((row) => row[x] ?? null), kind)
  const left = (place: number) => edge + across.at(place) * (WIDTH - edge - RIGHT)
  const names = [columns[x]?.name ?? '', columns[y]?.name ?? '']
  const parts: SVGElement[] = scale.flatMap((value) => [
    svg('line', { x1: edge, x2: WIDTH - RIGHT, y1: up(value), y2: up(value), class: value === 0 ? 'axis' : 'mark' }),
    svg('text', { x: edge - 10, y: up(value) + 4, 'text-anchor': 'end' }, counted(value)),
  ])
  parts.push(...across.labels.map(({ at, text }) => svg('text', { x: edge + at * (WIDTH - edge - RIGHT), y: HEIGHT - BOTTOM + 20, 'text-anchor': 'middle' }, text)))
  parts.push(svg('text', { x: edge + (WIDTH - edge - RIGHT) / 2, y: HEIGHT - 14, 'text-anchor': 'middle', class: 'title' }, names[0]))
  parts.push(svg('text', { x: 4, y: 20, class: 'title' }, names[1]))
  const tip = (place: number) => svg('title', {}, `${line(shown[place]?.[x] ?? null)}: ${counted(ys[place] ?? 0)}`)
  if (kind === 'bar') {
    const width = ((WIDTH - edge - RIGHT) / Math.max(1, shown.length)) * 0.72
    parts.push(...ys.map((value, place) => svg('rect', { x: left(place) - width / 2, y: Math.min(up(value), up(0)), width, height: Math.max(1, Math.abs(up(value) - up(0))), rx: Math.min(3, width / 4), class: 'shape' }, tip(place))))
  } else {
    const order = ys.map((_, place) => place).sort((one, other) => left(one) - left(other))
    if (kind === 'line') parts.push(svg('polyline', { points: order.map((place) => `${left(place).toFixed(1)},${up(ys[place] ?? 0).toFixed(1)}`).join(' '), class: 'stroke' }))
    const radius = kind === 'line' ? 2.5 : shown.length > 500 ? 2 : 3.5
    if (kind === 'points' || shown.length <= 200) parts.push(...order.map((place) => svg('circle', { cx: left(place), cy: up(ys[place] ?? 0), r: radius, class: 'shape' }, tip(place))))
  }
  return svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${names[1]} by ${names[0]}, ${counted(shown.length)} values` }, ...parts)
}

interface Across {
  /** Where a row is, from 0 to 1. */
  at(place: number): number
  labels: { at: number; text: string }[]
}

/** Where rows are from left to right: by their number or moment, or one beside the other. */
function horizontal(column: Column | undefined, values: Json[], kind: Kind): Across {
  const texts = values.map(line)
  const isMoment = texts.length > 0 && texts.every((text) => /^\d{4}-\d\d-\d\d/.test(text))
  const numbers = texts.map((text) => (isMoment ? Date.parse(text.replace(' ', 'T')) : Number(text)))
  const isMeasured = kind !== 'bar' && values.length > 1 && (isMoment || NUMBERS.test(column?.type ?? '')) && numbers.every(Number.isFinite)
  if (!isMeasured) {
    const count = Math.max(1, texts.length)
    const each = Math.max(1, Math.ceil(count / 12))
    const most = Math.max(5, Math.floor((110 / Math.min(count, 12))))
    const labels = texts.flatMap((text, place) => (place % each === 0 ? [{ at: (place + 0.5) / count, text: text.length > most ? `${text.slice(0, most - 1)}…` : text }] : []))
    return { at: (place) => (place + 0.5) / count, labels }
  }
  const [low, high] = [numbers.reduce((a, b) => Math.min(a, b)), numbers.reduce((a, b) => Math.max(a, b))]
  if (isMoment) {
    const span = high - low || 1
    const text = (time: number) => new Date(time).toISOString().slice(...(span > 3 * 864e5 ? [0, 10] : [5, 16]) as [number, number]).replace('T', ' ')
    return { at: (place) => ((numbers[place] ?? low) - low) / span, labels: [0, 1, 2, 3, 4, 5].map((step) => ({ at: step / 5, text: text(low + (span * step) / 5) })) }
  }
  const scale = marks(low, high, 8)
  const [first, last] = [scale[0] ?? 0, scale[scale.length - 1] ?? 1]
  const at = (value: number) => (value - first) / (last - first || 1)
  return { at: (place) => at(numbers[place] ?? 0), labels: scale.map((value) => ({ at: at(value), text: counted(value) })) }
}

/** The drawing with its colours in it, which style sheets give it here. */
function standing(drawing: SVGElement): string {
  const copy = drawing.cloneNode(true) as SVGElement
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  copy.setAttribute('width', String(WIDTH))
  copy.setAttribute('height', String(HEIGHT))
  const [own, copies] = [drawing.querySelectorAll('*'), copy.querySelectorAll('*')]
  copies.forEach((part, place) => {
    const style = getComputedStyle(own[place] as Element)
    for (const name of ['fill', 'stroke', 'stroke-width', 'font-family', 'font-size', 'font-weight']) part.setAttribute(name, style.getPropertyValue(name))
  })
  const paper = svg('rect', { width: WIDTH, height: HEIGHT, fill: getComputedStyle(document.body).backgroundColor })
  copy.prepend(paper)
  return new XMLSerializer().serializeToString(copy)
}

function saveSvg(drawing: SVGElement, title: string): void {
  host.save(`${title}.svg`, new Blob([standing(drawing)], { type: 'image/svg+xml' }))
}

function savePng(drawing: SVGElement, title: string): void {
  const image = new Image()
  image.onload = () => {
    const canvas = h('canvas', { width: 2 * WIDTH, height: 2 * HEIGHT })
    canvas.getContext('2d')?.drawImage(image, 0, 0, 2 * WIDTH, 2 * HEIGHT)
    canvas.toBlob((blob) => blob && host.save(`${title}.png`, blob))
  }
  image.src = `data:image/svg+xml,${encodeURIComponent(standing(drawing))}`
}
