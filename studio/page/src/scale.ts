// Where a scroll bar is for a position in rows. Browsers have no elements taller than some millions of
// pixels, so the bar of a long grid is shorter than its rows together.
//
//   the first and last rows   the bar moves a pixel a pixel, so that both ends can be reached
//   those between             in proportion: for where the bar is dragged to
//
// A scroll of less than a screen, by a wheel, a finger or a key, moves rows by its pixels anywhere. The
// bar is then ahead of its place, and is put right once the scroll rests.

/** Browsers have no taller elements. */
export const HEIGHT_MAX = 15_000_000
/** Pixels at either end where the bar is not in proportion. */
const END = 20_000

export class Scale {
  /** The height of what scrolls. */
  readonly height: number
  #end: number

  constructor(
    /** The height of all rows. */
    readonly all: number,
    most = HEIGHT_MAX,
  ) {
    this.height = Math.min(all, most)
    this.#end = Math.min(END, this.height / 4)
  }

  /** The last position, in a view of a height. */
  #last(room: number): number {
    return Math.max(0, this.all - room)
  }

  /** Where the bar is for a position. */
  bar(position: number, room: number): number {
    const [last, end] = [this.#last(room), this.#end]
    const short = this.all - this.height
    if (position <= end || short === 0) return position
    if (position >= last - end) return position - short
    return end + ((position - end) * (last - short - 2 * end)) / (last - 2 * end)
  }

  /** The position for a place of the bar. */
  position(bar: number, room: number): number {
    const [last, end] = [this.#last(room), this.#end]
    const short = this.all - this.height
    if (bar <= end || short === 0) return bar
    if (bar >= last - short - end) return bar + short
    return end + ((bar - end) * (last - 2 * end)) / (last - short - 2 * end)
  }

  /** Where a scroll of the bar leads from a position: by as much if it is of less than a screen. */
  moved(position: number, from: number, to: number, room: number): number {
    const by = to - from
    const next = Math.abs(by) < room ? position + by : this.position(to, room)
    return Math.max(0, Math.min(this.#last(room), next))
  }
}
