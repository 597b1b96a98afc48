"""Lists of sequences, and one of them.

- `listing` asks for the pages that `paging` reads. `lookup`: one sequence by its name or ID.
- `filters`: what is sent, and applied again here; `filterkinds`: each kind of them; `times`:
  ranges of time.
- `fields`: those of a record. `columns`: which of them are wanted. `records`: the frame of them;
  `rowviews`: how it is shown.
"""
