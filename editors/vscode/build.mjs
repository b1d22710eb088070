// Bundles the extension and the bridge into dist/, and the tests into dist/test with a stand-in for the
// editor.

import { build } from 'esbuild'
import { readdirSync } from 'node:fs'

const shared = { bundle: true, target: 'es2022', logLevel: 'warning' }
const host = { ...shared, platform: 'node', format: 'cjs', target: 'node20' }
await build({ ...host, entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js', external: ['vscode'], minify: true })
await build({ ...shared, entryPoints: ['src/page/bridge.ts'], outfile: 'dist/bridge.js', format: 'iife', minify: true })
const tests = readdirSync('test').filter((name) => name.endsWith('.test.ts')).map((name) => `test/${name}`)
await build({ ...host, entryPoints: tests, outdir: 'dist/test', alias: { vscode: './test/fake.ts', 'vscode-languageclient/node': './test/fake-client.ts' } })
