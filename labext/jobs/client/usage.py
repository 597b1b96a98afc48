"""The client's method that reads the usage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labext import wording
from labext.errors import InputError
from labext.jobs import usage
from labext.jobs.client.base import Base

if TYPE_CHECKING:
    import pandas as pd


class Usages(Base):
    """What was used."""

    def usage(self, statistic: str = "weighted_hours", scope: str = "user") -> pd.DataFrame:
        """Return what was used, in all, by tool and by user (GET `/usage-statistics`).

        Columns: group (`total`, `tool` or `user`), name, and the statistic: `weighted_hours`
        (weighted hours, a number) or `jobs` (whole). `.attrs` holds statistic, scope and total.

        Args:
            statistic: `weighted_hours` or `jobs`.
            scope: `user`, one's own; or `organization`, where permitted.

        Raises:
            InputError: there is no such statistic or scope.
            AccessError: the organization's usage may not be seen.
        """
        for what, value, known in (
            ("statistic", statistic, usage.STATISTICS),
            ("scope", scope, usage.SCOPES),
        ):
            if value not in known:
                raise InputError(
                    f"There is no {what} {wording.shown(value)}.", f"Give {' or '.join(known)}."
                )
        return usage.frame(self._service.usage(statistic, scope), statistic, scope)
