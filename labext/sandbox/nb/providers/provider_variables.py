"""Names of the environment variables with the keys and addresses of model providers."""

from __future__ import annotations

PROVIDERS = (
    *("openai", "anthropic", "google", "mistral", "xai", "deepseek", "groq", "openrouter"),
    *("elevenlabs", "azure", "openai_compatible", "ollama"),
    *("lmstudio", "vllm", "piper"),
)
"""The providers that are reached by a credential or by the environment: see `providers`."""


def key_variable(provider: str) -> str:
    """The variable with a provider's key: `OPENAI_API_KEY`."""
    return f"{provider.upper()}_API_KEY"


def url_variable(provider: str) -> str:
    """The variable with a provider's address: `OPENAI_BASE_URL`."""
    return f"{provider.upper()}_BASE_URL"


def provider_variables() -> frozenset[str]:
    """All these variables."""
    return frozenset(
        name(provider) for provider in PROVIDERS for name in (key_variable, url_variable)
    )
