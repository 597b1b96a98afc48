"""The local job service: what the job service contract names, by real tools and real processes.

- Asking: `app` and `files.routes` take requests apart, `calls` says what all of them need, and
  `identity` who asks; `fields` and `names` read what was sent, `faults` are the refusals, `openapi`
  the description that is handed out.
- Submitting: `submission` (a job, or a batch by `batch_forms`) and `pipelines`, held against
  `settings`, `references` and `budgets`; `storing` writes the rows and puts the tasks.
- Running: `tasks` says what a start and an end do; `execution` runs a tool of the `catalogue` in a
  process of its own, which `tool` and `tools` describe, and `versions` says with what. `batches`
  and `pipelines`, and `parents` for what they have in common, go on from there, to the archive
  that `aggregation` builds.
- Seeing and ending: `listing`, `usage`, `ending`; `files` for whatever has bytes.
- Keeping: `store` has the tables, `limits` what may be changed, `seed` what is there from the
  start; `administration` is for whoever runs the service.
"""
