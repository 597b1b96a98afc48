"""Uploaded files, job outputs and result archives."""
