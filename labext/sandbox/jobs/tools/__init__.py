"""The computational tools of the job service, one module each."""
