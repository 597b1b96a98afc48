"""Watch the generation of a podcast, and play it with its transcript."""

from labext_widgets.podcasts.generation import follow_podcast
from labext_widgets.podcasts.player import show_player

__all__ = ["follow_podcast", "show_player"]
