// The address is the state: a page and its parameters, after the hash.

export interface State {
  page: string
  get(name: string): string
  all(name: string): string[]
}

/** What the address says. */
export function state(): State {
  const [page = '', text = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const parameters = new URLSearchParams(text)
  return { page, get: (name) => parameters.get(name) ?? '', all: (name) => parameters.getAll(name) }
}

export type Parameters = Record<string, string | string[]>

/** The address of a page. */
export function address(page: string, parameters: Parameters = {}): string {
  const text = new URLSearchParams()
  for (const [name, values] of Object.entries(parameters)) {
    for (const value of [values].flat()) if (value !== '') text.append(name, value)
  }
  return `#/${page}${text.size > 0 ? `?${text}` : ''}`
}

/** Goes to a page. */
export function go(page: string, parameters: Parameters = {}): void {
  location.hash = address(page, parameters)
}

/** Notes what has changed on this page without a step back to it. */
export function note(page: string, parameters: Parameters): void {
  history.replaceState(null, '', address(page, parameters))
}
