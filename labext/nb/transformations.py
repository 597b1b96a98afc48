"""Client methods for transformations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from labext.nb import views
from labext.nb.backends import OnWords
from labext.nb.records import Record, drop_none
from labext.nb.resource import Names, Resource, build_changes, require_text, unique_names

if TYPE_CHECKING:
    import pandas as pd


class Transformations(Resource):
    """`nb.transformations`: prompts applied to a text.

    A default transformation runs on every new source and creates an insight.
    """

    def list(self) -> pd.DataFrame:
        """Return the transformations; columns as `labext.nb.records.TRANSFORMATION`."""
        return views.transformation_frame(self.iter())

    def iter(self) -> Iterator[Record]:
        """Yield the records of all transformations."""
        yield from self._run(self._backend.transformations())

    def names(self) -> Names:
        """Return the distinct names of all transformations."""
        return unique_names(self.iter())

    def find(self, transformation: str) -> str:
        """Return a transformation's identifier, by its name or its title."""
        return self._titles.find("transformation", transformation)

    def get(self, transformation: str) -> Record:
        """Return one transformation's record."""
        return self._run(self._backend.transformation(self.find(transformation)))

    def create(
        self,
        name: str,
        prompt: str,
        title: str | None = None,
        description: str | None = None,
        apply_default: bool = False,
        model: str | None = None,
    ) -> Record:
        """Create a transformation; return its record.

        Args:
            name: the name; need not be unique.
            prompt: the instructions for the model.
            title: the title of its insights; default: the name.
            description: the purpose.
            apply_default: run it on every new source.
            model: the language model, by name or identifier; default: the one in the slot
                `transformation`.

        Raises:
            InputError: the name or the prompt is empty.
            OutcomeUnknownError: the response was lost; it may have been created.
        """
        optional = {"title": title, "description": description, "model_id": self._model(model)}
        body = {
            "name": name,
            "prompt": prompt,
            "apply_default": apply_default,
            **drop_none(optional),
        }
        return self._run(self._backend.new_transformation(body))

    def update(
        self,
        transformation: str,
        name: str | None = None,
        prompt: str | None = None,
        title: str | None = None,
        description: str | None = None,
        apply_default: bool | None = None,
        model: str | None = None,
    ) -> Record:
        """Update a transformation and return its record; None leaves a field unchanged.

        An empty `model` restores the model in the slot `transformation`.

        Raises:
            InputError: there are no changes.
        """
        values = {
            "name": name,
            "prompt": prompt,
            "title": title,
            "description": description,
            "apply_default": apply_default,
            "model_id": self._model(model),
        }
        changed = build_changes("transformation", values, {"model_id"})
        identifier = self.find(transformation)
        return self._run(self._backend.change_transformation(identifier, changed))

    def delete(self, transformation: str) -> None:
        """Delete a transformation; its insights are kept."""
        self._run(self._backend.delete_transformation(self.find(transformation)))

    def execute(
        self,
        transformation: str,
        text: str,
        model: str | None = None,
        on_words: OnWords | None = None,
    ) -> Record:
        """Run a transformation on a text; return its output.

        The record has `output`, `transformation_id`, `model_id` and `usage`.

        There is no timeout while the service works.

        Args:
            transformation: the transformation.
            text: the text to transform.
            model: the language model to use instead of the transformation's own or the default.
            on_words: called with the words of the output as they arrive, if the service streams
                them.

        Raises:
            InputError: the text is empty.
            SetupError: the transformation has no model, and the slot `transformation` is empty.
            ServiceError: the model's provider failed.
        """
        require_text(text, "text", "Give a text, a source or a note.")
        identifier, model_id = self.find(transformation), self._model(model)
        return self._run(self._backend.transform(identifier, text, model_id, on_words))

    def default_prompt(self) -> str:
        """Return the prompt that precedes every transformation's own prompt."""
        return self._run(self._backend.default_prompt())

    def set_default_prompt(self, text: str) -> str:
        """Set the prompt that precedes every transformation's own prompt; return it."""
        return self._run(self._backend.set_default_prompt(text))
