"""The client's methods that read the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from labext.jobs import toolframes
from labext.jobs.client.base import Base
from labext.jobs.schema import Tool

if TYPE_CHECKING:
    import pandas as pd


class Tools(Base):
    """What tools there are, and what each takes."""

    def tools(self) -> pd.DataFrame:
        """Return the catalogue, read anew: a row a tool.

        Columns: name, displayName, description, required and optional (the parameters' names),
        paper, github.
        """
        return toolframes.catalogue(self._catalogue.read().values())

    def iter_tools(self) -> Iterator[dict[str, Any]]:
        """Yield each tool's record as the service gives it, parameters in `settings`."""
        for tool in self._catalogue.read().values():
            yield tool.record

    def tool(self, name: str) -> pd.DataFrame:
        """Return a tool's parameters, read anew: a row a parameter.

        Columns: name, required, type, default, options, description. `.attrs` holds the tool's
        other fields.

        Raises:
            InputError: the service has no such tool; a near name is told.
        """
        return toolframes.parameters(self.describe(name))

    def describe(self, name: str) -> Tool:
        """Return a tool with its parameters, as `cast` and forms need them, read anew.

        Raises:
            InputError: the service has no such tool; a near name is told.
        """
        self._catalogue.read()
        return self._catalogue.tool(name)
