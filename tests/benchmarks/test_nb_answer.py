"""First words of an answer on screen; the goal is 100 ms after the server has sent them.

A service on loopback records when it sends words; the page in Chromium records when they are
painted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest
from notebook_page import NotebookPage
from streaming import ASK, WORDS, Streaming, streaming
from waiting import wait_until

pytestmark = pytest.mark.benchmark

ANSWERS, WORDS_EACH, PAUSE = 4, 10, 0.25


def test_words_on_screen(
    benchmark: Any, figure: Callable[[str, str], None], notebook_page: NotebookPage
) -> None:
    with streaming() as service:
        nb = notebook_page.write(ASK.format(url=service.url)).open()
        nb.page.evaluate(WORDS)
        delays = benchmark.pedantic(
            lambda: [measured(nb, service, n) for n in range(ANSWERS)], rounds=1, iterations=1
        )
    very_first, *firsts = [delay_ms[0] for delay_ms in delays]
    others = [delay for delay_ms in delays for delay in delay_ms[1:]]
    benchmark.extra_info["first_ms"] = firsts
    figure(
        "words of an answer on screen after they were sent, of 100 ms",
        f"the first words {statistics.median(firsts):.0f} ms (at most {max(firsts):.0f}), "
        f"further ones {statistics.median(others):.0f} ms (at most {max(others):.0f}); "
        f"while the page still loads its widgets {very_first:.0f} ms",
    )


def measured(nb: NotebookPage, service: Streaming, answer: int) -> list[float]:
    """Ask a question, send words one by one, and return the delay of each on screen, in ms."""
    sent = len(service.sent)
    words = [f"word{answer * WORDS_EACH + i}" for i in range(WORDS_EACH)]
    nb.run(0)
    nb.wait_for_text("Asking…")
    for word in words:
        service.send_event(type="words", content=f"It is {word}. ")
        time.sleep(PAUSE)
    wait_until(lambda: words[-1] in nb.page.evaluate("() => window.seenAt"))
    seen_at: dict[str, float] = nb.page.evaluate("() => window.seenAt")
    service.send_event(type="final_answer", content="All is said.", citations=[])
    nb.wait_for_text("All is said.")
    service.send_event(type="complete", final_answer="All is said.", citations=[])
    nb.idle()
    return [seen_at[word] - at for word, at in zip(words, service.sent[sent:], strict=False)]
