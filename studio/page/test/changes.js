// What changes, by these pages or others, what must hold on every page, and the end.
'use strict'

const assert = require('node:assert/strict')
const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const http = require('node:http')
const os = require('node:os')
const path = require('node:path')
const { Browser } = require('../../../bench/page/test/browser.js')
const { COUNT, EVIL, LONG, PICTURES, READY, accessible, at, browser, busy, choose, click, dark, end, essential, folder, open, own, pause, run, serve, sql, test, texts, type, until, within } = require('./studio.js')

essential('with --write a document is edited as text, undone, deleted, and kept apart from changes of others', async () => {
  const { child, address } = await serve('shop', '--write')
  const before = own.url
  own.url = address
  try {
    run('put', 'shop', '-c', 'notes', 'n1', '--data', '{"text": "one"}')
    await open(at('document', { collection: 'notes', id: 'n1' }))
    const line = () => fs.readFileSync(path.join(folder, 'shop/collections/notes/meta/data.jsonl'), 'utf8').trim().split('\n').at(-1)
    await click('.edits button', 'Edit')
    await browser.value(`document.querySelector('.edits textarea').value = '{"_id":"n1","text":'`)
    await click('.edits .primary')
    assert.equal((await texts('.edits .failure')).length, 1)
    await dark()
    await accessible()
    await browser.picture(path.join(PICTURES, 'edit.png'))
    await browser.value(`document.querySelector('.edits textarea').value = '{"_id":"n1","text":"two"}'`)
    await click('.edits .primary')
    await until(`document.querySelector('.edits [role=status]') !== null`)
    assert.equal(line(), '{"_id":"n1","text":"two"}')
    await click('.edits button', 'Undo')
    await until(`document.querySelector('.line').textContent.includes('one')`)
    assert.equal(JSON.parse(line()).text, 'one')
    await click('.edits button', 'Edit')
    fs.appendFileSync(path.join(folder, 'shop/collections/notes/meta/data.jsonl'), '{"_id":"n1","text":"by hand"}\n')
    await browser.value(`document.querySelector('.edits textarea').value = '{"_id":"n1","text":"three"}'`)
    await click('.edits .primary')
    await until(`document.querySelector('.edits .failure') !== null`)
    assert.match((await texts('.edits .failure')).join(), /has changed/)
    assert.equal(JSON.parse(line()).text, 'by hand')
    await open(at('document', { collection: 'notes', id: 'n1' }))
    await click('.edits button', 'Delete')
    await until(`document.querySelector('.empty') !== null`)
    assert.match((await texts('.edits')).join(), /Deleted/)
    await click('.edits button', 'Undo')
    await until(`document.querySelector('.tree') !== null`)
    assert.equal(JSON.parse(line()).text, 'by hand')

    await open(at('ask', { text: 'select 41 + 1 as kept' }))
    await click('.menu summary', 'Statements')
    await until(`document.querySelector('.keep input') !== null`)
    await browser.value(`document.querySelector('.keep input').value = 'answer'`)
    await click('.keep button')
    await until(`document.querySelector('.kept') !== null`)
    assert.equal(fs.readFileSync(path.join(folder, 'shop/studio/answer.sql'), 'utf8'), 'select 41 + 1 as kept')
    await click('.kept .drop')
    await until(`document.querySelector('.kept') === null`)
    assert.equal(fs.existsSync(path.join(folder, 'shop/studio/answer.sql')), false)
  } finally {
    own.url = before
    await end(child)
    run('drop', 'shop', 'notes', '-q')
  }
})

