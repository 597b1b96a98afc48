"""The client's methods that stop and delete jobs."""

from __future__ import annotations

from labext.jobs import names
from labext.jobs.client.base import Base


class Ending(Base):
    """What ends jobs, and what removes them."""

    def stop(self, name: str) -> str:
        """Stop a job, a batch or a pipeline; return what the service says.

        Raises:
            NotFoundError: there is none of that name.
        """
        return self._actions.stop(names.check(name))

    def delete(self, name: str) -> str:
        """Delete a job, a batch or a pipeline with its data; return what the service says.

        Raises:
            NotFoundError: there is none of that name.
        """
        return self._actions.delete(names.check(name))
