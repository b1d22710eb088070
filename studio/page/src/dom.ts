// Elements. Content becomes text nodes only, so no document can become markup.

type Child = Node | string | number | null | undefined | false
type Listener = (event: never) => void
type Attributes = Record<string, string | number | boolean | undefined | Listener>

/** An element: attributes, listeners (`onclick`), children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(key.slice(2), value as EventListener)
    else if (value === true) element.setAttribute(key, '')
    else if (value !== undefined && value !== false) element.setAttribute(key, String(value))
  }
  element.append(...kept(children))
  return element
}

const SVG = 'http://www.w3.org/2000/svg'

/** An element of a drawing. */
export function svg(name: string, attributes: Record<string, string | number | undefined> = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, String(value))
  element.append(...kept(children))
  return element
}

/** Puts children in place of those that are there. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...kept(children))
}

function kept(children: Child[]): (Node | string)[] {
  const isChild = (child: Child) => child !== null && child !== undefined && child !== false
  return children.filter(isChild).map((child) => (typeof child === 'number' ? String(child) : (child as Node | string)))
}

const COUNT = new Intl.NumberFormat('en')

/** A count with its thousands apart. */
export function counted(count: number): string {
  return COUNT.format(count)
}

/** A count and its noun. */
export function several(count: number, noun: string): string {
  return `${counted(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** A size in bytes, for people. */
export function sized(size: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let place = 0
  while (size >= 1000 && place < units.length - 1) [size, place] = [size / 1000, place + 1]
  return `${place === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[place]}`
}

/** A time in milliseconds, for people. */
export function timed(time: number): string {
  return time < 1000 ? `${time.toFixed(time < 10 ? 1 : 0)} ms` : `${(time / 1000).toFixed(2)} s`
}

/** A moment, in milliseconds since 1970, by the clock of the browser. */
export function dated(moment: number): string {
  if (moment === 0) return '–'
  const local = new Date(moment - 60_000 * new Date(moment).getTimezoneOffset())
  return local.toISOString().slice(0, 16).replace('T', ' ')
}