essential('with --write a dropped file is looked at, and becomes documents or tables', async () => {
  const { child, address } = await serve('shop', '--write')
  const before = own.url
  own.url = address
  const pick = async (name) => {
    await open('import')
    const { result } = await browser.send('Runtime.evaluate', { expression: `document.querySelector('input[type=file]')` })
    await browser.send('DOM.setFileInputFiles', { files: [path.join(folder, name)], objectId: result.objectId })
    await until(`document.querySelector('.import .rows .row, .import .failure') !== null`)
  }
  try {
    fs.writeFileSync(path.join(folder, 'new people.csv'), 'mail,age\na@b,31\nc@d,\n')
    await pick('new people.csv')
    assert.deepEqual(await texts('.sample .head .name'), ['mail', 'age'])
    assert.deepEqual(await texts('.sample .rows .row > *'), ['a@b', '31', 'c@d', 'null'])
    assert.equal(await browser.value(`document.querySelector('#collection').value`), 'new_people')
    await dark()
    await accessible()
    await browser.picture(path.join(PICTURES, 'import.png'))
    await browser.value(`document.querySelector('#ids').value = '.mail'`)
    await click('.import .primary')
    await until(`document.querySelector('.import [role=status] b') !== null`)
    assert.deepEqual(await texts('.import [role=status] b'), ['2 documents imported.'])
    assert.deepEqual(sql('select mail, age from new_people order by mail'), [{ mail: 'a@b', age: 31 }, { mail: 'c@d', age: null }])
    await open('import')
    await browser.value(`(() => {
      const [zone, data] = [document.querySelector('.zone'), new DataTransfer()]
      data.items.add(new File(['{"_id":"d1","n":7}\\n{"_id":"d2","n":8}\\n'], 'dropped.jsonl'))
      for (const kind of ['dragenter', 'dragover', 'drop']) zone.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }))
    })()`)
    await until(`document.querySelector('.import .rows .row, .import .failure') !== null`)
    assert.deepEqual(await texts('.sample .rows .row > *'), ['d1', '7', 'd2', '8'])
    assert.equal(await browser.value(`document.querySelector('#collection').value`), 'dropped')
    await click('.import .primary')
    await until(`document.querySelector('.import [role=status] b') !== null`)
    assert.deepEqual(sql('select n from dropped order by n'), [{ n: 7 }, { n: 8 }])
    fs.writeFileSync(path.join(folder, 'broken.jsonl'), '{"_id":"a"}\nnonsense\n')
    await pick('broken.jsonl')
    assert.equal((await texts('.import .failure')).length, 1)
    assert.deepEqual(fs.readdirSync(os.tmpdir()).filter((name) => name.startsWith('folio-studio-') && fs.existsSync(path.join(os.tmpdir(), name, 'file-new20people.csv'))), [], 'what is imported is not kept')
  } finally {
    own.url = before
    await end(child)
    for (const name of ['new_people', 'dropped']) if (fs.existsSync(path.join(folder, 'shop/collections', name))) run('drop', 'shop', name, '-q')
  }
  await open('import')
  assert.match((await texts('.empty')).join(), /only reads/)
})

