"""Proofs: transformations."""

from __future__ import annotations

from labext.nb.records import OUTPUT, TRANSFORMATION
from open_notebook.facts import request_body
from open_notebook.proof import proof
from open_notebook.proved.ids import MODEL_ID, TRANSFORMATION_ID

TRANSFORMATIONS = (
    proof(
        "transformations",
        lambda d: d.transformations(),
        "transformations.list",
        fields=TRANSFORMATION,
        missing="model_id",
    ),
    proof(
        "transformation",
        lambda d: d.transformation(TRANSFORMATION_ID),
        "transformations.get",
        fields=TRANSFORMATION,
        missing="model_id",
        values={"title": "Shorten", "created_at": "2026-11-20T13:30:43.462Z"},
    ),
    proof(
        "new_transformation",
        lambda d: d.new_transformation(request_body("transformations.create")),
        "transformations.create",
        fields=TRANSFORMATION,
        missing="model_id",
    ),
    # That server also requires a title and a description.
    proof(
        "new_transformation",
        lambda d: d.new_transformation({"name": "shorten", "prompt": "Shorten this."}),
        "transformations.create",
        omitted="apply_default",
        differing="title description",
    ),
    proof(
        "change_transformation",
        lambda d: d.change_transformation(TRANSFORMATION_ID, {"title": "Shorten it"}),
        "transformations.put",
        fields=TRANSFORMATION,
        missing="model_id",
        values={"title": "Shorten it"},
    ),
    proof(
        "delete_transformation",
        lambda d: d.delete_transformation(TRANSFORMATION_ID),
        "transformations.delete",
        result=None,
    ),
    proof(
        "transform",
        lambda d: d.transform(TRANSFORMATION_ID, "Long text here.", MODEL_ID),
        "transformations.execute",
        fields=OUTPUT,
        missing="usage",
        values={"output": "Fake answer (fake-chat) to: 'Long text here.'. "},
    ),
    proof(
        "transform",
        lambda d: d.transform(TRANSFORMATION_ID, "Long text here.", None),
        "transformations.execute_no_model",
        fields=OUTPUT,
        missing="model_id usage",
    ),
    proof("default_prompt", lambda d: d.default_prompt(), "transformations.default_prompt_get"),
    proof(
        "set_default_prompt",
        lambda d: d.set_default_prompt("Be brief."),
        "transformations.default_prompt_put",
        result="Be brief.",
    ),
)
