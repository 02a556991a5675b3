"""
A template as Cluster API has it, and its machines as the controller sees them. Pure.

A pool's revision is the name of the Secret that its machines boot from, and nothing else: labels
and annotations of a MachineDeployment's template reach machines of older sets as well. What we
must read back of our own template stands in an annotation of the MachineDeployment itself. What a
machine has that changes in place stands at the machine: see in_place.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from fairlead.answers.text import shortened
from fairlead.answers.words import Phase
from fairlead.errors import InputError
from fairlead.kept_text import parse_value, render_value
from fairlead.kube.answer import Object
from fairlead.kube.cluster_api.in_place import with_change
from fairlead.kube.names import (
    POOL_LABEL,
    USER_DATA,
    pair_of,
    revision_name,
    secret_name,
    split,
)
from fairlead.kube.resource import GROUP
from fairlead.rollout.machines import Machine, NodeSettings, Pacing, Template

TEMPLATE_KEPT = f"{GROUP}/template"
BOOTED = f"{GROUP}/booted"
AGENT = f"{GROUP}/agent"
BOOT_MS = f"{GROUP}/boot-ms"
REASON, ASKED_BY = f"{GROUP}/reason", f"{GROUP}/asked-by"
SETTINGS = f"{GROUP}/settings"
GOES_FIRST = "cluster.x-k8s.io/delete-machine"

# Parts of a deletion, as Cluster API names them, that begin once the drain is over: they need
# nobody, unless they take too long.
GOES_BY_ITSELF = frozenset(
    {
        "WaitingForInfrastructureDeletion",
        "WaitingForBootstrapDeletion",
        "DeletingNode",
        "DeletionCompleted",
    }
)

# Characters of what Cluster API and providers say of a machine: they may say ten thousand, and a
# status keeps a hundred of them beside what else it keeps.
LONGEST_SAID = 1000

# Seconds. Less than this a MachineHealthCheck does not take, but for none.
SHORTEST_JOIN_S = 30

CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name"
FEWEST = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
MOST = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"


def deployment_spec(pool: str, template: Template, place: Mapping[str, Any]) -> Object:
    """
    Return the spec of a MachineDeployment, or of a MachineSet where machines change in place.

    place: the name of the cluster, and what refers to the infrastructure template; beside them how
    many machines the object says, if there is one. Where an autoscaler says how many, that stays
    as it is, unless something else is wanted: within its limits, or none.
    """
    pacing = template.pacing
    spec: Object = {
        "clusterName": place["cluster"],
        "selector": {"matchLabels": {POOL_LABEL: split(pool)[1]}},
        "template": {
            "metadata": {"labels": {POOL_LABEL: split(pool)[1], CLUSTER_LABEL: place["cluster"]}},
            "spec": _machine_spec(pool, template, place),
        },
    }
    replicas, current = template.replicas + template.surge, place.get("replicas")
    if pacing is None or pacing.limits is None or current not in (None, replicas):
        spec["replicas"] = replicas
    if pacing is not None and not pacing.in_place:
        spec["paused"] = template.is_held
        # Of machines beyond the wanted number those leave that carry the least, as on other edges.
        spec["deletion"] = {"order": "Newest"}
        spec["rollout"] = {"strategy": _strategy(pacing)}
    return spec


def _machine_spec(pool: str, template: Template, place: Mapping[str, Any]) -> Object:
    spec: Object = {
        "clusterName": place["cluster"],
        "bootstrap": {"dataSecretName": secret_name(USER_DATA, pool, template.revision)},
        "infrastructureRef": place["infrastructure"],
    }
    if template.version:
        spec["version"] = f"v{template.version}"
    if deletion := _deletion_limits(template.settings):
        spec["deletion"] = deletion
    if template.pacing is not None and template.pacing.min_ready:
        spec["minReadySeconds"] = _seconds(template.pacing.min_ready)
    return spec


def _deletion_limits(settings: NodeSettings) -> Object:
    limits = {
        "nodeDrainTimeoutSeconds": settings.drain_timeout,
        "nodeVolumeDetachTimeoutSeconds": settings.detach_timeout,
    }
    return {name: _seconds(limit) for name, limit in limits.items() if limit is not None}


def _strategy(pacing: Pacing) -> Object:
    if pacing.waits_for_deletion:
        return {"type": "OnDelete"}
    amounts = {"maxSurge": pacing.max_surge, "maxUnavailable": pacing.max_unavailable}
    return {"type": "RollingUpdate", "rollingUpdate": amounts}


def deployment_annotations(template: Template) -> dict[str, str]:
    """Return what is kept of a template beside its spec."""
    kept = replace(template, observed_generation=0)
    annotations = {TEMPLATE_KEPT: render_value(kept)}
    if template.pacing is not None and template.pacing.limits is not None:
        fewest, most = template.pacing.limits
        annotations |= {FEWEST: str(fewest), MOST: str(most)}
    return annotations


def template_of(found: Object, pool: str) -> Template:
    """
    Return the template that a MachineDeployment or MachineSet was told.

    What the object itself says goes before what was kept: an autoscaler changes the number of
    machines, and somebody may have pointed it to another revision by hand. Pointed to what is none,
    it is what was kept.
    """
    metadata, spec = found["metadata"], found["spec"]
    text = (metadata.get("annotations") or {}).get(TEMPLATE_KEPT)
    if text is None:
        raise InputError(
            f"{found['kind']} {metadata['name']} is there and not ours",
            hint="rename the pool, or delete it",
        )
    told = spec["template"]["spec"]["bootstrap"].get("dataSecretName", "")
    kept = _kept_template(text)
    observed = (found.get("status") or {}).get("observedGeneration", 0)
    is_observed = observed >= metadata.get("generation", 1)
    return replace(
        kept,
        revision=pair_of(told, pool) or kept.revision,
        replicas=max(spec.get("replicas", 0) - kept.surge, 0),
        is_held=bool(spec.get("paused", False)),
        observed_generation=kept.generation if is_observed else kept.generation - 1,
    )


def bare_template_of(found: Object, pool: str) -> Template:
    """Return what the object alone says of a template: enough to have no machines of it."""
    spec = found["spec"]
    told = spec["template"]["spec"]
    return Template(
        revision=pair_of(told["bootstrap"].get("dataSecretName", ""), pool),
        version=str(told.get("version", "")).removeprefix("v"),
        machine_template={},
        replicas=spec.get("replicas", 0),
        is_held=bool(spec.get("paused", False)),
    )


def place_of(found: Object) -> dict[str, Any]:
    """Return where machines of a template are made, and from what, as deployment_spec has it."""
    told = found["spec"]["template"]["spec"]
    return {
        "cluster": told["clusterName"],
        "infrastructure": told["infrastructureRef"],
        "replicas": found["spec"].get("replicas"),
    }


def kept_place(found: Object, pool: str, template: Template) -> dict[str, Any]:
    """Return the same, as it is to be: machines are made from the copy of their revision."""
    named = {part: template.machine_template.get(part, "") for part in ("apiGroup", "kind")}
    infrastructure = {**named, "name": revision_name(pool, template.revision)}
    return {"cluster": found["spec"]["clusterName"], "infrastructure": infrastructure}


def pause_of(found: Object) -> str:
    """
    Return why Cluster API does nothing for a template, or ''.

    Of spec.paused of a MachineDeployment, by which a rollout is held, its condition says nothing.
    """
    conditions = (found.get("status") or {}).get("conditions") or ()
    paused = [one for one in conditions if (one["type"], one["status"]) == ("Paused", "True")]
    if not paused:
        return ""
    says = _one_line(paused[0]) or "it is paused"
    return f"Cluster API makes, replaces and removes no machine of the pool: {says}"


# A pass reads a template twice, and templates of many pools are alike.
@lru_cache(maxsize=256)
def _kept_template(text: str) -> Template:
    return parse_value(Template, text)


def health_check_spec(pool: str, pacing: Pacing, cluster: str) -> Object:
    """Return the spec of a pool's MachineHealthCheck. Raises InputError for what has no meaning."""
    join = _seconds(pacing.join_timeout)
    if 0 < join < SHORTEST_JOIN_S:
        raise InputError(
            f"found {join}s, expected at least {SHORTEST_JOIN_S}s where autoRepair is on",
            field="spec.timeouts.join",
            hint="Cluster API repairs no machine sooner; 0s never does it for this",
        )
    seconds = _seconds(pacing.ready_timeout)
    unhealthy = [
        {"type": "Ready", "status": status, "timeoutSeconds": seconds}
        for status in ("False", "Unknown")
    ]
    return {
        "clusterName": cluster,
        "selector": {"matchLabels": {POOL_LABEL: split(pool)[1]}},
        "checks": {
            "nodeStartupTimeoutSeconds": join,
            "unhealthyNodeConditions": unhealthy,
        },
        "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": pacing.unhealthy}},
    }


