"""
The seven CustomResourceDefinitions, made from the types that everything else is made from.

    python -m fairlead.kube.definitions.crd deploy/kube/crds

writes them; a test compares. Rules about two fields at once are CEL where the server can check
them in time, and the judge's for the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import yaml

from fairlead.answers.words import PoolState
from fairlead.inputs.parse import LONGEST_NAME
from fairlead.inputs.schema import node_pool_schema, platform_config_schema
from fairlead.kube.definitions.fix_schemas import FIX, FIX_LEDGER, FIX_STATUS
from fairlead.kube.definitions.parts import MOMENT, NUMBER, OPEN_OBJECT, TEXT, object_of, said
from fairlead.kube.definitions.pool_rules import POOL_RULES
from fairlead.kube.definitions.report_schema import REPORT
from fairlead.kube.definitions.structural import Column, Rule, Schema, structural
from fairlead.kube.resource import (
    BOOT_REPORTS,
    HOTFIX_LEDGERS,
    HOTFIXES,
    NODE_POOLS,
    NODE_REVISIONS,
    PLATFORM_CONFIGS,
    ROLLOUT_PLANS,
    Resource,
)

# What the server may spend on rules of one object is bounded, so lists are bounded as well.
MOST_CONDITIONS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What is particular to one resource."""

    resource: Resource
    short: tuple[str, ...]
    says: str
    spec: Schema
    status: Schema | None = None
    columns: tuple[Column, ...] = ()
    rules: tuple[Rule, ...] = ()
    scale: Mapping[str, str] = field(default_factory=dict)


AGE = Column("Age", ".metadata.creationTimestamp", "date")

# Of NodePools: names of other objects of ours are made by us.
LETTERS_RULE = Rule(
    "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
    "a name has lower-case letters, digits and '-', and no dot: machines are called by it",
)
NAME_RULE = Rule(
    f"self.metadata.name.size() <= {LONGEST_NAME}",
    f"a name has at most {LONGEST_NAME} characters: those of its machines and secrets are longer",
)
IMMUTABLE = Rule("self.spec == oldSelf.spec", "a revision never changes; make another one")


CONDITIONS: Schema = {
    "description": "What holds of the pool, by type.",
    "type": "array",
    "maxItems": MOST_CONDITIONS,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": object_of(
        "One condition.",
        {
            "type": said(TEXT, "What it is about; `kubectl wait --for=condition=TYPE` waits."),
            "status": said({**TEXT, "enum": ["True", "False", "Unknown"]}, "Whether it holds."),
            "reason": said(TEXT, "Why, in one word for programs."),
            "message": said(TEXT, "Why, for people."),
            "lastTransitionTime": said(MOMENT, "Since when its status is so."),
            "observedGeneration": said(NUMBER, "The generation of the pool that it is about."),
        },
        *("type", "status", "reason", "message", "lastTransitionTime"),
    ),
}


def _pool_status() -> Schema:
    states = [state.value for state in PoolState]
    return object_of(
        "What the operator says of the pool; written by nobody else.",
        {
            "observedGeneration": said(NUMBER, "The generation that all of this is about."),
            "state": said({**TEXT, "enum": states}, "Where the pool stands."),
            "sentence": said(TEXT, "Why, in one sentence."),
            "version": said(TEXT, "The Kubernetes version that every machine has."),
            "desired": said(NUMBER, "How many machines are wanted."),
            "replicas": said(NUMBER, "How many there are, those that leave included."),
            "updated": said(NUMBER, "How many have what is wanted."),
            "available": said(NUMBER, "How many are ready and stay."),
            "selector": said(TEXT, "Which machines are this pool's, for the autoscaler."),
            "conditions": CONDITIONS,
            "journal": said(
                {"type": "array", "items": TEXT, "x-kubernetes-list-type": "atomic"},
                "The last events of the pool, the oldest first.",
            ),
            "fixes": said(
                {"type": "array", "items": TEXT, "x-kubernetes-list-type": "atomic"},
                "Fixes that machines of the pool booted without, or should not have.",
            ),
            "controlPlaneVersion": said(
                TEXT, "The version of the control plane that its machines join, if it is known."
            ),
            "record": said(
                OPEN_OBJECT,
                "What the operator remembers between two passes: pointers to NodeRevisions, and "
                "why they are there. Nobody else writes it.",
            ),
        },
    )


