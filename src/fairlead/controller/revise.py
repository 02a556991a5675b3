"""
Documents to what is wanted: a revision, or why there is none; and a policy in any case.

What cannot be used never stops scaling or repair: a broken intent leaves the policy, and broken
settings leave the number of machines that the template was last told.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from fairlead.answers.wait import Wait
from fairlead.answers.words import Strategy, WaitFor
from fairlead.controller.observe import Snapshot
from fairlead.decision.decision import Decision
from fairlead.errors import InputError
from fairlead.inputs.declared import declared_pool
from fairlead.inputs.leaf import Leaves, Problem, Unusable
from fairlead.inputs.parse import NodePool, is_stopped, parse_platform_config
from fairlead.inputs.platform_inputs import PlatformInputs, Stub, with_code_defaults
from fairlead.inputs.registry import DOWNGRADE, SKEW
from fairlead.inputs.remembered import Last
from fairlead.inputs.spelled import Spelled
from fairlead.inputs.versions import ControlPlane, back_of, skew_of, way_out
from fairlead.revision.hashing import revision_of
from fairlead.revision.revision import Revision
from fairlead.rollout.adoption import lacking_in
from fairlead.rollout.edge import no_way_to_replace
from fairlead.rollout.policy import Policy, policy_of
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.served.config import TooLarge, too_large_in, why_too_large
from fairlead.rollout.situation import Situation, scales
from fairlead.rollout.window import FindZone, utc_only


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """
    What the documents of one read ask for, at one moment.

    pool: the document, parsed. leaves: every input, or why there are none. desired: how many
    machines. platform: None if its document cannot be used; then what it refreshes in place stays
    as it is. problems: why settings cannot be used, or ''. is_stopped: the kill switch, also in a
    document that is unusable. unagreed: why what the owner asked for last does not begin until
    they plan again. unserved: why no machine can be served what it boots from, or ''.
    control_plane: what versions are held against in each pass, or None. skew: how the version that
    is declared goes beyond it, or ''.
    """

    seen: Snapshot
    now: datetime
    pool: NodePool
    leaves: Leaves | Unusable
    policy: Policy
    desired: int
    platform: PlatformInputs | None
    problems: str
    is_stopped: bool
    unagreed: tuple[Wait, ...] = ()
    unserved: str = ""
    control_plane: ControlPlane | None = None
    skew: str = ""

    @property
    def is_leaving(self) -> bool:
        """Say whether the owner deleted the pool."""
        return self.seen.documents.is_leaving

    @property
    def edge_replaces(self) -> bool:
        """Say whether the edge replaces this pool's machines; in place they change by our steps."""
        return self.edge_makes and self.policy.strategy is not Strategy.IN_PLACE

    @property
    def edge_makes(self) -> bool:
        """Say whether the edge makes and removes machines, as many as the template says."""
        return self.seen.makes_by_itself

    @property
    def stub(self) -> Stub:
        """What user data is refreshed with; as it was, if the platform is unreadable."""
        if self.platform is not None:
            return self.platform.stub
        return next((data.stub for data in self.seen.user_data.values()), Stub())


def revise(seen: Snapshot, now: datetime) -> Wanted:
    """Return what is wanted. Raises InputError only if the document is no pool at all."""
    pool = declared_pool(seen.documents.pool)
    platform, platform_problem = _platform_of(seen)
    policy, settings_problem = _policy_of(pool, seen)
    control_plane = _control_plane_of(seen, platform)
    skew = skew_of(_version_in(pool), control_plane.version) if control_plane else ""
    if settings_problem:
        leaves: Leaves | Unusable = settings_problem
    elif platform is None:
        leaves = platform_problem
    else:
        leaves = _leaves_of(pool, platform, seen, skew)
    stopped = is_stopped(seen.documents.platform)
    return Wanted(
        seen=seen,
        now=now,
        pool=pool,
        leaves=leaves,
        policy=policy,
        desired=_desired(seen, policy, now, is_stopped=stopped),
        platform=platform,
        problems=str(settings_problem) if settings_problem else "",
        is_stopped=stopped,
        control_plane=control_plane,
        skew=skew,
    )


