"""Where data sets come from, with the names of ZDS: a provider for each scheme of an address.

Git repositories are copied. Data sets in buckets, on web servers and in the Hugging Face Hub are
read where they are.
"""

from __future__ import annotations

from .base import DatasetInfo, Provider, ProviderRegistry
from .ftp import FTPProvider
from .git import GIT_HOSTS, GitProvider
from .url import AzureProvider, GCSProvider, HTTPProvider, HuggingFaceProvider, S3Provider

__all__ = [
    "AzureProvider",
    "DatasetInfo",
    "FTPProvider",
    "GCSProvider",
    "GIT_HOSTS",
    "GitProvider",
    "HTTPProvider",
    "HuggingFaceProvider",
    "Provider",
    "ProviderRegistry",
    "S3Provider",
]

_SCHEMES: dict[type[Provider], tuple[str, ...]] = {
    GitProvider: (
        *("git", "github", "gh", "gitlab", "gl", "bitbucket", "bb", "codeberg"),
        *("file", "ssh", "git+https", "git+http", "git+ssh", "git+file"),
    ),
    S3Provider: ("s3",),
    GCSProvider: ("gcs", "gs"),
    AzureProvider: ("azure", "az"),
    FTPProvider: ("ftp", "sftp"),
    HTTPProvider: ("http", "https"),
    HuggingFaceProvider: ("hf", "huggingface"),
}

for _provider, _schemes in _SCHEMES.items():
    for _scheme in _schemes:
        ProviderRegistry.register(_scheme, _provider)
