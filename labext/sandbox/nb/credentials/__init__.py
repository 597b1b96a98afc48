"""Credentials: addresses and keys of model providers."""