test('Parquet, Ion, JSON and SQLite files become documents and tables', async () => {
  run('sql', 'shop', "copy (select name, people from cities order by id) to 'towns.parquet'; copy (select name, people from cities order by id) to 'towns.ion'", '-q')
  fs.writeFileSync(path.join(folder, 'towns.json'), JSON.stringify([{ name: 'Oslo', people: 717710 }, { name: EVIL, people: 1 }]))
  execFileSync('python3', ['-c', 'import sqlite3; db = sqlite3.connect("towns.sqlite"); db.executescript("create table towns (id integer primary key, name text); insert into towns values (1, \'Oslo\'), (2, \'Turin\')")'], { cwd: folder })
  run('init', 'filled', '-q')
  await within('filled', ['--write'], async () => {
    for (const [ending, count, sample] of [['parquet', 4, ['Oslo', '717710']], ['ion', 4, ['Oslo', '717710']], ['json', 2, ['Oslo', '717710', EVIL, '1']]]) {
      await choose(`towns.${ending}`)
      assert.deepEqual((await texts('.sample .rows .row > *')).slice(0, sample.length), sample, ending)
      assert.equal(await browser.value(`document.querySelectorAll('main script, main img').length`), 0)
      await browser.value(`document.querySelector('#collection').value = 'from_${ending}'`)
      for (const theme of ending === 'json' ? ['light', 'dark'] : []) {
        await browser.value(`document.documentElement.dataset.theme = '${theme}'`)
        await accessible()
      }
      await click('.import .primary')
      await until(`document.querySelector('.import [role=status] b, .import .failure') !== null`)
      assert.deepEqual(await texts('.import [role=status] b'), [`${count} documents imported.`], ending)
      const [{ n, most }] = JSON.parse(`[${run('sql', 'filled', `select count(*) as n, max(people) as most from from_${ending}`, '-q')}]`)
      assert.deepEqual([n, most], [count, ending === 'json' ? 717710 : 2048000])
    }
    await choose('towns.sqlite')
    assert.match((await texts('.import')).join(), /a database of SQLite: its tables become tables/)
    await accessible()
    await click('.import .primary')
    await until(`document.querySelector('.import [role=status] b, .import .failure') !== null`)
    assert.deepEqual(await texts('.import [role=status] b'), ['2 rows imported.'])
    await click('.import li a', 'towns')
    await until(`document.querySelectorAll('.rows .row').length === 2`)
    assert.deepEqual(await texts('.rows .row > *'), ['1', 'Oslo', '2', 'Turin'])
  })
})

test('a large file has bars by bytes, and Stop ends its way and its import', async () => {
  const line = (n) => JSON.stringify({ _id: `d${n}`, n, text: 'x'.repeat(1000) })
  const out = fs.openSync(path.join(folder, 'large.jsonl'), 'w')
  for (let n = 0; n < 150_000; n += 1000) fs.writeSync(out, Array.from({ length: 1000 }, (_, more) => `${line(n + more)}\n`).join(''))
  fs.closeSync(out)
  const kept = () => fs.readdirSync(os.tmpdir()).filter((name) => fs.existsSync(path.join(os.tmpdir(), name, 'file-large.jsonl')))
  run('init', 'bars', '-q')
  await within('bars', ['--write'], async () => {
    await browser.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 20_000_000 })
    try {
      await choose('large.jsonl', `/^Reading large.jsonl · [\\d.]+ MB of 15\\d MB$/.test(document.querySelector('.bar-by [role=status]')?.textContent)`)
      const part = await browser.value(`document.querySelector('.bar-by progress').value`)
      assert.ok(part > 0 && part < 1, String(part))
      await accessible()
      await click('.bar-by button', 'Stop')
      await until(`document.querySelector('.zone') !== null`)
      for (const end = Date.now() + 15_000; kept().length > 0; await pause(50)) assert.ok(Date.now() < end, 'what was sent is kept')
    } finally {
      await browser.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 })
    }
    await choose('large.jsonl', `document.querySelector('.import form') !== null`)
    await click('.import .primary')
    await until(`/^Importing · [\\d.]+ MB of 15\\d MB$/.test(document.querySelector('.bar-by [role=status]')?.textContent)`)
    await click('.bar-by button', 'Stop')
    await until(`document.querySelector('.zone') !== null`)
    await pause(500)
    const names = fs.existsSync(path.join(folder, 'bars/collections/large')) ? JSON.parse(run('sql', 'bars', 'select count(*) as n from large', '-q').toString()).n : 0
    assert.ok(names < 150_000, `${names} documents are there`)
    assert.deepEqual(kept(), [])
  })
  fs.rmSync(path.join(folder, 'large.jsonl'))
})

