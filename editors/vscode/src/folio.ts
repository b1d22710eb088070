// The command `folio`, run to its end, and what it prints when it fails.

import { spawn } from 'node:child_process'

export interface Ran {
  output: string
  /** 0 done, 3 damage found. */
  code: number
}

/** Why `folio` did not do what it was asked, in its own words. */
export class FolioError extends Error {}

/** The exit code of `folio validate` for damage, which is an answer too. */
export const DAMAGE = 3

/** Runs `folio` with arguments, and a text for its standard input. */
export function run(command: string, args: string[], input = '', signal?: AbortSignal): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], signal })
    const [output, errors]: [Buffer[], Buffer[]] = [[], []]
    child.stdout.on('data', (data: Buffer) => output.push(data))
    child.stderr.on('data', (data: Buffer) => errors.push(data))
    // A command that reads no input closes the pipe, and that is no error.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    child.on('error', (error: NodeJS.ErrnoException) => reject(new FolioError(startProblem(command, error))))
    child.on('close', (code) => {
      if (code === 0 || code === DAMAGE) resolve({ output: Buffer.concat(output).toString(), code })
      else reject(new FolioError(problem(Buffer.concat(errors).toString(), code)))
    })
  })
}

/** Why a process could not be started, and what helps. */
export function startProblem(command: string, error: NodeJS.ErrnoException): string {
  if (error.name === 'AbortError') return 'stopped'
  if (error.code !== 'ENOENT') return `cannot start ${command}: ${error.message}`
  return `there is no command ${command}; install FolioDB, or set foliodb.command to the path of folio`
}

/** The message of a failed run without its label and its notes. */
export function problem(errors: string, code: number | null): string {
  const lines = errors.trim().split('\n').filter((line) => !line.startsWith('note: '))
  const text = lines.join('\n').replace(/^error: /, '')
  return text || `folio ended with exit code ${code}`
}
