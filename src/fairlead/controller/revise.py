"""
Documents to what is wanted: a revision, or why there is none; and a policy in any case.

What cannot be used never stops scaling or repair: a broken intent leaves the policy, and broken
settings leave the number of machines that the template was last told.
"""

from dataclasses import dataclass, field

from fairlead.controller.observe import Snapshot
from fairlead.errors import InputError
from fairlead.inputs.leaf import Leaves, Problem, Unusable
from fairlead.inputs.parse import NodePool, is_stopped, parse_node_pool, parse_platform_config
from fairlead.inputs.platform_inputs import PlatformInputs, with_code_defaults
from fairlead.revision.hashing import revision_of
from fairlead.revision.revision import Revision, SecretContent
from fairlead.rollout.policy import Policy, policy_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """
    What the documents ask for.

    leaves: every input, or why there are none. platform: None if its document cannot be used;
    then what it refreshes in place stays as it is. problems: why settings cannot be used, or ''.
    is_stopped: the kill switch, which holds also if its document cannot be used otherwise.
    """

    leaves: Leaves | Unusable
    policy: Policy
    platform: PlatformInputs | None
    problems: str = field(default="")
    is_stopped: bool = False


def revise(seen: Snapshot) -> Wanted:
    """Return what is wanted. Raises InputError only if the document is no pool at all."""
    pool = parse_node_pool(seen.documents.pool)
    platform, platform_problem = _platform_of(seen)
    policy, settings_problem = _policy_of(pool, seen)
    if settings_problem:
        unusable: Leaves | Unusable = settings_problem
    elif platform is None:
        unusable = platform_problem
    else:
        unusable = _leaves_of(pool, platform, seen)
    return Wanted(
        leaves=unusable,
        policy=policy,
        platform=platform,
        problems=str(settings_problem) if settings_problem else "",
        is_stopped=is_stopped(seen.documents.platform),
    )


def revision_wanted(
    wanted: Wanted, seen: Snapshot, content: SecretContent, force: str
) -> Revision | Unusable:
    """Return the revision of what is wanted, or why there is none."""
    if isinstance(wanted.leaves, Unusable):
        return wanted.leaves
    try:
        return revision_of(
            wanted.leaves,
            content=content,
            scheme=seen.code.scheme,
            force=force,
            known=seen.record.target if seen.record else None,
        )
    except InputError as error:
        return Unusable((Problem(error.field, error.problem),))


def _platform_of(seen: Snapshot) -> tuple[PlatformInputs | None, Unusable]:
    try:
        platform = parse_platform_config(seen.documents.platform)
    except InputError as error:
        return None, Unusable((Problem(f"PlatformConfig {error.field}", error.problem),))
    return with_code_defaults(platform, seen.code.defaults), Unusable()


def _policy_of(pool: NodePool, seen: Snapshot) -> tuple[Policy, Unusable | None]:
    if isinstance(pool.settings, Unusable):
        problem = pool.settings
    else:
        try:
            return policy_of(pool.settings), None
        except InputError as error:
            problem = Unusable((Problem(error.field, error.problem),))
    template = seen.template
    if template is None:
        return Policy(), problem
    return Policy(replicas=template.replicas, settings=template.settings), problem


def _leaves_of(pool: NodePool, platform: PlatformInputs, seen: Snapshot) -> Leaves | Unusable:
    resolved = seen.documents.resolved
    if isinstance(pool.intent, Unusable):
        return pool.intent
    if resolved.problem:
        return Unusable((Problem(resolved.field, resolved.problem),))
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