test('what others write is seen: at the top of a grid by itself, elsewhere on a press', async () => {
  const put = (id, n) => run('put', 'shop', '-c', 'live', id, '--data', `{"n": ${n}}`, '-q')
  const shows = (cells) => until(`[...document.querySelectorAll('.rows .row > *')].map((cell) => cell.textContent).join() === '${cells}'`)
  put('l1', 1)
  try {
    await open(at('grid', { name: 'live' }))
    put('l2', 2)
    await shows('l1,1,l2,2')
    // As many documents as before: one of them is another.
    put('l1', 7)
    await shows('l2,2,l1,7')
    await open(at('grid', { name: 'live', sort: 'n' }))
    put('l2', 8)
    await until(`document.querySelector('.news') !== null`)
    assert.deepEqual(await texts('.news'), ['Rows have changed: show'])
    assert.deepEqual(await texts('.rows .row > *'), ['l2', '2', 'l1', '7'])
    put('l3', 1)
    await until(`document.querySelector('.news').textContent === '1 new row: show'`)
    await click('.news')
    await shows('l3,1,l1,7,l2,8')
    run('sql', 'shop', 'create view seen as select n from live', '-q')
    await open(at('grid', { name: 'seen' }))
    put('l3', 9)
    await shows('7,8,9')
    run('sql', 'shop', 'drop view seen', '-q')
    await open(at('grid', { name: 'visits' }))
    run('sql', 'shop', 'update visits set cost = 81 where id = 2', '-q')
    await until(`document.querySelectorAll('.rows .row')[1].lastElementChild.textContent === '81.00'`)
    run('sql', 'shop', 'update visits set cost = 80 where id = 2', '-q')
    await open('')
    put('l4', 3)
    await until(`[...document.querySelectorAll('.list tbody tr')].some((row) => row.textContent.startsWith('livecollection4'))`)
  } finally {
    run('drop', 'shop', 'live', '-q')
  }
})

test('a document that another process changes is followed, beside a grid too', async () => {
  run('put', 'shop', '-c', 'live', 'l1', '--data', '{"n": 1}', '-q')
  try {
    await open(at('document', { collection: 'live', id: 'l1' }))
    run('put', 'shop', '-c', 'live', 'l1', '--data', '{"n": 2}', '-q')
    await until(`document.querySelector('.line').textContent === '{"_id":"l1","n":2}'`)
    assert.deepEqual(await texts('.changed'), ['It has just changed.'])
    run('put', 'shop', '-c', 'live', 'l0', '--data', '{"n": 0}', '-q')
    await open(at('grid', { name: 'live', sort: 'n' }))
    await click('.rows .row', 'l1')
    await until(`document.querySelector('.detail .line') !== null`)
    run('put', 'shop', '-c', 'live', 'l1', '--data', '{"n": 3}', '-q')
    await until(`document.querySelector('.detail .line').textContent === '{"_id":"l1","n":3}' && document.querySelector('.detail .changed') !== null`)
    await within('shop', ['--write'], async () => {
      await open(at('document', { collection: 'live', id: 'l1' }))
      await click('.edits button', 'Edit')
      run('put', 'shop', '-c', 'live', 'l1', '--data', '{"n": 4}', '-q')
      await until(`document.querySelector('.edits .changed') !== null`)
      assert.equal(await browser.value(`document.querySelector('.edits textarea').value`), '{"_id":"l1","n":3}', 'what is being written stays')
    })
  } finally {
    run('drop', 'shop', 'live', '-q')
  }
})

