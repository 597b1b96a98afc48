"""Arguments and options shared by several magics."""

from __future__ import annotations

from labext_magics.core import value_types
from labext_magics.core.grammar import Parameter

OUT = Parameter(
    "out", value_types.NEW_VARIABLE, "store the result in this variable instead of displaying it"
)
YES = Parameter("yes", None, "confirm the deletion")
YES_KEYRING = Parameter("yes", None, "also remove the key or secret from the keyring")
OVERWRITE = Parameter("overwrite", None, "replace a file with other content")
PREVIEW = Parameter("preview", None, "only show what would be deleted")

WHERE = Parameter(
    "WHERE", value_types.PROFILE, "an address, a profile name, or `sandbox`", required=True
)
SAVE = Parameter(
    "save", value_types.text_type("PROFILE"), "save the address as a profile with this name"
)
KEEP = Parameter("keep", None, "store the key or secret in the keyring")
CA_BUNDLE = Parameter("ca-bundle", value_types.PATH, "a PEM file of certificates to trust")
