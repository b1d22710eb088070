"""A collection against a dict: whatever is done to both, they say the same.

Hypothesis picks operations and shrinks what fails; the blob it prints replays it.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import foliodb
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

IDS = st.sampled_from(["a", "b", "c", "d", "é", "x-1"])
DOCUMENTS = st.dictionaries(
    st.sampled_from(["n", "text", "list", "deep"]),
    st.none() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=5)
    | st.lists(st.booleans(), max_size=2) | st.dictionaries(st.just("k"), st.floats(-9, 9)),
)  # fmt: skip


class Model(RuleBasedStateMachine):
    """A dict from ids to documents, in the order in which they were last put."""

    @initialize(layout=st.sampled_from(["lines", "files"]))
    def begin(self, layout: Any) -> None:
        self.folder = tempfile.mkdtemp()
        self.layout = layout
        self.model: dict[str, dict[str, Any]] = {}
        self.open()

    def open(self) -> None:
        self.db = foliodb.open(Path(self.folder) / "db", durability="none")
        self.docs = self.db.collection("docs", layout=self.layout)

    def put_in_model(self, name: str, document: dict[str, Any]) -> None:
        self.model.pop(name, None)
        self.model[name] = {"_id": name, **document}

    @rule(name=IDS, document=DOCUMENTS)
    def put(self, name: str, document: dict[str, Any]) -> None:
        expected = "replaced" if name in self.model else "inserted"
        assert self.docs.put(name, document) == expected
        self.put_in_model(name, document)

    @rule(documents=st.dictionaries(IDS, DOCUMENTS))
    def put_many(self, documents: dict[str, Any]) -> None:
        counts = self.docs.put_many(documents)
        assert counts.replaced == len(documents.keys() & self.model.keys())
        for name, document in documents.items():
            self.put_in_model(name, document)

    @rule(documents=st.dictionaries(IDS, DOCUMENTS))
    def put_many_that_fails(self, documents: dict[str, Any]) -> None:
        with pytest.raises(foliodb.InvalidInputError):
            self.docs.put_many([*documents.items(), ("z", {"bad": {1}})])

    @rule(name=IDS)
    def delete(self, name: str) -> None:
        assert self.docs.delete(name) == (self.model.pop(name, None) is not None)

    @rule(name=IDS, patch=DOCUMENTS)
    def patch(self, name: str, patch: dict[str, Any]) -> None:
        patched = self.docs.patch(name, patch)
        if name not in self.model:
            assert patched is None
            return
        self.put_in_model(name, merged(self.model[name], patch))
        assert patched == self.model[name]

    @rule(name=IDS, other=IDS, document=DOCUMENTS, ends=st.booleans())
    def batch(self, name: str, other: str, document: dict[str, Any], ends: bool) -> None:
        batch = self.docs.batch()
        batch.put(name, document)
        batch.delete(other)
        assert batch.exists(name) == (name != other)
        if not ends:
            batch.rollback()
            return
        batch.commit()
        self.put_in_model(name, document)
        self.model.pop(other, None)

    @rule()
    def compact(self) -> None:
        assert self.docs.compact().document_count == len(self.model)

    @rule()
    def reopen(self) -> None:
        self.db.close()
        self.open()

    @rule()
    def refresh(self) -> None:
        self.docs.refresh()

    @invariant()
    def same(self) -> None:
        if not hasattr(self, "docs"):
            return
        found = list(self.docs.scan())
        assert sorted(found, key=name_of) == sorted(self.model.values(), key=name_of)
        assert self.docs.ids() == [document["_id"] for document in found]
        if self.layout == "lines":
            assert found == list(self.model.values()), "the order of the file"
        assert self.docs.count() == len(self.model)
        assert self.docs.get_many(list("abcdz")) == [self.model.get(name) for name in "abcdz"]
        assert all(self.docs.exists(name) for name in self.model)

    def teardown(self) -> None:
        if hasattr(self, "db"):
            assert not self.docs.is_created or self.docs.check().is_clean
            self.db.close()
            shutil.rmtree(self.folder)


def name_of(document: dict[str, Any]) -> str:
    return str(document["_id"])


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396, as its appendix writes it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


Model.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestModel = Model.TestCase
