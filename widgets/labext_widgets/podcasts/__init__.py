"""A podcast: watched while it is made, and played with its transcript.

- `following`: the watch of a job. `attempts`: its Retry button, the run after it, and the player
  in the end.
- `playing`: the player, and who sends it the sound. `episode`: what it plays, read from a record.
- `picture`: that in a saved notebook, and as plain text.

The live player is `js/player.js`.
"""

from labext_widgets.podcasts.following import follow_podcast
from labext_widgets.podcasts.playing import player

__all__ = ["follow_podcast", "player"]
