"""The local laboratory platform: sequences, and exactly those who may see them.

The contract (`lab-platform.md`) says what signs in, what a grant opens and what is refused with
401, 403 and 429. Where it leaves a case open, it is decided here, once; the tests hold every row.

**Who asks (401, with `WWW-Authenticate`)**

=========================================== ======================================================
No Authorization header, two of them, a     401
blank or malformed one, a key with a
password
A key, token or ID token that is unknown,   401. The log still tells whose a deleted key, an
deleted or expired; or another tenant's     expired token or a deleted secret's token was; nothing
                                            is told across tenants
An ID token whose signature, issuer,        401. Of the expiry up to 5 seconds are forgiven, since
audience, expiry or email doesn't hold; an  clocks differ
email that no user has; any at a tenant
without an identity provider
A client secret is deleted                  Its tokens end at once (401), and it gets no new ones
                                            (401 `invalid_client`). Other secrets go on: that is
                                            the overlap of a rotation
A key is deleted                            401 at once; the user's other keys go on
=========================================== ======================================================

**How often (429)**

=========================================== ======================================================
What counts                                 Every call whose caller is known, be it answered with
                                            403, 404, 405 or 400. Not: 401, a 429 itself, the
                                            token endpoint
Whose allowance                             A user's: all keys and ID tokens together. An app's:
                                            all secrets and tokens together, also where it acts
                                            for users. Each tenant's own
The window                                  Slides: 100 calls in any 10 seconds
Headers of every counted answer and 429     `x-rate-limit-limit`, `-remaining`, and `-reset`: whole
                                            seconds, rounded up, until the oldest counted call
                                            leaves the window. No Retry-After
=========================================== ======================================================

**What is refused (403)**

=========================================== ======================================================
A suspended user                            403, by key and by ID token; as soon as it is no longer
                                            suspended the same key works
An archived app                             403 by its live tokens, which work again once it is
                                            unarchived; 400 `unauthorized_client` at the token
                                            endpoint
An address outside the tenant's ranges      403; at the token endpoint too (`access_denied`).
                                            Unknown credentials stay 401 from there
An app without `sequences:read`             403 for the list
An app that was granted nothing, or only    403 for the list
another tenant's places
A user who was granted nothing              200 and an empty list, as the web interface shows it
A filter on a folder or project that is     403, one answer for both: nobody learns what exists
hidden, or not there
A project of which one folder is visible    May be asked for; the list shows that folder's alone
A project that is visible and has no folder 200 and an empty list
A sequence or a folder by its own address   403, one answer for both
that is hidden, or not there                An id that none can have is 404
A filter on ids of which one is hidden, or  400 that names them, as the real service says it; one
not there; the ids of `:bulk-get`           answer for both
=========================================== ======================================================

**What a query may hold (400)**

=========================================== ======================================================
A parameter that the address does not know, 400 that names it: an ignored filter would look like
or one that is given twice                  one that matches everything
`registryId` of no registry of the tenant   400. `null` selects what is in no registry
`archiveReason` that is no reason           400 that lists the reasons
`schemaField.X` without `schemaId`, or of   400. Texts are compared exactly, numbers by value or
no field of the schema                      by range (`>= 10 AND <= 50`)
`mentions`, `mentionedIn`                   Match nothing: sequences have no description, and the
                                            platform has no entries
`authorIds.anyOf`                           As `creatorIds`: the author is whoever made a sequence
=========================================== ======================================================

**Who may sign in at the identity provider.** Whoever has the user's secret, a file that only the
owner of the data folder can read: on the page, and by the grant type `password`. The refusal does
not say whether the address or the secret is wrong. `provider secrets off` asks for none.

**Web pages.** A record's `webURL` takes the credentials of the API, is refused like it, and is
counted and logged like it.

**What a grant opens.** An organization: the folders of all its projects. A team: those of the
team's projects. A project: its folders. A folder: itself. Several grants open what each opens. That
a user belongs to an organization or a team is such a grant.

**Acting for a user.** An app says in `On-Behalf-Of` whose e-mail address it acts for: an active
user of the tenant, else 403; a user who sends the header is refused as well. It sees what both may
see; the log has both.

**What is there.** `/users/me` is 404 for an app, which is no user; where it acts for one, it is
that user. Unknown addresses are 404 and other methods 405 (HEAD too), both after identity, limit,
state and address: without credentials 401. A wrong method on the token endpoint is 405 for all.

**The order**: TLS, identity (401), limit (429), state and address (403), address of the resource
(404, 405), permission and places (403), the query (400). At the token endpoint: form and grant type
(400), id and secret (401), address (403), state of the app (400).

**The log** has every call, refused ones too, before its answer goes out; not what never becomes a
call: without TLS, no HTTP, or for another host than this machine. While it can't be written (a full
disk), calls that only read are answered and logged later; the token endpoint answers 500. It has
the acting user and app where they are known: at the token endpoint the app, with unknown
credentials neither. It never has a query, a header's value or a body. The limit `audit_entries`
says how many it keeps; then the oldest go.
"""
