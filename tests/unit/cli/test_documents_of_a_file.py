"""Files of documents: everything that is wrong with one, by line and column."""

from pathlib import Path

import pytest

from fairlead.cli.files.documents import parse_documents, placed, read_documents
from fairlead.contract.node_schema import MESSAGES
from fairlead.errors import InputError
from fairlead.proposal.kubelet_fields import FIELDS
from shared_cases import REPOSITORY

POOL = """\
apiVersion: fairlead.dev/v1alpha1
kind: NodePool
metadata:
  name: workers
spec:
  replicas: 3
  release: {version: 1.34.2}
"""
PLATFORM = """\
apiVersion: fairlead.dev/v1alpha1
kind: PlatformConfig
metadata: {name: platform}
spec:
"""


def problems_of(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse_documents(text, "pool.yaml")
    lines = str(caught.value).splitlines()
    return lines if len(lines) == 1 else lines[1:]


def test_the_examples_are_read() -> None:
    found = [read_documents(REPOSITORY / "examples" / f"{name}.yaml")[0] for name in NAMES]

    assert [document.title for document in found] == ["NodePool/workers", "PlatformConfig/platform"]
    assert found[0]["spec"]["replicas"] == 3  # type: ignore[index]


NAMES = ("pool", "platform")


def test_a_wrong_value_is_named_with_its_place() -> None:
    text = POOL + "  management:\n    maxSurge: lots\n"

    assert problems_of(text) == [
        "pool.yaml:9:15: spec.management.maxSurge: found the text 'lots', expected 2 or 25%"
    ]


def test_all_problems_of_a_file_are_told_in_the_order_of_its_lines() -> None:
    text = """\
apiVersion: fairlead.dev/v1
kind: NodePool
metadata:
  name: Workers!
spec:
  replicass: 3
  release: {version: 1.34}
  management:
    maxSurgee: 2
  fips: yes
  labels:
    app.kubernetes.io/name: 5
  rollout:
    windows:
      - start: 25:00
        duration: 1h
  config:
    - kind: Sysctls
  proxy: 5
sepc: 1
---
apiVersion: fairlead.dev/v1alpha1
kind: PlatformConfig
metadata: {name: platform}
spec:
  proxy:
    image: 5
    imag: 5
  noProxy: [a, 2]
  notices:
    proxy.image: {severity: high}
---
kind: NodePol
"""

    assert problems_of(text) == [
        "pool.yaml:1:13: apiVersion: found the text 'fairlead.dev/v1', "
        "expected fairlead.dev/v1alpha1",
        "pool.yaml:4:9: metadata.name: found the text 'Workers!', expected a name "
        "(lower-case letters, digits and -, at most 51)",
        "pool.yaml:6:3: spec.replicass: this field is not known (did you mean replicas?)",
        "pool.yaml:7:22: spec.release.version: found the number 1.34, expected text "
        "(write it in quotes as it is meant: '1.34')",
        "pool.yaml:9:5: spec.management.maxSurgee: this field is not known "
        "(did you mean maxSurge?)",
        "pool.yaml:10:9: spec.fips: found yes, which YAML 1.1 reads as true or false and 1.2 as "
        "text; write true, false, or 'yes' in quotes",
        "pool.yaml:12:29: spec.labels.app.kubernetes.io/name: found the number 5, expected text "
        "(write it in quotes as it is meant: '5')",
        "pool.yaml:15:16: spec.rollout.windows[0].start: '25:00' is not a time like 22:00",
        "pool.yaml:18:13: spec.config[0].kind: found the text 'Sysctls', expected a known kind "
        "(known: KubeletConfiguration, ContainerdConfiguration, Sysctl, Files, Mirrors)",
        "pool.yaml:19:10: spec.proxy: found the number 5, expected a mapping",
        "pool.yaml:20:1: sepc: this field is not known (did you mean spec?)",
        "pool.yaml:27:12: spec.proxy.image: found the number 5, expected text "
        "(write it in quotes as it is meant: '5')",
        "pool.yaml:28:5: spec.proxy.imag: this field is not known (did you mean image?)",
        "pool.yaml:29:16: spec.noProxy[1]: found the number 2, expected text "
        "(write it in quotes as it is meant: '2')",
        "pool.yaml:31:29: spec.notices.proxy.image.severity: found the text 'high', "
        "expected routine, security, connectivity",
        "pool.yaml:33:7: kind: found the text 'NodePol', expected NodePool or PlatformConfig "
        "(did you mean NodePool?)",
    ]


def test_a_missing_field_stands_where_the_one_around_it_begins() -> None:
    text = POOL.replace("  release: {version: 1.34.2}\n", "")

    assert problems_of(text) == ["pool.yaml:6:3: spec.release.version: is not set"]


def test_fields_that_do_not_go_together_are_told_too() -> None:
    text = POOL + "  management:\n    maxSurge: 0\n    maxUnavailable: 0\n"

    assert problems_of(text) == [
        "pool.yaml:9:5: spec.management: maxSurge and maxUnavailable are both 0"
    ]


def test_a_file_says_one_thing_about_one_object() -> None:
    assert problems_of(f"{POOL}---\n{POOL}") == [
        "pool.yaml:12:9: metadata.name: a second NodePool/workers in one file"
    ]
    assert problems_of(f"{PLATFORM}---\n{PLATFORM}") == [
        "pool.yaml:8:18: metadata.name: a second PlatformConfig in one file"
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "pool.yaml: holds no document (expected NodePool documents)"),
        ("- 1\n", "pool.yaml:1:1: found a list, expected a document with kind and spec"),
        ("kind: [\n", "pool.yaml:2:1: is not YAML: did not find expected node content"),
    ],
)
def test_what_holds_no_document_says_so(text: str, says: str) -> None:
    assert problems_of(text) == [says]


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(InputError, match=r"pool.yaml: is not UTF-8 at byte 2"):
        parse_documents(b"a:\xff", "pool.yaml")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no.yaml: no such file"):
        read_documents(tmp_path / "no.yaml")


