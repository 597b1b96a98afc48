"""Chinese, Japanese and Korean text."""

UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Ranges of the characters, for a regular expression's `[…]`.

Blanks do not separate the words of such text, or not from particles.
"""
