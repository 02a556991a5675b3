"""
The five errors, named for what the caller should do next.

* FairleadError
  - InputError        a person must change something; retrying is pointless     exit 2
  - TrustError        proof failed; never use the bytes, never fall through     exit 3
  - UnavailableError  no answer in time; try again later                        exit 4
  - ConflictError     someone else wrote first; re-read and decide again        exit 5
  - InvariantError    our own rule does not hold; stop and keep the evidence    exit 70

Standard library only, no imports at all: the agent carries this file to the machine.
"""


class FairleadError(Exception):
    """The root of the tree; raise one of the five below."""

    exit_code = 1


class InputError(FairleadError):
    """Something a person wrote cannot be used. `field` is its path in the document, or ''."""

    exit_code = 2

    def __init__(self, problem: str, *, field: str = "", hint: str = "") -> None:
        self.field = field
        self.problem = problem
        self.hint = hint
        where = f"{field}: " if field else ""
        super().__init__(where + problem + (f" ({hint})" if hint else ""))


class TrustError(FairleadError):
    """A proof did not hold; the message names the key, digest or name that failed."""

    exit_code = 3


class UnavailableError(FairleadError):
    """
    Something outside did not answer in time, or not well.

    `said` is what it printed last: not part of the message, because it may hold secrets.
    """

    exit_code = 4

    def __init__(self, message: str, *, said: str = "") -> None:
        self.said = said
        super().__init__(message)


class ConflictError(FairleadError):
    """Someone else changed the object first."""

    exit_code = 5


class InvariantError(FairleadError):
    """Two facts that must agree do not; this is our defect."""

    exit_code = 70
