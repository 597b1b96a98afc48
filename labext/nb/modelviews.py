"""Frames of transformations, models and credentials, and their views."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from labext.nb import records
from labext.nb.records import Record
from labext.rowviews import RowView

TRANSFORMATIONS = RowView(
    name="transformations",
    empty="There are no transformations.",
    first=("name", "apply_default", "description", "prompt", "model_id"),
    last=("id", "title", "created_at", "updated_at"),
)

MODELS = RowView(
    name="models",
    empty="There are no models.",
    first=("name", "type", "provider", "credential"),
    last=("id", "created_at", "updated_at"),
)

PROVIDERS = RowView(
    name="providers",
    empty="There are no providers.",
)

DISCOVERED = RowView(
    name="discovered",
    empty="No models are on offer.",
    first=("name", "model_type", "description"),
    last=("provider",),
)

SYNCED = RowView(
    name="synced",
    empty="No provider can be asked.",
    whole=("error",),
)

CREDENTIALS = RowView(
    name="credentials",
    empty="There are no credentials.",
    first=("name", "provider", "has_api_key", "model_count", "base_url", "decryption_error"),
    last=("id", "created_at", "updated_at"),
    whole=("decryption_error",),
)

CONFIGURED = RowView(
    name="configured",
    empty="There are no providers.",
)


def transformations(found: Iterable[Record]) -> pd.DataFrame:
    """Return transformations' records as a frame."""
    return TRANSFORMATIONS.show(records.frame(records.TRANSFORMATION, found))


def models(found: Iterable[Record]) -> pd.DataFrame:
    """Return models' records as a frame."""
    return MODELS.show(records.frame(records.MODEL, found))


def providers(found: Iterable[Record]) -> pd.DataFrame:
    """Return providers' records as a frame."""
    return PROVIDERS.show(records.frame(records.PROVIDER, found))


def discovered(found: Iterable[Record]) -> pd.DataFrame:
    """Return the records of models on offer as a frame."""
    return DISCOVERED.show(records.frame(records.DISCOVERED, found))


def synced(found: Iterable[Record]) -> pd.DataFrame:
    """Return what came of asking providers as a frame."""
    return SYNCED.show(records.frame(records.SYNCED, found))


def credentials(found: Iterable[Record]) -> pd.DataFrame:
    """Return credentials' records as a frame."""
    return CREDENTIALS.show(records.frame(records.CREDENTIAL, found))


def configured(found: Iterable[Record]) -> pd.DataFrame:
    """Return where providers' keys are as a frame."""
    return CONFIGURED.show(records.frame(records.CONFIGURED, found))
