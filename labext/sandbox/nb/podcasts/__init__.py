"""Podcasts: what is said about a notebook, by whom, and its sound (contract, Podcasts)."""
