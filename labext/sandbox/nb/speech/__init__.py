"""Speech: texts spoken by voices, and sound heard as text.

`engine` says a text by whichever model of type `tts`: `espeak` and `flite` are the built-in ones,
`remote` is any OpenAI-compatible server. `casting` gives each speaker a voice of his own, `wording`
writes a text as it is said, with `terms` in words, in whichever of the `languages`. `samples` are
what is heard, at a level (`loudness`), and `recording` puts all of it into an MP3 (`encoding`).

`hearing` writes down what is said in a file of sound, which `decoding` takes apart: `recognition`
is the built-in model of type `stt`.
"""
