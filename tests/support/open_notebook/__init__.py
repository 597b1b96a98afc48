"""A simulated Open Notebook 1.14 server, made from recordings of a real one.

`recordings.jsonl` has one recorded request with its response per line, long texts cut.
`operations.txt` lists the operations with their query parameters (`?name`) and the fields of the
body; a star marks required ones. `facts` reads both files. `app` is the server: it stores objects
and responds with exactly the recorded fields (`facts.like`) and error messages. A real server
silently ignores unknown fields; here they, and unknown paths, are reported in `faults`::

    with serving() as server:
        NotebookClient(server.base_url)
    assert not server.faults
"""

from open_notebook.serving import Replay, serving, web_page

__all__ = ["Replay", "serving", "web_page"]