def _node_pool() -> Definition:
    spec = structural(node_pool_schema()["properties"]["spec"])  # type: ignore[index]
    for place, rules in POOL_RULES.items():
        at = spec["properties"][place] if place else spec
        at["x-kubernetes-validations"] = [rule.encode() for rule in rules]
    return Definition(
        resource=NODE_POOLS,
        short=("np",),
        says="A pool of machines that are alike. What stands in spec is its owner's intent: "
        "machines are replaced only because it changed.",
        spec=spec,
        status=_pool_status(),
        columns=(
            Column("State", ".status.state"),
            Column("Version", ".status.version"),
            Column("Desired", ".status.desired", "integer"),
            Column("Updated", ".status.updated", "integer"),
            Column("Available", ".status.available", "integer"),
            AGE,
            Column("Why", ".status.sentence", priority=1),
        ),
        rules=(NAME_RULE, LETTERS_RULE),
        scale={
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    )


def _platform_config() -> Definition:
    spec = structural(platform_config_schema()["properties"]["spec"])  # type: ignore[index]
    return Definition(
        resource=PLATFORM_CONFIGS,
        # pc is a PriorityClass.
        short=("pfc",),
        says="What the platform adds to pools. A change of it is held and shown, and replaces "
        "no machine.",
        spec=spec,
        columns=(
            Column("Proxy", ".spec.proxy.image"),
            Column("Control plane", ".spec.controlPlaneVersion"),
            Column("Stopped", ".spec.stopEverything", "boolean"),
            AGE,
            Column("Endpoint", ".spec.stub.endpoint", priority=1),
        ),
    )


def _hotfix() -> Definition:
    return Definition(
        resource=HOTFIXES,
        short=("hf",),
        says="A published fix of one image base, copied here by the operator. It reaches the next "
        "machine that boots, and replaces none. Deleting or editing it changes nothing.",
        spec=FIX,
        status=FIX_STATUS,
        columns=(
            Column("State", ".status.state"),
            Column("Reach", ".status.reach"),
            Column("Have", ".status.have", "integer"),
            Column("Lack", ".status.lack", "integer"),
            AGE,
        ),
    )


def _hotfix_ledger() -> Definition:
    return Definition(
        resource=HOTFIX_LEDGERS,
        short=("hl",),
        says="What replicas of the hotfix service count of the fixes of one image base: offers, "
        "boots, waves and halts. Nobody else writes it; without it a campaign begins anew.",
        spec=FIX_LEDGER,
        columns=(AGE,),
    )


def _boot_report() -> Definition:
    return Definition(
        resource=BOOT_REPORTS,
        short=("br",),
        says="What a machine said of its last boot, by the name of its Machine, with which it "
        "goes. Written by the payload service alone; secrets that it gave are taken out.",
        spec=REPORT,
        columns=(Column("Pool", ".spec.pool"), AGE),
    )


def _rollout_plan() -> Definition:
    return Definition(
        resource=ROLLOUT_PLANS,
        short=("rp",),
        says="What a change of a pool would do, as it was shown. Approved, it binds the rollout: "
        "nothing is replaced that it does not hold.",
        spec=object_of(
            "The plan.",
            {
                "pool": said(TEXT, "The NodePool, in the same namespace."),
                "approved": said({"type": "boolean"}, "Whether its owner agreed to it."),
                "plan": said(OPEN_OBJECT, "The plan itself, as `fairlead plan -o` saves it."),
            },
            *("pool", "plan"),
        ),
        rules=(Rule("self.spec.plan == oldSelf.spec.plan", "a plan that was shown never changes"),),
        columns=(
            Column("Pool", ".spec.pool"),
            Column("Approved", ".spec.approved", "boolean"),
            Column("Change", ".spec.plan.change"),
            AGE,
        ),
    )


def _node_revision() -> Definition:
    return Definition(
        resource=NODE_REVISIONS,
        short=("nr",),
        says="Everything that one generation of machines is made from. It never changes.",
        spec=object_of(
            "The inputs, and what they render to.",
            {
                "pool": said(TEXT, "The NodePool, in the same namespace."),
                "id": said(TEXT, "What it is called by everywhere: a pair's Secrets end in it."),
                "intentHash": said(TEXT, "Of what the owner wrote."),
                "platformHash": said(TEXT, "Of what the platform added."),
                "version": said(TEXT, "The Kubernetes version."),
                "revision": said(TEXT, "All of it, as text that is read back exactly."),
            },
            *("pool", "id", "revision"),
        ),
        rules=(IMMUTABLE,),
        columns=(
            Column("Pool", ".spec.pool"),
            Column("Version", ".spec.version"),
            AGE,
        ),
    )


def definitions() -> tuple[Definition, ...]:
    """Return all seven."""
    return (
        _node_pool(),
        _platform_config(),
        _hotfix(),
        _hotfix_ledger(),
        _boot_report(),
        _rollout_plan(),
        _node_revision(),
    )


def manifest_of(definition: Definition) -> dict[str, Any]:
    """Return the CustomResourceDefinition."""
    resource = definition.resource
    subresources: dict[str, Any] = {}
    if definition.status is not None:
        subresources["status"] = {}
    if definition.scale:
        subresources["scale"] = dict(definition.scale)
    version: dict[str, Any] = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _schema_of(definition)},
        "additionalPrinterColumns": [column.encode() for column in definition.columns],
    }
    if subresources:
        version["subresources"] = subresources
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "shortNames": list(definition.short),
                "categories": ["fairlead"],
            },
            "versions": [version],
        },
    }


def _schema_of(definition: Definition) -> Schema:
    properties: dict[str, Schema] = {
        "apiVersion": TEXT,
        "kind": TEXT,
        "metadata": {"type": "object"},
        "spec": definition.spec,
    }
    if definition.status is not None:
        properties["status"] = definition.status
    schema = object_of(definition.says, properties, "spec")
    if definition.rules:
        schema["x-kubernetes-validations"] = [rule.encode() for rule in definition.rules]
    return schema


def write_all(directory: Path) -> None:
    """Write every definition to its own file."""
    directory.mkdir(parents=True, exist_ok=True)
    for definition in definitions():
        plain = msgspec.to_builtins(manifest_of(definition))
        text = yaml.safe_dump(plain, sort_keys=False, width=100)
        name = f"{definition.resource.plural}.yaml"
        (directory / name).write_text(
            f"# Made by fairlead.kube.definitions.crd; do not edit.\n{text}"
        )


def main(words: Sequence[str]) -> int:
    """Write the definitions to the directory that is named."""
    write_all(Path(words[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
