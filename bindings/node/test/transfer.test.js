// Whole files in and out.
'use strict'

const assert = require('node:assert/strict')
const fs = require('node:fs')
const http = require('node:http')
const { pathToFileURL } = require('node:url')
const { test } = require('node:test')
const zlib = require('node:zlib')
const foliodb = require('foliodb')
const { scratch } = require('./scratch.js')

test('files become documents', async (context) => {
  const path = scratch(context)
  const users = foliodb.open(path).collection('users')
  fs.writeFileSync(`${path}.csv`, 'mail;age\nann@example.com;34\nbob;x\n')
  const counts = users.import(`${path}.csv`, { id: 'mail', delimiter: ';' })
  assert.deepEqual([counts.inserted, counts.derivedIdCount, counts.rejectedCount], [2, 1, 0])
  assert.deepEqual(users.get('bob'), { _id: 'bob', mail: 'bob', age: 'x' })
  const lines = '{"_id":"bob","n":1.10}\nnot json\n{"n":2}\n{"_id":"carl"}\n'
  fs.writeFileSync(`${path}.jsonl.gz`, zlib.gzipSync(lines))
  const rejectedPath = `${path}.rejected`
  const report = await users.importAsync(pathToFileURL(`${path}.jsonl.gz`), { rejectedPath })
  assert.deepEqual([report.inserted, report.replaced, report.rejectedCount], [1, 1, 2])
  assert.match(report.rejected[0], /data\.jsonl\.gz:2: /)
  assert.equal(fs.readFileSync(rejectedPath, 'utf8'), 'not json\n{"n":2}\n')
  assert.equal(users.getRaw('bob'), '{"_id":"bob","n":1.10}')
  assert.throws(() => users.import(`${path}.jsonl.gz`, { onConflict: 'error', restart: true }), { code: 'conflict' })
  assert.equal((await users.importAsync(`${path}.jsonl.gz`, { onConflict: 'skip', generateIds: true })).skipped, 2)
  await assert.rejects(users.importAsync(`${path}.missing`), { code: 'not_found' })
})

test('tables of SQLite become tables', async (context) => {
  const sound = new URL('../../../fuzz/targets/sound.sqlite', pathToFileURL(__filename))
  const db = foliodb.open(scratch(context))
  const report = db.importSqlite(sound, { tables: ['k', 'R', 'a'] })
  const counts = Object.fromEntries(report.tables.map(({ name, rowCount }) => [name, rowCount]))
  assert.deepEqual(counts, { a: 30, k: 30, r: 31 })
  assert.deepEqual([report.rowCount, report.views, report.notes.every((note) => typeof note === 'string')], [91, [], true])
  assert.equal(db.sql('select count(*) as n from k').toArray()[0].n, 30)
  assert.throws(() => db.importSqlite(sound), { code: 'conflict', message: /already exists in the database/ })
  await assert.rejects(db.importSqliteAsync(sound, { tables: ['nothing'] }), { code: 'not_found' })
  assert.throws(() => db.importSqlite(__filename), { code: 'corrupted' })
  const other = foliodb.open(scratch(context))
  let told = 0
  const whole = await other.importSqliteAsync(sound, { progress: () => { told += 1 } })
  assert.deepEqual([whole.rowCount, whole.views, told > 0], [91, ['v'], true])
})

test('documents become files', async (context) => {
  const path = scratch(context)
  const users = foliodb.open(path).collection('users')
  users.putMany([['ann', { age: 34, city: 'Oslo' }], ['bob', { age: 51 }]])
  const { documentCount, size } = users.export(`${path}.jsonl`)
  assert.deepEqual([documentCount, size], [2, fs.statSync(`${path}.jsonl`).size])
  assert.equal(fs.readFileSync(`${path}.jsonl`, 'utf8'), '{"_id":"ann","age":34,"city":"Oslo"}\n{"_id":"bob","age":51}\n')
  await users.exportAsync(`${path}.csv`, { format: 'csv', fields: ['age'], limit: 1 })
  assert.equal(fs.readFileSync(`${path}.csv`, 'utf8'), '_id,age\nann,34\n')
  for (const format of ['ion', 'ion-binary']) {
    users.export(`${path}.${format}`, { format })
    const copy = foliodb.open(path).collection(format)
    copy.import(`${path}.${format}`, { format: 'ion' })
    assert.deepEqual([...copy.scan()], [...users.scan()])
  }
  users.export(`${path}.zds`, { format: 'zds' })
  assert.equal(foliodb.open(`${path}.zds`, { mode: 'r' }).collection('users').count(), 2)
})

