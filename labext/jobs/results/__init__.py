"""Results: from the service into a folder, each step so that it can be broken off and gone on with.

`fetching` leads. `obtaining` asks the service, `archives` checks and unpacks, `merging` makes one
archive of a split batch's, `placing` puts the files where the user wants them, `manifest` remembers
them, `provenance` records where they come from, `outputs`, `origins` and `frame` make a table of
them.
"""
