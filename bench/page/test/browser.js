// A headless Chromium, spoken to over its pipe: what the test needs of the DevTools protocol, and no more.
'use strict'

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const CHROMIUM = process.env.CHROMIUM ?? 'chromium'

class Browser {
  #process
  #waiting = new Map()
  #next = 1
  #rest = ''
  #profile = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-page-'))
  /** What the page has complained about. */
  complaints = []
  #loaded = () => {}

  constructor() {
    // Files may not be read by pages of other files, and nothing here may ask the network.
    const options = ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', `--user-data-dir=${this.#profile}`]
    this.#process = spawn(CHROMIUM, [...options, 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
    this.#process.stdio[4].setEncoding('utf8').on('data', (text) => this.#take(text))
  }

  /** Opens a file at a width, in a theme. */
  async open(file, width, theme, height) {
    await this.go(`file://${file}`, width, theme, height)
  }

  /** Opens an address at a width, in a theme. */
  async go(url, width, theme = 'light', height = 900) {
    if (!this.session) await this.#attach()
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 })
    await this.send('Emulation.setScrollbarsHidden', { hidden: true })
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: theme }] })
    const loaded = new Promise((resolve) => (this.#loaded = resolve))
    await this.send('Page.navigate', { url })
    await loaded
  }

  /** The value of an expression in the page. */
  async value(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true })
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value
  }

  /** A key pressed and let go. */
  async press(key, code) {
    const text = key.length === 1 ? { text: key } : { windowsVirtualKeyCode: code ?? { Tab: 9, Enter: 13, Escape: 27 }[key], ...(key === 'Enter' ? { text: '\r' } : {}) }
    await this.send('Input.dispatchKeyEvent', { type: text.text ? 'keyDown' : 'rawKeyDown', key, ...text })
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, ...text })
  }

  /** What is seen, as a PNG file; of a large screen, smaller. */
  async picture(file, scale = 1) {
    const { width, height } = await this.value('({ width: innerWidth, height: innerHeight })')
    const clip = scale === 1 ? {} : { clip: { x: 0, y: 0, width, height, scale } }
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', ...clip })
    fs.writeFileSync(file, Buffer.from(data, 'base64'))
  }

  send(method, params = {}) {
    const id = this.#next++
    const answered = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: this.session })}\0`)
    return answered
  }

  async close() {
    const ended = new Promise((resolve) => this.#process.on('exit', resolve))
    this.session = undefined
    this.send('Browser.close').catch(() => {})
    await ended
    fs.rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 })
  }

  async #attach() {
    const { targetInfos } = await this.send('Target.getTargets')
    const { targetId } = targetInfos.find(({ type }) => type === 'page')
    this.session = (await this.send('Target.attachToTarget', { targetId, flatten: true })).sessionId
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await this.send(`${domain}.enable`)
  }

  #take(text) {
    const messages = (this.#rest + text).split('\0')
    this.#rest = messages.pop()
    for (const message of messages.map((line) => JSON.parse(line))) {
      const { id, method, params, error, result } = message
      if (id) {
        const { resolve, reject } = this.#waiting.get(id)
        this.#waiting.delete(id)
        error ? reject(new Error(error.message)) : resolve(result)
      }
      if (method === 'Page.loadEventFired') this.#loaded()
      if (method === 'Runtime.exceptionThrown') this.complaints.push(params.exceptionDetails.exception?.description)
      if (method === 'Runtime.consoleAPICalled' && ['error', 'warning'].includes(params.type)) this.complaints.push(JSON.stringify(params.args))
      if (method === 'Log.entryAdded' && params.entry.level === 'error') this.complaints.push(params.entry.text)
      if (method === 'Network.requestWillBeSent' && !/^(file|data):/.test(params.request.url)) this.complaints.push(`asked for ${params.request.url}`)
    }
  }
}

module.exports = { Browser }
