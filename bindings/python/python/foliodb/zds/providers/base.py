"""The interface of a provider, and the provider of an address."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InvalidInputError, NotFoundError, UnsupportedError


class DatasetNotFoundError(NotFoundError, FileNotFoundError):
    """There is no data set at a path or an address."""


class ProviderUnavailableError(UnsupportedError, NotImplementedError):
    """This source is not supported; the text says what to do instead."""


@dataclass
class DatasetInfo:
    """Information about a data set without loading it. `size_bytes` is that of its files."""

    name: str
    provider: str
    uri: str
    revision: str | None = None
    path: str | None = None
    size_bytes: int | None = None
    last_modified: str | None = None
    description: str | None = None


class Provider(ABC):
    """Copies data sets of one kind of address into a local folder."""

    name: str = "base"

    @abstractmethod
    def download(
        self,
        uri: str,
        cache_dir: Path | None = None,
        revision: str | None = None,
        path: str | None = None,
        force: bool = False,
        **settings: Any,
    ) -> Path:
        """Downloads a data set, or finds its cached copy; returns its folder.

        `uri` is the address without its scheme, `path` a folder in it, `force` downloads again.
        """

    @abstractmethod
    def get_info(self, uri: str, **settings: Any) -> DatasetInfo:
        """Information about a data set. Downloads nothing."""

    @abstractmethod
    def parse_uri(self, uri: str) -> dict[str, Any]:
        """The parts of an address."""

    def get_cache_dir(self, cache_dir: str | os.PathLike[str] | None = None) -> Path:
        """The folder of copies, created if it is missing."""
        folder = default_cache_dir() if cache_dir is None else Path(cache_dir)
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def default_cache_dir() -> Path:
    """The folder of cached copies: `ZDS_CACHE_DIR`, or a folder of the user's cache."""
    named = os.environ.get("ZDS_CACHE_DIR")
    if named:
        return Path(named).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "foliodb" / "zds"


class ProviderRegistry:
    """The providers by the schemes of their addresses."""

    _providers: dict[str, type[Provider]] = {}
    _default_provider: str = "github"

    @classmethod
    def register(cls, scheme: str, provider_class: type[Provider]) -> None:
        """Registers the provider of a scheme."""
        cls._providers[scheme.lower()] = provider_class

    @classmethod
    def get(cls, scheme: str) -> type[Provider]:
        """The provider of a scheme. Raises `ValueError` for a scheme without one."""
        try:
            return cls._providers[scheme.lower()]
        except KeyError:
            known = ", ".join(sorted(cls._providers))
            raise InvalidInputError(f"Unknown provider scheme {scheme!r}; use one of {known}") from None

    @classmethod
    def get_instance(cls, scheme: str) -> Provider:
        """A new provider of a scheme."""
        return cls.get(scheme)()

    @classmethod
    def parse_uri(cls, uri: str) -> tuple[str, str]:
        """The scheme of an address and the rest of it; without one the default, GitHub."""
        scheme, mark, rest = uri.partition("://")
        return (scheme.lower(), rest) if mark else (cls._default_provider, uri)

    @classmethod
    def list_providers(cls) -> dict[str, type[Provider]]:
        """All providers by their schemes."""
        return dict(cls._providers)

    @classmethod
    def set_default(cls, scheme: str) -> None:
        """Sets the scheme of addresses without one. Raises `ValueError` for an unknown one."""
        cls.get(scheme)
        cls._default_provider = scheme.lower()
