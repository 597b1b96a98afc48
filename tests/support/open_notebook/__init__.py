"""Open Notebook 1.14 on loopback, as far as recordings of a running one tell what it does.

`recordings.jsonl` has a request and its answer a line, `operations.txt` each operation with the
names that it knows: `?name` in a query, then the fields of its body; a star for what is required.
Long texts are cut. `facts` reads both. `app` answers from them and keeps what it is given, so that
a whole session of a user can be held against it: an answer has the very fields that were recorded
(`facts.like`), a refusal the recorded words. What a real server ignores in silence, a name that it
does not know, is a fault here, and so is a path that it has not::

    with serving() as server:
        NotebookClient(server.base_url)
    assert not server.faults
"""

from open_notebook.serving import Replay, serving, web_page

__all__ = ["Replay", "serving", "web_page"]
