"""What the service refuses, told to whoever runs it: as an error with its next step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from labext.errors import ConflictError, InputError, LabextError, NotFoundError, SetupError
from labext.sandbox.nb.faults import Refusal

_ERRORS: dict[int, type[LabextError]] = {400: ConflictError, 404: NotFoundError, 422: InputError}
_STEP = "See `labext sandbox nb models list`."


@contextmanager
def told() -> Iterator[None]:
    """Tell a refusal in the block as an error.

    Raises:
        LabextError: of the kind that the refusal is.
    """
    try:
        yield
    except Refusal as error:
        kind = _ERRORS.get(error.status_code, SetupError)
        raise kind(error.what, error.step or _STEP) from None
