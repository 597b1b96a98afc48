"""Endpoints of DNA sequences, and their web page."""

from __future__ import annotations

import re

import orjson
from starlette.exceptions import HTTPException

from labext.sandbox.lab import html_pages
from labext.sandbox.lab.access_control import Caller, check_places, readable_places
from labext.sandbox.lab.dependencies import (
    API_PREFIX,
    Call,
    CallResponse,
    CallRouter,
    register_convertor,
)
from labext.sandbox.lab.errors import bad_request, unknown_address
from labext.sandbox.lab.sequences import schemas
from labext.sandbox.lab.sequences.service import find_sequence, find_sequences, list_sequences
from labext.sandbox.lab.tables import IDENTIFIER_PATTERN

register_convertor("sequence_id", f"seq_{IDENTIFIER_PATTERN}")

router = CallRouter(prefix=API_PREFIX)
web = CallRouter()


@router.call("/dna-sequences")
def get_sequences(call: Call, caller: Caller) -> CallResponse:
    """List the DNA sequences that the caller may see."""
    session, tenancy, params = call.session, call.tenancy, call.request.query_params
    places = readable_places(session, caller)
    check_places(places, params.get("folderId", ""), params.get("projectId", ""))
    body, headers = list_sequences(
        session,
        schemas.parse_sequence_query(params),
        places.folders,
        tenant_id=tenancy.tenant_id,
        origin=tenancy.origin,
        signer=tenancy.site.signer,
    )
    return CallResponse.json(body, headers)


@router.call("/dna-sequences:bulk-get")
def bulk_get_sequences(call: Call, caller: Caller) -> CallResponse:
    """Return DNA sequences by their ids."""
    visible, params = readable_places(call.session, caller).folders, call.request.query_params
    schemas.check_known_parameters(params, ("dnaSequenceIds", "returning"))
    ids = schemas.id_list_parameter(params, "dnaSequenceIds")
    if ids is None:
        raise bad_request("dnaSequenceIds is missing.")
    fields = schemas.returning_parameter(params)
    return CallResponse.json(
        find_sequences(call.session, ids, fields, visible, origin=call.tenancy.origin)
    )


@router.call("/dna-sequences/{identifier:sequence_id}")
def get_sequence(call: Call, caller: Caller) -> CallResponse:
    """Return a DNA sequence."""
    visible, params = readable_places(call.session, caller).folders, call.request.query_params
    schemas.check_known_parameters(params, ("returning",))
    fields = schemas.returning_parameter(params, of_list=False)
    identifier = call.request.path_params["identifier"]
    return CallResponse.json(
        find_sequence(call.session, identifier, fields, visible, origin=call.tenancy.origin)
    )


def _error_page(error: HTTPException) -> CallResponse:
    response = CallResponse.refusal(error)
    response.body = html_pages.error_page(error.detail, error.status_code)
    response.headers |= html_pages.PAGE_HEADERS | html_pages.HTML_HEADERS
    return response


@web.call("/{tenant}/f/{folder}/{slug}/edit", refusal=_error_page)
def get_page(call: Call, caller: Caller) -> CallResponse:
    """Return the web page of a DNA sequence."""
    identifier = call.request.path_params["slug"].partition("-")[0]
    if not re.fullmatch(f"seq_{IDENTIFIER_PATTERN}", identifier):
        raise unknown_address()
    visible = readable_places(call.session, caller).folders
    record = find_sequence(call.session, identifier, None, visible, origin=call.tenancy.origin)
    return CallResponse(
        200,
        html_pages.sequence_page(orjson.loads(record)),
        html_pages.PAGE_HEADERS | html_pages.HTML_HEADERS,
    )
