"""Chat sessions about a notebook."""
