"""Download, verify, unpack and describe the results of jobs."""
