"""A suite as Markdown: the bars, a table for each group, the systems, the notes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from catalogue import Suite
from judged import Line, duration, times
from results import Run

COLUMNS_MAX = 7


def page(run: Run, suite: Suite, lines: list[Line]) -> str:
    """The whole file."""
    parts = [f"# Benchmarks: {suite.title}", made_from(run, suite), suite.about, *bars(lines)]
    for group, members in groupby(lines, key=lambda line: line.group.title):
        found = list(members)
        parts += [f"## {group}", *filter(None, [found[0].group.about]), figures(found)]
    if run.notes:
        parts += ["## Notes", run.notes]
    parts += ["## Systems", grid(["system", "version", "settings"], ([s["name"], s["version"], s["settings"]] for s in run.systems_used()))]
    return "\n\n".join(parts) + "\n"


def made_from(run: Run, suite: Suite) -> str:
    """Where the figures are from."""
    return (
        f"Made from [the results](../../bench/results/{run.name}.json) by `python3 bench/page`; not edited by hand. [All suites with charts](index.html) · [how it is measured](methodology.md) · `{suite.command}`\n\n"
        f"{'; '.join(facts(run))}."
    )


def facts(run: Run) -> list[str]:
    """The machine and the run."""
    machine = run.machine
    at = f" at commit {machine['commit']}" if machine.get("commit") else ""
    memory = f", {machine['memory_gib']} GiB" if machine.get("memory_gib") else ""
    system = ", ".join(filter(None, (machine.get("kernel"), machine.get("file_system"))))
    found = [f"Taken {run.taken[:10]}{at} on {machine['cores']} cores of {machine['cpu']}{memory}", system]
    found += [machine.get(name, "") for name in ("rustc", "profile", "allocator")]
    load = [f"{machine[key]} at the {place}" for key, place in (("load_at_start", "start"), ("load_at_end", "end")) if key in machine]
    if load:
        found.append(f"load average {', '.join(load)}")
    if "seconds" in machine:
        found.append(f"measuring took {clock(machine['seconds'])}")
    if "foreign_at_start" in machine:
        found.append(f"others kept {machine['foreign_at_start']:.2f} cores busy before it began")
    if any(record.foreign for record in run.records):
        found.append(f"others kept at most {run.foreign():.2f} cores busy during a row")
    if disk := machine.get("disk"):
        rates = f"writes {disk['sequential_write'] / 1e6:,.0f} and reads {disk['sequential_read'] / 1e6:,.0f} MB/s in sequence"
        found.append(f"the disk {rates}, reads {disk['random_read_4k']:,} and writes with fdatasync {disk['random_write_4k_fdatasync']:,} random pages of 4 KiB a second")
    if run.is_loaded():
        found.append("**the machine was not quiet: read the ratios only**")
    if run.quick:
        found.append("**a quick run: small sizes, few repetitions and hardly optimised programs, not for quotation**")
    return [fact for fact in found if fact]


def clock(seconds: int) -> str:
    """`1:04:05`, hours, minutes and seconds."""
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def bars(lines: list[Line]) -> list[str]:
    """Every bar and whether it is met."""
    rows = [
        [line.row.text, line.where(), line.shown(line.ours), judged.text, times(judged.ratio), "met" if judged.is_met else "**missed**"]
        for line in lines
        for judged in line.judged
    ]
    if not rows:
        return []
    met = sum(row[-1] == "met" for row in rows)
    return ["## Bars", f"{met} of {len(rows)} met. A ratio says how many times as fast, or as small, FolioDB is as the other; it is cut, never rounded up.", grid(["what", "", "FolioDB", "bar", "ratio", ""], rows)]


def figures(lines: list[Line]) -> str:
    """A table with a column for each system."""
    systems: list[str] = []
    for line in lines:
        for name, _ in line.peers + line.published + line.others:
            if name not in systems:
                systems.append(name)
    is_wide = len(systems) > COLUMNS_MAX
    head = ["what", "", "FolioDB", "spread", *(["peers"] if is_wide else systems), "against the best"]
    rows = []
    for line in lines:
        found = dict(line.peers + line.published + line.others)
        if is_wide:
            cells = [", ".join(f"{name} {line.shown(value)}" for name, value in found.items())]
        else:
            cells = [line.shown(found[name]) if name in found else "" for name in systems]
        spread = f"±{line.record.spread() * 100:.0f} %" if len(line.record.samples) > 1 else ""
        rows.append([line.row.text, line.where(), line.shown(line.ours), spread, *cells, line.cut()])
    return grid(head, rows) + phases(lines)


def phases(lines: list[Line]) -> str:
    """Where the time of our rows goes, for those that say."""
    found = [line for line in lines if line.record.phases]
    if not found:
        return ""
    rows = [[line.row.text, line.where(), ", ".join(f"{name} {duration(ns)}" for name, ns in line.record.phases.items()), line.record.durability] for line in found]
    return "\n\n<details><summary>Phases of our median sample</summary>\n\n" + grid(["what", "", "phases", "durable by"], rows) + "\n\n</details>"


# What the README shows of the summary.
CLAIMED = (
    "Bulk write of values",
    "Scan of raw lines, warm",
    "Random lookups, in one call",
    "New open and 1 lookup",
    "Lookups one by one, warm",
    "SELECT by key",
    "AVG … GROUP BY over 1M rows",
    "All 22 queries over rows, scale 1",
    "All 22 queries over columns, scale 1",
    "GRAB User {}, 1M users as JSON",
    "Filter and group, text Ion",
)


def claims(lines: list[Line]) -> str:
    """The block of the README: wins and losses, each beside the best peer of its run."""
    rows = [
        [f"{line.suite.title}: {line.row.headline}", line.shown(line.ours), f"{line.best[0]} {line.shown(line.best[1])}", line.cut()]
        for line in headlines(lines)
        if line.row.headline in CLAIMED and line.best
    ]
    return grid(["work", "FolioDB", "best peer", "times as fast"], rows) + "\n"


def headlines(lines: list[Line]) -> list[Line]:
    """The lines that stand for others in a summary."""
    return [
        line
        for line in lines
        if line.row.headline and line.row.headline_size in (0, line.record.size) and line.record.threads in (0, 1) and (line.best or line.published)
    ]


def grid(head: list[str], rows: Iterable[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
