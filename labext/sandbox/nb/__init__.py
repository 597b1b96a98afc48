"""The local notebook service: what its contract names, with real ingestion, search and answers.

`app` has the service; `gate` stands before every route: the password, the flood, the size of a
body. Each group of the contract has a folder with `routes`, which only take a request apart,
and `bodies`, which say what is sent and answered. `store` has the tables, `limits` what may be
changed, `seed` what is there from the start, `faults` the refusals; `administration` is for whoever
runs the service.

How a route declares itself
---------------------------
The description that `/docs` shows is made from the routes, so each says all there is to know::

    # notebooks/bodies.py
    class NewNotebook(Body):
        \"""What a new notebook is called.\"""

        name: Name = Field(examples=["Arabinose induction"])
        description: Prose | None = None

    # notebooks/routes.py
    @api.post("/notebooks", response_model=NotebookRecord)
    def post_notebook(site: SiteOf, body: NewNotebook) -> Response:
        \"""Make a notebook.\"""
        return json_answer(making.make(site, body.name, body.description))

- A body is a `Body` (`nb.bodies`): strict types, unknown fields ignored, `null` as left out unless
  it means something. Texts are `Name`, `Line`, `Content`, `Prose`; identifiers, in a path, a query
  or a body, are `Identifier`. What doesn't fit is a 400 with one sentence, by `handle_errors`.
  Sizes are the routes' matter: `limits.check_text(session, text)` (413).
- Query parameters are annotated arguments: `limit: Annotated[int, Query(ge=1, le=1000)] = 50`.
- The answer is made by `json_answer` and described by `response_model=`, a `Record`: nothing is
  validated or serialised twice. Times are `calls.moment(seconds)`.
- The docstring's first line is the operation's summary in `/docs`. `tags` and the refusals that
  every route may answer are given where `app` includes the router.
- A route is a plain function unless it streams: it runs beside the event loop. The password is
  checked, and the body bounded, before the first byte of a body is read.
- A route that reads a form or a stream itself takes `request: Request`, is `async`, and describes
  its body by `openapi_extra={"requestBody": …}`.
"""
