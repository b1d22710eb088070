"""What the tests share: fresh databases, and nothing written outside of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import foliodb
import pytest
from hypothesis import HealthCheck, settings

# Failures print the blob that replays them. No deadline: the machine may be busy.
settings.register_profile(
    "foliodb",
    deadline=None,
    print_blob=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("foliodb")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database may be made."""
    return tmp_path / "db"


@pytest.fixture
def db(path: Path) -> Iterator[foliodb.Database]:
    """An empty database."""
    with foliodb.open(path) as database:
        yield database


@pytest.fixture
def users(db: foliodb.Database) -> foliodb.Collection:
    """An empty collection."""
    return db["users"]
