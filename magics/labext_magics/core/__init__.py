"""Parsing, dispatch, completion and help shared by the three magics."""
