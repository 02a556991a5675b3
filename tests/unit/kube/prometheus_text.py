"""Reads the text format of Prometheus as its documentation has it, and refuses everything else."""

import re
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
PARTS = {
    "gauge": {""},
    "counter": {""},
    "histogram": {"_bucket", "_sum", "_count"},
}

Labels = tuple[tuple[str, str], ...]


@dataclass
class Family:
    """One metric: what it is, and its numbers by what was added to its name and by labels."""

    kind: str = ""
    says: str = ""
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)

    def value(self, part: str = "", /, **labels: str) -> float:
        return self.samples[part, tuple(sorted(labels.items()))]


def parse_metrics(text: str) -> dict[str, Family]:
    """The families by name; AssertionError for what Prometheus would refuse or misread."""
    assert text.endswith("\n")
    families: dict[str, Family] = {}
    current = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current, _, says = line.removeprefix("# HELP ").partition(" ")
            assert current not in families, f"{current} is told twice"
            assert says, f"{current} says nothing"
            families[current] = Family(says=says)
        elif line.startswith("# TYPE "):
            name, kind = line.removeprefix("# TYPE ").split(" ")
            assert name == current
            assert kind in PARTS
            families[name].kind = kind
        else:
            _add(families[current], current, line)
    for name, family in families.items():
        _check(name, family)
    return families


def _add(family: Family, name: str, line: str) -> None:
    found = SAMPLE.fullmatch(line)
    assert found, f"no sample: {line!r}"
    part = found[1].removeprefix(name)
    assert found[1].startswith(name), f"{found[1]} is below {name}"
    assert part in PARTS[family.kind], f"{found[1]} of a {family.kind}"
    labels = _labels(found[2] or "")
    assert (part, labels) not in family.samples, f"twice: {line!r}"
    family.samples[part, labels] = float(found[3])


def _labels(text: str) -> Labels:
    found, rest = [], text
    while rest:
        label = LABEL.match(rest)
        assert label, f"no label: {rest!r}"
        found.append((label[1], re.sub(r"\\(.)", _plain, label[2])))
        rest = rest[label.end() :]
    return tuple(sorted(found))


def _plain(escaped: "re.Match[str]") -> str:
    return "\n" if escaped[1] == "n" else escaped[1]


def _check(name: str, family: Family) -> None:
    assert family.kind, f"{name} has no type"
    assert (family.kind == "counter") == name.endswith("_total"), name
    if family.kind != "histogram":
        return
    buckets = [
        (float(dict(labels)["le"]), value)
        for (part, labels), value in family.samples.items()
        if part == "_bucket"
    ]
    assert buckets == sorted(buckets), f"{name} is not cumulative: {buckets}"
    assert buckets[-1] == (float("inf"), family.value("_count"))