def machine_of(found: Object, pool: str) -> Machine:
    """Return a Machine of Cluster API as the controller sees it."""
    metadata, status = found["metadata"], found.get("status") or {}
    annotations = metadata.get("annotations") or {}
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    phase = _phase_of(found, conditions)
    kept = annotations.get(SETTINGS)
    told = found["spec"].get("bootstrap", {}).get("dataSecretName", "")
    machine = Machine(
        name=metadata["name"],
        pool=pool,
        revision=pair_of(told, pool),
        phase=phase,
        created_at=_moment(metadata["creationTimestamp"]),
        booted=annotations.get(BOOTED, ""),
        agent=annotations.get(AGENT, ""),
        ready_at=_since(conditions, "NodeReady") if phase is Phase.READY else None,
        problem=_problem_of(phase, conditions),
        reason=annotations.get(REASON, ""),
        since=_told_since(found, phase, conditions),
        asked_by=annotations.get(ASKED_BY, ""),
        going=_going_of(phase, conditions),
        goes_first=GOES_FIRST in annotations,
    )
    if kept is not None:
        machine = replace(machine, settings=parse_value(type(machine.settings), kept))
    return with_change(machine, found)


def _phase_of(found: Object, conditions: Mapping[str, Object]) -> Phase:
    if "deletionTimestamp" in found["metadata"]:
        return Phase.LEAVING
    if (found.get("status") or {}).get("phase") == "Failed":
        return Phase.FAILED
    if _is(conditions, "HealthCheckSucceeded", "False"):
        return Phase.FAILED
    if _is(conditions, "NodeReady", "True"):
        # Cluster API replaces no other machine while a node under pressure, or one that has not
        # said whether it is, counts as its last: neither do we call it ready.
        is_healthy = conditions.get("NodeHealthy", {}).get("status", "True") == "True"
        return Phase.READY if is_healthy else Phase.NOT_READY
    node = (found.get("status") or {}).get("nodeRef")
    was_ready = bool(node) and conditions.get("NodeReady", {}).get("reason") != "NodeNotReadyYet"
    return Phase.NOT_READY if was_ready and _is(conditions, "NodeReady", "False") else Phase.BOOTING


