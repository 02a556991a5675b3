"""What objects about boots hold."""

from __future__ import annotations

from fairlead.kube.definitions.parts import TEXT, object_of, said
from fairlead.payload.answer import LARGEST_REPORT

REPORT = object_of(
    "The report. Machines write its text: believe nothing in it.",
    {
        "pool": said(TEXT, "The NodePool, in the same namespace."),
        "pair": said(TEXT, "The NodeRevision that the machine had booted from."),
        "change": said(TEXT, "When the change in place began that it was part of; empty if none."),
        "digest": said(TEXT, "SHA-256 of what the machine sent, to know it again."),
        # Taking a secret out may make it longer, by less than this.
        "report": said(
            {**TEXT, "maxLength": 2 * LARGEST_REPORT},
            "What it sent, as JSON text; `fairlead --kube timeline MACHINE` draws it.",
        ),
    },
    *("pool", "pair", "digest", "report"),
)
