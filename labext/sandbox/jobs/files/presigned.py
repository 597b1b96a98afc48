"""Uploads by presigned addresses, which expire, need no key and are good for one file each.

Source: real services, jobs (POST /getPresignedUploadUrl); job service contract, PUT
/upload/{filename}, for what a file may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from labext.sandbox.jobs import fields
from labext.sandbox.jobs.faults import absent, denied
from labext.sandbox.jobs.files import uploads
from labext.sandbox.jobs.limits import limit
from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.store import Account
from labext.sandbox.service import Site
from labext.sandbox.signing import Forged

PREFIX = "/store"
BUCKET = "uploads"


def addresses(site: Site, account: Account, body: bytes) -> dict[str, str]:
    """Where to PUT the file `filename` of the optional `folder`, and where to ask with HEAD.

    `{uploadUrl, headUrl, key, bucket}`; `key` is what `/delete-file` calls `filePath`.
    """
    content = fields.parse_body(body)
    name = fields.text(content, "filename")
    folder = fields.optional_text(content, "folder") or ""
    uploads.check_names(folder, name)
    key = uploads.path_of(folder, name)
    path = f"{PREFIX}/{account.id}/{key}"
    with site.database.read() as session:
        seconds = limit(session, "url_seconds")
    put, head = (site.signer.presign(_signed(method, path), seconds) for method in ("PUT", "HEAD"))
    address = site.origin + quote(path)
    return {
        "uploadUrl": f"{address}?{put}",
        "headUrl": f"{address}?{head}",
        "key": key,
        "bucket": BUCKET,
    }


def begin(site: Site, rest: str, query: Mapping[str, str], length: str | None) -> uploads.Upload:
    """Check a PUT before its content comes: 403 if the address is none of ours or has expired.

    Args:
        site: where it goes.
        rest: the decoded path behind the prefix.
        query: of the address.
        length: the Content-Length header.
    """
    return uploads.room(site, *_file(site, "PUT", rest, query), length)


def headers(site: Site, rest: str, query: Mapping[str, str]) -> dict[str, str]:
    """Return the headers for a HEAD of a file; 404 if it isn't there, 403 as for `begin`."""
    account_id, folder, name = _file(site, "HEAD", rest, query)
    found = uploads.headers(site, account_id, folder, name)
    if found is None:
        raise absent(f"There is no file {shown(name)}.")
    return found


def _file(site: Site, method: str, rest: str, query: Mapping[str, str]) -> tuple[int, str, str]:
    """The account, folder and name that an address was made for."""
    signed = _signed(method, f"{PREFIX}/{rest}")
    try:
        site.signer.check_presigned(signed, query.get("expires"), query.get("signature"))
    except Forged as error:
        raise denied(str(error)) from None
    number, _slash, key = rest.partition("/")
    folder, _slash, name = key.rpartition("/")
    return int(number), folder, name


def _signed(method: str, path: str) -> str:
    """What is signed; the path alone is a result's address (see `results`)."""
    return f"{method} {path}"
