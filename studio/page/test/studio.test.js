// The studio as a person meets it: the command serves a real database, a headless Chromium opens it.
// Pictures go to PICTURES.
'use strict'

const { after, before, test } = require('node:test')
const assert = require('node:assert/strict')
const { execFileSync, spawn } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { Browser } = require('../../../bench/page/test/browser.js')

const FOLIO = path.resolve(process.env.FOLIO ?? 'build/bin/folio')
const PICTURES = path.resolve(process.env.PICTURES ?? 'build/studio-pictures')
const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')
const COUNT = Number(process.env.FOLIO_STUDIO_COUNT ?? 100_000)
const EVIL = "<script>document.title = 'stolen'</script><img src=x onerror='document.title=1'>"

let browser, server, url, folder
const run = (...args) => execFileSync(FOLIO, args, { cwd: folder, maxBuffer: 1 << 28 })

before(async () => {
  fs.mkdirSync(PICTURES, { recursive: true })
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'folio-studio-'))
  const towns = ['Oslo', 'Bergen', 'Turin', 'Paris', 'Tromsø', 'Kraków', '京都']
  const lines = Array.from({ length: COUNT }, (_, n) => JSON.stringify({ _id: `e${String(n).padStart(7, '0')}`, at: new Date(1.7e12 + n * 61_000).toISOString(), kind: ['view', 'click', 'buy', 'search'][n % 4], amount: n % 5 ? Number(((n * 7919) % 10_007) / 100).toFixed(2) * 1 : null, town: towns[n % 7], agent: { name: n % 3 ? 'firefox' : 'chromium', version: n % 130 } }))
  fs.writeFileSync(path.join(folder, 'events.jsonl'), lines.join('\n') + '\n')
  run('import', 'shop', '-c', 'events', 'events.jsonl', '-q')
  const strange = [
    { _id: 'evil', name: EVIL, [EVIL]: 1, rtl: 'שלום עולם‮abc', emoji: '👩‍👩‍👧‍👦 🏳️‍🌈' },
    { _id: 'big', name: 'x'.repeat(100_000), number: 'n' },
  ].map((document) => JSON.stringify(document))
  strange.push(`{"_id":"deep","name":"deep","nest":${'['.repeat(100)}1${']'.repeat(100)}}`, '{"_id":"digits","name":"digits","number":12345678901234567890.10}')
  fs.writeFileSync(path.join(folder, 'strange.jsonl'), strange.join('\n') + '\n')
  run('import', 'shop', '-c', 'strange', 'strange.jsonl', '-q')
  run('sql', 'shop', `create table cities (id int primary key, name text not null, people bigint, founded date);
    insert into cities values (1, 'Oslo', 717710, '1040-01-01'), (2, 'Bergen', 291940, '1070-01-01'), (3, 'Turin', 851000, null), (4, 'Paris', 2048000, null);
    create view large as select name, people from cities where people > 500000`)
  run('index', 'add', 'shop', '-c', 'events', 'town')
  server = spawn(FOLIO, ['studio', 'shop', '--no-open'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  url = await new Promise((resolve) => server.stdout.once('data', (data) => resolve(String(data).trim())))
  browser = new Browser()
  await open('')
})

after(async () => {
  await browser?.close()
  server?.kill('SIGINT')
  if (folder) fs.rmSync(folder, { recursive: true, force: true })
})

