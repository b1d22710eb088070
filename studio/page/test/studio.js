// The studio as a person meets it: the command serves a real database, a headless Chromium opens it.
// Pictures go to PICTURES. With FOLIO_STUDIO_PART=essential, only the tests that are called so run, over
// fewer documents: within a minute.
'use strict'

const { after, before, test: essential } = require('node:test')
const assert = require('node:assert/strict')
const { execFileSync, spawn } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { Browser } = require('../../../bench/page/test/browser.js')

const FOLIO = path.resolve(process.env.FOLIO ?? 'build/bin/folio')
const PICTURES = path.resolve(process.env.PICTURES ?? 'build/studio-pictures')
const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')
const IS_WHOLE = process.env.FOLIO_STUDIO_PART !== 'essential'
const test = IS_WHOLE ? essential : () => {}
const COUNT = Number(process.env.FOLIO_STUDIO_COUNT ?? (IS_WHOLE ? 100_000 : 10_000))
const LONG = 'select count(*) from generate_series(1, 3000000) a, generate_series(1, 3000000) b where a < b'
/** As bad a name as a collection may have. */
const NAME = 'שלום-ö.größe'
const EVIL = "<script>document.title = 'stolen'</script><img src=x onerror='document.title=1'>"

/** The studio that is shown. */
const own = { url: '', server: undefined }
const browser = new Browser()
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'folio-studio-'))
const run = (...args) => execFileSync(FOLIO, args, { cwd: folder, maxBuffer: 1 << 28 })

before(async () => {
  fs.mkdirSync(PICTURES, { recursive: true })
  const towns = ['Oslo', 'Bergen', 'Turin', 'Paris', 'Tromsø', 'Kraków', 'Αθήνα']
  const often = towns.flatMap((town, place) => Array(7 - place).fill(town)) // seven times, six times, …
  const lines = Array.from({ length: COUNT }, (_, n) => JSON.stringify({ _id: `e${String(n).padStart(7, '0')}`, at: new Date(1.7e12 + n * 61_000).toISOString(), kind: ['view', 'click', 'buy', 'search'][n % 4], amount: n % 5 ? Number(((n * 7919) % 10_007) / 100).toFixed(2) * 1 : null, town: often[(n * 5) % 28], user: `u${n % 50}`, agent: { name: n % 3 ? 'firefox' : 'chromium', version: n % 130 } }))
  fs.writeFileSync(path.join(folder, 'events.jsonl'), lines.join('\n') + '\n')
  run('import', 'shop', '-c', 'events', 'events.jsonl', '-q')
  fs.writeFileSync(path.join(folder, 'users.jsonl'), Array.from({ length: 50 }, (_, n) => JSON.stringify({ _id: `u${n}`, name: `User ${n}`, friends: [`u${(n + 1) % 50}`, `u${(n + 2) % 50}`] })).join('\n') + '\n')
  run('import', 'shop', '-c', 'users', 'users.jsonl', '-q')
  const strange = [
    { _id: 'evil', name: EVIL, [EVIL]: 1, rtl: 'שלום עולם‮abc', emoji: '👩‍👩‍👧‍👦 🏳️‍🌈' },
    { _id: 'big', name: 'x'.repeat(100_000), number: 'n' },
  ].map((document) => JSON.stringify(document))
  strange.push(`{"_id":"deep","name":"deep","nest":${'['.repeat(100)}1${']'.repeat(100)}}`, '{"_id":"digits","name":"digits","number":12345678901234567890.10}')
  fs.writeFileSync(path.join(folder, 'strange.jsonl'), strange.join('\n') + '\n')
  run('import', 'shop', '-c', 'strange', 'strange.jsonl', '-q')
  run('sql', 'shop', `create table cities (id int primary key, name text not null, people bigint, founded date);
    insert into cities values (1, 'Oslo', 717710, '1040-01-01'), (2, 'Bergen', 291940, '1070-01-01'), (3, 'Turin', 851000, null), (4, 'Paris', 2048000, null);
    create table visits (id int primary key, city int references cities (id), cost numeric(8, 2));
    insert into visits values (1, 1, 12.50), (2, 1, 80), (3, 4, 7.25);
    create view large as select name, people from cities where people > 500000`)
  run('index', 'add', 'shop', '-c', 'events', 'town')
  const { child, address } = await serve('shop')
  ;[own.server, own.url] = [child, address]
  await open('')
})

