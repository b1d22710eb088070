// Statements of before: those that this browser has run, and those that are kept with the database.

import { fill, h, several, timed } from './dom'
import { server } from './server'

export interface Ran {
  language: string
  text: string
  at: number
  rows: number | null
  ms: number
}

const KEY = 'history'
const MOST = 100

function ran(): Ran[] {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(read) ? (read as Ran[]) : []
  } catch {
    return []
  }
}

/** Remembers a statement that has run. */
export function remember(now: Ran): void {
  const others = ran().filter(({ text, language }) => text !== now.text || language !== now.language)
  try {
    localStorage.setItem(KEY, JSON.stringify([now, ...others].slice(0, MOST)))
  } catch {
    // A full store forgets.
  }
}

export interface Asked {
  language: string
  text: string
}

/** The menu of statements: what was run, what is saved, and the form that saves. */
export function statements(now: () => Asked, take: (asked: Asked) => void): HTMLElement {
  const menu = h('details', { class: 'menu' }, h('summary', { class: 'plain' }, 'Statements'))
  const body = h('div', { class: 'items wide' })
  menu.append(body)
  const pick = (asked: Asked) => {
    menu.open = false
    take(asked)
  }
  const draw = async () => {
    const saved = await server.saved().catch(() => ({ statements: [], is_writable: false }))
    const name = h('input', { 'aria-label': 'Name', placeholder: 'name', required: true, maxlength: 60, pattern: '[\\p{L}\\p{N}_ \\-]+' })
    const keep = async (event: Event) => {
      event.preventDefault()
      await server.save({ name: name.value, ...now() }).then(draw, (error: Error) => name.setCustomValidity(error.message))
    }
    const drop = async (name: string) => {
      await server.forget(name)
      await draw()
    }
    const kept = saved.statements.map((one) => h('div', { class: 'kept' }, h('button', { onclick: () => pick(one) }, h('b', { dir: 'auto' }, one.name), h('code', {}, brief(one.text))), saved.is_writable ? h('button', { class: 'drop', 'aria-label': `forget ${one.name}`, onclick: () => void drop(one.name) }, '×') : null))
    const before = ran().map((one) => h('button', { onclick: () => pick(one) }, h('code', { dir: 'auto' }, brief(one.text)), h('span', { class: 'soft' }, `${one.rows === null ? '' : `${several(one.rows, 'row')} · `}${timed(one.ms)}`)))
    fill(body,
      h('p', { class: 'part' }, 'Saved in the database'),
      kept.length === 0 ? h('p', { class: 'soft' }, 'None yet.') : null, ...kept,
      saved.is_writable ? h('form', { class: 'keep', onsubmit: (event: Event) => void keep(event) }, name, h('button', { class: 'plain' }, 'Save this one')) : h('p', { class: 'soft' }, 'Start with --write to save one.'),
      h('p', { class: 'part' }, 'Run here before'),
      before.length === 0 ? h('p', { class: 'soft' }, 'None yet.') : null, ...before,
    )
  }
  menu.addEventListener('toggle', () => { if (menu.open) void draw() })
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    menu.open = false
    menu.querySelector('summary')?.focus()
  })
  document.addEventListener('pointerdown', (event) => { if (!menu.contains(event.target as Node)) menu.open = false })
  return menu
}

function brief(text: string): string {
  const short = text.replace(/\s+/g, ' ').trim()
  return short.length > 90 ? `${short.slice(0, 89)}…` : short
}
