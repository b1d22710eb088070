// The webview as a person meets it: the page that the extension makes, in a headless Chromium, with the
// editor's side of its messages stubbed, over a real studio.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, before, test } from 'node:test'

import { html } from '../src/html'
import type { FromPage, ToPage } from '../src/messages'
import { askOf, gridOf } from '../src/places'
import { start, type Studio } from '../src/studio'
import { Browser } from '../../../bench/page/test/browser.js'

const FOLIO = path.resolve(process.env.FOLIO ?? '../../build/bin/folio')
const COUNT = 20_000

/** As an editor does: messages, a state, and links within the page that lead nowhere. */
const STUB = `
const out = []
window.taken = () => out.splice(0)
window.acquireVsCodeApi = () => ({
  postMessage: (message) => out.push(message.bytes ? { ...message, bytes: [...new Uint8Array(message.bytes)] } : message),
  getState: () => JSON.parse(sessionStorage.getItem('state') ?? 'null') ?? undefined,
  setState: (state) => sessionStorage.setItem('state', JSON.stringify(state)),
})
document.addEventListener('click', (event) => event.target.closest?.('a[href^="#"]') && event.preventDefault())
document.body.dataset.vscodeThemeKind = 'vscode-dark'
`

let folder: string, studio: Studio, browser: Browser
let messages: FromPage[] = []
const running = new Map<number, AbortController>()

const tell = (message: ToPage) => browser.value(`void window.postMessage(${JSON.stringify(message)}, '*')`)

/** The extension's side: carries what the page asks. */
async function carry(): Promise<void> {
  const taken = (await browser.value('window.taken ? taken() : []').catch(() => [])) as FromPage[]
  messages.push(...taken)
  for (const message of taken) {
    if (message.kind === 'stop') running.get(message.id)?.abort()
    if (message.kind !== 'ask') continue
    const own = new AbortController()
    running.set(message.id, own)
    void studio.ask(message.action, message.body, own.signal).then((answer) => tell({ kind: 'answer', id: message.id, ...answer }), () => {})
  }
}

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'folio-webview-'))
  const lines = Array.from({ length: COUNT }, (_, n) => JSON.stringify({ _id: `e${n}`, kind: n % 2 ? 'click' : 'view', text: '<script>document.title = 1</script>' }))
  fs.writeFileSync(path.join(folder, 'events.jsonl'), lines.join('\n'))
  execFileSync(FOLIO, ['import', 'shop', '-c', 'events', 'events.jsonl', '-q'], { cwd: folder })
  studio = await start(FOLIO, path.join(folder, 'shop'), false)
  browser = new Browser()
})

after(async () => {
  await browser.close()
  studio.end()
  fs.rmSync(folder, { recursive: true, force: true })
})

async function until(expression: string): Promise<void> {
  const end = Date.now() + 20_000
  while (!(await browser.value(expression))) {
    await carry()
    if (Date.now() > end) assert.fail(`not in time: ${expression}\n${await browser.value('document.body.innerText.slice(0, 2000)')}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

async function open(begin: string): Promise<void> {
  const [script, style] = await Promise.all([studio.file('studio.js'), studio.file('studio.css')])
  const bridge = fs.readFileSync(path.join('dist', 'bridge.js'), 'utf8')
  const page = html({ script, style, bridge, begin, nonce: 'n' }).replace('<script nonce="n">', `<script nonce="n">${STUB}</script><script nonce="n">`)
  const file = path.join(folder, `${messages.length}.html`)
  fs.writeFileSync(file, page)
  await browser.open(file, 1280, 'light', 800)
}

const texts = (selector: string) => browser.value(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((part) => part.textContent)`)

test('the grid is shown, in the colours of the editor, and nothing is asked of the network', async () => {
  await open(gridOf('events'))
  await until(`document.querySelector('.rows .row') !== null && !document.querySelector('.status')?.textContent.includes('is being read')`)
  assert.equal(await browser.value(`document.querySelector('.grid').getAttribute('aria-rowcount')`), String(COUNT + 1))
  await browser.value(`document.querySelector('.grid').scrollTop = 1e9`)
  await until(`document.querySelector('.rows .row:last-child > *').textContent === 'e${COUNT - 1}'`)
  assert.equal(await browser.value('document.documentElement.dataset.theme'), 'dark')
  assert.equal(await browser.value(`getComputedStyle(document.querySelector('.bar > button')).display`), 'none')
  assert.notEqual(await browser.value('document.title'), '1')
  assert.deepEqual(browser.complaints, [])
})

test('links lead on, and the address comes back', async () => {
  await open('#/')
  await until(`document.querySelector('.list a') !== null`)
  await browser.value(`[...document.querySelectorAll('.list a')].find((link) => link.textContent === 'events').click()`)
  await until(`location.hash.startsWith('#/grid') && document.querySelector('.rows .row') !== null && !document.querySelector('.status')?.textContent.includes('is being read')`)
  // The tab was hidden, and its page begins again.
  await open('#/')
  await until(`location.hash.startsWith('#/grid') && document.querySelector('.rows .row') !== null && !document.querySelector('.status')?.textContent.includes('is being read')`)
  await browser.value(`sessionStorage.clear()`)
})

test('a statement that the editor sends runs, and errors are under the words', async () => {
  await open('#/')
  await until(`document.querySelector('.list') !== null`)
  await tell({ kind: 'go', hash: askOf('sql', 'select kind, count(*) as n from events group by kind order by kind') })
  await until(`document.querySelectorAll('.rows .row').length === 2`)
  assert.deepEqual((await texts('.rows .row > *')).slice(0, 4), ['click', '10,000', 'view', '10,000'].map((text) => text.replace(',', '')))
  await tell({ kind: 'go', hash: askOf('sql', 'select knd from events') })
  await until(`document.querySelector('.editor .wrong')?.textContent === 'knd'`)
  // A page that is left stops its statement.
  await tell({ kind: 'go', hash: askOf('sql', 'select count(*) from generate_series(1, 3000000) a, generate_series(1, 3000000) b where a < b') })
  await until(`document.querySelector('.tools [role=status]').textContent === 'running…'`)
  messages = []
  await tell({ kind: 'go', hash: '#/' })
  await until(`document.querySelector('.list') !== null`)
  assert.ok(messages.some(({ kind }) => kind === 'stop'), JSON.stringify(messages))
  await browser.value(`sessionStorage.clear()`)
})

test('what is exported goes to the editor, and files are imported by its commands', async () => {
  await open(askOf('sql', `select 'größe' as a`))
  await until(`document.querySelector('.rows .row') !== null && !document.querySelector('.status')?.textContent.includes('is being read')`)
  messages = []
  await browser.value(`[...document.querySelectorAll('.menu .items button')].find((button) => button.textContent === 'Save as CSV').click()`)
  for (const end = Date.now() + 20_000; !messages.some(({ kind }) => kind === 'save') && Date.now() < end; ) await carry()
  const saved = messages.find((message) => message.kind === 'save')
  assert.ok(saved?.kind === 'save' && saved.name === 'answer.csv')
  assert.equal(Buffer.from(saved.bytes).toString(), 'a\r\ngröße\r\n')
  await tell({ kind: 'go', hash: '#/import' })
  await until(`document.querySelector('.import')?.textContent.includes('not imported here')`)
  assert.deepEqual(browser.complaints, [])
})
