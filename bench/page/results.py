"""Results: one shape for what every suite measures.

A file has the run at its head (`taken`, `machine` with versions and load, `systems` with their
settings) and then records, one to a line. A record is one system at one workload:

    {"suite": "scan", "workload": "scan_raw", "system": "LMDB", "size": 100000, "threads": 0,
     "mode": "warm", "unit": "ns", "per": 100000, "samples": [...], "cpu": [...],
     "phases": {"open": 160}, "durability": "", "foreign": 0.02}

`samples` are in `unit` and in the order taken, each of `per` operations; `phases` are those of the
median sample. Fields that are empty or zero are left out. `threads` is 0 where a system chose.

Suites write what is easiest for them; `read` takes each of these shapes, so nothing after it knows
them: the Rust suites and Python's (`timings`), Node's (`rows`), the DuckDB extension's (`results`)
and the buffer pool's (`pool`).
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

FORMAT = 2


@dataclass
class Record:
    """One system at one workload."""

    suite: str
    workload: str
    system: str
    size: int = 0
    threads: int = 0
    mode: str = ""
    unit: str = "ns"
    per: int = 1
    samples: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    phases: dict[str, float] = field(default_factory=dict)
    durability: str = ""
    foreign: float = 0.0

    def each(self) -> float:
        """One operation, at the median."""
        return median(self.samples) / self.per

    def processor(self) -> float:
        """Processor time of one operation, at the median."""
        return median(self.cpu) / self.per

    def spread(self) -> float:
        """Half the distance between the quartiles, as a share of the median."""
        ordered = sorted(self.samples)
        return (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / 2 / (median(ordered) or 1)

    def as_json(self) -> dict[str, object]:
        """The record without what is empty."""
        return {name: value for name, value in vars(self).items() if value not in ("", 0, [], {})}


@dataclass
class Run:
    """A results file."""

    name: str
    taken: str
    quick: bool
    machine: dict
    systems: list[dict]
    records: list[Record]
    notes: str = ""

    def foreign(self) -> float:
        """Cores that others kept busy before the run, or during its worst record."""
        worst = max((record.foreign for record in self.records), default=0.0)
        return max(worst, self.machine.get("foreign_at_start", 0.0))

    def is_loaded(self) -> bool:
        """Whether others kept more than a quarter of a core busy."""
        return self.foreign() > 0.25

    def systems_used(self) -> Iterator[dict]:
        """The last word on each system that has a record."""
        used = {record.system.split(",")[0] for record in self.records}
        last = {system["name"]: system for system in self.systems}
        return (system for name, system in last.items() if name in used)


def quantile(ordered: list[float], share: float) -> float:
    """A quantile, between neighbours by their distance."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def read(path: Path) -> Run:
    """A results file of any shape."""
    run = shaped(path.stem, json.loads(path.read_text()))
    notes = path.with_name(path.name.removesuffix(".json") + ".notes.md")
    run.notes = notes.read_text().strip().removeprefix("## Notes").strip() if notes.exists() else ""
    return run


def shaped(name: str, found: dict) -> Run:
    """What a file holds, whichever suite wrote it."""
    if "records" in found:
        records = [Record(**record) for record in found["records"]]
        return Run(name, found["taken"], found["quick"], found["machine"], found["systems"], records)
    if "timings" in found:
        records = [*map(timing, found["timings"])]
        records += [record for size in found.get("sizes", []) for record in stored(size)]
        records += [record for peak in found.get("memory", []) for record in resident(peak)]
        return Run(name, found["taken"], found["quick"], found["machine"], found["systems"], records)
    if "pool" in found:
        return pool(name, found)
    return node(name, found) if "rows" in found else ion(name, found)


