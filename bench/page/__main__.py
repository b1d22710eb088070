"""Everything that people read of the benchmarks, made from the committed results.

    python3 bench/page                            write docs/benchmarks and the claims of the README
    python3 bench/page --check                    fail when they are not what the results give
    python3 bench/page write RESULTS DOCS         write pages of other results, elsewhere
    python3 bench/page join SUITE OUT quick|full MACHINE PART…
                                                  make one file of the parts of a run; MACHINE has what
                                                  was found at its start: others' load, the disk
    python3 bench/page keep SUITE FILE…           make bench/results/SUITE.json of it, add a line to
                                                  its history, and write the pages
    python3 bench/page show FILE                  print the ratios and bars of a suite

Needs nothing but Python: who reads or checks figures compiles nothing.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import markdown
import results
import site_page
from catalogue import SUITES, Suite
from judged import Line, lines, times

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench/results"
DOCS = ROOT / "docs/benchmarks"
BEGIN, END = "<!-- bench:begin -->\n", "<!-- bench:end -->"
# Runs that a history keeps.
RUNS_MAX = 30


def main(arguments: list[str]) -> int:
    """What is asked for."""
    match arguments:
        case []:
            return write(pages(RESULTS, DOCS) | readme())
        case ["--check"]:
            return check(pages(RESULTS, DOCS) | readme())
        case ["write", found, docs]:
            return write(pages(Path(found).resolve(), Path(docs).resolve()))
        case ["join", suite, out, ("quick" | "full") as kind, machine, *parts] if parts:
            run = results.merged(named(suite).name, map(results.read, map(Path, parts)))
            run.quick = kind == "quick"
            run.machine |= json.loads(Path(machine).read_text())
            Path(out).write_text(results.text(run))
            return 0
        case ["keep", suite, *parts] if parts:
            keep(named(suite), [Path(part) for part in parts])
            return write(pages(RESULTS, DOCS) | readme())
        case ["show", found]:
            show(Path(found))
            return 0
    print(__doc__, file=sys.stderr)
    return 2


def named(name: str) -> Suite:
    """A suite by its name."""
    found = next((suite for suite in SUITES if suite.name == name), None)
    if found is None:
        raise SystemExit(f"no suite {name}; there are {', '.join(suite.name for suite in SUITES)}")
    return found


def judged_suites(folder: Path) -> list[site_page.Section]:
    """Each suite that has results in a folder, with what they say."""
    runs = [(suite, results.read(folder / f"{suite.name}.json")) for suite in SUITES if (folder / f"{suite.name}.json").exists()]
    return [(suite, run, lines(run, suite), earlier(suite)) for suite, run in runs]


def pages(folder: Path, docs: Path) -> dict[Path, str]:
    """Every page with what it is to hold."""
    sections = judged_suites(folder)
    found = {docs / f"{suite.name}.md": markdown.page(run, suite, judged) for suite, run, judged, _ in sections}
    found[docs / "index.html"] = site_page.page(sections, site_page.read_published())
    return found


def readme() -> dict[Path, str]:
    """The README with its figures."""
    path, every = ROOT / "README.md", [line for _, _, judged, _ in judged_suites(RESULTS) for line in judged]
    return {path: claimed(path.read_text(), markdown.claims(every))}


def claimed(readme: str, block: str) -> str:
    """The README with the block between its markers renewed."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit("the README has lost the markers of its figures")
    return before + begin + block + end + after


def write(found: dict[Path, str]) -> int:
    """Writes what has changed."""
    for path, text in found.items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"written: {os.path.relpath(path, ROOT)}")
    return 0


def check(found: dict[Path, str]) -> int:
    """Names the files that are not what the results give."""
    stale = [path for path, text in found.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is not what the results give; run python3 bench/page", file=sys.stderr)
    return 1 if stale else 0


def keep(suite: Suite, parts: list[Path]) -> None:
    """Takes the parts of a run as the latest results of a suite."""
    run = results.merged(suite.name, map(results.read, parts))
    (RESULTS / f"{suite.name}.json").write_text(results.text(run))
    if not run.quick:
        remember(suite, run)


def history(suite: Suite) -> Path:
    """Where a suite's earlier medians are: a line for each run."""
    return RESULTS / "history" / f"{suite.name}.jsonl"


def remember(suite: Suite, run: results.Run) -> None:
    """Adds a run to the history: of each line our median and the ratio to the best peer."""
    medians = {line.key(): [digits(line.ours), digits(line.ratio)] for line in lines(run, suite) if line.ratio is not None}
    load = run.machine.get("load_at_start", run.machine.get("load_at_end", 0))
    entry = results.compact({"taken": run.taken, "commit": run.machine.get("commit", ""), "load": load, "medians": medians})
    path = history(suite)
    path.parent.mkdir(exist_ok=True)
    known = path.read_text().splitlines() if path.exists() else []
    others = [line for line in known if json.loads(line)["taken"] != run.taken]
    path.write_text("\n".join([*others, entry][-RUNS_MAX:]) + "\n")


def digits(value: float) -> float:
    """Four digits, which is more than a median has."""
    return float(f"{value:.4g}")


def earlier(suite: Suite) -> dict[str, list[float]]:
    """The ratios of each line, the oldest run first."""
    found: dict[str, list[float]] = {}
    path = history(suite)
    for entry in path.read_text().splitlines() if path.exists() else []:
        for key, (_, ratio) in json.loads(entry)["medians"].items():
            found.setdefault(key, []).append(ratio)
    return found


def show(path: Path) -> None:
    """The lines of a suite, for a terminal."""
    for line in lines(results.read(path), named(path.stem)):
        print(told(line))


def told(line: Line) -> str:
    """One line, for a terminal."""
    bars = "; ".join(f"{'met' if judged.is_met else 'MISSED'} {judged.text} ({times(judged.ratio)})" for judged in line.judged)
    return f"  {line.row.text}, {line.where()}: {line.shown(line.ours)}, {line.cut()} {bars}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