after(async () => {
  await browser.close()
  own.server?.kill('SIGINT')
  fs.rmSync(folder, { recursive: true, force: true })
})

/** Starts a studio. */
async function serve(...args) {
  const child = spawn(FOLIO, ['studio', ...args, '--no-open'], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
  const address = await new Promise((resolve) => child.stdout.once('data', (data) => resolve(String(data).trim())))
  return { child, address }
}

async function end(child) {
  if (child.exitCode !== null) return
  await browser.go('about:blank', 1280) // a page asks its studio what is new
  const ended = new Promise((resolve) => child.on('exit', resolve))
  child.kill('SIGINT')
  await ended
}

/** Does something with the pages of another studio. */
async function within(name, options, work) {
  const [before, { child, address }] = [own.url, await serve(name, ...options)]
  own.url = address
  try {
    await work(child)
  } finally {
    own.url = before
    await end(child)
  }
}

/** The processor time that a process has used in its own code, in hundredths of a second. */
const busy = ({ pid }) => Number(fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[11])

async function until(expression, what = expression) {
  const end = Date.now() + 20_000
  while (!(await browser.value(expression))) {
    if (Date.now() > end) assert.fail(`not in time: ${what}\n${await browser.value('document.body.innerText.slice(0, 2000)')}`)
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}

/** Whether a part is shown until the rest is there: the first rows of a file, or names without counts. */
const BEGUN = `document.querySelector('.status')?.textContent.includes('is being read') || document.querySelector('.tiles b')?.textContent === '…'`
const READY = `!document.querySelector('main').hasAttribute('aria-busy') && document.querySelector('main > *') !== null && !(${BEGUN}) && (document.querySelector('.grid') === null || document.querySelector('.rows .row') !== null)`

/** Opens a page at a width, in a theme, from nothing. */
async function open(page, width = 1280, theme = 'light', height = 800) {
  await browser.go(`about:blank`, width, theme, height)
  await browser.go(`${own.url}#/${page}`, width, theme, height)
  await until(READY)
}

/** Types into what has the focus. */
const type = (text) => browser.send('Input.insertText', { text })
const pause = (time) => new Promise((resolve) => setTimeout(resolve, time))
const click = (selector, words = '') => browser.value(`[...document.querySelectorAll(${JSON.stringify(selector)})].find((part) => part.textContent.includes(${JSON.stringify(words)})).click()`)
const sql = (text) => run('sql', 'shop', text, '-q').toString().trim().split('\n').map((line) => JSON.parse(line))
/** Asserts that axe finds nothing on the page as it is. */
async function accessible() {
  await browser.value(AXE)
  const found = await browser.value(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, help, nodes }) => id + ': ' + help + ' ' + nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + node.any.map((check) => check.message).join()).join(' | ')))`)
  assert.deepEqual(found, [])
}

/** Asserts the same in the dark, and leaves the page in the light. */
async function dark() {
  await browser.value(`document.documentElement.dataset.theme = 'dark'`)
  await accessible()
  await browser.value(`document.documentElement.dataset.theme = 'light'`)
}

const at = (page, parameters) => `${page}?${new URLSearchParams(parameters)}`
const texts = (selector) => browser.value(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((part) => part.textContent)`)

/** Chooses a file on the import page. */
async function choose(name, is = `document.querySelector('.import .rows .row, .import .failure') !== null || (document.querySelector('.import form') !== null && document.querySelector('.sample') === null)`) {
  await open('import')
  const { result } = await browser.send('Runtime.evaluate', { expression: `document.querySelector('input[type=file]')` })
  await browser.send('DOM.setFileInputFiles', { files: [path.join(folder, name)], objectId: result.objectId })
  await until(is)
}

module.exports = { BEGUN, COUNT, EVIL, LONG, NAME, PICTURES, READY, accessible, at, browser, busy, choose, click, dark, end, essential, folder, open, own, pause, run, serve, sql, test, texts, type, until, within }
