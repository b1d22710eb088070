// Packs the extension: a .vsix is a ZIP file with a manifest, the types of its contents, and the files
// under extension/. `node pack.mjs FILE` writes one from package.json and dist/.
//
// docs/decisions/0073-vscode.md says why the usual tool does not do this.

import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { deflateRawSync } from 'node:zlib'

const ROOT = path.resolve('../..')
const FILES = ['package.json', 'README.md', 'language-configuration.json', 'dist/extension.js', 'dist/bridge.js', ...inside('syntaxes'), ...inside('snippets'), ...inside('media')]
const TYPES = { '.json': 'application/json', '.js': 'application/javascript', '.md': 'text/markdown', '.svg': 'image/svg+xml', '.txt': 'text/plain', '.vsixmanifest': 'text/xml' }

function inside(folder) {
  return readdirSync(folder).map((name) => `${folder}/${name}`).filter((file) => statSync(file).isFile())
}

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)

function manifest(own) {
  const property = (id, value) => `<Property Id="Microsoft.VisualStudio.${id}" Value="${escaped(value)}" />`
  const asset = (type, file) => `<Asset Type="Microsoft.VisualStudio.${type}" Path="extension/${file}" Addressable="true" />`
  const tags = new Set([...own.keywords, ...own.contributes.languages.flatMap(({ id, extensions }) => [id, ...extensions.map((ending) => `__ext_${ending.slice(1)}`)])])
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${own.name}" Version="${own.version}" Publisher="${own.publisher}" />
    <DisplayName>${escaped(own.displayName)}</DisplayName>
    <Description xml:space="preserve">${escaped(own.description)}</Description>
    <Tags>${escaped([...tags].join(','))}</Tags>
    <Categories>${escaped(own.categories.join(','))}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>
      ${property('Code.Engine', own.engines.vscode)}
      ${property('Code.ExtensionDependencies', '')}
      ${property('Code.ExtensionPack', '')}
      ${property('Code.ExtensionKind', own.extensionKind.join(','))}
      ${property('Code.LocalizedLanguages', '')}
      ${property('Code.ExecutesCode', 'true')}
      ${property('Services.Links.Source', `${own.repository.url}.git`)}
      ${property('Services.GitHubFlavoredMarkdown', 'true')}
      ${property('Services.Content.Pricing', 'Free')}
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code" /></Installation>
  <Dependencies />
  <Assets>
    ${asset('Code.Manifest', 'package.json')}
    ${asset('Services.Content.Details', 'README.md')}
    ${asset('Services.Content.License', 'LICENSE.txt')}
  </Assets>
</PackageManifest>
`
}

function contentTypes() {
  const types = Object.entries(TYPES).map(([ending, type]) => `<Default Extension="${ending}" ContentType="${type}" />`)
  return `<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${types.join('')}</Types>\n`
}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? 0xedb88320 ^ (rest >>> 1) : rest >>> 1
  return rest
})

const checksum = (bytes) => ~bytes.reduce((sum, byte) => CRC[(sum ^ byte) & 255] ^ (sum >>> 8), 0xffffffff) >>> 0

/** A ZIP file (APPNOTE 6.3), without dates: the same files make the same bytes. */
function zip(entries) {
  const [parts, directory, day] = [[], [], (1 << 5) | 1]
  let offset = 0
  for (const [name, content] of entries) {
    const [path, packed] = [Buffer.from(name), deflateRawSync(content, { level: 9 })]
    const shared = Buffer.alloc(26)
    const fields = [[2, 20], [2, 0x800], [2, 8], [2, 0], [2, day], [4, checksum(content)], [4, packed.length], [4, content.length], [2, path.length], [2, 0]]
    fields.reduce((at, [size, value]) => shared.writeUIntLE(value, at, size), 0)
    const end = Buffer.alloc(14)
    end.writeUInt32LE(offset, 10)
    parts.push(Buffer.from('PK\x03\x04'), shared, path, packed)
    directory.push(Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), shared, end, path)
    offset += 4 + shared.length + path.length + packed.length
  }
  const index = Buffer.concat(directory)
  const last = Buffer.alloc(22)
  last.write('PK\x05\x06', 'latin1')
  last.writeUInt16LE(entries.length, 8)
  last.writeUInt16LE(entries.length, 10)
  last.writeUInt32LE(index.length, 12)
  last.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, index, last])
}

const own = JSON.parse(readFileSync('package.json', 'utf8'))
const licence = ['LICENSE-MIT', 'LICENSE-APACHE'].map((name) => readFileSync(path.join(ROOT, name), 'utf8')).join('\n')
const entries = [['extension.vsixmanifest', manifest(own)], ['[Content_Types].xml', contentTypes()], ['extension/LICENSE.txt', licence], ...FILES.map((file) => [`extension/${file}`, readFileSync(file)])]
writeFileSync(process.argv[2], zip(entries.map(([name, content]) => [name, Buffer.from(content)])))