test('the overview says what is wrong with a collection, how large each is, and when it was changed', async () => {
  run('init', 'hurt', '-q')
  for (const [id, n] of [['a', 1], ['b', 1], ['a', 2]]) run('put', 'hurt', '-c', 'old', id, '--data', `{"n": ${n}}`, '-q')
  run('put', 'hurt', '-c', 'torn', 'a', '--data', '{"n": 1}', '-q')
  fs.appendFileSync(path.join(folder, 'hurt/collections/torn/meta/data.jsonl'), `nonsense ${EVIL}\n`)
  run('put', 'hurt', '-c', 'well', 'a', '--data', JSON.stringify({ text: 'x'.repeat(50_000) }), '-q')
  run('sql', 'hurt', "create table numbers (id int primary key, name text); insert into numbers select n, 'number' || n from generate_series(1, 20000) as s(n); create index on numbers (name)", '-q')
  const then = new Date('2026-03-04T05:06:00Z')
  fs.utimesSync(path.join(folder, 'hurt/collections/old/meta/data.jsonl'), then, then)
  await within('hurt', [], async () => {
    for (const theme of ['light', 'dark']) {
      await open('', 1280, theme)
      await accessible()
    }
    const rows = await browser.value(`Object.fromEntries([...document.querySelectorAll('.list tbody tr')].map((row) => [row.querySelector('a').textContent, [...row.children].map((cell) => cell.textContent)]))`)
    assert.equal(rows.old.at(-1), '1 superseded')
    assert.equal(rows.torn.at(-1), 'damaged lines')
    assert.equal(rows.well.at(-1), 'fine')
    assert.match((await texts('.note li')).join(), /data\.jsonl:2: /)
    const shown = await browser.value(`(() => { const date = new Date(${then.getTime()}); return new Date(date - 60000 * date.getTimezoneOffset()).toISOString().slice(0, 16).replace('T', ' ') })()`)
    assert.equal(rows.old[5], shown)
    assert.match(rows.numbers[3], /^\d.* (kB|MB)$/, 'a table has a size')
    assert.notEqual(rows.numbers[6], '–', 'its index is named')
    const widths = await browser.value(`Object.fromEntries([...document.querySelectorAll('.list tbody tr')].map((row) => [row.querySelector('a').textContent, parseFloat(row.querySelector('.bar-of').style.width)]))`)
    assert.equal(widths.numbers, 100, 'bars are of sizes')
    assert.ok(widths.well > 3 * widths.old && widths.well < 100, JSON.stringify(widths))
  })
})

test('two browsers at once', async () => {
  const other = new Browser()
  try {
    await other.go(`${own.url}#/${at('ask', { text: LONG })}`, 1280)
    await open(at('ask', { text: 'select count(*) as n from events' }))
    await until(`document.querySelector('.rows .row') !== null`)
    assert.deepEqual(await texts('.rows .row > *'), [String(COUNT)])
    assert.match(await other.value(`document.querySelector('[role=status]').textContent`), /running/)
  } finally {
    await other.close()
  }
  const before = busy(own.server)
  await pause(1000)
  assert.ok(busy(own.server) - before < 10, 'the statement of the closed browser goes on')
})

test('a writer is not kept out', () => {
  run('sql', 'shop', "insert into visits values (4, 2, 1); delete from visits where id = 4", '-q')
  run('put', 'shop', '-c', 'strange', 'late', '--data', '{"a": 1}')
  run('delete', 'shop', '-c', 'strange', 'late', '-q')
})

test('leaving a grid that is not there yet stops its statement', async () => {
  run('sql', 'shop', `create view slow as ${LONG}`, '-q')
  await open('')
  await browser.value(`location.hash = '${at('grid', { name: 'slow' })}'`)
  const [started, end] = [busy(own.server), Date.now() + 10_000]
  while (busy(own.server) - started < 20) {
    assert.ok(Date.now() < end, `it does not run: ${await browser.value('document.body.innerText')}`)
    await pause(50)
  }
  await browser.value(`location.hash = '#/'`)
  await until(`${READY} && document.querySelector('.list') !== null`)
  await pause(300)
  const before = busy(own.server)
  await pause(700)
  assert.ok(busy(own.server) - before < 10, 'it goes on')
  run('sql', 'shop', 'drop view slow', '-q')
})

