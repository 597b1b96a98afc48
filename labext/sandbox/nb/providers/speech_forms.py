"""The wire forms of speech: text to speech, speech to text, and voices."""

from __future__ import annotations

import base64
import io
import math
import re
import wave
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote

from labext.sandbox.nb.providers.chat_forms import google_path, model_path
from labext.sandbox.nb.providers.servers import ProviderServer
from labext.sandbox.nb.providers.transport import FormPayload, JsonPayload, ModelRequest


class RecognizedText(NamedTuple):
    """A transcript.

    Attributes:
        text: the words.
        segments: parts of it with their number of words and the logarithm of their mean
            probability; empty if the server states no probabilities.
    """

    text: str
    segments: Sequence[tuple[int, float]] = ()


class SpeechForm(ABC):
    """The wire form of a speech server; methods that parse raise as those of `WireForm`.

    `voices` are those for speakers without one; it is empty if the server lists its voices.
    """

    voices: ClassVar[Sequence[str]] = ()

    @abstractmethod
    def speak(self, server: ProviderServer, model: str, text: str, voice: str) -> ModelRequest:
        """Return the request for speech."""

    def parse_sound(self, content: bytes) -> bytes:
        """Return the audio file in a response."""
        return content

    @abstractmethod
    def hear(self, server: ProviderServer, model: str, path: Path) -> ModelRequest:
        """Return the request for a transcript."""

    def parse_text(self, value: Any) -> RecognizedText:
        """Parse a transcript."""
        raise KeyError(str(value)[:100])

    def voices_path(self) -> str:
        """Return the path of the list of voices, for a form without `voices`."""
        return "/voices"

    def parse_voices(self, value: Any) -> dict[str, str]:
        """Parse the names of the voices, by their identifiers."""
        raise KeyError(str(value)[:100])

    def models_path(self, server: ProviderServer) -> str:  # noqa: ARG002
        """Return the path of the list of models, for a provider of speech alone."""
        return "/models"

    def parse_models(self, value: Any) -> list[Any]:
        """Parse the names of the models."""
        return [row["model_id"] for row in value]

    def next_page(self, value: Any) -> dict[str, str]:  # noqa: ARG002
        """Return an empty query, since the list of models has one page."""
        return {}


class _OpenAISpeech(SpeechForm):
    """`/audio/speech` and `/audio/transcriptions`."""

    voices = ("nova", "onyx", "shimmer", "echo", "alloy", "fable")

    def speak(self, server: ProviderServer, model: str, text: str, voice: str) -> ModelRequest:
        body = {"model": model, "input": text, "voice": voice, "response_format": "wav"}
        path = model_path(server, model, "/audio/speech")
        return ModelRequest(path, JsonPayload(body), "audio/wav, audio/*")

    def hear(self, server: ProviderServer, model: str, path: Path) -> ModelRequest:
        # Other models of OpenAI reject a format with the probabilities of segments.
        response_format = "verbose_json" if "whisper" in model.lower() else "json"
        form = FormPayload({"model": model, "response_format": response_format}, path)
        return ModelRequest(model_path(server, model, "/audio/transcriptions"), form)

    def parse_text(self, value: Any) -> RecognizedText:
        """Parse a transcript, with the probabilities of its segments if it has them."""
        segments = [
            (len(str(segment["text"]).split()), float(segment["avg_logprob"]))
            for segment in value.get("segments") or ()
            if segment.get("avg_logprob") is not None
        ]
        return RecognizedText(value["text"], segments)


class _ElevenLabsSpeech(SpeechForm):
    """`/text-to-speech/VOICE`, `/speech-to-text`, `/voices` and `/models`."""

    def speak(self, server: ProviderServer, model: str, text: str, voice: str) -> ModelRequest:  # noqa: ARG002
        """Return the request for an MP3 file; the voice is its identifier."""
        path = f"/text-to-speech/{quote(voice, safe='')}?output_format=mp3_44100_128"
        return ModelRequest(path, JsonPayload({"text": text, "model_id": model}), "audio/mpeg")

    def hear(self, server: ProviderServer, model: str, path: Path) -> ModelRequest:  # noqa: ARG002
        return ModelRequest("/speech-to-text", FormPayload({"model_id": model}, path))

    def parse_text(self, value: Any) -> RecognizedText:
        """Parse a transcript with the probabilities of its words."""
        words = [
            (len(str(word["text"]).split()), float(word["logprob"]))
            for word in value.get("words") or ()
            if word.get("type") == "word" and word.get("logprob") is not None
        ]
        return RecognizedText(value["text"], words)

    def parse_voices(self, value: Any) -> dict[str, str]:
        return {row["voice_id"]: row["name"] for row in value["voices"]}


