"""A key on a line is refused, and masked wherever it turns up later."""

from __future__ import annotations

import pytest

from labext.errors import InputError
from labext.redaction import MASK, mask
from labext_magics.core.line import iter_tokens
from labext_magics.core.secrets import refuse_name, refuse_options, refuse_value


@pytest.mark.parametrize(("key", "masked"), [("abcdefghijkl", True), ("abcdefghijk", False)])
def test_key_on_a_line_is_masked_afterwards_from_12_characters_on(key: str, masked: bool) -> None:
    with pytest.raises(InputError):
        refuse_options([*iter_tokens(f"connect --api-key={key}")], "jobs")
    assert (mask(f"it is {key}") == f"it is {MASK}") is masked


def test_password_in_an_address_is_masked_afterwards() -> None:
    with pytest.raises(InputError):
        refuse_value("https://ada:sword-and-fish@lab.example", "jobs")
    assert mask("it is sword-and-fish") == f"it is {MASK}"


def test_name_that_looks_like_a_key_is_refused() -> None:
    with pytest.raises(InputError):
        refuse_name("abcdefgh12345678", "nb", "connect")
    refuse_name("a-very-long-name-of-2026", "nb", "connect")
