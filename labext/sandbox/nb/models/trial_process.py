"""The process in which a built-in model of sound is tried: see `trial`.

`python -m labext.sandbox.nb.models.trial_process FOLDER MODEL` prints what came of it, as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from labext.sandbox.nb.ingestion.reasons import Unreadable
from labext.sandbox.nb.models import registry
from labext.sandbox.nb.models.trial import SAID, tone
from labext.sandbox.nb.processes import opened
from labext.sandbox.nb.speech import engine, hearing
from labext.sandbox.nb.store import Model
from labext.sandbox.service import Site


def main(folder: Path, identifier: str) -> dict[str, Any]:
    """Try a model of the service in a folder."""
    with opened(folder / "work" / "trial") as site:
        with site.database.read() as session:
            model = registry.model(session, identifier)
        try:
            return _spoken(site, model) if model.kind == registry.TTS else _heard(site, model)
        except HTTPException as error:
            return {"error": str(error.detail)}
        except Unreadable as error:
            return {"error": str(error)}


def _spoken(site: Site, model: Model) -> dict[str, Any]:
    sound = engine.say(site, model, engine.voices(site, model)[0], SAID)
    return {"spoken": round(len(sound.samples) / sound.rate, 2)}


def _heard(site: Site, model: Model) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as work:
        return {"heard": hearing.transcript(site, model, tone(Path(work)), lambda _stage: None)}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2])))
