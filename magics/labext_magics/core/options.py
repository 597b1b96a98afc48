"""Arguments and options shared by several magics."""

from __future__ import annotations

from labext_magics.core import value_types
from labext_magics.core.grammar import Parameter

OUT = Parameter(
    "out", value_types.NEW_VARIABLE, "store the result under this name, and don't show it"
)
YES = Parameter("yes", None, "do it")
YES_KEYRING = Parameter("yes", None, "remove it from the keyring too")
PREVIEW = Parameter("preview", None, "only show what would go")

WHERE = Parameter(
    "WHERE", value_types.PROFILE, "an address, a profile, or `sandbox`", required=True
)
SAVE = Parameter("save", value_types.text_type("PROFILE"), "keep the address under this name")
KEEP = Parameter("keep", None, "keep the key or secret in the keyring")
CA_BUNDLE = Parameter("ca-bundle", value_types.PATH, "certificates to trust, for a local service")
