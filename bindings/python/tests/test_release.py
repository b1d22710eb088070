"""What is published: the wheel where there is nothing else, one version, the release workflow."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import foliodb
import pytest

ROOT = Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PLATFORMS = {f"{system}-{cpu}" for system in ("linux", "macos", "windows") for cpu in ("x64", "arm64")}


def wheel() -> Path:
    found = list((ROOT / "build/dist").glob("foliodb-*.whl"))
    if not found:
        pytest.skip("no wheel in build/dist; scripts/python build makes it")
    return found[0]


@pytest.mark.skipif(sys.platform == "win32", reason="the script is for a Unix shell")
def test_the_wheel_runs_where_there_is_nothing_else() -> None:
    wheel()
    command = [str(ROOT / "scripts/python"), "tour"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "README.md: 1 blocks, 5 claims, 0 skipped" in result.stdout


def test_what_the_wheel_holds() -> None:
    path = wheel()
    assert "-abi3-" in path.name
    names = zipfile.ZipFile(path).namelist()
    assert {"foliodb/py.typed", "foliodb/_foliodb.pyi", "foliodb/__init__.py"} <= set(names)
    assert sum(bool(re.search(r"_foliodb.*\.(so|pyd)$", name)) for name in names) == 1
    metadata = next(name for name in names if name.endswith("METADATA"))
    text = zipfile.ZipFile(path).read(metadata).decode()
    # Nothing is required; extras are.
    assert all("extra ==" in line for line in text.splitlines() if line.startswith("Requires-Dist"))


def test_one_version() -> None:
    output = subprocess.run([str(ROOT / "scripts/version")], capture_output=True, text=True, check=True)
    version = output.stdout.strip()
    package = json.loads((ROOT / "bindings/node/package.json").read_text())["version"]
    extension = re.search(r'^version = "(.*)"', (ROOT / "extensions/duckdb/Cargo.toml").read_text(), re.M)
    assert extension is not None
    assert {version, package, extension[1], foliodb.__version__} == {version}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow(path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    workflow: dict[Any, Any] = yaml.safe_load(path.read_text())
    # YAML 1.1 reads the key `on` as a truth.
    assert workflow["name"] and workflow[True] and workflow["jobs"]
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "runs-on" in job, name
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= set(workflow["jobs"]), name
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), (name, step)
            # An action that anybody can change is one that anybody can publish with.
            assert "@" in step.get("uses", "@"), (name, step)
        used = set(re.findall(r"matrix\.(\w+)", yaml.safe_dump(job)))
        for row in job.get("strategy", {}).get("matrix", {}).get("include", []):
            assert used <= set(row), (name, row)


def test_scripts_that_workflows_run_are_there() -> None:
    for path in WORKFLOWS:
        for script in re.findall(r"(?<![\w/])(scripts/\w+|\.ci/run)", path.read_text()):
            assert (ROOT / script).exists(), f"{path.name} runs {script}"


def test_a_release_is_for_every_platform() -> None:
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    for name in ("wheels", "prebuilds"):
        rows = jobs[name]["strategy"]["matrix"]["include"]
        assert {row["platform"] for row in rows} == PLATFORMS, name


def test_the_page_of_benchmarks_is_what_the_results_give() -> None:
    command = [sys.executable, str(ROOT / "bench/python/page.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
