"""The local job service: what the job service contract names, by real tools and real processes.

A request goes `app` (routes) → `identity` (who asks) → `submission`, `listing`, `results`, `ending`
or `uploads` → `store` (tables). A submission is read by `fields` and `batch_forms`, held against
`settings` and `references`, and put into the queue by `tasks`. In a process of its own `execution`
runs a tool of the `catalogue`, and `aggregation` builds a batch's archive.
"""
