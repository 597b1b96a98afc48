"""Tab behind `%nb`: verbs, options, and the names that the service knows."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Run, comes, offered

pytestmark = pytest.mark.contract


def test_tab_completions(run: Run, shell: InteractiveShell) -> None:
    run("%nb use 'Tab one' --create\n%nb note x --title 'Tab note'\n%nb sessions new --title Talk")
    run("%nb notebooks new 'Tab two'\n%nb note y --title 'Tab other'")

    comes(shell, "%nb use Tab", '%nb use "Tab one"', '%nb use "Tab two"')
    comes(shell, "%nb notes show Tab", '%nb notes show "Tab other"')
    assert '%nb notes show "Tab note"' not in offered(shell, "%nb notes show Tab")
    comes(shell, "%nb notes delete 'Tab", "%nb notes delete 'Tab other'")
    comes(shell, "%nb sessions show Ta", "%nb sessions show Ta")
    run("%nb use 'Tab one'")
    comes(shell, "%nb sessions show Ta", "%nb sessions show Talk")
    comes(shell, '%nb search x --notebook "Tab two" --note Tab',
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


def test_tab_completes_transformations_models_credentials_and_slots(
    run: Run, shell: InteractiveShell
) -> None:
    run("%nb credentials new ollama --name 'Tab shelf' --base-url http://127.0.0.1:9/v1")

    comes(shell, '%nb transform "Key', '%nb transform "Key findings"')
    comes(shell, "%nb transformations show Key", '%nb transformations show "Key findings"')
    comes(
        shell, "%nb transform Summary x --model extr", "%nb transform Summary x --model extractive"
    )
    comes(shell, "%nb chat x --model extr", "%nb chat x --model extractive")
    comes(shell, "%nb models test all-", "%nb models test all-MiniLM-L6-v2")
    comes(shell, "%nb credentials show Tab", '%nb credentials show "Tab shelf"')
    comes(
        shell,
        "%nb credentials new open",
        "%nb credentials new openai",
        "%nb credentials new openrouter",
    )
    comes(shell, "%nb models new x --provider gr", "%nb models new x --provider groq")
    comes(
        shell,
        "%nb models defaults --set embedding=",
        "%nb models defaults --set embedding=all-MiniLM-L6-v2",
    )
    assert "%nb models defaults --set embedding=extractive" not in offered(
        shell, "%nb models defaults --set embedding="
    )
    assert offered(shell, "%nb models defaults --set ch") == ["%nb models defaults --set chat="]
    assert offered(shell, "%nb models defaults --clear pod") == [
        "%nb models defaults --clear podcast"
    ]
    assert offered(shell, "%nb credentials register x --model llama3:8b=e") == [
        "%nb credentials register x --model llama3:8b=embedding"
    ]
    assert offered(shell, "%nb models --type s") == ["%nb models --type stt"]
    run("%nb credentials delete 'Tab shelf' --yes")
