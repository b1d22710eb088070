"""Rows: every sample of one system at one workload, and how they are shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

Key = tuple[str, str, str]


@dataclass
class Row:
    """One system at one workload, in nanoseconds."""

    workload: str
    system: str
    mode: str
    documents: int
    operations: int
    durability: str
    phases: list[tuple[str, int]]
    samples: list[list[tuple[str, int]]] = field(default_factory=list)

    @property
    def key(self) -> Key:
        """What tells rows apart."""
        return (self.workload, self.system, self.mode)

    def add(self, row: Row) -> None:
        """Takes another repetition's phases as a sample."""
        self.samples.append(row.phases)

    def totals(self) -> list[int]:
        """Nanoseconds of each repetition."""
        return [sum(time for _, time in sample) for sample in self.samples]

    def middle(self) -> float:
        """The median repetition, in nanoseconds."""
        return median(self.totals())

    def spread(self) -> float:
        """Half of what lies between the quickest and the slowest, in percent of the median."""
        totals = self.totals()
        return (max(totals) - min(totals)) / 2 / self.middle() * 100

    def rate(self) -> float:
        """Operations per second, by the median repetition."""
        return self.operations / (self.middle() / 1e9)

    def line(self) -> str:
        """`read_all:    870k rec/s  (115ms) [open:45, scan:70] (cold)  ±3%`."""
        middle = self.middle()
        typical = min(self.samples, key=lambda sample: abs(sum(t for _, t in sample) - middle))
        phases = ", ".join(f"{name}:{milliseconds(time)}" for name, time in typical)
        mode = f" ({self.mode})" if self.mode else f" ({self.durability})"
        rate = f"{short(self.rate())} rec/s"
        return (
            f"  {self.system:24}{self.workload + ':':12}{rate:>12} "
            f"({milliseconds(middle)}ms) [{phases}]{mode} ±{self.spread():.0f}%"
        )

    def as_json(self) -> dict:
        """The row as the results file holds it."""
        samples = [
            {"total_ns": sum(time for _, time in sample), "phases": sample}
            for sample in self.samples
        ]
        return {
            "suite": "python",
            "workload": self.workload,
            "system": self.system,
            "mode": self.mode,
            "documents": self.documents,
            "operations": self.operations,
            "durability": self.durability,
            "samples": samples,
            "foreign_cores": 0.0,
        }


def milliseconds(nanoseconds: float) -> str:
    """Three digits or so."""
    value = nanoseconds / 1e6
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def short(rate: float) -> str:
    """`870k`, `1.02M`."""
    if rate >= 1e6:
        return f"{rate / 1e6:.3g}M"
    return f"{rate / 1e3:.3g}k" if rate >= 1e3 else f"{rate:.3g}"


def show(rows: list[Row]) -> None:
    """All rows, workload by workload, the quickest first."""
    for group in dict.fromkeys((row.workload, row.mode) for row in rows):
        print()
        members = [row for row in rows if (row.workload, row.mode) == group]
        for row in sorted(members, key=Row.rate, reverse=True):
            print(row.line())
