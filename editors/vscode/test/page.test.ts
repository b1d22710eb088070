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
/** Of the large file; `FOLIO_VSCODE_BYTES=1000000000` is the size that its bar is stated for. */
const BYTES = Number(process.env.FOLIO_VSCODE_BYTES ?? 20_000_000)

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
    void studio.ask(message.action, message.body, own.signal).then((answer) => tell({ kind: 'answer', id: message.id, ...answer })).catch(() => {}) // nobody waits
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
  await browser.value(`sessionStorage.clear()`)
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

test('a change that the editor sends runs once, and not again when its tab comes back', async () => {
  const sql = (text: string) => execFileSync(FOLIO, ['sql', 'shop', text, '-q'], { cwd: folder }).toString()
  const count = () => (JSON.parse(sql('select count(*) as n from tried')) as { n: number }).n
  sql('create table tried (n int)')
  const reading = studio
  studio = await start(FOLIO, path.join(folder, 'shop'), true)
  try {
    // A tab that Run opens.
    await open(askOf('sql', 'insert into tried values (1)'))
    await until(`document.querySelector('[role=status]')?.textContent.startsWith('1 row changed')`)
    assert.equal(count(), 1)
    await open(askOf('sql', 'insert into tried values (1)'))
    await until(`document.querySelector('.waits') !== null`)
    assert.equal(count(), 1)
    // A tab that is there already.
    await tell({ kind: 'go', hash: askOf('sql', 'insert into tried values (2)') })
    await until(`document.querySelector('[role=status]')?.textContent.startsWith('1 row changed')`)
    await tell({ kind: 'go', hash: '#/' })
    await until(`document.querySelector('.list') !== null`)
    await browser.value('history.back()')
    await until(`document.querySelector('.waits') !== null`)
    assert.equal(count(), 2)
  } finally {
    studio.end()
    studio = reading
    await browser.value(`sessionStorage.clear()`)
  }
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
  await browser.value(`sessionStorage.clear()`)
})

test('a large file shows its first rows within a second, whatever is derived of it', async () => {
  const [large, lines] = [path.join(folder, 'large'), path.join(folder, 'large.jsonl')]
  write(lines, BYTES)
  execFileSync(FOLIO, ['import', large, '-c', 'events', lines, '-q'])
  fs.rmSync(lines)
  const files = path.join(large, 'collections/events/meta')
  const small = studio
  try {
    await firstRows('with an index, without types')
    execFileSync(FOLIO, ['sql', large, 'select count(*) from events where kind is null'])
    await firstRows('with an index and types')
    for (const name of fs.readdirSync(files)) if (name.startsWith('folio.')) fs.rmSync(path.join(files, name))
    await firstRows('without an index or types')
  } finally {
    studio = small
  }

  async function firstRows(state: string): Promise<void> {
    const begin = performance.now()
    studio = await start(FOLIO, large, false)
    try {
      await open(gridOf('events'))
      await until(`document.querySelector('.rows .row') !== null`)
      const spent = performance.now() - begin
      console.log(`${(BYTES / 1e6).toFixed(0)} MB ${state}: first rows after ${spent.toFixed(0)} ms`)
      assert.ok(spent < 1000, `${state}: ${spent} ms`)
      await browser.value(`sessionStorage.clear()`)
    } finally {
      studio.end()
    }
  }
})

/** Writes lines of documents, `bytes` in all. */
function write(file: string, bytes: number): void {
  const out = fs.openSync(file, 'w')
  try {
    for (let [n, written] = [0, 0]; written < bytes; ) {
      const lines = Array.from({ length: 10_000 }, () => JSON.stringify({ _id: `e${n++}`, kind: n % 2 ? 'click' : 'view', user: { id: n % 1000, name: `user ${n % 1000}` }, text: `the text of ${n}` }))
      written += fs.writeSync(out, lines.join('\n') + '\n')
    }
  } finally {
    fs.closeSync(out)
  }
}
