"""Every metric of a cluster's processes is on the page that people read, and no other."""

import re

from shared_cases import REPOSITORY

PAGE = REPOSITORY / "docs" / "howto" / "run-on-kubernetes.md"
SOURCES = REPOSITORY / "src" / "fairlead"

# How the code makes one: its name comes first.
MADE = re.compile(r'\b(?:Metric|gauge|counter|by_label)\(\s*"([a-z_]+)"')
TOLD = re.compile(r"`fairlead_([a-z_]+)(?:\{[a-z,]+\})?`")


def test_the_table_of_metrics_holds_every_metric() -> None:
    folders = (SOURCES / "kube", SOURCES / "cli" / "commands" / "kube")
    files = [file for folder in folders for file in folder.rglob("*.py")]
    made = [name for file in files for name in MADE.findall(file.read_text())]
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `fairlead_")]
    told = [name for row in rows for name in TOLD.findall(row)]

    assert len(made) >= 19
    assert sorted(told) == sorted(made)
