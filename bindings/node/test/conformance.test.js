// Runs the scripts under `conformance/documents` in both layouts, once through the
// calls that answer now and once through their asynchronous twins.
'use strict'

const assert = require('node:assert/strict')
const fs = require('node:fs')
const path = require('node:path')
const { test } = require('node:test')
const foliodb = require('foliodb')
const { scratch } = require('./scratch.js')
const { sections, valueLine } = require('./script.js')

const CAN = ['handle', 'batch', 'schema', 'sets']

/** A database in a folder of its own, and the collection that operations are about. */
class Runner {
  constructor(folder, layout, twin) {
    this.path = folder
    this.layout = layout
    this.twin = twin
    this.db = foliodb.open(folder)
    this.db.create()
    this.docs = this.db.collection('docs', { layout })
  }

  /** Calls an operation, or its twin. */
  call(target, name, ...args) {
    return target[`${name}${this.twin}`](...args)
  }

  /** The answer lines of a step. */
  async run({ operation, args, text }) {
    try {
      return (await this[operation](...args, ...(text === undefined ? [] : [text]))) ?? []
    } catch (error) {
      if (!(error instanceof foliodb.FolioError)) throw error
      return [`! ${error.code}`]
    }
  }

  async put(id, document) {
    return [valueLine(await this.call(this.docs, 'put', id, document))]
  }

  async put_raw(id, text) {
    return [valueLine(await this.call(this.docs, 'putRaw', id, text))]
  }

  async put_many(pairs) {
    const { inserted, replaced } = await this.call(this.docs, 'putMany', pairs)
    return [valueLine({ inserted, replaced })]
  }

  async batch(changes) {
    const batch = this.docs.batch()
    try {
      for (const [operation, ...args] of changes) batch[operation](...args)
      return [valueLine(await this.call(batch, 'commit'))]
    } finally {
      batch.rollback()
    }
  }

  async get(id) {
    return [valueLine((await this.call(this.docs, 'get', id)) ?? null)]
  }

  async get_raw(id) {
    const text = await this.call(this.docs, 'getRaw', id)
    return [text === undefined ? valueLine(null) : `: ${text}`]
  }

  async patch(id, patch) {
    return [valueLine((await this.call(this.docs, 'patch', id, patch)) ?? null)]
  }

  async add(document) {
    const id = await this.call(this.docs, 'add', document)
    return [valueLine(document._id === undefined ? `${id.length} characters` : id)]
  }

  async pop(id) {
    return [valueLine((await this.call(this.docs, 'pop', id)) ?? null)]
  }

  async clear() {
    return [valueLine(await this.call(this.docs, 'clear'))]
  }

  async update(where, patch, params) {
    return [valueLine(await this.call(this.docs, 'update', where, patch, params))]
  }

  drop(name) {
    return this.call(this.db, 'dropCollection', name)
  }

  rename(name, newName) {
    return this.call(this.db, 'renameCollection', name, newName)
  }

  async delete(id) {
    return [valueLine(await this.call(this.docs, 'delete', id))]
  }

  async exists(id) {
    return [valueLine(await this.call(this.docs, 'has', id))]
  }

  async count() {
    return [valueLine(await this.call(this.docs, 'count'))]
  }

  async ids() {
    const lines = []
    for await (const id of this.call(this.docs, 'ids')) lines.push(valueLine(id))
    return lines
  }

  async scan(options) {
    return (await this.call(this.docs.scan(options), 'toArray')).map(valueLine)
  }

  collection(name, options) {
    this.docs = this.db.collection(name, { layout: this.layout, ...options })
  }

  collections() {
    return this.db.collections().map(valueLine)
  }

  async sql(text) {
    const answer = await this.call(this.db, 'sql', text)
    return (await this.call(answer, 'toArray')).map(valueLine)
  }

  async ziql(text) {
    const answer = await this.call(this.db, 'ziql', text)
    return (await this.call(answer, 'toArray')).map(valueLine)
  }

  flush() {
    return this.call(this.db, 'flush')
  }

  refresh() {
    return this.call(this.docs, 'refresh')
  }

  async reopen(mode) {
    await this.call(this.db, 'close')
    this.db = foliodb.open(this.path, { mode })
    this.docs = this.db.collection(this.docs.name, { layout: this.layout })
  }

  async archive() {
    const target = `${this.path}.zds`
    await this.call(this.db, 'pack', target)
    this.path = target
    await this.reopen('r')
  }

  async compact() {
    const { documentCount, rejectedCount } = await this.call(this.docs, 'compact')
    return [valueLine({ document_count: documentCount, rejected_count: rejectedCount })]
  }

  reindex() {
    return this.call(this.docs, 'reindex')
  }

  async check() {
    const report = await this.call(this.docs, 'check')
    const { isClean, documentCount, supersededCount, tombstoneCount } = report
    return [valueLine({
      is_clean: isClean,
      document_count: documentCount,
      superseded_count: supersededCount,
      tombstone_count: tombstoneCount,
      invalid_lines: report.invalid.map(({ line }) => line),
    })]
  }

  file(name) {
    return path.join(this.path, 'collections', this.docs.name, name)
  }

  read_file(name) {
    return fs.readFileSync(this.file(name), 'utf8').replace(/\n$/, '').split('\n').map((line) => `: ${line}`)
  }

  write_file(name, content) {
    fs.writeFileSync(this.file(name), content)
  }

  append_file(name, content) {
    fs.appendFileSync(this.file(name), content)
  }

  replace_file(name, content) {
    fs.writeFileSync(`${this.file(name)}.edited`, content)
    fs.renameSync(`${this.file(name)}.edited`, this.file(name))
  }

  edit_file(name, old, edited) {
    const text = fs.readFileSync(this.file(name), 'utf8')
    assert.ok(text.includes(old))
    this.replace_file(name, text.replaceAll(old, edited))
  }

  remove_file(name) {
    fs.rmSync(this.file(name))
  }
}

for (const layout of ['lines', 'files']) {
  for (const twin of ['', 'Async']) {
    test(`scripts, ${layout}, ${twin || 'now'}`, async (context) => {
      let count = 0
      for (const { script, name, needs, steps } of sections()) {
        if (!needs.every((need) => need === layout || CAN.includes(need))) continue
        const runner = new Runner(scratch(context), layout, twin)
        for (const step of steps) {
          const answer = await runner.run(step)
          assert.deepEqual(answer, step.expected, `${script}:${step.line}, in "${name}": ${step.operation} ${JSON.stringify(step.args)}`)
        }
        runner.db.close()
        count += 1
      }
      assert.ok(count > 40, `${count} sections ran`)
    })
  }
}
