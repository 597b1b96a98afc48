"""Credentials: how a provider of models is reached.

`keeping` makes, changes and deletes them, `status` tells which providers are configured and
whence, `asking` asks a credential's server. Keys are encrypted (`models.encryption`) and go in,
never out.
"""
