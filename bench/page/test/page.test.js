// The page of the benchmarks as a person meets it: drawn, filtered, sorted, by keyboard, in both
// themes, on a narrow screen, and by the rules of axe. Pictures go to PICTURES.
'use strict'

const { after, before, test } = require('node:test')
const assert = require('node:assert/strict')
const fs = require('node:fs')
const path = require('node:path')
const { Browser } = require('./browser.js')

const PAGE = path.resolve(__dirname, '../../../docs/benchmarks/index.html')
const PICTURES = path.resolve(process.env.PICTURES ?? path.join(__dirname, '../../../build/pages'))
const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

let browser
before(() => {
  fs.mkdirSync(PICTURES, { recursive: true })
  browser = new Browser()
})
after(() => browser.close())

function type(text) {
  return browser.value(`(() => { const box = document.getElementById('filter'); box.value = ${JSON.stringify(text)}; box.dispatchEvent(new Event('input')) })()`)
}

test('every chart has a size, and every bar of it', async () => {
  await browser.open(PAGE, 1280)
  const flat = await browser.value(`[...document.querySelectorAll('figure, .curve svg, .curve polyline, .scale i, .track i')].filter((part) => part.checkVisibility())
    .map((part) => [part.getBoundingClientRect(), part]).filter(([box]) => box.width <= 0 || box.height < 0 || box.width + box.height < 2).map(([, part]) => part.outerHTML.slice(0, 200))`)
  assert.deepEqual(flat, [])
  const counts = await browser.value(`['figure.panel', 'figure.curve', '.ratios li', '.summary [data-find]', '.spark'].map((name) => document.querySelectorAll(name).length)`)
  assert.ok(counts.every((count) => count > 5), String(counts))
})

test('a chart says nothing beyond its edge', async () => {
  await browser.open(PAGE, 1280)
  const outside = await browser.value(`[...document.querySelectorAll('.curve svg')].flatMap((chart) => {
    const edge = chart.getBoundingClientRect()
    return [...chart.querySelectorAll('text')].filter((text) => { const box = text.getBoundingClientRect(); return box.left < edge.left - 1 || box.right > edge.right + 1 || box.bottom > edge.bottom + 1 || box.top < edge.top - 1 })
      .map((text) => chart.closest('figure').querySelector('figcaption').textContent + ': ' + text.textContent)
  })`)
  assert.deepEqual(outside, [])
})

test('the filter leaves the rows that hold every word, and gives all back', async () => {
  await browser.open(PAGE, 1280)
  const visible = `[...document.querySelectorAll('[data-find]')].filter((row) => row.checkVisibility()).length`
  const all = await browser.value(visible)
  await type('ziql duckdb')
  const left = await browser.value(`[...document.querySelectorAll('[data-find]')].filter((row) => row.checkVisibility()).map((row) => row.closest('section').querySelector('h2').textContent + ' ' + row.dataset.find + ' ' + row.textContent)`)
  assert.ok(left.length > 3 && left.every((text) => /ziql/i.test(text) && /duckdb/i.test(text)), left.join('\n'))
  assert.ok(await browser.value(`document.getElementById('node').hidden && document.getElementById('count').textContent.includes('rows found')`))
  await type('no such words')
  assert.equal(await browser.value(visible), 0)
  await type('')
  assert.equal(await browser.value(visible), all)
})

test('a column sorts by its values, both ways', async () => {
  await browser.open(PAGE, 1280)
  const press = (column) => browser.value(`(() => { const table = document.querySelector('#sql table.figures'); table.closest('details').open = true; table.tHead.rows[0].cells[${column}].querySelector('button').click();
    return [table.tHead.rows[0].cells[${column}].getAttribute('aria-sort'), [...table.tBodies[0].rows].map((row) => Number(row.cells[${column}].dataset.value))] })()`)
  const [up, rising] = await press(2)
  assert.equal(up, 'ascending')
  assert.deepEqual(rising, rising.toSorted((one, other) => one - other))
  const [down, falling] = await press(2)
  assert.equal(down, 'descending')
  assert.deepEqual(falling, rising.toReversed())
})

test('keys reach everything, and what has the focus is seen', async () => {
  await browser.open(PAGE, 1280)
  await browser.press('Tab')
  assert.equal(await browser.value(`document.activeElement.className`), 'skip')
  await browser.press('Tab')
  assert.equal(await browser.value(`document.activeElement.id`), 'filter')
  assert.notEqual(await browser.value(`getComputedStyle(document.activeElement).outlineStyle`), 'none')
  await browser.value(`document.activeElement.blur()`)
  await browser.press('/')
  assert.deepEqual(await browser.value(`[document.activeElement.id, document.activeElement.value]`), ['filter', ''])
  await browser.press('Escape')
  assert.equal(await browser.value(`document.activeElement === document.body`), true)
})

test('the switch changes the theme, whatever the system says', async () => {
  const paper = `getComputedStyle(document.body).backgroundColor`
  await browser.open(PAGE, 1280, 'dark')
  await browser.value(`localStorage.clear()`)
  await browser.open(PAGE, 1280, 'light')
  const light = await browser.value(paper)
  await browser.open(PAGE, 1280, 'dark')
  const dark = await browser.value(paper)
  assert.notEqual(light, dark)
  await browser.value(`document.getElementById('theme').click()`)
  assert.equal(await browser.value(paper), light)
  await browser.value(`localStorage.clear()`)
})

for (const width of [320, 480, 760, 1280]) {
  test(`nothing is wider than a screen of ${width} pixels`, async () => {
    await browser.open(PAGE, width)
    await browser.value(`document.querySelectorAll('details').forEach((details) => (details.open = true))`)
    const wide = await browser.value(`(() => { const edge = document.documentElement.clientWidth; if (document.documentElement.scrollWidth <= edge) return [];
      return [...document.querySelectorAll('body *')].filter((part) => part.getBoundingClientRect().right > edge + 1 && !part.closest('.scroll, nav')).slice(0, 5).map((part) => part.outerHTML.slice(0, 160)) })()`)
    assert.deepEqual(wide, [])
  })
}

for (const theme of ['light', 'dark']) {
  test(`axe has nothing to say, ${theme}`, async () => {
    await browser.open(PAGE, 1280, theme)
    await browser.value(`document.querySelectorAll('details').forEach((details) => (details.open = true))`)
    await browser.value(AXE)
    const found = await browser.value(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, help, nodes }) => id + ': ' + help + ' (' + nodes.length + ') ' + nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + node.any.map((check) => check.message).join()).join(' | ')))`)
    assert.deepEqual(found, [])
  })
}

test('pictures of it', async () => {
  for (const [name, width, theme, place] of [
    ['light', 1100, 'light', ''],
    ['dark', 1100, 'dark', ''],
    ['narrow', 320, 'light', ''],
    ...['documents', 'python', 'sql', 'tpch', 'ziql', 'ion', 'buffer_pool', 'seeds'].map((id) => [`suite-${id}`, 1280, 'light', id]),
  ]) {
    await browser.open(PAGE, width, theme, place || width < 500 ? 1000 : 850)
    if (place) await browser.value(`document.getElementById('${place}').scrollIntoView()`)
    await browser.picture(path.join(PICTURES, `${name}.png`))
  }
})

test('the console stayed silent, and no network was asked', () => {
  assert.deepEqual(browser.complaints, [])
})
