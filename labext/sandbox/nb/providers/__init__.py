"""Providers of models: registry, keys, and the clients of their servers."""
