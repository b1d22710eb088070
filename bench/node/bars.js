// The bars: what FolioDB for Node is to reach, of which peer, in the same run.
'use strict'

const { median } = require('./contest.js')

const BARS = [
  ['write', '', 'write', 'lmdb (JSON)', 1.5],
  ['write', '', 'write', 'better-sqlite3', 2.5],
  ['read_all', 'cold', 'read_all', 'better-sqlite3', 1],
  ['read_all', 'warm', 'read_all', 'better-sqlite3', 1],
  ['read_lazy', 'cold', 'read_all', 'better-sqlite3', 10],
  ['read_lazy', 'warm', 'read_all', 'better-sqlite3', 10],
  ['random', 'cold', 'random', 'lmdb (JSON)', 1.5],
  ['random', 'warm', 'random', 'lmdb (JSON)', 1.5],
  ['random', 'cold', 'random', 'better-sqlite3', 3],
  ['random', 'warm', 'random', 'better-sqlite3', 3],
]

/** Each bar that the rows can tell about. The ratio is cut, never rounded up. */
function compared(rows) {
  const time = (workload, mode, system) => {
    const row = rows.find((row) => row.workload === workload && row.mode === mode && row.system === system)
    return row && median(row.samples.map((sample) => sample.total))
  }
  return BARS.flatMap(([workload, mode, theirWorkload, peer, bar]) => {
    const ours = time(workload, mode, 'FolioDB')
    const theirs = time(theirWorkload, mode, peer)
    if (!ours || !theirs) return []
    const ratio = Math.floor((theirs / ours) * 100) / 100
    const met = ratio >= bar
    const against = theirWorkload === workload ? peer : `${peer} ${theirWorkload}`
    const text = `${met ? 'met   ' : 'MISSED'} ${workload} ${mode}: ${ratio.toFixed(2)}x ${against}, bar ${bar}x`
    return [{ workload, mode, against, ratio, bar, met, text }]
  })
}

module.exports = { compared }
