// The pages, by address.

import { ask } from './ask'
import { browse } from './browse'
import { fill, h } from './dom'
import { failure } from './failure'
import { importPage } from './import'
import { stopFollowing } from './live'
import { empty, overview } from './overview'
import { documentPage, rowPage } from './row'
import { schemaPage } from './schema'
import { leavePage, server } from './server'
import { address, state } from './state'

const main = document.querySelector('main') as HTMLElement
const bar = document.querySelector('header') as HTMLElement

const PAGES: Record<string, (main: HTMLElement) => Promise<void>> = { '': overview, grid: browse, document: documentPage, row: rowPage, schema: schemaPage, import: importPage, ask }

/** Every change of the address is a new page; an older one that answers late is dropped. */
let turn = 0

async function show(): Promise<void> {
  const mine = ++turn
  leavePage()
  stopFollowing()
  head()
  const page = PAGES[state().page] ?? missing
  const next = h('div', { class: 'fresh' })
  main.setAttribute('aria-busy', 'true')
  try {
    await page(next)
  } catch (error) {
    fill(next, failure(error))
  }
  if (mine !== turn) return
  main.removeAttribute('aria-busy')
  fill(main, next)
  document.title = [state().get('name') || state().get('id') || state().page, 'FolioDB Studio'].filter(Boolean).join(' · ')
  next.querySelector('textarea')?.focus()
}

async function missing(main: HTMLElement): Promise<void> {
  fill(main, h('div', { class: 'page' }, h('h1', { class: 'unseen' }, 'Nothing here'), empty('There is no such page', 'The overview has links to all pages.')))
}

function head(): void {
  const { page } = state()
  const link = (name: string, words: string) => h('a', { href: address(name), 'aria-current': page === name ? 'page' : undefined }, words)
  const stop = async () => {
    await server.stop()
    fill(main, h('div', { class: 'page' }, empty('The studio has ended', 'Run folio studio to start it again.')))
  }
  fill(bar, h('a', { href: '#/', class: 'logo', 'aria-label': 'Folio' }, h('span', { 'aria-hidden': 'true' }, '▤ '), h('b', {}, 'Folio')), h('nav', { 'aria-label': 'Pages' }, link('', 'Overview'), link('schema', 'Schema'), link('ask', 'Ask')), h('span', { class: 'gap' }), h('button', { class: 'plain', id: 'theme', onclick: turnTheme }, 'Light / dark'), h('button', { class: 'plain', onclick: () => void stop() }, 'End'))
}

function turnTheme(): void {
  const root = document.documentElement
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  root.dataset.theme = isDark ? 'light' : 'dark'
  localStorage.setItem('theme', root.dataset.theme)
}

document.documentElement.dataset.theme = localStorage.getItem('theme') ?? ''
addEventListener('hashchange', () => void show())
addEventListener('pagehide', leavePage)
void show()
