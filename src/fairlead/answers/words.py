"""
The closed lists of words in answers, each with the text that stands in JSON.

They are used wherever the thing itself is decided, so that a word is written down once.
"""

import enum


class PoolState(enum.Enum):
    """Where a pool is between two settled moments."""

    NEW = "New"
    SETTLED = "Settled"
    DRIFTED = "Drifted"
    UNSETTLED = "Unsettled"  # nothing is rolled out, and machines are missing, sick or too many
    ROLLING_OUT = "RollingOut"
    SUPERSEDING = "Superseding"
    HELD = "Held"
    BLOCKED = "Blocked"
    LEAVING = "Leaving"


class Strategy(enum.Enum):
    """Who takes stale machines away."""

    ROLLING = "RollingUpdate"
    ON_DELETE = "OnDelete"
    IN_PLACE = "InPlace"


class ChangeClass(enum.Enum):
    """How much a plan disturbs, the least first; carrying it out never does more."""

    NONE = "none"
    IN_PLACE = "in-place"
    REPLACE = "replace"
    DELETE = "delete"


class WaitFor(enum.Enum):
    """The closed list of things that a rollout waits for; the value is the stable reason."""

    STOP = "EverythingStopped"
    PAUSE = "Paused"
    WINDOW = "OutsideWindow"
    HALT = "Halted"
    INPUT = "InputMissing"  # a file that a pool names is not there, or no use
    TOO_LARGE = "PayloadTooLarge"  # what is wanted is more than a machine can be served
    UNSERVED = "PayloadUnavailable"  # so is what new machines boot: none would come up
    PLAN = "PlanExceeded"
    REPAIR = "TooManyUnhealthy"  # autoRepair gave up
    IN_VAIN = "RepairedInVain"  # it gave up: one repair after the other, and no machine came up
    SOAK = "Soaking"
    OWNER = "WaitsForOwner"  # OnDelete
    JOIN = "MachineNotJoined"
    READY = "MachineNotReady"
    LEAVE = "MachineLeaving"
    CHANGE = "MachineChanging"
    OBSERVED = "TemplateNotObserved"
    EDGE = "ReplacedByItsEdge"
    BUDGET = "BudgetSpent"
    RETRY = "PassFailed"  # the controller tries again


# What is waited for once repair gave up.
GAVE_UP = (WaitFor.REPAIR, WaitFor.IN_VAIN)


class LeafClass(enum.Enum):
    """What a change of a leaf means."""

    INTENT = "intent"  # replaces machines
    PLATFORM = "platform"  # waits for the next rollout
    CONTENT = "content"  # what the pool's secretContent says
    IN_PLACE = "in-place"  # applied without replacing anything
    IGNORED = "ignored"  # never acted on; the row says why
    UNKNOWN = "unknown"  # no row names it; it counts as the platform's


class Severity(enum.Enum):
    """How much a held platform change may hurt; a pool may set a maximum age for each."""

    ROUTINE = "routine"
    SECURITY = "security"
    CONNECTIVITY = "connectivity"


class Phase(enum.Enum):
    """Where a machine is in its life. It leaves only because it was told to."""

    BOOTING = "booting"
    READY = "ready"
    NOT_READY = "not-ready"
    FAILED = "failed"
    LEAVING = "leaving"  # drains, then goes


class Fault(enum.Enum):
    """What a machine does wrong on request, for demonstrations and tests."""

    NONE = "none"
    FAIL_BOOT = "fail-boot"  # its image cannot provision: the boot ends with exit code 241
    NEVER_JOIN = "never-join"  # power never reaches it
    STUCK_DRAIN = "stuck-drain"  # when told to leave, it does not
    BREAK = "break"  # ready today, failed now


class Role(enum.Enum):
    """What somebody may do, the least first; each may what the one before it may."""

    VIEWER = "fairlead-viewer"  # look at everything, and plan
    POOL_OWNER = "fairlead-pool-owner"  # declare pools, and what becomes of their machines
    PLATFORM = "fairlead-platform"  # change what all pools share, and stop the control plane


class EventKind(enum.Enum):
    """Everything that can be told about a pool."""

    POOL_ADOPTED = "PoolAdopted"
    ROLLOUT_STARTED = "RolloutStarted"
    ROLLOUT_RETARGETED = "RolloutRetargeted"
    ROLLOUT_COMPLETED = "RolloutCompleted"
    ROLLOUT_HALTED = "RolloutHalted"
    ROLLOUT_RESUMED = "RolloutResumed"
    ADOPTION_STARTED = "FixAdoptionStarted"
    ADOPTION_ENDED = "FixAdoptionEnded"
    CHANGE_HELD = "PlatformChangeHeld"
    CHANGE_CLEARED = "PlatformChangeCleared"
    POOL_DECLARED = "PoolDeclared"
    POOL_DELETION_ASKED = "PoolDeletionAsked"
    PLATFORM_DECLARED = "PlatformDeclared"
    FAULT_ASKED = "FaultAsked"
    STOP_ASKED = "ControlPlaneStopAsked"
    ROTATION_ASKED = "AuthorityRotationAsked"
    MACHINES_CREATED = "MachinesCreated"  # in journals of release 202611.16.0, without names
    MACHINE_CREATED = "MachineCreated"
    MACHINE_FAILED = "MachineFailed"
    MACHINE_GONE = "MachineGone"
    MACHINE_LEAVES = "MachineLeaves"
    DRAIN_SKIPPED = "DrainSkipped"
    REPAIR_STOPPED = "RepairStopped"
    REPAIR_GOES_ON = "RepairGoesOn"
    SECRET_RECREATED = "SecretRecreated"  # noqa: S105 - the name of an event
    SEEDED = "Seeded"
    SEEDED_WITHOUT_EVIDENCE = "SeededWithoutEvidence"
    POOL_DELETED = "PoolDeleted"
