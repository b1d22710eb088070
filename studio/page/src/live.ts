// What other processes write while a page is open: asked for every second, while the page is seen.

import { counted, h } from './dom'
import { server } from './server'

const EVERY = 1000

let timer: ReturnType<typeof setInterval> | undefined

/** Ends what the last page followed. */
export function stopFollowing(): void {
  clearInterval(timer)
  timer = undefined
}

/** Watches counts; `differs` gets the first ones, and then those that are others than before. */
export function follow(differs: (counts: Record<string, number | null>, isFirst: boolean) => void): void {
  stopFollowing()
  let last = ''
  let isAsking = false
  timer = setInterval(async () => {
    if (document.hidden || isAsking) return
    isAsking = true
    try {
      const { counts } = await server.pulse()
      const now = JSON.stringify(counts)
      if (now !== last) differs(counts, last === '')
      last = now
    } catch {
      stopFollowing() // the studio has ended
    } finally {
      isAsking = false
    }
  }, EVERY)
}

/** A note of new rows that reads them on a press. */
export function news(count: number, reload: () => void): HTMLElement {
  const words = count > 0 ? `${counted(count)} new ${count === 1 ? 'row' : 'rows'}` : `${counted(-count)} fewer rows`
  return h('button', { class: 'news', onclick: reload }, `${words}: show`)
}