def _problem_of(phase: Phase, conditions: Mapping[str, Object]) -> str:
    """Return what a machine waits for or died of, as Cluster API says it."""
    asked = {
        Phase.LEAVING: ("Deleting",),
        Phase.FAILED: ("HealthCheckSucceeded", "InfrastructureReady", "Ready"),
        Phase.BOOTING: ("InfrastructureReady", "BootstrapConfigReady", "NodeReady"),
        Phase.NOT_READY: ("NodeReady", "NodeHealthy"),
    }.get(phase, ())
    for name in asked:
        found = conditions.get(name, {})
        if name == "Deleting" and found.get("reason") in GOES_BY_ITSELF:
            continue
        if found.get("message") and (found.get("status") != "True" or name == "Deleting"):
            return _one_line(found)
    return ""


def _going_of(phase: Phase, conditions: Mapping[str, Object]) -> str:
    """Return what of a deletion is under way after its drain, and what the provider says of it."""
    found = conditions.get("Deleting", {})
    if phase is not Phase.LEAVING or found.get("reason") not in GOES_BY_ITSELF:
        return ""
    provider = conditions.get("InfrastructureReady", {})
    said = (found, provider) if provider.get("status") == "False" else (found,)
    return "; ".join(filter(None, map(_one_line, said)))


def _one_line(condition: Object) -> str:
    return shortened(" ".join(str(condition.get("message", "")).split()), LONGEST_SAID)


def _told_since(found: Object, phase: Phase, conditions: Mapping[str, Object]) -> datetime | None:
    if phase is Phase.LEAVING:
        return _moment(found["metadata"]["deletionTimestamp"])
    if phase is not Phase.NOT_READY:
        return None
    return _since(
        conditions, "NodeHealthy" if _is(conditions, "NodeReady", "True") else "NodeReady"
    )


def _is(conditions: Mapping[str, Object], name: str, status: str) -> bool:
    return conditions.get(name, {}).get("status") == status


def _since(conditions: Mapping[str, Object], name: str) -> datetime | None:
    moment = conditions.get(name, {}).get("lastTransitionTime")
    return _moment(moment) if moment else None


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _seconds(span: timedelta) -> int:
    return int(span.total_seconds())
