"""How transformations, models and credentials are shown, and the frames of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from labext.nb import records
from labext.nb.records import Record
from labext.rowviews import Rows

_TIMES = ("created_at", "updated_at")


class TransformationRows(Rows):
    """A DataFrame with a row a transformation."""

    _none = "There are no transformations."
    _always = ("id", "name", "title")

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("name", "apply_default", "description", "prompt", "model_id"), (
            "id",
            "title",
            *_TIMES,
        )


class ModelRows(Rows):
    """A DataFrame with a row a model."""

    _none = "There are no models."
    _always = ("id", "name", "type")

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("name", "type", "provider", "credential"), ("id", *_TIMES)


class ProviderRows(Rows):
    """A DataFrame with a row a provider."""

    _none = "There are no providers."
    _always = ("provider",)


class DiscoveredRows(Rows):
    """A DataFrame with a row for each model on offer."""

    _none = "No models are on offer."
    _always = ("name",)

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return ("name", "model_type", "description"), ("provider",)


class SyncedRows(Rows):
    """A DataFrame with a row for each provider that was asked for its models."""

    _none = "No provider can be asked."
    _always = ("provider", "new", "existing")
    _whole = ("error",)


class CredentialRows(Rows):
    """A DataFrame with a row a credential."""

    _none = "There are no credentials."
    _always = ("id", "name", "provider", "has_api_key")
    _whole = ("decryption_error",)

    def _ends(self) -> tuple[Sequence[str], Sequence[str]]:
        return (
            "name",
            "provider",
            "has_api_key",
            "model_count",
            "base_url",
            "decryption_error",
        ), ("id", *_TIMES)


class ConfiguredRows(Rows):
    """A DataFrame with a row a provider: where its key is."""

    _none = "There are no providers."
    _always = ("provider", "configured")


def transformations(found: Iterable[Record]) -> pd.DataFrame:
    """Return transformations' records as a frame."""
    return TransformationRows(records.frame(records.TRANSFORMATION, found))


def models(found: Iterable[Record]) -> pd.DataFrame:
    """Return models' records as a frame."""
    return ModelRows(records.frame(records.MODEL, found))


def providers(found: Iterable[Record]) -> pd.DataFrame:
    """Return providers' records as a frame."""
    return ProviderRows(records.frame(records.PROVIDER, found))


def discovered(found: Iterable[Record]) -> pd.DataFrame:
    """Return the records of models on offer as a frame."""
    return DiscoveredRows(records.frame(records.DISCOVERED, found))


def synced(found: Iterable[Record]) -> pd.DataFrame:
    """Return what came of asking providers as a frame."""
    return SyncedRows(records.frame(records.SYNCED, found))


def credentials(found: Iterable[Record]) -> pd.DataFrame:
    """Return credentials' records as a frame."""
    return CredentialRows(records.frame(records.CREDENTIAL, found))


def configured(found: Iterable[Record]) -> pd.DataFrame:
    """Return where providers' keys are as a frame."""
    return ConfiguredRows(records.frame(records.CONFIGURED, found))
