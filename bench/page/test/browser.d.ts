// The types of browser.js, for tests in TypeScript.

export class Browser {
  complaints: string[]
  open(file: string, width: number, theme?: string, height?: number): Promise<void>
  go(url: string, width: number, theme?: string, height?: number): Promise<void>
  value(expression: string): Promise<any>
  close(): Promise<void>
}