def timing(row: dict) -> Record:
    """A row of the Rust suites, and of Python's."""
    samples = row["samples"]
    typical = sorted(samples, key=lambda sample: sample["total_ns"])[(len(samples) - 1) // 2]
    phases = dict(typical["phases"]) | ({"(close)": typical["close_ns"]} if typical.get("close_ns") else {})
    cpu = [sample.get("cpu_ns", 0) for sample in samples]
    return Record(
        row["suite"],
        row["workload"],
        row["system"],
        size=row["documents"],
        mode=row["mode"],
        per=row["operations"],
        samples=[sample["total_ns"] for sample in samples],
        cpu=cpu if any(cpu) else [],
        phases=phases if len(phases) > 1 else {},
        durability=row["durability"],
        foreign=row["foreign_cores"],
    )


def stored(size: dict) -> Iterator[Record]:
    """What a store takes on disk, and the lines in it."""
    measured = {"on disk": size["allocated_size"], "by length": size["files_size"], "lines": size["lines_size"]}
    for workload, value in measured.items():
        yield Record("size", workload, size["system"], size["documents"], unit="B", samples=[value])


def resident(peak: dict) -> Iterator[Record]:
    """Peak memory of a process."""
    measured = {"allocated by": peak["peak_anonymous_size"], "resident in": peak["peak_size"]}
    for kind, value in measured.items():
        workload = f"{kind} {peak['workload']}"
        yield Record("memory", workload, peak["system"], peak["documents"], unit="B", samples=[value])


def node(name: str, found: dict) -> Run:
    """What `benchmark_io.js` writes, in milliseconds."""
    told = found["machine"]
    machine = {
        "cpu": told["cpu"],
        "cores": told["cores"],
        "memory_gib": told["memoryGib"],
        "kernel": told["kernel"],
        "allocator": f"Node {told['node'].removeprefix('v')}, V8 {told['v8']}",
        "commit": told["commit"],
        "load_at_end": round(told["loadAtEnd"], 2),
    }
    records = []
    for row in found["rows"]:
        samples = row["samples"]
        names = samples[0]["phases"]
        records.append(
            Record(
                "node",
                row["workload"],
                row["system"],
                size=found["options"]["n"],
                mode=row["mode"],
                per=row["operations"],
                samples=[round(sample["total"] * 1e6) for sample in samples],
                phases={phase: round(median(sample["phases"][phase] for sample in samples) * 1e6) for phase in names},
                durability=row["durability"],
            )
        )
        if "size" in samples[0]:
            size = [samples[0]["size"]]
            records.append(Record("node", "on disk", row["system"], found["options"]["n"], unit="B", samples=size))
    return Run(name, found["taken"][:19] + "Z", False, machine, found["systems"], records)


ION_SYSTEMS = {"json": "read_json", "text": "FolioDB", "binary": "FolioDB, binary"}


def ion(name: str, found: dict) -> Run:
    """What the suite of the DuckDB extension writes, in seconds."""
    told = found["machine"]
    machine = {
        "cpu": processor(),
        "cores": told["cpus"],
        "kernel": told["system"].split("-fc")[0].replace("-", " ", 1),
        "packages": {"duckdb": told["duckdb"]},
        "load_at_start": round(told["load_before"], 2),
        "load_at_end": round(told["load_after"], 2),
        "commit": told.get("commit", ""),
    }
    rows = told["rows"]
    records = []
    for key, taken in found["results"].items():
        workload, threads = key.split("@")
        for system, both in taken.items():
            times = {unit: [round(second * 1e9) for second in both[unit]] for unit in ("wall_s", "cpu_s")}
            records.append(
                Record(
                    "ion",
                    workload,
                    ION_SYSTEMS[system],
                    size=rows["data_wide" if workload.startswith("wide") else "data"],
                    threads=int(threads),
                    mode="warm",
                    samples=times["wall_s"],
                    cpu=times["cpu_s"],
                )
            )
    systems = [
        {"name": "FolioDB", "version": "", "settings": "read_ion of text and of binary Ion, in DuckDB"},
        {"name": "read_json", "version": f"duckdb {told['duckdb']}", "settings": "of the same rows as JSON Lines"},
    ]
    return Run(name, told.get("taken", ""), False, machine, systems, records)


def pool(name: str, found: dict) -> Run:
    """The buffer pool under one policy."""
    records = [Record("pool", case["name"], found["pool"], unit=case["unit"], samples=[case["value"]]) for case in found["cases"]]
    systems = [{"name": "s3_fifo", "version": "", "settings": "the default policy; 12 buffers of 4 KiB"}]
    machine = {"cpu": processor(), "cores": os.cpu_count(), "kernel": f"{platform.system()} {platform.release().split('-')[0]}", "commit": found["commit"]}
    return Run(name, found["taken"], False, machine, systems, records)


def processor() -> str:
    """The model of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def merged(name: str, runs: Iterable[Run]) -> Run:
    """Parts of one run as one."""
    first, *rest = runs
    machine = dict(first.machine)
    for part in rest:
        if part.machine.get("commit") != machine.get("commit"):
            raise SystemExit(f"{part.name} was taken at commit {part.machine.get('commit')}, {first.name} at {machine.get('commit')}")
        for key in ("load_at_start", "foreign_at_start"):
            if key in part.machine:
                machine[key] = max(machine.get(key, 0), part.machine[key])
        machine["packages"] = machine.get("packages", {}) | part.machine.get("packages", {})
    parts = [first, *rest]
    systems = {json.dumps(system): system for part in parts for system in part.systems}
    records = [record for part in parts for record in part.records]
    taken, quick = min(part.taken for part in parts), any(part.quick for part in parts)
    return Run(name, taken, quick, machine, list(systems.values()), records)


def text(run: Run) -> str:
    """The file, one record to a line, so that a diff reads well."""
    head = {"format": FORMAT, "taken": run.taken, "quick": run.quick, "machine": run.machine}
    lines = [f"{json.dumps(name)}: {compact(value)}," for name, value in head.items()]
    lines.append(f'"systems": {listed(run.systems)},')
    lines.append(f'"records": {listed([record.as_json() for record in run.records])}')
    return "{\n" + "\n".join(lines) + "\n}\n"


def listed(rows: list[dict]) -> str:
    """A JSON array with one element to a line."""
    return "[\n" + ",\n".join(map(compact, rows)) + "\n]" if rows else "[]"


def compact(value: object) -> str:
    """JSON without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
