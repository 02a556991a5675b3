"""The remaining answers of a control plane: to proposals, changes and questions about itself."""

from collections.abc import Mapping

from fairlead.answers.document import Document, Json, Moment
from fairlead.answers.leaf import PlatformLeaf
from fairlead.answers.plan import Plan
from fairlead.answers.pool import PoolAnswer
from fairlead.answers.words import Role


class Proposed(Document, frozen=True, kw_only=True):
    """
    What documents would do.

    bases: by kind and name, a digest of the document in force that each would take the place of;
    '' where there is none. Applying with these is refused if one of them changed meanwhile.
    """

    plans: tuple[Plan, ...]
    bases: Mapping[str, str]


class Applied(Proposed, frozen=True, kw_only=True):
    """What documents do: those that say anything new, by kind and name, and those that do not."""

    applied: tuple[str, ...]
    unchanged: tuple[str, ...]


class PatchedPool(Document, frozen=True, kw_only=True):
    """One pool after some of its fields were changed. base: as in Proposed, of its document."""

    plan: Plan
    pool: PoolAnswer
    applied: tuple[str, ...]
    base: str = ""


class Platform(Document, frozen=True, kw_only=True):
    """The platform's document, and its leaves with the pools that do not have the latest."""

    document: Json
    leaves: tuple[PlatformLeaf, ...]


class PatchedPlatform(Document, frozen=True, kw_only=True):
    """The platform after some of its fields were changed."""

    plans: tuple[Plan, ...]
    platform: Platform
    applied: tuple[str, ...]


class Leaving(Document, frozen=True, kw_only=True):
    """The machines that leave with a pool. base: a digest of the document that goes."""

    machines: tuple[str, ...]
    base: str = ""


class Done(Document, frozen=True, kw_only=True):
    """It was done, and there is nothing to say about it."""


class Copied(Document, frozen=True, kw_only=True):
    """A copy of the database was made, under this name in the state directory."""

    file: str


class Health(Document, frozen=True, kw_only=True):
    """What is running. damage: what of the database is not what was written to it."""

    version: str
    pid: int
    started_at: Moment
    payload_endpoint: str
    machines: str
    pools: int
    damage: tuple[str, ...] = ()


class Authority(Document, frozen=True, kw_only=True):
    """A certificate authority of the payload service. fingerprint: SHA-256, as openssl has it."""

    fingerprint: str
    since: Moment
    until: Moment
    days_left: int


class Authorities(Document, frozen=True, kw_only=True):
    """
    Which authority machines trust, and the next one if they are told of it already.

    server_until: the end of the certificate that is served with. takes_over_at: when the next
    authority is the only one; later, while a machine boots that knows the present one only.
    """

    authority: Authority
    server_until: Moment | None
    next: Authority | None = None
    takes_over_at: Moment | None = None


class Identity(Document, frozen=True, kw_only=True):
    """
    Who asks, as the control plane sees them.

    because: why they have the role. problems: what is amiss with the roles of others, for those
    who can do something about it.
    """

    name: str
    role: Role
    because: str
    problems: tuple[str, ...] = ()


class Refusal(Document, frozen=True, kw_only=True):
    """Why a request was refused: the class of the error and its parts."""

    kind: str
    problem: str
    field: str = ""
    hint: str = ""


class Refused(Document, frozen=True, kw_only=True):
    """The answer to a request that was refused."""

    error: Refusal
