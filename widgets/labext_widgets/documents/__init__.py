"""Sources as documents with pages: PDF pages as pictures, everything else as text."""

from labext_widgets.documents.pages import Pages, TextPages
from labext_widgets.documents.pdf import PdfPages
from labext_widgets.documents.view import SourceView

__all__ = ["Pages", "PdfPages", "SourceView", "TextPages"]
