"""Tab behind `%nb`: verbs, options, and the names that the service knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

Run = Callable[[str], Any]


def offered(shell: InteractiveShell, cell: str) -> list[str]:
    with provisionalcompleter():
        found = list(shell.Completer.completions(cell, len(cell)))
    return [cell[: each.start] + each.text for each in found]


def test_what_tab_offers(run: Run, shell: InteractiveShell) -> None:
    run("%nb use 'Tab one' --create\n%nb note x --title 'Tab note'\n%nb sessions new --title Talk")
    run("%nb notebooks new 'Tab two'\n%nb note y --title 'Tab other'")

    def comes(cell: str, *found: str) -> None:
        """What comes late is there at a later Tab."""
        tries = (offered(shell, cell) for _ in range(100))
        assert any(set(found) <= set(each) for each in tries), offered(shell, cell)

    comes("%nb use Tab", '%nb use "Tab one"', '%nb use "Tab two"')
    comes("%nb notes show Tab", '%nb notes show "Tab other"')
    assert '%nb notes show "Tab note"' not in offered(shell, "%nb notes show Tab")
    comes("%nb notes delete 'Tab", "%nb notes delete 'Tab other'")
    comes("%nb sessions show Ta", "%nb sessions show Ta")
    run("%nb use 'Tab one'")
    comes("%nb sessions show Ta", "%nb sessions show Talk")
    comes('%nb search x --notebook "Tab two" --note Tab',
          '%nb search x --notebook "Tab two" --note "Tab other"')  # fmt: skip
    assert offered(shell, "%nb notebooks sh") == ["%nb notebooks show"]
    assert offered(shell, "%nb sources --of") == ["%nb sources --offset"]
    assert "%nb sources retry" in offered(shell, "%nb sources ")
    assert "%nb sources --all" in offered(shell, "%nb sources ")
    assert offered(shell, "%nb sources --all r") == ["%nb sources --all r"]
    assert offered(shell, "%nb note --type a") == ["%nb note --type ai"]
    assert offered(shell, "%nb notebooks --order-by na") == [
        f"%nb notebooks --order-by name{way}" for way in ("", ":asc", ":desc")
    ]
    assert offered(shell, "%nb add data/pa") == ["%nb add data/page.html", "%nb add data/paper.pdf"]
    run("%nb delete 'Tab one' --yes\n%nb delete 'Tab two' --yes")
