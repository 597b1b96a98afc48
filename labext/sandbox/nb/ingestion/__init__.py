"""Process a source: read its text, split it into passages, and embed them."""
