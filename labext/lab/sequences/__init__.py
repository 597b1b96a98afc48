"""List, filter and look up sequences."""