test('a database becomes an archive, and a copy', async (context) => {
  const path = scratch(context)
  const db = foliodb.open(path)
  db.collection('users').put('ann', { age: 34 })
  assert.equal((await db.packAsync(`${path}.zds`, { compress: true })).documentCount, 1)
  const archive = foliodb.open(`${path}.zds`)
  assert.deepEqual(archive.collection('users').get('ann'), { _id: 'ann', age: 34 })
  assert.equal(archive.isWritable, false)
  foliodb.unpack(`${path}.zds`, `${path}-unpacked`)
  await foliodb.unpackAsync(`${path}.zds`, `${path}-unpacked-later`)
  assert.ok(db.backup(`${path}-copy`).fileCount > 0)
  await db.backupAsync(`${path}-copy-later`)
  for (const end of ['unpacked', 'unpacked-later', 'copy', 'copy-later']) {
    assert.deepEqual([...foliodb.open(`${path}-${end}`).collection('users').scan()], [{ _id: 'ann', age: 34 }])
  }
})

test('files are what their names say', async (context) => {
  const path = scratch(context)
  const folder = new URL('../../../conformance/files/', pathToFileURL(__filename))
  const db = foliodb.open(path)
  const documents = db.collection('documents')
  documents.import(new URL('documents.jsonl', folder))
  const table = fs.readFileSync(new URL('names.txt', folder), 'utf8').trim().split('\n')
  for (const [extension, expected] of table.filter((line) => !line.startsWith('#')).map((line) => line.split(/ +/))) {
    const file = `${path}.out.${extension}`
    if (expected === 'refused') {
      assert.throws(() => documents.export(file), { code: 'invalid_input', message: /out\..*\.parquet/ })
      continue
    }
    const report = extension.endsWith('.gz') ? await documents.exportAsync(file) : documents.export(file)
    assert.deepEqual([report.documentCount, report.size], [4, fs.statSync(file).size], extension)
    const back = db.collection(`back_${extension.replace('.', '_').toLowerCase()}`)
    back.import(file)
    const lines = fs.readFileSync(new URL(expected, folder), 'utf8').trim().split('\n')
    assert.deepEqual(Array.from(back.scan({ lazy: true }), ({ raw }) => raw), lines, extension)
    db.sql(`copy (select * from '${file}') to '${file}.copied.${extension}'`)
    const [row] = db.sql(`select count(*) as n, count(note) as notes from '${file}.copied.${extension}'`).toArray()
    assert.deepEqual({ ...row }, { n: 4, notes: 3 }, extension)
    if (extension.includes('.')) {
      fs.truncateSync(file, fs.statSync(file).size - 5)
      assert.throws(() => db.collection('cut').import(file), { message: /out\./ })
    }
  }
  assert.equal(zlib.gunzipSync(fs.readFileSync(documentsOf(documents, path))).toString().trim().split('\n').length, 4)
  assert.throws(() => documents.export(`${path}.parquet`, { format: 'csv' }), { message: /the format is csv/ })
  assert.throws(() => documents.export(`${path}.csv`, { format: 'xlsx' }), { message: /jsonl, json, csv/ })
})

/** Exports once more, for what the runtime itself unpacks. */
function documentsOf(documents, path) {
  documents.export(`${path}.again.jsonl.gz`)
  return `${path}.again.jsonl.gz`
}

test('an archive is packed into a bucket', async (context) => {
  const files = new Map()
  const server = http.createServer((request, response) => {
    const pieces = []
    request.on('data', (piece) => pieces.push(piece))
    request.on('end', () => {
      if (request.method === 'PUT') files.set(request.url, Buffer.concat(pieces))
      response.end()
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => server.close())
  const before = { ...process.env }
  context.after(() => {
    for (const name of ['AWS_ENDPOINT_URL', 'AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) {
      if (name in before) process.env[name] = before[name]
      else delete process.env[name]
    }
  })
  process.env.AWS_ENDPOINT_URL = `http://127.0.0.1:${server.address().port}`
  process.env.AWS_CONFIG_FILE = process.env.AWS_SHARED_CREDENTIALS_FILE = `${scratch(context)}.none`
  const path = scratch(context)
  const db = foliodb.open(path)
  db.collection('users').put('ann', { n: 1 })
  const report = await db.packAsync('s3://bucket/a b.zds')
  db.pack(`${path}.zds`)
  assert.deepEqual(files.get('/bucket/a%20b.zds'), fs.readFileSync(`${path}.zds`))
  assert.equal(report.size, files.get('/bucket/a%20b.zds').length)
  assert.throws(() => db.pack('https://me:hidden@host/a.zds'), (error) => {
    return error.code === 'unsupported' && /copy it there/.test(error.message) && !error.message.includes('hidden')
  })
})