class _PiperSpeech(SpeechForm):
    """The HTTP server of Piper, which only synthesizes: `POST /` and `/voices`."""

    def speak(self, server: ProviderServer, model: str, text: str, voice: str) -> ModelRequest:  # noqa: ARG002
        return ModelRequest("/", JsonPayload({"text": text, "voice": voice}), "audio/wav")

    def hear(self, server: ProviderServer, model: str, path: Path) -> ModelRequest:  # noqa: ARG002
        """Return a path that Piper rejects, since it does not transcribe."""
        return ModelRequest("/transcribe", FormPayload({"model": model}, path))

    def parse_voices(self, value: Any) -> dict[str, str]:
        """Parse the names of the voices, which are the keys of their configurations."""
        return {name: name for name in value.keys()}  # noqa: SIM118 - raises for a list

    def models_path(self, server: ProviderServer) -> str:  # noqa: ARG002
        """Return the path of the voices, since one model speaks with all of them."""
        return self.voices_path()

    def parse_models(self, value: Any) -> list[Any]:
        """Return the one model, if there are voices."""
        return ["piper"] if self.parse_voices(value) else []


class _GoogleSpeech(SpeechForm):
    """Gemini models that synthesize speech, or are prompted to transcribe."""

    voices = ("Kore", "Puck", "Zephyr", "Charon", "Leda", "Fenrir")

    def speak(self, server: ProviderServer, model: str, text: str, voice: str) -> ModelRequest:  # noqa: ARG002
        """Return the request for raw samples."""
        config = {
            "responseModalities": ["AUDIO"],
            "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": voice}}},
        }
        return ModelRequest(
            google_path(model, "generateContent"),
            JsonPayload({"contents": [{"parts": [{"text": text}]}], "generationConfig": config}),
        )

    def parse_sound(self, content: bytes) -> bytes:
        """Return the raw samples as a WAV file."""
        import orjson

        data = orjson.loads(content)["candidates"][0]["content"]["parts"][0]["inlineData"]
        samples = base64.b64decode(data["data"], validate=True)
        kind = data.get("mimeType", "")
        if not kind.lower().startswith(("audio/l16", "audio/pcm")):
            return samples
        rate = _RATE.search(kind)
        output = io.BytesIO()
        with wave.open(output, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(int(rate[1]) if rate else _DEFAULT_RATE)
            file.writeframes(samples)
        return output.getvalue()

    def hear(self, server: ProviderServer, model: str, path: Path) -> ModelRequest:  # noqa: ARG002
        """Return the request for a transcript, which contains the audio."""
        sound = {
            "mimeType": _MEDIA_TYPES.get(path.suffix.lower(), "audio/mpeg"),
            "data": base64.b64encode(path.read_bytes()).decode(),
        }
        parts = [{"text": _TRANSCRIBE}, {"inlineData": sound}]
        return ModelRequest(
            google_path(model, "generateContent"), JsonPayload({"contents": [{"parts": parts}]})
        )

    def parse_text(self, value: Any) -> RecognizedText:
        parts = value["candidates"][0]["content"].get("parts") or []
        return RecognizedText("".join(part["text"] for part in parts if not part.get("thought")))


_TRANSCRIBE = (
    "Write down the speech in this recording word for word. Answer with its text alone; if nobody "
    "speaks, answer with nothing."
)
_MEDIA_TYPES = {".wav": "audio/wav", ".ogg": "audio/ogg", ".flac": "audio/flac"}
_RATE = re.compile(r"rate=(\d{4,6})")
_DEFAULT_RATE = 24_000

SPEECH_FORMS: Mapping[str, SpeechForm] = {
    "elevenlabs": _ElevenLabsSpeech(),
    "google": _GoogleSpeech(),
    "openai": _OpenAISpeech(),
    "piper": _PiperSpeech(),
}
"""The wire forms by name."""


def word_probabilities(text: str, segments: Sequence[tuple[int, float]]) -> tuple[float, ...]:
    """Return the probability of each word; empty if the server states none.

    The words of a segment have the same one. If the segments are not those of the text, all words
    have the mean.
    """
    probabilities = [math.exp(min(log, 0.0)) for words, log in segments for _ in range(words)]
    count = len(text.split())
    if probabilities and len(probabilities) != count:
        return (sum(probabilities) / len(probabilities),) * count
    return tuple(probabilities)
