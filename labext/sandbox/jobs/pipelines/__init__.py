"""Pipelines in the job service: steps of which each takes what the one before hands on.

`submission` reads one with `forms` and stores it with its first jobs; `stage_jobs` plans and stores
the jobs of a stage, for which `piping` fills in what was handed on; `settling` takes a pipeline on
when a job of it has ended.
"""
