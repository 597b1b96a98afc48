"""OpenID Connect provider of the sandbox, and verification of ID tokens."""
