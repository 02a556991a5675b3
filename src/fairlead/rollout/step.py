"""
The steps of a rollout: each is one write, safe to repeat, and names everything but randomness.

A preview lists the same steps that a pass carries out; tokens and machine names are drawn only
when they are carried out.
"""

from dataclasses import dataclass
from datetime import datetime

from fairlead.revision.revision import Revision
from fairlead.rollout.machines import NodeSettings, Template


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateToken:
    """Create the token secret of a revision, or recreate one that was lost."""

    id: str
    revision: Revision
    served: Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeRevision:
    """Give machines that boot under this name other inputs."""

    id: str
    served: Revision


@dataclass(frozen=True, slots=True)
class RotateToken:
    """Issue the next token; the present one stays valid for half a life, or until its own end."""

    id: str


@dataclass(frozen=True, slots=True)
class ReviveToken:
    """Take the expiry off a token that is referenced again."""

    id: str


@dataclass(frozen=True, slots=True)
class ExpireToken:
    """Let a token that nothing references expire at this moment."""

    id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class WriteUserData:
    """Write the user data of a revision with its current token, endpoint and certificate."""

    id: str


@dataclass(frozen=True, slots=True)
class DeletePair:
    """Delete user data and token of a revision whose time is over."""

    id: str


@dataclass(frozen=True, slots=True)
class PointTemplate:
    """Tell the template another revision. This is what replaces machines."""

    template: Template


@dataclass(frozen=True, slots=True)
class ApplyTemplate:
    """Change replicas and settings of the template; nothing is replaced."""

    template: Template


@dataclass(frozen=True, slots=True)
class CreateMachine:
    """Start one machine."""

    revision: str


@dataclass(frozen=True, slots=True)
class RemoveMachine:
    """Tell one machine to drain and go. asked_by: who wanted that, or ''."""

    machine: str
    reason: str
    asked_by: str = ""


@dataclass(frozen=True, slots=True)
class MarkMachine:
    """Let the edge take one machine before others once it is told of fewer."""

    machine: str
    reason: str
    asked_by: str = ""


@dataclass(frozen=True, slots=True)
class ChangeMachine:
    """Take one machine to a revision in place."""

    machine: str
    revision: str


@dataclass(frozen=True, slots=True)
class ApplySettings:
    """Give one running machine its labels, taints and timeouts."""

    machine: str
    settings: NodeSettings


SecretStep = (
    CreateToken
    | ServeRevision
    | RotateToken
    | ReviveToken
    | ExpireToken
    | WriteUserData
    | DeletePair
)
MachineStep = (
    PointTemplate
    | ApplyTemplate
    | CreateMachine
    | RemoveMachine
    | MarkMachine
    | ChangeMachine
    | ApplySettings
)
Step = SecretStep | MachineStep
