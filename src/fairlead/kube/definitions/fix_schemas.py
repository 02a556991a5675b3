"""What objects about hotfixes hold."""

from __future__ import annotations

from fairlead.kube.definitions.parts import NUMBER, TEXT, object_of, said

# Bytes; etcd takes 1.5 MiB. What is kept is bounded far below: kube/ledger/line.py.
LARGEST_LEDGER = 1 << 20

FIX = object_of(
    "The fix, as its publisher's catalog has it. What nodes believe is signed, and not here.",
    {
        "component": said(TEXT, "The agent that it is a fix of."),
        "version": said(
            {**TEXT, "pattern": r"^[0-9]{1,8}\.[0-9]{1,4}\.[0-9]{1,9}$"},
            "YYYYMM.DD.PATCH; YYYYMM.DD is the image base.",
        ),
        "schedule": said(
            {**TEXT, "enum": ["normal", "accelerated", "emergency"]},
            "How fast its waves follow each other.",
        ),
        "summary": said({**TEXT, "maxLength": 1000}, "What it mends, in one line."),
    },
    "version",
)
FIX_STATUS = object_of(
    "How far it came, by what machines said of their boots.",
    {
        "observedGeneration": said(NUMBER, "The generation that all of this is about."),
        "state": said(
            TEXT,
            "published, withdrawn or retired, and why; and whether its campaign halted itself.",
        ),
        "reach": said(TEXT, "How far it is open: by its publisher, or by how boots with it went."),
        "have": said(NUMBER, "Machines that booted with it, or with a later one of its base."),
        "lack": said(NUMBER, "Machines of its base that booted without it."),
        "region": said(TEXT, "Where this cluster's machines are, as its publisher calls it."),
        "lacking": said({"type": "array", "items": TEXT}, "Pools of such machines, the first."),
    },
)
FIX_LEDGER = object_of(
    "What is counted.",
    {"kept": said({**TEXT, "maxLength": LARGEST_LEDGER}, "All of it, as JSON text.")},
    "kept",
)
