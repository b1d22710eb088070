// What other processes write while a page is open: asked for at once and then every second, while the
// page is seen.

import { counted, h } from './dom'
import { Failure, server, type States } from './server'

/** The least time between two looks. One that takes long is followed by as long without. */
const EVERY = 1000

let turn = 0

/** Ends what the last page followed. */
export function stopFollowing(): void {
  turn += 1
}

/** Watches what there is; `differs` gets the first state, and then those that are others than before. */
export function follow(differs: (states: States, isFirst: boolean) => unknown): void {
  stopFollowing()
  const mine = turn
  let last = ''
  const look = async () => {
    if (mine !== turn) return
    const start = performance.now()
    if (!document.hidden) {
      try {
        const { states } = await server.pulse()
        const now = JSON.stringify(states)
        if (mine !== turn) return
        if (now !== last) await differs(states, last === '')
        last = now
      } catch (error) {
        if (!(error instanceof Failure) || error.code === 'io') return // the studio has ended
      }
    }
    setTimeout(() => void look(), Math.max(EVERY, performance.now() - start))
  }
  void look()
}

/** What stands for the state of a relation: its own, or of a view, which has none, that of all. */
export function stateOf(states: States, name: string): string {
  return states[name]?.revision ?? JSON.stringify(states)
}

/** A note of a change that reads the rows again on a press. */
export function news(more: number, reload: () => void): HTMLElement {
  const words = more > 0 ? `${counted(more)} new ${more === 1 ? 'row' : 'rows'}` : more < 0 ? `${counted(-more)} fewer rows` : 'Rows have changed'
  return h('button', { class: 'news', onclick: reload }, `${words}: show`)
}
