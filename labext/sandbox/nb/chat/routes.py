"""The routes of the group Chat (contract, Endpoints); each calls a function of the package."""

from __future__ import annotations

from fastapi import APIRouter

api = APIRouter()
