"""`foliodb.studio`: pages that this process serves."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import foliodb
import pytest


@pytest.fixture
def studio(db: foliodb.Database) -> Iterator[foliodb.Studio]:
    """A studio of a database whose documents are not flushed yet."""
    db["users"]["u1"] = {"name": "Ann"}
    with foliodb.studio(db) as studio:
        yield studio


def call(studio: foliodb.Studio, action: str, **asked: object) -> Any:
    """What the server of the pages answers."""
    body = json.dumps(asked).encode()
    with urllib.request.urlopen(f"{studio.url}api/{action}", body, timeout=10) as answer:
        return json.load(answer)


def test_pages(studio: foliodb.Studio) -> None:
    with urllib.request.urlopen(studio.url, timeout=10) as page:
        assert b"studio.js" in page.read()
    [users] = call(studio, "overview")["relations"]
    assert (users["name"], users["count"]) == ("users", 1)


def test_token(studio: foliodb.Studio) -> None:
    origin = "/".join(studio.url.split("/")[:3])
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(origin, timeout=10)
    assert refused.value.code == 403


def test_reads_only(studio: foliodb.Studio, db: foliodb.Database) -> None:
    text = "delete from users"
    assert call(studio, "ask", language="sql", text=text)["error"]["code"] == "read_only"
    db["users"]["u2"] = {"name": "Bob"}  # its own handle still writes
    db.flush()
    assert call(studio, "document", collection="users", id="u2")["line"] is not None


def test_write(db: foliodb.Database) -> None:
    db["users"]["u1"] = {"name": "Ann"}
    with foliodb.studio(db, write=True) as studio:
        assert call(studio, "ask", language="sql", text="delete from users", is_pressed=True)["count"] == 1
    assert len(db["users"]) == 0, "the caller's handle is open"


def test_in_memory() -> None:
    db = foliodb.open(":memory:")
    db["users"]["u1"] = {"name": "Ann"}
    with foliodb.studio(db) as studio:
        rows = call(studio, "ask", language="sql", text="select name from users")["rows"]
    assert rows == [["Ann"]]


def test_end(studio: foliodb.Studio) -> None:
    assert studio.url in repr(studio) and f'href="{studio.url}"' in studio._repr_html_()
    assert not studio.is_closed
    call(studio, "stop")
    assert studio.is_closed
    studio.close()
    studio.close()
    assert "ended" in repr(studio) and "href" not in studio._repr_html_()
    with pytest.raises(OSError):
        urllib.request.urlopen(studio.url, timeout=10)


def test_port_in_use(studio: foliodb.Studio, db: foliodb.Database) -> None:
    port = int(studio.url.split(":")[2].split("/")[0])
    with pytest.raises(OSError, match=f"port {port}"):
        foliodb.studio(db, port=port)
