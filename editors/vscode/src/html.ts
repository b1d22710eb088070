// The page of the webview: the files of a running studio, whatever its version, and the bridge before
// them. The policy lets it run these scripts and nothing else, and ask nobody.

export interface Parts {
  script: string
  style: string
  bridge: string
  /** The address that it shows first. */
  begin: string
  nonce: string
}

const escaped = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** A script cannot end its element. */
const inElement = (script: string) => script.replace(/<\/(?=script)/gi, '<\\/').replaceAll('<!--', '<\\!--')

export function html({ script, style, bridge, begin, nonce }: Parts): string {
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src data:; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="folio-begin" content="${escaped(begin)}">
<title>FolioDB</title>
<style nonce="${nonce}">${style.replace(/<\/(?=style)/gi, '<\\/')}
body{padding:0!important}.bar>button{display:none}</style>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar"></header>
<main id="main" tabindex="-1"></main>
<script nonce="${nonce}">${inElement(bridge)}</script>
<script nonce="${nonce}">${inElement(script)}</script>
`
}
