// Studios: a process `folio studio` for each database that is shown. It listens on the loopback
// address, with a token that stays here, and ends with this process or with the last tab.

import { spawn, type ChildProcess } from 'node:child_process'
import * as http from 'node:http'

import { FolioError, problem, startProblem } from './folio'
import { lines } from './lines'

export interface Answered {
  text: string
  isOk: boolean
}

/** A running studio. */
export class Studio {
  constructor(
    readonly url: string,
    readonly child: ChildProcess,
  ) {}

  /** Asks for an action; the statement that runs for it ends when the signal says so. */
  ask(action: string, body: string, signal: AbortSignal): Promise<Answered> {
    return this.#request('POST', `api/${encodeURIComponent(action)}`, body, signal)
  }

  /** A file of its pages. */
  async file(name: string): Promise<string> {
    const { text, isOk } = await this.#request('GET', name, '')
    if (!isOk) throw new FolioError(`the studio has no ${name}: ${text}`)
    return text
  }

  #request(method: string, path: string, body: string, signal?: AbortSignal): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const headers = { 'Content-Length': Buffer.byteLength(body) }
      const request = http.request(new URL(path, this.url), { method, headers, signal, agent: false }, (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', reject)
        response.on('end', () => resolve({ text: Buffer.concat(parts).toString(), isOk: response.statusCode === 200 }))
      })
      request.on('error', reject)
      request.end(body)
    })
  }

  end(): void {
    this.child.stdin?.end()
  }
}

/** Starts a studio, and waits for its address. */
export function start(command: string, database: string, isWritable: boolean): Promise<Studio> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, lines.studio(database, isWritable), { stdio: ['pipe', 'pipe', 'pipe'] })
    let [output, errors] = ['', '']
    child.stdin.on('error', () => {})
    child.stderr.on('data', (data: Buffer) => (errors = (errors + data).slice(-10_000)))
    child.stdout.on('data', (data: Buffer) => {
      output += data
      const url = /^(http:\/\/127\.0\.0\.1:\d+\/\S+)\n/.exec(output)?.[1]
      if (url) resolve(new Studio(url, child))
    })
    child.on('error', (error) => reject(new FolioError(startProblem(command, error))))
    child.on('close', (code) => reject(new FolioError(problem(errors, code))))
  })
}

interface Shared {
  studio: Promise<Studio>
  users: number
}

/** One studio for each database, as long as somebody uses it. */
export class Studios {
  #running = new Map<string, Shared>()

  constructor(readonly begin: typeof start = start) {}

  /** A studio of a database; `release` lets go of it. */
  async use(command: string, database: string, isWritable: boolean): Promise<{ studio: Studio; release: () => void }> {
    const key = JSON.stringify([command, database, isWritable])
    const known = this.#running.get(key)
    const shared = known ?? { studio: this.begin(command, database, isWritable), users: 0 }
    this.#running.set(key, shared)
    shared.users += 1
    const forget = () => {
      if (this.#running.get(key) === shared) this.#running.delete(key)
    }
    let isReleased = false
    const release = () => {
      if (isReleased) return
      isReleased = true
      shared.users -= 1
      if (shared.users > 0) return
      forget()
      void shared.studio.then((studio) => studio.end(), () => {})
    }
    try {
      const studio = await shared.studio
      // The next one who wants it starts another.
      studio.child.once('close', forget)
      return { studio, release }
    } catch (error) {
      forget()
      throw error
    }
  }

  dispose(): void {
    for (const { studio } of this.#running.values()) void studio.then((one) => one.end(), () => {})
    this.#running.clear()
  }
}
