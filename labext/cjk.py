"""Chinese, Japanese and Korean text."""

UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""The characters, for a regular expression's `[…]`: blanks do not separate their words, or not from
particles."""
