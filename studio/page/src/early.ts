// What a page shows while an answer is awaited that has to read much: a part that is there at once.

/** How long an answer is waited for before a part of it is asked for, in milliseconds. */
const PATIENCE = 100

/** A part of an answer, unless the answer is there soon, or before the part. */
export async function early<T>(whole: Promise<unknown>, ask: () => Promise<T>): Promise<T | undefined> {
  const isThere = whole.then(() => undefined, () => undefined)
  const isLate = await Promise.race([isThere, new Promise<boolean>((resolve) => setTimeout(() => resolve(true), PATIENCE))])
  return isLate ? Promise.race([isThere, ask().catch(() => undefined)]) : undefined
}
