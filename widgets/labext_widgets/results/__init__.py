"""View the result files of jobs: structures, trees, drawings, pictures, tables and text."""

from labext_widgets.core.picture import PictureView
from labext_widgets.results.files import JobFiles, TextView
from labext_widgets.results.gallery import Gallery
from labext_widgets.results.open import open_comparison, open_file, open_gallery, open_job

__all__ = [
    "Gallery",
    "JobFiles",
    "PictureView",
    "TextView",
    "open_comparison",
    "open_file",
    "open_gallery",
    "open_job",
]
