"""The machine that figures were taken on."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

PACKAGES = ("foliodb", "orjson", "lmdb", "numpy", "pandas", "pyarrow", "duckdb", "datasets")


def describe() -> dict:
    """What the results file says about it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": processor(),
        "cores": os.cpu_count() or 0,
        "memory_gib": round(memory, 1),
        "kernel": f"{platform.system()} {platform.release()}",
        "file_system": "",
        "rustc": "",
        "profile": "release",
        "allocator": f"Python {sys.version.split()[0]}",
        "packages": {name: version(name) for name in PACKAGES if version(name)},
        "commit": commit(),
        "load_at_start": round(os.getloadavg()[0], 2),
    }


def processor() -> str:
    """Its model, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def version(package: str) -> str:
    """The installed version; empty when it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def commit() -> str:
    """The commit measured, where this is a checkout."""
    command = ["git", "rev-parse", "--short=10", "HEAD"]
    folder = Path(__file__).parent
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return result.stdout.strip()