async function until(expression, what = expression) {
  const end = Date.now() + 20_000
  while (!(await browser.value(expression))) {
    if (Date.now() > end) assert.fail(`not in time: ${what}\n${await browser.value('document.body.innerText.slice(0, 2000)')}`)
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}

const READY = `!document.querySelector('main').hasAttribute('aria-busy') && document.querySelector('main > *') !== null`

/** Opens a page at a width, in a theme, from nothing. */
async function open(page, width = 1280, theme = 'light', height = 800) {
  await browser.go(`about:blank`, width, theme, height)
  await browser.go(`${url}#/${page}`, width, theme, height)
  await until(READY)
}

const at = (page, parameters) => `${page}?${new URLSearchParams(parameters)}`
const texts = (selector) => browser.value(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((part) => part.textContent)`)

test('the overview shows everything with its counts', async () => {
  await open('')
  assert.deepEqual(await texts('.list tbody th'), ['cities', 'events', 'large', 'strange'])
  assert.deepEqual(await texts('.list tbody .badge'), ['table', 'collection', 'view', 'collection'])
  assert.deepEqual(await texts('.list tbody td:nth-child(3)'), ['4', COUNT.toLocaleString('en'), '–', '4'])
  assert.match((await texts('.tiles')).join(), /read-only/)
})

test('the grid scrolls to the end of all rows, and asks for what is in sight', async () => {
  await open(at('grid', { name: 'events' }))
  assert.equal(await browser.value(`document.querySelector('.grid').getAttribute('aria-rowcount')`), String(COUNT + 1))
  assert.ok((await browser.value(`document.querySelectorAll('.rows .row').length`)) < 60)
  assert.equal((await texts('.rows .row:first-child > *'))[0], 'e0000000')
  await browser.value(`document.querySelector('.grid').scrollTop = 1e9`)
  await until(`document.querySelector('.rows .row:last-child > *').textContent === 'e${String(COUNT - 1).padStart(7, '0')}'`)
  await browser.value(`document.querySelector('.grid').focus()`)
  await browser.press('Home', 36)
  await until(`document.querySelector('.rows .row.active > *')?.textContent === 'e0000000'`)
})

test('sorting and filters are in the address, and come back after a reload', async () => {
  await open(at('grid', { name: 'events' }))
  const press = () => browser.value(`[...document.querySelectorAll('.head button')].find((button) => button.textContent.startsWith('amount')).click()`)
  await press()
  await until(`location.hash.includes('sort=amount') && ${READY} && document.querySelector('[aria-sort=ascending]') !== null`)
  await press()
  await until(`${READY} && document.querySelector('[aria-sort=descending]') !== null`)
  await browser.value(`(() => { const [column, test, value] = document.querySelectorAll('.adder > select, .adder > input'); column.value = 'town'; test.value = 'is'; value.value = 'Tromsø'; document.querySelector('.adder button').click() })()`)
  await until(`${READY} && document.querySelectorAll('.chip').length === 1`)
  const shown = await texts('.rows .row > :nth-child(5)')
  assert.ok(shown.length > 5 && shown.every((town) => town === 'Tromsø'), shown.join())
  const hash = await browser.value('location.hash.slice(2)')
  await open(hash)
  assert.deepEqual(await texts('.rows .row > :nth-child(5)'), shown)
  await browser.picture(path.join(PICTURES, 'grid-filtered.png'))
})

test('a filter that nothing passes, and one that is wrong, say so', async () => {
  await open(at('grid', { name: 'cities', where: JSON.stringify(['name', 'is', 'Atlantis']) }))
  assert.match((await texts('.empty')).join(), /No row passes/)
  await open(at('grid', { name: 'cities', where: JSON.stringify(['people', 'is', 'many']) }))
  assert.equal((await texts('.failure')).length, 1)
  await open(at('grid', { name: 'citys' }))
  assert.match((await texts('.failure')).join(), /cities/)
})

test('a document is shown as its line and as a tree', async () => {
  await open(at('document', { collection: 'strange', id: 'digits' }))
  assert.deepEqual(await texts('.line'), ['{"_id":"digits","name":"digits","number":12345678901234567890.10}'])
  assert.match((await texts('.tree'))[0], /12345678901234567890\.10/)
  await open(at('document', { collection: 'strange', id: 'none' }))
  assert.match((await texts('.empty')).join(), /no such document/)
})

test('a row opens beside the grid', async () => {
  await open(at('grid', { name: 'events' }))
  await browser.value(`document.querySelector('.rows .row:nth-child(3)').click()`)
  await until(`document.querySelector('.detail .line') !== null`)
  assert.match((await texts('.detail .line'))[0], /"_id":"e0000002"/)
  await browser.value(`document.querySelector('.detail summary').click()`)
  await until(`document.querySelector('.detail details .item') !== null`)
  await browser.picture(path.join(PICTURES, 'grid.png'))
})

test('a malicious document is text everywhere', async () => {
  for (const page of [at('grid', { name: 'strange' }), at('document', { collection: 'strange', id: 'evil' }), at('ask', { text: 'select * from strange' }), at('grid', { name: EVIL }), at('document', { collection: 'strange', id: EVIL })]) {
    await open(page)
    if (page.startsWith('ask')) await until(`document.querySelector('.rows .row') !== null`)
    assert.ok(await browser.value(`document.body.textContent.includes(${JSON.stringify(EVIL)})`), page)
    assert.equal(await browser.value(`document.querySelectorAll('main script, main img').length`), 0)
    assert.notEqual(await browser.value('document.title'), 'stolen')
  }
  await open(at('document', { collection: 'strange', id: 'deep' }))
  await open(at('document', { collection: 'strange', id: 'big' }))
  assert.ok((await browser.value(`document.querySelector('.tree').textContent.length`)) < 5000)
})

test('a statement answers rows, in SQL and in ZiQL', async () => {
  await open(at('ask', { text: 'select town, count(*) as events, avg(amount) as mean from events group by town order by events desc, town' }))
  await until(`document.querySelector('.rows .row') !== null`)
  assert.deepEqual(await texts('.head .name'), ['town', 'events', 'mean'])
  assert.equal(await browser.value(`document.querySelectorAll('.rows .row').length`), 7)
  assert.match((await texts('[role=status]')).join(), /7 rows · /)
  await browser.picture(path.join(PICTURES, 'ask.png'))
  await open(at('ask', { text: 'GRAB cities [name]', language: 'ziql', view: 'json' }))
  await until(`document.querySelector('.json, .failure') !== null`)
  assert.match((await texts('.json')).join(), /"Oslo"/)
})

test('an error is under the words it means', async () => {
  await open(at('ask', { text: 'select town,\n  amuont\nfrom events' }))
  await until(`document.querySelector('.failure') !== null`)
  assert.deepEqual(await texts('.editor .wrong'), ['amuont'])
  assert.match((await texts('.failure')).join(), /amount/)
  await browser.picture(path.join(PICTURES, 'error.png'))
})

test('a read-only studio refuses a change', async () => {
  await open(at('ask', { text: 'delete from cities' }))
  await until(`document.querySelector('.failure') !== null`)
  assert.match((await texts('.failure')).join(), /read.only/)
})

test('leaving the page stops what runs', async () => {
  const busy = () => Number(fs.readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1].split(' ')[11])
  await open(at('ask', { text: 'select count(*) from generate_series(1, 3000000) a, generate_series(1, 3000000) b where a < b' }))
  await until(`document.querySelector('[role=status]').textContent === 'running…'`)
  await browser.go('about:blank', 1280)
  await new Promise((resolve) => setTimeout(resolve, 1500))
  const before = busy()
  await new Promise((resolve) => setTimeout(resolve, 500))
  assert.ok(busy() - before < 5, 'the server is idle')
})

for (const theme of ['light', 'dark']) {
  for (const [name, page] of [['overview', ''], ['grid', at('grid', { name: 'events' })], ['document', at('document', { collection: 'strange', id: 'evil' })], ['ask', at('ask', { text: 'select * from large' })], ['error', at('ask', { text: 'select * fron large' })], ['missing', 'nowhere']]) {
    test(`axe has nothing to say: ${name}, ${theme}`, async () => {
      await open(page, 1280, theme)
      if (name === 'ask') await until(`document.querySelector('.rows .row') !== null`)
      if (name === 'error') await until(`document.querySelector('.failure') !== null`)
      await browser.value(AXE)
      const found = await browser.value(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, help, nodes }) => id + ': ' + help + ' ' + nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + node.any.map((check) => check.message).join()).join(' | ')))`)
      assert.deepEqual(found, [])
    })
  }
}

