"""ZiQL from Python: schemas, parameters, models."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator
from pathlib import Path

import foliodb
import pytest


@pytest.fixture
def db(tmp_path: Path) -> Iterator[foliodb.Database]:
    with foliodb.open(tmp_path / "data", durability="none") as database:
        yield database


@dataclasses.dataclass
class Person:
    name: str
    age: int = 0
    best_friend: Person | None = None
    posts: list[Post] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Post:
    title: str


SCHEMA = """
User ( name: str, age: int = 0, best_friend: User, posts: []Post.author )
Post ( title: str, author: User )
"""


def test_ziql(db: foliodb.Database) -> None:
    assert len(db.check_schema(SCHEMA)) == 2
    assert sorted(db.apply_schema(SCHEMA)) == ["+ struct Post", "+ struct User"]
    assert db.check_schema(SCHEMA) == []
    (ann,) = db.ziql("ADD User (name = $name, age = $age)", name="Ann", age=34)
    assert isinstance(ann["id"], uuid.UUID)
    db.ziql("ADD User (name = 'Bob', best_friend = $friend)", friend=ann["id"])
    db.ziql("ADD Post (title = 'Hello', author = {name = 'Bob'})")
    text = "GRAB User [name, age, best_friend [name], posts [title]] {age IN $ages}"
    expected = {"name": "Bob", "age": 0, "best_friend": {"name": "Ann"}, "posts": [{"title": "Hello"}]}
    assert list(db.ziql(text, ages=[0, 1])) == [expected]
    assert db.ziql(text, ages=[0, 1], model=Person) == [
        Person("Bob", 0, Person("Ann"), [Post("Hello")])
    ]
    with db.transaction() as tx:
        tx.ziql("DELETE Post {}")
        tx.rollback()
    assert db.ziql("GRAB Post [n: COUNT()]").fetchone() == {"n": 1}
    with pytest.raises(foliodb.FolioSyntaxError, match="strings are quoted"):
        db.ziql("GRAB User {name = Bob}")
    with pytest.raises(foliodb.ConflictError):
        db.apply_schema("User ( name: str )")
    db.apply_schema("User ( name: str )", allow_drop=True)
    assert "Post" not in db.schema()


def test_ziql_with_pydantic(db: foliodb.Database) -> None:
    pydantic = pytest.importorskip("pydantic")

    class User(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        name: str
        age: int

    db.apply_schema("User ( name: str, age: int )")
    db.ziql("ADD User (name = 'Ann', age = 34)")
    assert db.ziql("GRAB User", model=User) == [User(name="Ann", age=34)]
