"""The provider's page, which asks who signs in. It says that it is a sandbox, and loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from starlette.responses import HTMLResponse

from labext.sandbox.lab.store import User

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in to the sandbox</title>
<style>
:root {{ color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }}
body {{ max-width: 30rem; margin: 4rem auto; padding: 0 1rem; }}
select, button {{ font: inherit; padding: .4rem .6rem; max-width: 100%; }}
</style>
<main>
<h1>Sign in to the sandbox</h1>
{content}
</main>
</html>
"""

_FORM = """<p>This is the identity provider of a local laboratory platform for learning and testing.
It asks for no password: say who you are.</p>
<form method="post" action="/authorize">
<input type="hidden" name="request" value="{request}">
<p><label for="email">Who signs in?</label></p>
<p><select id="email" name="email" required autofocus>{people}</select></p>
<p><button>Sign in</button></p>
</form>
<p>You go on to <code>{client}</code>.</p>
"""


def form(people: Sequence[User], request: str, client: str, chosen: str | None) -> HTMLResponse:
    """The page with the people to choose from.

    Args:
        people: who may sign in.
        request: what is asked, sealed.
        client: the address that is gone on to.
        chosen: who is chosen already.
    """
    options = "".join(
        f'<option value="{escape(user.email)}"{" selected" if user.email == chosen else ""}>'
        f"{escape(user.name)} ({escape(user.email)})</option>"
        for user in people
    )
    if chosen not in {user.email for user in people}:
        options = f'<option value="" selected disabled>Choose …</option>{options}'
    content = _FORM.format(people=options, request=escape(request), client=escape(client))
    return HTMLResponse(_PAGE.format(content=content), headers=HEADERS)


def refusal(sentence: str) -> HTMLResponse:
    """The page for a request that can't be answered to whoever made it."""
    content = f'<p role="alert">{escape(sentence)}</p>'
    return HTMLResponse(_PAGE.format(content=content), 400, HEADERS)
