"""Sources: how they come in, are shown, and go.

`forms` reads what is sent, a file by `multipart` straight to the disk; `creation` stores it with
the task that processes it (`nb.ingestion`). `records` has what is answered.
"""
