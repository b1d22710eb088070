// What the page in a webview and the extension tell each other.

export type FromPage =
  | { kind: 'ask'; id: number; action: string; body: string }
  | { kind: 'stop'; id: number }
  | { kind: 'save'; name: string; bytes: ArrayBuffer }

export type ToPage = { kind: 'answer'; id: number; text: string; isOk: boolean } | { kind: 'go'; hash: string }
