"""The tools of the job service, one a module, each a real program that runs on the CPU."""