for (const width of [320, 768, 3840]) {
  test(`nothing is wider than a screen of ${width} pixels`, async () => {
    for (const page of ['', at('grid', { name: 'events' }), at('document', { collection: 'strange', id: 'evil' }), at('ask', { text: 'select * from large' })]) {
      await open(page, width)
      assert.deepEqual(await browser.value(`(() => { const edge = document.documentElement.clientWidth; return [...document.querySelectorAll('body *')].filter((part) => part.checkVisibility() && part.getBoundingClientRect().right > edge + 1 && !part.closest('.scroll, .grid, .unseen, .skip')).slice(0, 5).map((part) => part.outerHTML.slice(0, 160)) })()`), [], page)
    }
  })
}

test('keys reach everything, and what has the focus is seen', async () => {
  await open('')
  const seen = []
  for (let presses = 0; presses < 14; presses++) {
    await browser.press('Tab')
    if (await browser.value('document.activeElement === document.body')) break // past the last one
    seen.push(await browser.value(`document.activeElement.textContent.trim().slice(0, 30) || document.activeElement.ariaLabel`))
    assert.notEqual(await browser.value(`getComputedStyle(document.activeElement).outlineStyle`), 'none')
  }
  for (const name of ['Skip to the content', 'Overview', 'Ask', 'End', 'cities', 'events']) assert.ok(seen.includes(name), `${name}: ${seen.join()}`)
})

test('pictures of the rest', async () => {
  for (const [name, page, width, theme] of [['overview', '', 1280, 'light'], ['overview-dark', '', 1280, 'dark'], ['grid-dark', at('grid', { name: 'events' }), 1280, 'dark'], ['document', at('document', { collection: 'strange', id: 'evil' }), 1280, 'light'], ['narrow', '', 320, 'light'], ['narrow-grid', at('grid', { name: 'events' }), 320, 'light'], ['empty', at('ask', {}), 1280, 'light']]) {
    await open(page, width, theme)
    await browser.picture(path.join(PICTURES, `${name}.png`))
  }
})

test('the console stayed silent, and nothing but the studio was asked', () => {
  assert.deepEqual(browser.complaints.filter((text) => !text.startsWith(`asked for ${url.split('/').slice(0, 3).join('/')}/`) && text !== 'asked for about:blank'), [])
})

test('Ctrl-C ends it at once', async () => {
  const start = Date.now()
  const ended = new Promise((resolve) => server.on('exit', (code) => resolve(code)))
  server.kill('SIGINT')
  assert.equal(await ended, 0)
  assert.ok(Date.now() - start < 1000)
})