def revision_wanted(wanted: Wanted, force: str) -> Revision | Unusable:
    """Return the revision of what is wanted, or why there is none."""
    if isinstance(wanted.leaves, Unusable):
        return wanted.leaves
    record = wanted.seen.record
    try:
        found = revision_of(
            wanted.leaves,
            content=wanted.policy.content,
            scheme=wanted.seen.code.scheme,
            force=force,
            known=record.target if record else None,
        )
    except InputError as error:
        return Unusable((Problem(error.field, error.problem),))
    too_large = too_large_for(wanted, found)
    return Unusable((too_large,)) if too_large else found


def too_large_for(wanted: Wanted, revision: Revision) -> TooLarge | None:
    """Return that a machine of this pool cannot be served this revision: it is too large."""
    if wanted.is_leaving:
        return None
    settings, added = wanted.policy.settings, wanted.seen.documents.resolved.added
    return why_too_large(revision.node_config, revision.leaves, settings, added)


def input_waits(wanted: Wanted, decision: Decision) -> tuple[Wait, ...]:
    """Return that a pool waits for what a name in its document points to, or for less to serve."""
    if wanted.is_leaving:
        return ()
    if problem := wanted.seen.documents.resolved.problem:
        return (Wait(wait_for=WaitFor.INPUT, says=problem),)
    too_large = too_large_in(decision)
    # Where what machines boot is too large, too, that is a gate of its own.
    if too_large is None or wanted.unserved:
        return ()
    return (Wait(wait_for=WaitFor.TOO_LARGE, says=too_large.text),)


def situation_of(wanted: Wanted, record: PoolRecord) -> Situation:
    """Return what steps for this record are planned from."""
    template = wanted.seen.template
    return Situation(
        machines=wanted.seen.machines,
        target=record.target.id if record.target else template.revision if template else "",
        desired=wanted.desired,
        policy=wanted.policy,
        now=wanted.now,
        applied=record.applied.id if record.applied else "",
        reason=record.reason,
        asked_by=record.asked_by,
        declared_by=wanted.seen.documents.asked_by,
        bound=record.plan,
        unagreed=wanted.unagreed,
        is_stopped=wanted.is_stopped,
        halted=_halted(wanted, record),
        unserved=wanted.unserved,
        forgiven=record.forgiven,
        is_leaving=wanted.is_leaving,
        edge_makes=wanted.edge_makes,
        lacking=_lacking(wanted, record),
        is_blind=bool(wanted.seen.fixes.problem),
        adoption=record.adoption,
        repaired=record.repaired,
        repairing_since=record.repairing_since,
    )


def _halted(wanted: Wanted, record: PoolRecord) -> str:
    if wanted.problems:
        return f"the pool's settings cannot be used: {wanted.problems}"
    return record.halted


def adoption_waits(wanted: Wanted, record: PoolRecord) -> tuple[Wait, ...]:
    """Return why machines that lack a fix are not replaced for it, where that is not their turn."""
    left = lacking_in(record.adoption, wanted.seen.machines)
    if not left or record.adoption is None or wanted.is_leaving:
        return ()
    if problem := wanted.seen.fixes.problem:
        return (Wait(wait_for=WaitFor.INPUT, says=problem),)
    no_way = no_way_to_replace(wanted.policy, wanted.desired)
    if no_way and wanted.edge_replaces:
        lack = "1 machine lacks" if len(left) == 1 else f"{len(left)} machines lack"
        says = f"{lack} {record.adoption.fix}; {no_way}: set it to 1, or delete them"
        return (Wait(wait_for=WaitFor.OWNER, says=says),)
    return ()


def _lacking(wanted: Wanted, record: PoolRecord) -> frozenset[str]:
    """Return the machines that our own steps replace for a fix, unless a rollout does anyway."""
    is_blind = bool(wanted.seen.fixes.problem)
    if record.is_rolling and (is_blind or wanted.edge_replaces):
        return frozenset()
    return lacking_in(record.adoption, wanted.seen.machines)


def _desired(seen: Snapshot, policy: Policy, now: datetime, *, is_stopped: bool) -> int:
    """Return how many machines there should be: as many as now, where nothing may be scaled."""
    is_leaving = seen.documents.is_leaving
    current = seen.template.replicas if seen.template else 0
    if seen.template and not scales(policy, now, is_stopped=is_stopped, is_leaving=is_leaving):
        return current
    return 0 if is_leaving else policy.replicas_from(current)


