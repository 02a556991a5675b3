"""How a gRPC call ended, as a word: told by the server, or by the layer below that broke."""

from __future__ import annotations

NAMES = (
    "OK", "Cancelled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound",
    "AlreadyExists", "PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted",
    "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss", "Unauthenticated",
)  # fmt: skip

# As trailers spell them.
CODE_NAMES = {str(code).encode(): name for code, name in enumerate(NAMES)}

# What a reset of the stream means, by the error code of HTTP/2; any other is Internal.
RESETS = {7: "Unavailable", 8: "Cancelled", 11: "ResourceExhausted", 12: "PermissionDenied"}

# What an answer without a gRPC status means, by the status of HTTP; any other is Unknown.
HTTP = {
    b"400": "Internal",
    b"401": "Unauthenticated",
    b"403": "PermissionDenied",
    b"404": "Unimplemented",
    b"429": "Unavailable",
    b"502": "Unavailable",
    b"503": "Unavailable",
    b"504": "Unavailable",
}


def name_of_reset(code: int) -> str:
    """Return what a reset with this error code means."""
    return RESETS.get(code, "Internal")


def name_of_http(status: bytes) -> str:
    """Return what an HTTP status means where gRPC says nothing."""
    return HTTP.get(status, "Unknown")
