"""Stores: a collection with the methods of ZDS."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _foliodb
from ..closing import Closing
from ..database import Database, open
from ..errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..database import Durability
    from .datasets import ZDataset, ZIterableDataset

Document = dict[str, Any]
Predicate = dict[str, Any] | Callable[[Document], object]


def validate_doc_id(doc_id: str) -> None:
    """Raises `ValueError` if it is not a valid document id."""
    if not isinstance(doc_id, str):
        raise InvalidInputError(f"document id {doc_id!r} is not text")
    _foliodb.check_document_id(doc_id)


def compute_schema_id(document: Document) -> str:
    """A short fingerprint of the fields of a document and their types."""
    schema = json.dumps(_shape(document), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(schema.encode()).hexdigest()[:16]


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return ["list", *(_shape(item) for item in value[:1])]
    return type(value).__name__


def _bare(document: Document) -> Document:
    """A document in the form of ZDS, without `_id`."""
    del document["_id"]
    return document


def _accepts(predicate: Predicate) -> Callable[[Document], object]:
    """A function of a document; a dict gives fields that must be equal."""
    if callable(predicate):
        function = predicate
        return lambda document: function(_bare(document))
    wanted = predicate.items()
    return lambda document: all(document.get(key) == value for key, value in wanted)


class _Store(Closing):
    """One collection of a database."""

    def __init__(self, database: Database, collection: str, strict: bool, batch_size: int) -> None:
        self._database = database
        self._documents = database.collection(collection, strict=True if strict else None)
        self.collection = collection
        self.strict = strict
        self.batch_size = batch_size

    @property
    def root(self) -> Path:
        """The directory of the database."""
        return Path(self._database.path)

    def put(self, doc_id: str, doc: Document) -> None:
        """Stores a document under an id. Raises `ValueError` for a bad id or schema."""
        validate_doc_id(doc_id)
        self._documents.put(doc_id, doc)

    def get(self, doc_id: str) -> Document:
        """The document with an id. Raises `KeyError` if there is none."""
        return _bare(self._documents[doc_id])

    def delete(self, doc_id: str) -> None:
        """Deletes a document. Raises `KeyError` if there is none."""
        del self._documents[doc_id]

    def exists(self, doc_id: str) -> bool:
        """Whether a document with the id exists."""
        return self._documents.exists(doc_id)

    def scan(
        self, fields: Iterable[str] | None = None, predicate: Predicate | None = None
    ) -> Iterator[Document]:
        """The selected fields of the documents that match a dict or a function."""
        accepts = None if predicate is None else _accepts(predicate)
        return map(_bare, self._documents.scan(fields, filter=accepts))

    def scan_fast(self) -> Iterator[Document]:
        """Like `scan`; both have the same speed."""
        return self.scan()

    def list_doc_ids(self) -> list[str]:
        """All ids, in file order."""
        return self._documents.ids()

    def count(self) -> int:
        """The number of documents."""
        return self._documents.count()

    def preload(self) -> Self:
        """Does nothing: the index need not be loaded."""
        return self

    @contextmanager
    def bulk_write(self) -> Iterator[_BulkWriter]:
        """A context whose puts become one atomic batch."""
        with self._documents.batch() as batch:
            yield _BulkWriter(batch)

    def flush(self) -> None:
        """Makes all writes so far durable."""
        self._documents.flush()

    def compact(self) -> None:
        """Drops superseded and deleted lines from the file."""
        self._documents.compact()

    def close(self) -> None:
        """Flushes and closes."""
        self._database.close()

    def to_dataset(self) -> ZDataset:
        """The documents by position."""
        from .datasets import ZDataset

        return ZDataset(self)

    def to_iterable_dataset(self) -> ZIterableDataset:
        """The documents as a stream."""
        from .datasets import ZIterableDataset

        return ZIterableDataset(self)

    def __getitem__(self, doc_id: str) -> Document:
        return self.get(doc_id)

    def __setitem__(self, doc_id: str, doc: Document) -> None:
        self.put(doc_id, doc)

    def __delitem__(self, doc_id: str) -> None:
        self.delete(doc_id)

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._documents

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.list_doc_ids())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.root)!r}, collection={self.collection!r})"


class _BulkWriter:
    def __init__(self, batch: _foliodb.Batch) -> None:
        self._batch = batch

    def put(self, doc_id: str, doc: Document) -> None:
        """Adds a document to the batch."""
        self._batch.put(doc_id, doc)

    def delete(self, doc_id: str) -> None:
        """Adds a deletion to the batch."""
        self._batch.delete(doc_id)


class ZDSStore(_Store):
    """A collection, opened by the directory of its database."""

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str],
        collection: str = "default",
        strict: bool = False,
        create: bool = True,
        sync_writes: bool = False,
    ) -> Self:
        """Opens a collection; `sync_writes` makes every put durable before it returns."""
        if not create and not (Path(root) / "collections" / collection).exists():
            raise NotFoundError(f"no collection {collection!r} in {str(root)!r}")
        durability: Durability = "every_put" if sync_writes else "on_flush"
        database = open(root, create=create, durability=durability)
        return cls(database, collection, strict, 1)


class FastZDSStore(_Store):
    """Like `ZDSStore`, under the name of ZDS's faster engine."""

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str],
        collection: str = "default",
        strict: bool = False,
        batch_size: int = 1000,
    ) -> Self:
        """Opens a collection. `batch_size` is accepted and ignored: batches are automatic."""
        return cls(open(root), collection, strict, batch_size)

    def scan_with_ids(self) -> Iterator[tuple[str, Document]]:
        """Pairs of id and document."""
        return ((document.pop("_id"), document) for document in self._documents.scan())


class NativeStore(FastZDSStore):
    """Like `FastZDSStore`, with whole batches and raw text."""

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str],
        collection: str = "default",
        strict: bool = False,
        batch_size: int = 5000,
    ) -> Self:
        """Opens a collection."""
        return cls(open(root), collection, strict, batch_size)

    def put_batch(self, docs: Iterable[tuple[str, Document]]) -> int:
        """Stores pairs of id and document as one batch; returns how many."""
        counts = self._documents.put_many((doc_id, doc) for doc_id, doc in docs)
        return counts.inserted + counts.replaced

    def put_raw_batch(self, docs: Iterable[tuple[str, str | bytes]]) -> int:
        """Stores pairs of id and JSON text as one batch; returns how many."""
        count = 0
        with self._documents.batch() as batch:
            for doc_id, text in docs:
                batch.put_raw(doc_id, text.decode() if isinstance(text, bytes) else text)
                count += 1
        return count

    def write_jsonl(self, data: bytes, ids: Iterable[str]) -> int:
        """Stores lines of JSON, each under the id at the same position; returns how many."""
        lines = [line for line in data.splitlines() if line.strip()]
        names = list(ids)
        if len(lines) != len(names):
            raise InvalidInputError(f"{len(lines)} lines and {len(names)} ids; give an id per line")
        return self.put_raw_batch(zip(names, lines))

    def scan_raw(self) -> list[bytes]:
        """The lines of all documents, as they are stored."""
        return [line.encode() for line in self._documents.scan_raw()]

    def read_jsonl_blob(self) -> bytes:
        """All documents as JSON Lines."""
        return b"".join(line + b"\n" for line in self.scan_raw())
