"""What is said on the wire, a module for each kind of server; the only place that knows it.

A dialect has a method for each thing the client wants. The method is a generator: it yields
`Request`s, gets each one's answer as JSON (None for an empty one), and returns a record that is the
same for every server (`labext.nb.records`). So it knows no network and needs no server to be
tested, and one thing may take several requests. `labext.nb.wire` sends them.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from labext.transport import Operation

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """One request of a dialect.

    Attributes:
        path: the values of the path's placeholders.
        params: the query; None leaves one out.
        json: the body, if it is JSON; not in the repr, since it may hold a credential's key.
        form: the body's fields, if it is a multipart form; None leaves one out.
        files: the form's files, streamed from the disk.
        patient: the answer may take as long as the server works: no limit on its silence.
    """

    op: Operation
    path: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = field(default=None, repr=False)
    form: Mapping[str, str | bool | None] | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    patient: bool = False


Steps: TypeAlias = Generator[Request, Any, T]
"""What a dialect's method is: requests on the way to a record."""