for (const theme of ['light', 'dark']) {
  for (const [name, page] of [['overview', ''], ['grid', at('grid', { name: 'events' })], ['document', at('document', { collection: 'strange', id: 'evil' })], ['ask', at('ask', { text: 'select * from large' })], ['error', at('ask', { text: 'select * fron large' })], ['missing', 'nowhere'], ['facets', at('grid', { name: 'events', facets: 1, facet: 'amount' })], ['row', at('row', { name: 'cities', is: JSON.stringify(['id', '1']) })], ['schema', 'schema?open=events&open=cities'], ['import', 'import'], ['chart', at('ask', { text: 'select name, people from cities', view: 'chart' })], ['plan', at('ask', { text: 'select * from visits join cities on visits.city = cities.id', view: 'plan' })], ['empty', at('grid', { name: 'cities', where: JSON.stringify(['name', 'is', 'Atlantis']) })]]) {
    essential(`axe has nothing to say: ${name}, ${theme}`, async () => {
      await open(page, 1280, theme)
      if (name === 'ask') await until(`document.querySelector('.rows .row') !== null`)
      if (name === 'facets') await until(`document.querySelector('.bars') !== null`)
      if (name === 'chart' || name === 'plan') await until(`document.querySelector('.chart svg, .plan .step') !== null`)
      if (name === 'error') await until(`document.querySelector('.failure') !== null`)
      await accessible()
    })
  }
}

for (const width of [320, 768, 3840]) {
  test(`nothing is wider than a screen of ${width} pixels`, async () => {
    for (const page of ['', at('grid', { name: 'events' }), at('document', { collection: 'strange', id: 'evil' }), at('ask', { text: 'select * from large' }), 'schema?open=events', at('grid', { name: 'events', facets: 1, facet: 'town' }), at('row', { name: 'cities', is: JSON.stringify(['id', '1']) }), at('ask', { text: 'select name, people from cities', view: 'chart' })]) {
      await open(page, width)
      assert.deepEqual(await browser.value(`(() => { const edge = document.documentElement.clientWidth; return [...document.querySelectorAll('body *')].filter((part) => part.checkVisibility() && part.getBoundingClientRect().right > edge + 1 && !part.closest('.scroll, .grid, .unseen, .skip, .diagram')).slice(0, 5).map((part) => part.outerHTML.slice(0, 160)) })()`), [], page)
    }
  })
}

essential('keys reach everything, and what has the focus is seen', async () => {
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
  const orders = [['o17', { town: 'Oslo', state: 'open', amount: 12.5 }], ['o18', { town: 'Turin', state: 'open', amount: 80 }], ['o17', { town: 'Oslo', state: 'paid', amount: 12.5 }], null, ['o17', { town: 'Bergen', state: 'open', amount: 14 }], ['o17', { town: 'Bergen', state: 'sent', amount: 14 }]]
  for (const order of orders) {
    if (order) run('put', 'shop', '-c', 'orders', order[0], '--data', JSON.stringify(order[1]), '-q')
    else run('delete', 'shop', '-c', 'orders', 'o17', '-q')
  }
  await open(at('document', { collection: 'orders', id: 'o17' }))
  await until(`document.querySelectorAll('.earlier').length === 4`)
  await browser.value(`document.querySelector('.earlier summary').click()`)
  await browser.picture(path.join(PICTURES, 'history-of-id.png'))
  run('drop', 'shop', 'orders', '-q')
  run('init', 'bare', '-q')
  const [before, bare] = [own.url, await serve('bare')]
  own.url = bare.address
  try {
    await open('')
    await dark()
    await accessible()
    await browser.picture(path.join(PICTURES, 'empty-database.png'))
  } finally {
    own.url = before
    await end(bare.child)
  }
  for (const [name, page, width, theme, height] of [['overview', '', 1280, 'light'], ['overview-dark', '', 1280, 'dark'], ['grid-dark', at('grid', { name: 'events' }), 1280, 'dark'], ['document', at('document', { collection: 'strange', id: 'evil' }), 1280, 'light'], ['narrow', '', 320, 'light'], ['narrow-grid', at('grid', { name: 'events' }), 320, 'light'], ['empty', at('ask', {}), 1280, 'light'], ['empty-grid', at('grid', { name: 'cities', where: JSON.stringify(['name', 'is', 'Atlantis']) }), 1280, 'light'], ['missing', at('document', { collection: 'users', id: 'nobody' }), 1280, 'light'], ['facets-dark', at('grid', { name: 'events', facets: 1, facet: ['amount'] }), 1280, 'dark'], ['schema-dark', 'schema', 1280, 'dark'], ['narrow-facets', at('grid', { name: 'events', facets: 1, facet: 'town' }), 320, 'light'], ['narrow-ask', at('ask', { text: 'select * from large' }), 320, 'light'], ['narrow-schema', 'schema', 320, 'light'], ['wide-grid', at('grid', { name: 'events', facets: 1, facet: 'town' }), 3840, 'light', 2160], ['wide', '', 3840, 'light', 2160], ['chart-dark', at('ask', { text: 'select name, people from cities', view: 'chart' }), 1280, 'dark']]) {
    await open(page, width, theme, height)
    await pause(400)
    await browser.picture(path.join(PICTURES, `${name}.png`), width > 2000 ? 0.5 : 1)
  }
})

