"""Identifiers in the recordings."""

NOTEBOOK_ID = "notebook:bbhcqmsnz94npnt7fspo"
SECOND = "notebook:xqw43ktrgx2xufas0bfh"
DOOMED_NOTEBOOK, DOOMED_NOTEBOOK_2 = (
    "notebook:1t5m4h3u8nj6h2lvvabf",
    "notebook:gk0nuv33hyk0yfkjwcol",
)
TEXT, ASYNC, PAGE = (
    "source:tyu15omdv02ep90uauvu",
    "source:iv8t6jwqw9lo4amjyr0f",
    "source:k1ehtx07hqp0kvhmyi51",
)
UPLOAD, BROKEN = "source:uz770phrsdfnzdkxl8zc", "source:3lexeikpxfdb9wzv9t7v"
NOTE_ID, AI_NOTE, BARE_NOTE = (
    "note:rh4bk8rexnua5a5c6tt3",
    "note:zy9r1128fhjvvv67zn43",
    "note:2v1h6nnjbp70uur02d4q",
)
CHAT, CONTEXT_CHAT = "chat_session:tew7qut8ma0fvf0pw7ly", "chat_session:ue5x2sp4pd8dwx1l27pi"
MODEL_ID = "model:db6z8s9l2zymrjl04e3q"
CREDENTIAL_ID, DOOMED_CREDENTIAL = (
    "credential:zxmjl3b0xkd8arrpirk8",
    "credential:f2cf5nzlm4qcy2gmdxug",
)
TRANSFORMATION_ID = "transformation:crmosgrkryawdq7gtwom"
SOLO, BUSINESS = ("episode_profile:umd1xkd0jx5z63pc1es9", "episode_profile:wett8l13jgi0pneipe3g")
SOLO_SPEAKER, TECH_SPEAKERS = (
    "speaker_profile:ym0aj2nnzcrsdbczgpoa",
    "speaker_profile:apv0q0oqbc8ccqewyywj",
)
EPISODE_ID, FAILED_EPISODE = "episode:n5skkax1bon24v7t4bg5", "episode:s1t3t984kjwcdkvllvxr"
JOB_ID = "command:ogiwb3haf5iktdhipcsa"
TTS, STT, EMBEDDING = (
    "model:45rdtr2050cgjltw0vil",
    "model:pjo7u1qxci98mci6cvg8",
    "model:6zyfluza1efpcgffvcit",
)
PROVIDER_ID = "openai_compatible"
COMMAND_ID = "command:dsy5pdfweln1b0r7cyd3"
INSIGHT_ID, SAVED_NOTE = "source_insight:u1mguh73h7yiryv7yfmx", "note:2q27qrzw7ht93giaqlvg"
