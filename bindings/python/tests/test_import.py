"""What `import foliodb` costs: little time, no package but itself, and nothing of the
standard library that takes as long as all of this."""

from __future__ import annotations

import subprocess
import sys

IMPORT = """
import sys, time
before = set(sys.modules)
started = time.process_time()
import foliodb
elapsed = time.process_time() - started
foreign = {name.partition(".")[0] for name in set(sys.modules) - before}
heavy = {"dataclasses", "datetime", "html", "inspect", "pathlib", "re", "typing", "urllib"}
foreign -= sys.stdlib_module_names - heavy | {"foliodb"}
print(elapsed * 1000, *sorted(foreign))
"""

# Of processor time: the machine may do something else. It is a tenth of that.
MILLISECONDS_MAX = 100

# The best of so many.
ATTEMPTS = 5


def imported() -> tuple[float, list[str]]:
    """Milliseconds, and what came along that should not, in a fresh process."""
    output = subprocess.run(
        [sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True
    ).stdout.split()
    return float(output[0]), output[1:]


def test_import_is_quick_and_brings_nothing_along() -> None:
    times, foreign = zip(*(imported() for _ in range(ATTEMPTS)))
    assert not any(foreign)
    assert min(times) < MILLISECONDS_MAX


def test_work_brings_nothing_along() -> None:
    """Everything that needs no other library works without importing one."""
    script = """
import sys, tempfile, foliodb, foliodb.zds
with foliodb.open(tempfile.mkdtemp()) as db:
    users = db["users"]
    users.put_many([{"_id": "a", "n": 1}, {"_id": "b", "n": 2}])
    users._repr_html_(), list(users.scan()), users.dataset().shuffle()[0]
    list(users.dataset(streaming=True).shuffle(2).batch(2))
    foliodb.to_folio([{"n": 3}], db, "more")
foreign = {name.partition(".")[0] for name in sys.modules}
print(*sorted(foreign & {"numpy", "pandas", "polars", "pyarrow", "duckdb", "datasets", "torch"}))
"""
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


def test_every_name_is_there_before_it_is_used() -> None:
    """`dir` names what is imported late, too; all of it is there, and is public."""
    script = """
import foliodb
names = dir(foliodb)
assert "zds" not in vars(foliodb) and "Dataset" not in vars(foliodb)
assert {"Dataset", "StreamingDataset", "Interval", "aio", "dbapi", "zds", "read", "to_hf"} <= set(names)
assert {name for name in names if not name.startswith("_")} == set(foliodb.__all__)
assert sorted(names) == names and len(set(foliodb.__all__)) == len(foliodb.__all__)
for name in names:
    assert getattr(foliodb, name) is not None or name == "__file__", name
assert dir(foliodb) == names
from foliodb import *
assert zds.ZDSStore and aio.open
"""
    subprocess.run([sys.executable, "-c", script], check=True)
