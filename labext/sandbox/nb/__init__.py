"""The local notebook service: what its contract names, with real ingestion, search and answers.

`app` has the service; `gate` stands before every route: the password, the flood, the size of a
body. `pages` has the open routes, and `description` completes what `/docs` shows. Each group of the
contract has a folder with `routes`, which only take a request apart, and `bodies`, which say what
is sent and answered: `notebooks`, `sources`, `notes`, `chat`, `search`, and `answers` for the two
questions of the group Search. Behind them `ingestion` makes a source's text and passages in a
process of its own (`processes`), which tells how far it is (`stages`), and `models` writes and
embeds. So does `podcasts` make an episode, which `speech` speaks. `downloads` hands out files.

`store` has the tables, `settings` and `limits` what whoever runs the service may change, `seed`
what is there from the start, `faults` the refusals; `administration` is for whoever runs it.

How a route declares itself
---------------------------
The description that `/docs` shows is made from the routes, so each says all there is to know::

    # notebooks/bodies.py
    class NewNotebook(Body):
        \"""What a new notebook is about.\"""

        name: Name = Field(examples=["Arabinose induction"])
        description: Prose | None = None

    # notebooks/routes.py
    @api.post("/notebooks", response_model=NotebookRecord)
    def post_notebook(site: SiteOf, body: NewNotebook) -> Response:
        \"""Make a notebook.\"""
        return json_answer(changing.make(site, body))

- A body is a `Body` (`nb.bodies`): strict types, unknown fields ignored, `null` as left out unless
  it means something. Texts are `Name`, `Line`, `Content`, `Prose`; identifiers, in a path, a query
  or a body, are `Identifier`. What doesn't fit is a 400 with one sentence, by `handle_errors`.
  Sizes are the routes' matter: `limits.check_text(session, text)` (413).
- Query parameters are annotated arguments: `limit: Annotated[int, Query(ge=1, le=1000)] = 50`.
- The answer is made by `json_answer` and described by `response_model=`, a `Record`: nothing is
  validated or serialised twice. Times are `calls.moment(seconds)`.
- The docstring's first sentence is the operation's summary in `/docs`. `tags` and the refusals that
  every route may answer are given where `app` includes the router.
- A route is a plain function unless it streams: it runs beside the event loop. The password is
  checked, and the body bounded, before the first byte of a body is read.
- A route that reads a form or a stream itself takes `request: Request`, is `async`, and describes
  its body by `openapi_extra={"requestBody": …}`.

What the contract leaves open, and what is answered
---------------------------------------------------
Where real services (section nb of its notes) show something, that is followed.

===========================  =====================================================================
left open                    answered
===========================  =====================================================================
the password's scheme        `Authorization: Bearer …`; a 401 has `WWW-Authenticate: Bearer`
what needs the password      all but the seven open routes and what `/docs` and `/redoc` load: an
                             unknown path too, which is a 404 only for those who have it
no password configured       no authentication at all, whatever is sent; `/api/auth/status` says so
rate limiting                with `--rate named` 1,000 requests in any 10 s, then 429 with
                             Retry-After; wrong passwords are counted apart, open routes never
sizes                        a body, file or text over its limit: 413 `{detail}`; `limits.LIMITS`
statuses of success          200, also for what is made; 206 for a part of an original file
wrong path, method           404, 405 `{detail}`; a slash at the end is another path
invalid input                400, always, with the first fault in one sentence: also a type, a
                             missing field, broken JSON, a body that is not sent as JSON
types in a JSON body         as they stand: `"yes"` is no boolean and `"5"` no number
unknown fields, parameters   ignored
null                         as if left out, but where it means something (`model_override`)
identifiers                  `<table>:` and 20 letters or digits; what can be none (control
                             characters, over 100 characters) is a 400, all else a 404
names, titles, topics        one line of at most 500 characters, without control characters, its
                             blanks at both ends taken off; two things may have one name
texts                        any but NUL and halves of surrogate pairs
times                        ISO 8601 in UTC with `Z`, to the millisecond
`order_by`                   `updated_at`, `created_at`, `name` (sources: `title`), perhaps a blank
                             with `asc` or `desc`; times go down by themselves, names up, without
                             regard to case; else 400
`updated_at`                 of the last change to the thing itself: what is put into a notebook
                             doesn't change it, nor does an empty change
page sizes                   sources 50 of at most 1,000; notebooks and notes are never cut
linking                      idempotent both ways; 404 for a notebook or source that isn't there
deleting a notebook          takes its notes and sessions along, and with `delete_sources` the
                             sources of no other notebook; `delete-preview` counts the same way:
                             `note_count`, `exclusive_source_count`, `shared_source_count`,
                             `session_count`; without `delete_sources` sources are left unlinked
notes                        the content is required, the type is `human` if left out, a notebook is
                             not needed; lists have the contents, the last changed first
an AI note without a title   gets one when it is made, of at most 80 characters; a change that takes
                             the title away leaves it without
searching notes              found by their words with the answer that made or changed them; vectors
                             are made by the first search that needs them
transformations              by their names; two may have one name; the title is the name if none is
                             given, and the `insight_type` of what it makes; null takes its model
                             away; what it has made stays when it is deleted
whose model runs it          the request's, the transformation's, that of the slot `transformation`;
                             else 422. A text too long for a model's server goes in parts, of which
                             one answer is made (`model_characters`, `model_parts`); then 413
the default prompt           `transformation_instructions`: a model's server has it as the system's
                             message; the built-in model picks by it where the prompt says nothing
`apply_default`              run on every new source in its own process; one that fails leaves the
                             source completed, its status' `message` says so, and it may be retried
profiles                     at `/episode-profiles` and `/speaker-profiles`, by name or identifier;
                             a name is its own among its kind (else 400) and has no `/`; a copy is
                             called `… - Copy`; null takes a model, a language or a bound on tokens
                             away; a speaker profile that an episode profile names is not deleted
                             (400)
who speaks in an episode     the speakers of all profiles that are named, or else of the episode
                             profile's: one to four, no two of one name; without a `voice_id` each
                             gets a voice that no other has
ordering an episode          all that can be known is refused before the job: 404, 400, or 422
                             where a model is missing; the episode is there from then on, `new`;
                             two orders of one name are two episodes; without a name it gets a
                             number
what an episode is about     the texts of the sources that are read, and the notes, as they are
                             when the job begins; of more than 2,000,000 characters the beginnings
a podcast job's states       as a source's; while it runs `stage` says in words and `progress` in
                             numbers how far it is; `completed` has its sound, `episodes/<id>.mp3`,
                             and `failed` its reason and no sound; the transcript stays where the
                             sound of a completed one was lost
retrying an episode          the same episode by a new job, with its briefing, by its profiles as
                             they are now, or as they were where they are gone; the job before is a
                             404 then; 400 if its notebook is gone
an episode's audio           `audio/mpeg` with Range, If-Range, ETag and HEAD; until the episode is
                             completed a 404 that says why
episodes of a notebook       stay when it is deleted, with `notebook_id` null; what waits for its
                             turn then fails
models                       the last added first; two may have one name, but not one name, type,
                             provider and credential (400); the built-in ones stay (400)
a model's credential         where it names none: its provider's oldest, or else what the
                             environment of the service says
testing a model              a real call of its type; a failure is `success: false` under 200,
                             also a 429; `details` has `seconds` and what was measured
default slots                PUT is partial and all or nothing; null takes a slot's model away;
                             404 for an unknown model, 422 for one of another type; unknown slots
                             are ignored; another embedding model makes its vectors in the
                             background
deleting a model             400 while a slot has it, which names the slots; so is its
                             credential's
providers                    openai, mistral, xai, deepseek, groq, openrouter, openai_compatible,
                             ollama and built-in, else 400; `available` are those that can be
                             asked
types of discovered models   guessed from the words of their names (`models.guessing`); null for
                             what the service has no use for, which a sync doesn't add; a type
                             that was given stays
syncing                      by every credential of a provider, or the environment; of all: who
                             fails has `{"error"}` in `results` and keeps no other back
auto-assign                  to empty slots, of providers that can be asked: first by the order of
                             the providers above, then flite before espeak-ng,
                             then the age, then the name (`models.ranking`)
a credential's key           encrypted by a secret of the sandbox, in no answer; PUT with null
                             takes it away; `decryption_error` and a 422 of every use where the
                             secret changed
a credential's `base_url`    http or https, without user, query and fragment, null for the
                             provider's own; link-local addresses and cloud metadata services are
                             refused (400) and never sent anything; another server (scheme, host,
                             port) than a stored key was given for needs `api_key` with it, a key or
                             null (400); one without a path, such as Ollama's, is tried with `/v1`
                             where it answers 404
a provider's 429             stays a 429, with the provider's Retry-After or else 10 seconds; its
                             other failures are 502
a credential's provider      stays (400); the name need not be its own
the environment              `OPENAI_API_KEY`, `OPENAI_BASE_URL` and so on as the service was
                             started with; used, also by tasks, where a provider has no credential
`status`, `env-status`       what asking a provider takes is known; nobody is asked
`/api/config`                `version`, `latestVersion` and `hasUpdate` (never: it asks nobody),
                             `dbStatus` `online` or `offline`
===========================  =====================================================================
"""
