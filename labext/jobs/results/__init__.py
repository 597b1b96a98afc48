"""Results: from the service into a folder, each step so that it can be interrupted and continued.

`fetching` leads. `obtaining` asks the service, `archives` checks and unpacks, `merging` makes one
archive of several, `placing` puts the files where the user wants them, `manifest` remembers them,
`failures` names the jobs without results, `provenance` records where the files come from,
`outputs`, `origins` and `frame` make a table of them.
"""
