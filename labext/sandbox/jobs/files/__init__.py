"""The job service's files: uploads, outputs and archives, on disk and by their addresses.

`routes` serves them: `uploads` by key, `presigned` by signed addresses, and `results`, whose files
`outputs` finds. `folders` says where all of them are; `archives` writes the zip files.
"""
