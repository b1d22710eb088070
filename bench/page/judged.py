"""Records against the catalogue: a line for each of our figures, with peers, ratio and bars.

A ratio is cut to our disadvantage where it is shown, never rounded up; whether a bar is met is
decided by the exact one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import floor
from statistics import median

from catalogue import BEST, OURS, Bar, Group, Row, Suite
from results import Record, Run

# What stands for the peer in two names of systems, and is no system of the suite.
NEVER_PEERS = ("FolioDB", "folio", "the same, allocated ahead", "write + fdatasync", "cat", "wc", "grep")
# The policies of the pool are all ours.
POLICIES = ("lru", "clock", "sieve", "s3_fifo")


@dataclass
class Judged:
    """A bar and what came of it."""

    text: str
    ratio: float
    is_met: bool


@dataclass
class Line:
    """One of our figures beside its peers."""

    suite: Suite
    group: Group
    row: Row
    record: Record
    ours: float
    peers: list[tuple[str, float]] = field(default_factory=list)
    # Of ours in other ways, and of tools that answer a smaller question.
    others: list[tuple[str, float]] = field(default_factory=list)
    published: list[tuple[str, float]] = field(default_factory=list)
    ratio: float | None = None
    judged: list[Judged] = field(default_factory=list)

    @property
    def best(self) -> tuple[str, float] | None:
        """The best peer."""
        return min(self.peers, key=lambda peer: peer[1], default=None)

    @property
    def is_loaded(self) -> bool:
        """Whether others kept the machine busy meanwhile."""
        return self.record.foreign > 0.25

    def where(self) -> str:
        """Size, threads and mode in words."""
        record, parts = self.record, []
        if record.size and self.suite.size:
            parts.append(self.suite.size.format(counted(record.size / self.suite.scale)))
        if record.threads:
            parts.append(f"{record.threads} thread{'s' if record.threads > 1 else ''}")
        if record.mode and self.suite.has_rates:
            parts.append(record.mode)
        return ", ".join(parts)

    def key(self) -> str:
        """What names the line in the history."""
        record = self.record
        parts = (self.row.workload, record.mode, record.size, record.threads, self.row.measure, self.row.ours)
        return "|".join(str(part) for part in parts)

    def shown(self, value: float) -> str:
        """A value of this line in its unit."""
        record = self.record
        if record.unit == "B":
            return megabytes(value)
        if record.unit == "%":
            return f"{value:.1f} %"
        if self.suite.has_rates and record.per > 1 and not self.row.is_whole:
            return f"{rate(1e9 / value)}/s"
        return duration(value)

    def cut(self) -> str:
        """The ratio in words."""
        return "" if self.ratio is None else times(self.ratio)


def lines(run: Run, suite: Suite) -> list[Line]:
    """Every line of a suite: the catalogue's first, then what it does not name. Bars are for full runs."""
    records = [*run.records, *summed(run.records)]
    named: set[int] = set()
    found = []
    for group in suite.groups:
        for row in group.rows:
            for record in sorted(matching(records, suite, row), key=lambda record: (record.threads, record.size)):
                named.update(id(other) for other in records if is_same_work(other, record))
                found.append(line(records, suite, group, row, record))
    rest = Group(suite.others, ())
    for record in records:
        if is_ours(record.system, suite) and id(record) not in named and record.suite != "size" and not record.workload.endswith("_plain"):
            row = Row(f"{record.suite}/{record.workload}", record.mode, record.workload, ours=record.system, measure=suite.measure)
            found.append(line(records, suite, rest, row, record))
    if run.quick:
        # Its programs are hardly optimised: a bar would say something about the compiler.
        for judged in found:
            judged.judged = []
    return found


def summed(records: list[Record]) -> Iterator[Record]:
    """All queries of TPC-H together, as a record of its own."""
    sums: dict[tuple[str, int], Record] = {}
    for record in records:
        if record.suite == "tpch":
            total = sums.setdefault((record.system, record.size), replace(record, workload="all", samples=[0.0], cpu=[], phases={}))
            total.samples = [total.samples[0] + record.each()]
            total.foreign = max(total.foreign, record.foreign)
    return iter(sums.values())


def matching(records: list[Record], suite: Suite, row: Row) -> Iterator[Record]:
    """Our records that a row of the catalogue is about."""
    ours = suite.ours if row.ours == OURS else row.ours
    for record in records:
        if f"{record.suite}/{record.workload}" != row.workload or row.mode not in ("*", record.mode):
            continue
        is_named = record.system.startswith("folio") if record.suite == "command" else record.system == ours
        if is_named and (row.size == 0 or row.size == record.size or not row.bars[0].workload):
            yield record


def is_ours(system: str, suite: Suite) -> bool:
    """Whether a system is FolioDB."""
    return system.startswith((OURS, "folio")) or (suite.name == "buffer_pool" and system == suite.ours)


def is_same_work(one: Record, other: Record) -> bool:
    """Whether two records differ in nothing but the system."""
    return identity(one) == identity(other)


def identity(record: Record) -> tuple:
    """Everything but the system."""
    return (record.suite, record.workload, record.mode, record.size, record.threads)


