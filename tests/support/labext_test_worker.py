"""A worker with only the task functions for tests."""

from __future__ import annotations

import json
import logging
import resource
from pathlib import Path

import short_intervals

from labext.sandbox.core.executors.cluster import dask_worker
from labext.sandbox.core.executors.cluster.address import TlsFiles


def main(address: str, folder: str, settings: str) -> None:
    """Serve until SIGTERM."""
    logging.basicConfig(level=logging.INFO)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    short_intervals.use_if_requested()
    options = json.loads(settings)
    tls = options.pop("tls", None)
    if most := options.pop("max_file_bytes", None):  # a longer file fails as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    if "shared_dir" in options:
        options["shared_dir"] = Path(options["shared_dir"])
    dask_worker.run_worker(
        dask_worker.WorkerOptions(
            address,
            None if tls is None else TlsFiles(*map(Path, tls)),
            local_dir=Path(folder),
            **({"preload": ["labext_test_entries"]} | options),
        ),
        lambda line: print(line, flush=True),
    )
