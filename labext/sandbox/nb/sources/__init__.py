"""Sources: how they come in, are shown, and go."""
