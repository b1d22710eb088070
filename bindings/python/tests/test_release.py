"""What is published: the wheel where there is nothing else, one version, the release workflow."""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import foliodb
import pytest

ROOT = Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PLATFORMS = {f"{system}-{cpu}" for system in ("linux", "macos", "windows") for cpu in ("x64", "arm64")}
PLATFORMS |= {"linux-x64-musl", "linux-arm64-musl"}
LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"]


def wheel() -> Path:
    found = list((ROOT / "build/dist").glob("foliodb-*.whl"))
    if not found:
        pytest.skip("no wheel in build/dist; scripts/python build makes it")
    return found[0]


@pytest.mark.skipif(sys.platform == "win32", reason="the script is for a Unix shell")
def test_the_wheel_runs_where_there_is_nothing_else() -> None:
    wheel()
    command = [str(ROOT / "scripts/python"), "tour", "README.md", "docs/shell.md"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "README.md: 1 blocks, 5 claims, 0 skipped" in result.stdout
    # The command that it brings prints what the pages say.
    assert re.search(r"^console: \d\d passed, 0 failed", result.stdout, re.MULTILINE)


def test_what_the_wheel_holds() -> None:
    path = wheel()
    assert "-abi3-" in path.name
    names = zipfile.ZipFile(path).namelist()
    assert {"foliodb/py.typed", "foliodb/_foliodb.pyi", "foliodb/__init__.py"} <= set(names)
    assert sum(bool(re.search(r"_foliodb.*\.(so|pyd)$", name)) for name in names) == 1
    folder = next(name for name in names if name.endswith("METADATA")).partition("/")[0]
    text = zipfile.ZipFile(path).read(f"{folder}/METADATA").decode()
    # Nothing is required; extras are.
    assert all("extra ==" in line for line in text.splitlines() if line.startswith("Requires-Dist"))
    scripts = zipfile.ZipFile(path).read(f"{folder}/entry_points.txt").decode()
    assert "folio=foliodb_command:main" in scripts.replace(" ", "")
    for name in LICENSES:
        assert zipfile.ZipFile(path).read(f"{folder}/licenses/{name}") == (ROOT / name).read_bytes()


def test_what_the_wheel_says_of_itself() -> None:
    """`pip show -v` and the page of the index print this."""
    archive = zipfile.ZipFile(wheel())
    name = next(name for name in archive.namelist() if name.endswith("METADATA"))
    metadata = email.message_from_bytes(archive.read(name))
    assert metadata["License-Expression"] == "Apache-2.0 OR MIT"
    assert metadata.get_all("License-File") == LICENSES
    assert metadata["Author"] == "The FolioDB authors"
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    links = dict(link.split(", ", 1) for link in metadata.get_all("Project-URL", []))
    assert set(links) == {"Homepage", "Documentation", "Repository", "Changelog", "Issues"}
    classifiers = metadata.get_all("Classifier", [])
    versions = {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)}
    systems = {"MacOS", "Microsoft :: Windows", "POSIX :: Linux"}
    assert versions | {f"Operating System :: {system}" for system in systems} <= set(classifiers)
    # Beside a licence expression the index refuses them.
    assert not [line for line in classifiers if line.startswith("License ::")]


def test_the_licences_are_those_of_the_repository() -> None:
    for name in LICENSES:
        assert (ROOT / "bindings/python" / name).read_bytes() == (ROOT / name).read_bytes()


def test_one_version() -> None:
    output = subprocess.run([str(ROOT / "scripts/version")], capture_output=True, text=True, check=True)
    version = output.stdout.strip()
    packages = [ROOT / "bindings/node/package.json", ROOT / "editors/vscode/package.json"]
    found = {json.loads(path.read_text())["version"] for path in packages}
    extension = re.search(r'^version = "(.*)"', (ROOT / "extensions/duckdb/Cargo.toml").read_text(), re.M)
    assert extension is not None
    assert found | {version, extension[1], foliodb.__version__} == {version}


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
        text = path.read_text()
        for script in re.findall(r"(?<![\w/])(scripts/\w+|\.ci/run)", text):
            assert os.access(ROOT / script, os.X_OK), f"{path.name} runs {script}"
        for script, line in re.findall(r"(?<![\w/])(scripts/\w+) ([^\n]+)", text):
            # What stands first is a word of the script's own.
            words = re.findall(r"^    ([a-z]+)\)", (ROOT / script).read_text(), re.MULTILINE)
            said = line.replace('inside "${{ matrix.image }}" ', "").split()[0]
            assert said in words, f"{path.name}: {script} knows no {said}"


def test_a_release_is_for_every_platform() -> None:
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    for name in ("wheels", "natives"):
        rows = jobs[name]["strategy"]["matrix"]["include"]
        assert {row["platform"] for row in rows} == PLATFORMS, name
    assert {"wheels", "source", "natives"} == set(jobs["publish"]["needs"])
    uploaded = re.findall(r"'name': '(\w+)-", str(jobs))
    assert set(uploaded) == set(re.findall(r"'pattern': '(\w+)-\*'", str(jobs["publish"])))


@pytest.mark.skipif(sys.platform == "win32", reason="the script is for a Unix shell")
def test_the_command_is_packed_unpacked_and_run(tmp_path: Path) -> None:
    if not (ROOT / "build/bin/folio").exists():
        pytest.skip("the command is not built; scripts/build builds it")
    command = [str(ROOT / "scripts/release"), "command"]
    # As it was built to be tested: optimised at link time it would take minutes.
    environment = os.environ | {"CARGO_PROFILE_RELEASE_LTO": "false"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    name = re.search(r"^(folio-.*): unpacked and run$", result.stdout, re.MULTILINE)
    assert name is not None, result.stdout
    archive = ROOT / f"build/release/{name[1]}.tar.gz"
    completions = {"folio.bash", "_folio", "folio.fish"}
    expected = {"folio", "README.md", "CHANGELOG.md", *LICENSES, *(f"completions/{name}" for name in completions)}
    with tarfile.open(archive) as opened:
        held = {member.name.partition("/")[2] for member in opened.getmembers() if member.isfile()}
    assert held == expected

    (tmp_path / "one.txt").write_text("one")
    for _ in range(2):  # the second time there are sums already
        subprocess.run([str(ROOT / "scripts/release"), "checksums", str(tmp_path)], check=True, capture_output=True)
    assert [line.split()[1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines()] == ["one.txt"]
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, check=True)
