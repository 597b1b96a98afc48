"""The client's method that fetches results."""

from __future__ import annotations

from pathlib import Path

from labext.jobs import names
from labext.jobs.client.base import Base
from labext.jobs.results import archives
from labext.jobs.results.fetching import Results
from labext.jobs.results.obtaining import OnPhase, Told, Wanted
from labext.transport.download import OnBytes

_TABLE_OF_CONTENTS = 256 * 1024
"""Bytes of the end of an archive that are read for the names of its files."""


class Fetching(Base):
    """What jobs have made."""

    def download(
        self,
        name: str,
        to: Path | str,
        *,
        file: str | None = None,
        pdbs_only: bool = False,
        email: str | None = None,
        on_bytes: OnBytes | None = None,
        on_phase: OnPhase | None = None,
    ) -> Results:
        """Fetch the results of a complete job or batch; what is on disk and whole is kept.

        Into a folder go the archive as `<name>.zip`, its files, `<name>.manifest.json` with their
        checksums, and their provenance as `ro-crate-metadata.json` (RO-Crate 1.1). A split batch
        gives one archive with one metrics.csv, in the input's order. `.frame()` of what is
        returned has the metrics beside the input.

        Args:
            name: of a job or a batch.
            to: a folder, made if need be; or a path ending in `.zip` for the archive alone.
            file: one output file instead of the archive; `to` is then its path, or a folder.
            pdbs_only: structures only (the archive is then `<name>-pdbs.zip`).
            email: a teammate's job, where permitted.
            on_bytes: is told the bytes that have come, and the whole's if known; in later phases
                those that are done.
            on_phase: is told what is done now: Fetching (part by part of a split batch), Merging,
                Unpacking.

        Raises:
            NotFoundError: there is no such job or file.
            NotReadyError: it is not complete.
            ConflictError: something else stands where a file would go; nothing was written.
            ArchiveError: the archive is damaged or would leave the folder; nothing was written.
            StorageError: the disk is full, or the folder can't be written.
        """
        wanted = Wanted(file, pdbs_only, email)
        told = Told(on_bytes or Told.bytes, on_phase or Told.phase)
        return self._fetcher.fetch(names.check(name), to, wanted, told)

    def result_files(self, name: str, email: str | None = None) -> list[str]:
        """Return the paths of the files in the results of a complete job, for `download(file=…)`.

        Only the end of the archive is fetched, which has its table of contents: two requests. The
        list is empty for an archive of several thousand files, and for a split batch.

        Args:
            name: of a job, a batch or a pipeline.
            email: a teammate's, where permitted.

        Raises:
            NotFoundError: there is no such job.
            InputError: it is not complete.
        """
        url = self._service.result_url(names.check(name), email=email)
        tail = self._service.transport.store().tail(url, name, _TABLE_OF_CONTENTS)
        return archives.names_at_end(tail)
