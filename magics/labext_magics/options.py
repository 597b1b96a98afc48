"""Arguments and options that commands of several magics share."""

from __future__ import annotations

from labext_magics import kinds
from labext_magics.grammar import Parameter

OUT = Parameter("out", kinds.NEW_VARIABLE, "store the result under this name, and don't show it")
YES = Parameter("yes", None, "do it")
YES_KEYRING = Parameter("yes", None, "remove it from the keyring too")
PREVIEW = Parameter("preview", None, "only show what would go")

WHERE = Parameter("WHERE", kinds.PROFILE, "an address, a profile, or `sandbox`", required=True)
SAVE = Parameter("save", kinds.text("PROFILE"), "keep the address under this name")
KEEP = Parameter("keep", None, "keep the key or secret in the keyring")
CA_BUNDLE = Parameter("ca-bundle", kinds.PATH, "certificates to trust, for a local service")
