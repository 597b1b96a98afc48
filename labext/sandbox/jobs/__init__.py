"""The local job service: runs computational-biology tools as queued jobs."""
