"""The benchmarks' pages are what the committed results give; every suite's results are read; a run resumes."""

import argparse
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the benchmarks are made and read on Linux")

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "bench/page"


@pytest.fixture(scope="module")
def page() -> ModuleType:
    """`bench/page`, as Python runs the folder."""
    return loaded("bench_page", PAGE / "__main__.py", PAGE)


@pytest.fixture(scope="module")
def run() -> ModuleType:
    """`bench/run`."""
    return loaded("bench_run", ROOT / "bench/run", ROOT / "bench")


def loaded(name: str, path: Path, folder: Path) -> ModuleType:
    sys.path.insert(0, str(folder))
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.path.remove(str(folder))
    return module


def test_the_pages_of_benchmarks_are_what_the_results_give() -> None:
    command = [sys.executable, str(PAGE), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_a_page_that_was_edited_is_named(
    page: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "DOCS", tmp_path)
    monkeypatch.setattr(page, "ROOT", tmp_path)
    found = page.pages(ROOT / "bench/results", tmp_path)
    assert page.write(found) == 0
    assert page.check(found) == 0
    (tmp_path / "sql.md").write_text("| SELECT | 1 ns |")
    (tmp_path / "index.html").unlink()
    assert page.check(found) == 1
    told = capsys.readouterr().err.split()
    assert "sql.md" in told
    assert "index.html" in told
    assert "node.md" not in told


RUST: dict[str, Any] = {
    "format": 1,
    "taken": "2026-01-31T12:00:00Z",
    "quick": False,
    "machine": {"cpu": "x", "cores": 2, "commit": "abc", "load_at_start": 0.5},
    "systems": [{"name": "FolioDB", "version": "1", "settings": ""}],
    "timings": [
        {
            "suite": "scan",
            "workload": "scan_raw",
            "system": system,
            "mode": "warm",
            "documents": 100_000,
            "operations": 100_000,
            "durability": "",
            "samples": [{"total_ns": ns, "phases": [["open", 1], ["scan", ns - 1]]} for ns in times],
            "foreign_cores": 0.3,
        }
        for system, times in (
            ("FolioDB", [9_000_000, 11_000_000, 10_000_000]),
            ("SQLite", [29_960_000]),
            ("LMDB", [5_000_000]),
        )
    ],
    "sizes": [
        {"system": "FolioDB", "documents": 100_000, "lines_size": 100, "files_size": 110, "allocated_size": 124}
    ],
}
NODE = {
    "taken": "2026-01-31T12:00:00.000Z",
    "options": {"n": 1000},
    "machine": {
        "cpu": "x",
        "cores": 2,
        "memoryGib": 8,
        "kernel": "Linux 6",
        "node": "v20",
        "v8": "11",
        "commit": "abc",
        "loadAtEnd": 1,
    },
    "systems": [],
    "rows": [
        {
            "workload": "write",
            "system": "FolioDB",
            "mode": "",
            "operations": 1000,
            "durability": "",
            "samples": [{"total": 2.5, "phases": {"write": 2.5}, "size": 7}],
        }
    ],
}
ION = {
    "machine": {
        "machine": "x",
        "cpus": 2,
        "system": "Linux-6",
        "duckdb": "2",
        "load_before": 0,
        "load_after": 0,
        "rows": {"data": 2_000_000},
    },
    "results": {"count@2": {"text": {"cpu_s": [0.5], "wall_s": [0.25]}, "json": {"cpu_s": [1], "wall_s": [1]}}},
}
POOL = {
    "pool": "lru",
    "taken": "2026-01-31",
    "commit": "abc",
    "cases": [{"name": "pin:t1", "unit": "ns", "value": 8.5}],
}


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (RUST, ("scan", "scan_raw", 100_000, 0, [9_000_000, 11_000_000, 10_000_000])),
        (NODE, ("node", "write", 1000, 0, [2_500_000])),
        (ION, ("ion", "count", 2_000_000, 2, [250_000_000])),
        (POOL, ("pool", "pin:t1", 0, 0, [8.5])),
    ],
    ids=["rust", "node", "ion", "pool"],
)
def test_what_every_suite_writes_is_read_and_kept_in_one_shape(
    page: ModuleType, tmp_path: Path, shape: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    written = page.results.shaped("x", shape)
    first = written.records[0]
    assert (first.suite, first.workload, first.size, first.threads, first.samples) == expected
    kept = tmp_path / "kept.json"
    kept.write_text(page.results.text(written))
    assert page.results.read(kept).records == written.records


def test_a_bar_is_met_or_missed_and_a_ratio_is_cut_to_our_disadvantage(page: ModuleType) -> None:
    documents = page.named("documents")
    lines = page.lines(page.results.shaped("documents", RUST), documents)
    (scan,) = [line for line in lines if line.row.workload == "scan/scan_raw"]
    found = {judged.text: (page.times(judged.ratio), judged.is_met) for judged in scan.judged}
    assert found == {"≥ 3× SQLite": ("2.99×", False), "≥ 1× LMDB": ("0.50×", False)}
    assert (scan.best[0], scan.cut(), scan.is_loaded) == ("LMDB", "0.50×", True)
    (size,) = [line for line in lines if line.row.workload == "size/on disk"]
    assert [judged.is_met for judged in size.judged] == [True]


def test_every_row_of_every_earlier_report_is_on_the_page(page: ModuleType) -> None:
    text = (ROOT / "docs/benchmarks/index.html").read_text()
    lines = [line for _, _, found, _ in page.judged_suites(ROOT / "bench/results") for line in found]
    without = []
    for report in page.site_page.read_published():
        for table in report["tables"]:
            assert table["title"] in text
            for row in table["rows"]:
                if row["key"] and not any(page.site_page.is_meant(line, row["key"]) for line in lines):
                    without.append((report["name"], row["text"], row["key"]))
    assert without == []


def test_a_run_resumes_and_a_part_that_fails_leaves_nothing(run: ModuleType, tmp_path: Path) -> None:
    options = argparse.Namespace(quick=True, again=False, arguments=[])
    plan = run.Plan(options)
    plan.folder = tmp_path
    measured = []

    def measure(out: Path) -> None:
        measured.append(out)
        out.write_text(json.dumps(POOL))
        if len(measured) == 1:
            raise subprocess.CalledProcessError(1, "cargo")

    with pytest.raises(subprocess.CalledProcessError):
        plan.part("sql", "sql", measure)
    assert not (tmp_path / "sql/sql.json").exists()
    for _ in range(2):
        assert plan.part("sql", "sql", measure) == tmp_path / "sql/sql.json"
    assert len(measured) == 2
    options.again = True
    plan.part("sql", "sql", measure)
    assert len(measured) == 3


def test_the_figures_of_the_disk_and_the_load_come_with_the_results(
    page: ModuleType, run: ModuleType, tmp_path: Path
) -> None:
    found = run.disk.figures(size=1 << 20, seconds=0.01, folder=str(tmp_path))
    assert len(found) == 4
    assert all(value > 0 for value in found.values())
    (tmp_path / "machine.txt").write_text(json.dumps({"foreign_at_start": 0.5, "disk": found}))
    (tmp_path / "part.json").write_text(json.dumps(RUST))
    command = ["join", "documents", "out.json", "quick", "machine.txt", "part.json"]
    assert page.main([str(tmp_path / word) if "." in word else word for word in command]) == 0
    joined = page.results.read(tmp_path / "out.json")
    assert (joined.quick, joined.foreign(), joined.is_loaded()) == (True, 0.5, True)
    told = "; ".join(page.markdown.facts(joined))
    assert all(part in told for part in ("random pages of 4 KiB", "0.50 cores busy before", "a quick run"))


def test_every_suite_that_is_shown_can_be_measured(page: ModuleType, run: ModuleType) -> None:
    assert {suite.name for suite in page.SUITES} == set(run.SUITES)
