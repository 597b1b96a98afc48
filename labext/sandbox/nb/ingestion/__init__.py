"""What is done with a source in a process of its own: its text, its passages, their vectors.

`tasks` has what the service puts into its queue and what that does to a source's row; `execution`
runs in the process, and leaves what it made by `results`. `reading` reads a file of any kind,
`fetching` a page of the web.
"""
