"""Synchronous HTTP client shared by the three service clients."""

from labext.http.client import HttpClient
from labext.http.connection_pool import ResponseLimits
from labext.http.rate_limiter import Rate
from labext.http.request import Operation, RetryMode
from labext.http.responses import ErrorResponse, Response

__all__ = [
    "ErrorResponse",
    "HttpClient",
    "Operation",
    "Rate",
    "Response",
    "ResponseLimits",
    "RetryMode",
]
