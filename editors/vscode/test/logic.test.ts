// What needs neither an editor nor a database: command lines, places, what `folio` prints, the page.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { inflateRawSync } from 'node:zlib'

import { membersOf, relationsOf } from '../src/catalog'
import { problem, run } from '../src/folio'
import { html } from '../src/html'
import { lines } from '../src/lines'
import { askOf, collectionOf, databaseAround, gridOf } from '../src/places'

test('no name and no path is taken for an option', () => {
  const made = [lines.get('-db', '--c', '-id'), lines.put('-db', '--c', '-id'), lines.remove('-db', '--c', '-id'), lines.export('-db', '--c', '-f'), lines.validate('-db', '--c'), lines.import('-db', '--c', '-f'), lines.statistics('-db', '--c')]
  for (const line of made) {
    const end = line.indexOf('--')
    assert.ok(end > 0 && line.indexOf('-db') > end && line.includes('--collection=--c'), line.join(' '))
    assert.ok(line.every((word, place) => place > end || word !== '-id'), line.join(' '))
  }
  assert.deepEqual(lines.members('db', 'a"b').at(-1), 'describe "a""b"')
  assert.deepEqual(lines.server(undefined), ['lsp'])
  assert.deepEqual(lines.server('a b'), ['lsp', '--db=a b'])
  assert.ok(!lines.studio('db', false).includes('--write') && lines.studio('db', true).includes('--write'))
})

test('a data file has its collection, and a file its database', () => {
  for (const [file, database, collection] of [
    ['/a/shop/collections/users/meta/data.jsonl', '/a/shop', 'users'],
    ['C:\\a\\shop\\collections\\größe\\meta\\data.jsonl', 'C:\\a\\shop', 'größe'],
  ]) {
    assert.deepEqual(collectionOf(file as string), { database, collection })
  }
  for (const file of ['/a/data.jsonl', '/a/collections/users/data.jsonl', '/collections/u/meta/data.jsonl', '/a/collections/u/meta/data.jsonl.gz']) assert.equal(collectionOf(file), undefined, file)
  const exists = (path: string) => path === '/a/shop/folio.json'
  assert.equal(databaseAround('/a/shop/studio/x.sql', exists), '/a/shop')
  assert.equal(databaseAround('/a/x.sql', exists), undefined)
})

test('addresses of pages take any text', () => {
  const text = 'select \'a & b\'\n-- 100% #1 "größe" 😀'
  const [page, parameters] = askOf('sql', text).slice(2).split('?')
  assert.equal(page, 'ask')
  assert.equal(new URLSearchParams(parameters).get('text'), text)
  assert.equal(gridOf('a b&c'), '#/grid?name=a+b%26c')
})

test('what folio prints becomes a tree', () => {
  const list = '{"collection":"events","document_count":3}\n{"table":"User","row_count":2}\n{"table":"User.friends","row_count":1}\n{"table":"cities","row_count":0}\n{"table":"a.b","row_count":0}\n'
  const schema = 'User (\n    name: str,\n    friends: []User,\n)\n'
  assert.deepEqual(relationsOf(list, schema), [
    { name: 'events', kind: 'collection', count: 3 },
    { name: 'User', kind: 'struct', count: 2 },
    { name: 'cities', kind: 'table', count: 0 },
    { name: 'a.b', kind: 'table', count: 0 },
  ])
  assert.deepEqual(relationsOf('', ''), [])
  assert.deepEqual(membersOf('{"column":"id","type":"integer","null":false}\n'), [{ name: 'id', type: 'integer' }])
})

test('an error is in the words of folio', async () => {
  assert.equal(problem('note: built an index\nerror: there is no document "x"\n', 1), 'there is no document "x"')
  assert.equal(problem('', 7), 'folio ended with exit code 7')
  await assert.rejects(run('/no/such/folio', []), /there is no command \/no\/such\/folio; install FolioDB/)
})

test('the page runs our scripts only, and no text ends an element', () => {
  const page = html({ script: 'a = "</script><!--"', style: 'b{}</style>', bridge: 'c()', begin: '#/grid?name="><script>', nonce: 'n1' })
  assert.equal(page.match(/<script nonce="n1">/g)?.length, 2)
  assert.equal(page.match(/<\/script>/g)?.length, 2)
  assert.equal(page.match(/<\/style>/g)?.length, 1)
  assert.ok(page.includes(`default-src 'none'; script-src 'nonce-n1'`) && !page.includes('unsafe'))
  assert.ok(!page.includes('"><script>') && page.indexOf('c()') < page.indexOf('a = '))
})