def line(records: list[Record], suite: Suite, group: Group, row: Row, record: Record) -> Line:
    """One line with its peers and bars."""
    made = Line(suite, group, row, record, value(record, row))
    workloads = row.against or (row.workload,)
    peers: dict[str, Record] = {}
    for other in records:
        is_beside = f"{other.suite}/{other.workload}" in workloads and (other.mode, other.size, other.threads) == (record.mode, record.size, record.threads)
        if not is_beside or other is record:
            continue
        if other.system.startswith(NEVER_PEERS) or other.system in POLICIES:
            if is_same_work(other, record) and other.system != "folio":
                made.others.append((other.system, value(other, row)))
        elif is_counterpart(record, other) and (other.system not in peers or value(other, row) < value(peers[other.system], row)):
            peers[other.system] = other
    made.peers = sorted(((name, value(peer, row)) for name, peer in peers.items()), key=lambda peer: peer[1])
    if made.best and record.unit != "%":
        made.ratio = min(ratio(record, peer, row, suite) for peer in peers.values())
    made.published = [(bar.peer, bar.value) for bar in row.bars if "published" in bar.peer and bar.size in (0, record.size)]
    if row.size in (0, record.size):
        made.judged = [verdict for bar in row.bars for verdict in judge(records, made, peers, bar)]
    return made


def is_counterpart(record: Record, other: Record) -> bool:
    """Sizes of two data sets stand in one file: `SQLite, few` is beside `FolioDB, few`."""
    ours, theirs = record.system.partition(", ")[2], other.system.partition(", ")[2]
    return record.suite != "size" or ours == theirs


def value(record: Record, row: Row) -> float:
    """What a record says, of one operation or of all."""
    samples = record.cpu if row.measure == "cpu" and record.cpu else record.samples
    return median(samples) / (1 if row.is_whole else record.per)


def ratio(record: Record, peer: Record, row: Row, suite: Suite) -> float:
    """How many times as good as a peer."""
    if suite.is_paired and len(record.samples) == len(peer.samples):
        ours, theirs = (record.cpu, peer.cpu) if row.measure == "cpu" else (record.samples, peer.samples)
        return 1 / median(one / other for one, other in zip(ours, theirs, strict=True))
    wall = value(peer, row) / value(record, row)
    if row.measure == "both" and record.cpu and peer.cpu:
        return min(wall, value(peer, replace_measure(row, "cpu")) / value(record, replace_measure(row, "cpu")))
    return wall


def replace_measure(row: Row, measure: str) -> Row:
    """The row with another measure."""
    return replace(row, measure=measure)


def judge(records: list[Record], made: Line, peers: dict[str, Record], bar: Bar) -> Iterator[Judged]:
    """The verdict on a bar, where both its figures are there."""
    record, row = made.record, made.row
    if bar.size and not bar.workload and bar.size != record.size:
        return
    other = bar.peer
    if bar.value:
        found = bar.value / made.ours
    elif bar.peer == BEST:
        if made.ratio is None or made.best is None:
            return
        found, other = made.ratio, made.best[0]
    else:
        peer = peers.get(bar.peer) or stand_in(records, made, bar)
        if peer is None or peer is record:
            return
        found = ratio(record, peer, row, made.suite)
    if bar.ratio:
        yield Judged(f"≥ {number(bar.ratio)}× {other}", found, found >= bar.ratio)


def stand_in(records: list[Record], made: Line, bar: Bar) -> Record | None:
    """What takes the place of a peer: another system, workload or size."""
    record = made.record
    size = bar.size or record.size
    for other in records:
        if bar.peer == "the lines themselves":
            if (other.suite, other.workload, other.system, other.size) == (record.suite, "lines", record.system, record.size):
                return other
        elif bar.workload and "/" in bar.workload:
            if (f"{other.suite}/{other.workload}", other.system, other.size, other.mode) == (bar.workload, record.system, size, record.mode):
                return other
        elif is_same_work(other, record) and other.system == (bar.workload or bar.peer):
            return other
    return None


def times(found: float) -> str:
    """A ratio, cut downwards."""
    if found >= 100:
        return f"{floor(found):,}×"
    if found >= 10:
        return f"{floor(found * 10) / 10:.1f}×"
    return f"{floor(found * 100) / 100:.2f}×"


def number(found: float) -> str:
    """A bar's number without more digits than it has."""
    return f"{found:.3g}"


def counted(count: float) -> str:
    """`5k`, `10M`, `0.1`."""
    if count >= 1e6:
        return f"{count / 1e6:g}M"
    return f"{count / 1e3:g}k" if count >= 1e3 else f"{count:g}"


def rate(found: float) -> str:
    """`870k`, `1.02M`."""
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if found >= limit:
            return f"{three(found / limit)}{unit}"
    return three(found)


def duration(nanoseconds: float) -> str:
    """`85.2 µs`."""
    for limit, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if nanoseconds >= limit:
            return f"{three(nanoseconds / limit)} {unit}"
    return f"{three(nanoseconds)} ns"


def megabytes(size: float) -> str:
    """`24.5 MB`."""
    return f"{three(size / 1e6)} MB" if size >= 1e5 else f"{three(size / 1e3)} kB"


def three(found: float) -> str:
    """Three digits."""
    if found >= 100:
        return f"{found:.0f}"
    return f"{found:.1f}" if found >= 10 else f"{found:.2f}"
