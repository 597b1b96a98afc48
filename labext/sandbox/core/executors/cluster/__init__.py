"""Run tasks on the workers of a dask.distributed cluster."""
