"""Build the reference as HTML pages; run by `labext docs` in a separate process."""