# Every pass of a fleet reads the same document of the platform.
_PLATFORM: Last[PlatformInputs] = Last()


def _platform_of(seen: Snapshot) -> tuple[PlatformInputs | None, Unusable]:
    document, defaults = seen.documents.platform, seen.code.defaults
    if known := _PLATFORM.find(document, defaults):
        return known, Unusable()
    try:
        platform = parse_platform_config(document)
    except InputError as error:
        return None, Unusable((Problem(f"PlatformConfig {error.field}", error.problem),))
    return _PLATFORM.keep(document, defaults, with_code_defaults(platform, defaults)), Unusable()


def _control_plane_of(seen: Snapshot, platform: PlatformInputs | None) -> ControlPlane | None:
    """Return what versions are held against in a pass; what the platform says comes first."""
    found = seen.documents.control_plane
    if found is None or platform is None or not platform.control_plane_version:
        return found
    return ControlPlane(platform.control_plane_version)


def _version_problem(pool: NodePool, seen: Snapshot, skew: str) -> str:
    """Return why a pass does not take a version, or ''. One that is in force goes on."""
    record, template, version = seen.record, seen.template, _version_in(pool)
    known = str(record.target.leaves.get("release.version", "")) if record and record.target else ""
    known = known or (template.version if template else "")
    if seen.documents.control_plane is None or version == known:
        return ""
    settings = {} if isinstance(pool.settings, Unusable) else pool.settings
    allowed = settings.get("release.allow")
    for word, problem in ((SKEW, skew), (DOWNGRADE, back_of(version, known))):
        if problem and not (isinstance(allowed, list) and word in allowed):
            return f"{problem} ({way_out(word)})"
    return ""


def _version_in(pool: NodePool) -> str:
    leaves = {} if isinstance(pool.intent, Unusable) else pool.intent.leaves
    return str(leaves.get("release.version", ""))


def _policy_of(pool: NodePool, seen: Snapshot) -> tuple[Policy, Unusable | None]:
    if isinstance(pool.settings, Unusable):
        problem = pool.settings
    else:
        try:
            return _policy_from(pool.settings, seen.code.find_zone), None
        except InputError as error:
            problem = Unusable((Problem(error.field, error.problem),))
    template = seen.template
    if template is None:
        return Policy(), problem
    # What an edge was told of its machines holds until it can be told something else.
    is_in_place = template.pacing is not None and template.pacing.in_place
    strategy = Strategy.IN_PLACE if is_in_place else Strategy.ROLLING
    kept = Policy(replicas=template.replicas, settings=template.settings, strategy=strategy)
    return kept, problem


def _policy_from(settings: Leaves, find_zone: FindZone) -> Policy:
    spelled = Spelled(settings)
    # A window has the rules of its time zone, which are files of this computer and may change.
    if "rollout.windows" in settings or not spelled.is_kept:
        return policy_of(settings, find_zone)
    return _policy_without_windows(spelled)


# What an owner said holds for as long as it is said so. Some 2 KB each.
@lru_cache(maxsize=1 << 12)
def _policy_without_windows(spelled: Spelled) -> Policy:
    settings: Any = spelled.value
    return policy_of(settings, utc_only)


def _leaves_of(
    pool: NodePool, platform: PlatformInputs, seen: Snapshot, skew: str
) -> Leaves | Unusable:
    resolved = seen.documents.resolved
    if isinstance(pool.intent, Unusable):
        return pool.intent
    if resolved.problem:
        return Unusable((Problem(resolved.field, resolved.problem),))
    if problem := _version_problem(pool, seen, skew):
        return Unusable((Problem("spec.release.version", problem),))
    looked_up = {
        "release.digest": pool.intent.leaves.get("release.digest") or resolved.release_digest,
        "pullSecret.content": resolved.pull_secret,
        "trustBundle.content": resolved.trust_bundle,
    }
    return {
        **pool.intent.leaves,
        **{path: value for path, value in looked_up.items() if value},
        **pool.unknown,
        **platform.leaves,
    }
