"""A podcast: watched while it is made, and played with its transcript.

- `following`: the watch of a job. `retrying`: its Retry button, and the run after it.
"""

from labext_widgets.podcasts.following import follow_podcast

__all__ = ["follow_podcast"]