def test_json_is_read_as_well() -> None:
    [document] = parse_documents(
        '{"apiVersion": "fairlead.dev/v1alpha1", "kind": "NodePool",\n'
        ' "metadata": {"name": "w"}, "spec": {"release": {"version": "1.34.2"}}}',
        "pool.json",
    )

    assert document.title == "NodePool/w"


def test_an_error_of_the_control_plane_gets_the_place_of_its_field() -> None:
    documents = parse_documents(POOL + "---\n" + PLATFORM, "pool.yaml")
    error = InputError("cannot change", field="spec.replicas", hint="make another pool")

    assert str(placed(error, documents)) == (
        "pool.yaml:6:13: spec.replicas: cannot change (make another pool)"
    )


def test_an_error_about_something_else_stays_as_it_is() -> None:
    documents = parse_documents(f"{POOL}---\n{POOL.replace('workers', 'others')}", "pool.yaml")
    in_both = InputError("cannot change", field="spec.replicas")
    in_none = InputError("there is no pool")

    assert placed(in_both, documents) is in_both
    assert placed(in_none, documents) is in_none


def test_what_nothing_carries_out_is_refused_with_its_reason() -> None:
    text = POOL + "  endpoint:\n    access: Private\n"

    assert problems_of(text) == [
        "pool.yaml:9:13: spec.endpoint.access: "
        "no kind of machine applies it yet; leave this field out"
    ]


def test_the_right_name_in_the_wrong_place_is_answered_with_its_place() -> None:
    assert problems_of(POOL + "  maxSurge: 2\n") == [
        "pool.yaml:8:3: spec.maxSurge: this field is not known "
        "(did you mean spec.management.maxSurge?)"
    ]


def test_what_a_kubelet_would_refuse_is_told_before_anybody_is_asked() -> None:
    assert problems_of(POOL + "  labels: {team: not allowed!}\n") == [
        "pool.yaml:8:18: spec.labels.team: not a label value "
        "(expected up to 63 letters, digits, '-', '_' or '.')"
    ]


def test_a_number_in_the_place_of_a_text_is_quoted_as_it_was_written() -> None:
    text = """\
apiVersion: fairlead.dev/v1alpha1
kind: NodePool
metadata: {name: workers}
spec:
  replicas: 1
  release: {version: 1.34.2}
  force: 1e3
  labels: {chart: 1.30}
  config:
    - kind: Files
      files: [{path: /a, content: 12345678}]
"""

    assert problems_of(text) == [
        "pool.yaml:7:10: spec.force: found the number 1e3, expected text "
        "(write it in quotes as it is meant: '1e3')",
        "pool.yaml:8:19: spec.labels.chart: found the number 1.30, expected text "
        "(write it in quotes as it is meant: '1.30')",
        "pool.yaml:11:35: spec.config[0].files[0].content: found the number 12345678, "
        "expected text (write it in quotes as it is meant: '12345678')",
    ]


def test_a_kubelet_field_that_no_kubelet_has_is_warned_of_and_passes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = """\
apiVersion: fairlead.dev/v1alpha1
kind: NodePool
metadata: {name: workers}
spec:
  replicas: 1
  release: {version: 1.34.2}
  config:
    - kind: KubeletConfiguration
      maxPods: 50
      maxPdos: 5
      shinyAndNew: true
"""

    [document] = parse_documents(text, "pool.yaml")

    assert document.name == "workers"
    says = "warning: no kubelet up to 1.35 has this field, and one that does not know it goes on"
    assert capsys.readouterr().err.splitlines() == [
        f"pool.yaml:10:7: spec.config[0].maxPdos: {says} without it (did you mean maxPods?)",
        f"pool.yaml:11:7: spec.config[0].shinyAndNew: {says} without it",
    ]


def test_every_kubelet_field_of_the_contract_is_known() -> None:
    # The contract's names are the same in another spelling.
    known = {name.lower() for name in FIELDS}
    names = {name.replace("_", "") for name in MESSAGES["KubeletConfigFileConfig"]}

    assert names - known == {"apiversion", "kind"}
