"""The names that programs written for ZDS use, over FolioDB.

    from foliodb.zds import ZDSStore, ZDataset       # was: from zippy import …

The same collections, files and engine: a store opened here and a collection opened with
`foliodb.open` are one. Documents have no `_id`, as in ZDS. Fixed here: an update or delete
survives a crash, `get` sees a `put` at once, hand edits are noticed, strict mode is stored.
"""

from __future__ import annotations

from .datasets import ZDataset, ZIterableDataset
from .exchange import (
    copy_to_zds,
    from_arrow,
    from_hf,
    list_collections,
    read_zds,
    to_arrow,
    to_hf,
    to_hf_dict,
    to_zds,
)
from .hub import clear_cache, dataset_info, list_remote_collections, load_remote
from .providers import (
    AzureProvider,
    DatasetInfo,
    FTPProvider,
    GCSProvider,
    GitProvider,
    HTTPProvider,
    HuggingFaceProvider,
    Provider,
    ProviderRegistry,
    S3Provider,
)
from .queries import (
    ZDSConnection,
    aggregate,
    count_where,
    export_query_to_zds,
    query_zds,
    query_zds_df,
    register_zds,
    sql,
)
from .root import ZDSRoot
from .stores import FastZDSStore, NativeStore, ZDSStore, compute_schema_id, validate_doc_id

__all__ = [
    "AzureProvider",
    "DatasetInfo",
    "FTPProvider",
    "FastZDSStore",
    "GCSProvider",
    "GitProvider",
    "HTTPProvider",
    "HuggingFaceProvider",
    "NativeStore",
    "Provider",
    "ProviderRegistry",
    "S3Provider",
    "ZDSConnection",
    "ZDSRoot",
    "ZDSStore",
    "ZDataset",
    "ZIterableDataset",
    "aggregate",
    "clear_cache",
    "compute_schema_id",
    "copy_to_zds",
    "count_where",
    "dataset_info",
    "export_query_to_zds",
    "from_arrow",
    "from_hf",
    "list_collections",
    "list_remote_collections",
    "load_remote",
    "query_zds",
    "query_zds_df",
    "read_zds",
    "register_zds",
    "sql",
    "to_arrow",
    "to_hf",
    "to_hf_dict",
    "to_zds",
    "validate_doc_id",
]