test('the grammar finds the words of ZiQL', () => {
  interface Rule { name?: string; match?: string; begin?: string; include?: string; patterns?: Rule[]; captures?: Record<string, { name: string }> }
  const grammar = JSON.parse(readFileSync('syntaxes/ziql.tmLanguage.json', 'utf8')) as Rule & { repository: Record<string, Rule> }
  const flat = (rule: Rule): Rule[] => (rule.include ? flat(grammar.repository[rule.include.slice(1)] as Rule) : rule.match || rule.begin ? [rule] : (rule.patterns ?? []).flatMap(flat))
  const rules = flat(grammar).map((rule) => {
    const source = rule.match ?? rule.begin ?? ''
    return { rule, expression: new RegExp(source.replace('(?i)', ''), source.startsWith('(?i)') ? 'iym' : 'ym') }
  })
  /** The name of a word, as the first rule has it that matches the earliest; strings are not entered. */
  const nameOf = (text: string, word: string) => {
    for (let at = 0; at <= text.indexOf(word); at++) {
      for (const { rule, expression } of rules) {
        expression.lastIndex = at
        const found = expression.exec(text)
        if (!found || found[0] === '') continue
        const group = found.indexOf(word, 1)
        if (found[0] === word || group > 0) return group > 0 ? rule.captures?.[group]?.name : rule.name
        at += found[0].length - 1
        break
      }
    }
    return undefined
  }
  for (const [text, word, expected] of [
    ['GRAB User [name]', 'GRAB', 'keyword.control.ziql'],
    ['grab User [name]', 'User', 'entity.name.type.ziql'],
    ['User (\n  name: str,\n)', 'User', 'entity.name.type.ziql'],
    ['  name: str unique', 'name', 'variable.other.member.ziql'],
    ['  name: str unique', 'str', 'storage.type.ziql'],
    ['  name: str unique', 'unique', 'storage.modifier.ziql'],
    ['{age > 30 AND x}', '30', 'constant.numeric.ziql'],
    ['{age > 30 and x}', 'and', 'keyword.operator.word.ziql'],
    ['{at > 2024-01-31T12:04:05Z}', '2024-01-31T12:04:05Z', 'constant.other.datetime.ziql'],
    ['{name = $who}', '$who', 'variable.parameter.ziql'],
    ['{name = none}', 'none', 'constant.language.ziql'],
    ['[total: SUM(price)]', 'SUM', 'support.function.ziql'],
    ['GRAB A # note', '# note', 'comment.line.number-sign.ziql'],
    ['GRAB A {} => b', '=>', 'keyword.operator.chain.ziql'],
    ['`count`', '`count`', 'variable.other.quoted.ziql'],
  ] as const) {
    assert.equal(nameOf(text, word), expected, `${word} in ${text}`)
  }
})

/** The files of a ZIP file, by its directory. */
function unzip(bytes: Buffer): Map<string, Buffer> {
  const end = bytes.lastIndexOf('PK\x05\x06', undefined, 'latin1')
  const files = new Map<string, Buffer>()
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    assert.equal(bytes.readUInt32LE(at), 0x02014b50)
    const [packed, size, length, begin] = [bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 24), bytes.readUInt16LE(at + 28), bytes.readUInt32LE(at + 42)]
    assert.equal(bytes.readUInt32LE(begin), 0x04034b50)
    // The directory and the file say the same.
    assert.deepEqual(bytes.subarray(begin + 4, begin + 30), bytes.subarray(at + 6, at + 32))
    const start = begin + 30 + length
    const content = inflateRawSync(bytes.subarray(start, start + packed))
    assert.equal(content.length, size)
    files.set(bytes.subarray(at + 46, at + 46 + length).toString(), content)
    at += 46 + length
  }
  return files
}

test('the packed extension has everything that its manifest names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'folio-vsix-'))
  const file = join(folder, 'a.vsix')
  execFileSync('node', ['pack.mjs', file])
  const files = unzip(readFileSync(file))
  if (existsSync('/usr/bin/python3')) execFileSync('/usr/bin/python3', ['-c', 'import sys, zipfile; sys.exit(zipfile.ZipFile(sys.argv[1]).testzip() is not None)', file])
  rmSync(folder, { recursive: true })
  const text = (name: string) => files.get(name)?.toString() ?? assert.fail(`there is no ${name}`)
  const own = JSON.parse(text('extension/package.json'))
  const { contributes } = own
  const named = [own.main, ...[...contributes.grammars, ...contributes.snippets].map(({ path }) => path), contributes.languages[0].configuration, contributes.viewsContainers.activitybar[0].icon, './dist/bridge.js']
  for (const name of named) text(`extension/${name.replace(/^\.\//, '')}`)
  const manifest = text('extension.vsixmanifest')
  for (const [, asset] of manifest.matchAll(/Path="([^"]+)"/g)) text(asset as string)
  assert.ok(manifest.includes(`Id="foliodb" Version="${own.version}" Publisher="foliodb"`))
  const endings = new Set([...files.keys()].filter((name) => name !== '[Content_Types].xml').map((name) => name.replace(/^.*\./, '.')))
  for (const ending of endings) assert.ok(text('[Content_Types].xml').includes(`Extension="${ending}"`), ending)
})
