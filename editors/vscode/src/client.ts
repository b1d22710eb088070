// The language server of `folio`, for the texts of ZiQL, and of SQL where there is a database: an
// .sql file elsewhere is for another program.

import { LanguageClient, type LanguageClientOptions, type ServerOptions } from 'vscode-languageclient/node'

import { lines } from './lines'

export class Client {
  #client: LanguageClient | undefined
  #of: string | undefined
  /** Changes follow each other, so that there is one server. */
  #turn: Promise<unknown> = Promise.resolve()

  /** Starts a server, or another one if something has changed. */
  start(command: string, database: string | undefined): Promise<void> {
    return this.#next(() => this.#start(command, database))
  }

  stop(): Promise<void> {
    return this.#next(() => this.#stop())
  }

  #next(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }

  async #start(command: string, database: string | undefined): Promise<void> {
    const of = JSON.stringify([command, database])
    if (this.#of === of) return
    await this.#stop()
    this.#of = of
    const server: ServerOptions = { command, args: lines.server(database) }
    const languages = database === undefined ? ['ziql'] : ['ziql', 'sql']
    const options: LanguageClientOptions = { documentSelector: languages.flatMap((language) => [{ scheme: 'file', language }, { scheme: 'untitled', language }]) }
    this.#client = new LanguageClient('foliodb', 'FolioDB', server, options)
    await this.#client.start()
  }

  async #stop(): Promise<void> {
    const client = this.#client
    ;[this.#client, this.#of] = [undefined, undefined]
    await client?.stop().catch(() => {})
  }
}
