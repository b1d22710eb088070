// In place of vscode-languageclient, which needs a whole editor: the servers that were started.

export const servers: { command: string; args: string[]; languages: string[]; isRunning: boolean }[] = []

export class LanguageClient {
  readonly #server
  constructor(_: string, __: string, { command, args }: { command: string; args: string[] }, options: { documentSelector: { language: string }[] }) {
    this.#server = { command, args, languages: [...new Set(options.documentSelector.map(({ language }) => language))], isRunning: false }
    servers.push(this.#server)
  }
  async start(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 5))
    this.#server.isRunning = true
  }
  async stop(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 5))
    this.#server.isRunning = false
  }
}