test('the browser lets a page ask nobody but its studio', async () => {
  let asked = 0
  const other = http.createServer((_, response) => {
    asked += 1
    response.end('')
  })
  await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${other.address().port}/`
  const before = browser.complaints.length
  try {
    await open('')
    const broken = await browser.value(`new Promise(async (resolve) => {
      const broken = []
      document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => broken.push(effectiveDirective))
      const add = (name, values) => document.body.append(Object.assign(document.createElement(name), values))
      await fetch('${address}', { mode: 'no-cors' }).catch(() => {})
      add('img', { src: '${address}' })
      add('script', { src: '${address}' })
      add('script', { textContent: 'window.ran = true' })
      add('iframe', { src: '${address}' })
      add('link', { rel: 'stylesheet', href: '${address}' })
      const form = Object.assign(document.createElement('form'), { action: '${address}' })
      document.body.append(form)
      form.submit()
      navigator.sendBeacon('${address}')
      setTimeout(() => resolve([...new Set(broken)].sort()), 500)
    })`)
    assert.deepEqual(broken, ['connect-src', 'form-action', 'frame-src', 'img-src', 'script-src-elem', 'style-src-elem'])
    assert.equal(await browser.value('window.ran'), undefined)
    assert.equal(asked, 0)
  } finally {
    other.close()
    browser.complaints.length = before // it complains as it should
  }
})

essential('the console stayed silent, and nothing but the studio was asked', () => {
  assert.deepEqual(browser.complaints.filter((text) => !/^asked for http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\//.test(text) && !/^asked for (about:blank|data:)/.test(text)), [])
})

essential('Ctrl-C ends it at once', async () => {
  const start = Date.now()
  const ended = new Promise((resolve) => own.server.on('exit', (code) => resolve(code)))
  own.server.kill('SIGINT')
  assert.equal(await ended, 0)
  assert.ok(Date.now() - start < 1000)
})

test('Ctrl-C ends it at once while a statement runs', async () => {
  const { child, address } = await serve('shop')
  const asked = fetch(`${address}api/ask`, { method: 'POST', body: JSON.stringify({ language: 'sql', text: LONG }) }).catch(() => {})
  for (const end = Date.now() + 10_000; busy(child) < 20; await pause(20)) assert.ok(Date.now() < end, 'it does not run')
  const start = Date.now()
  const ended = new Promise((resolve) => child.on('exit', (code) => resolve(code)))
  child.kill('SIGINT')
  assert.equal(await ended, 0)
  assert.ok(Date.now() - start < 1000, `${Date.now() - start} ms`)
  await asked
})

test('the button ends it at once, also while a statement runs', async () => {
  await within('shop', [], async (child) => {
    const ended = new Promise((resolve) => child.on('exit', (code) => resolve(code)))
    await open(at('ask', { text: LONG }))
    await until(`document.querySelector('[role=status]').textContent === 'running…'`)
    const start = Date.now()
    await click('.bar button', 'End')
    assert.equal(await ended, 0)
    assert.ok(Date.now() - start < 1500, `${Date.now() - start} ms`)
    await until(`document.querySelector('main').textContent.includes('The studio has ended')`)
  })
})
