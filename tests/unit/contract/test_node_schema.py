"""The contract's tables say what the published table says, field by field."""

import json

import pytest

from fairlead.contract.node_parse import json_name_of, known_path_of
from fairlead.contract.node_schema import ENUMS, MESSAGES
from fairlead.contract.node_secrets import SECRET_PATHS
from fairlead.contract.node_validate import AKS_REQUIRED, ALWAYS_REQUIRED
from shared_cases import shared_case

PUBLISHED = json.loads(shared_case("aksnodeconfig-v1.json").read_text())
LABELS = {"": {}, "optional": {"optional": True}, "repeated": {"repeated": True}, "map": {}}


def published_form(name: str, field: tuple[int, str, str]) -> dict[str, object]:
    number, kind, label = field
    shown = f"map<string,{kind}>" if label == "map" else kind
    row = {"name": name, "json": json_name_of(name), "number": number, "type": shown}
    return row | ({"enum": True} if kind in ENUMS else {}) | LABELS[label]


@pytest.mark.parametrize("message", PUBLISHED["messages"])
def test_every_field_is_as_published(message: str) -> None:
    ours = [published_form(name, field) for name, field in MESSAGES[message].items()]

    assert ours == PUBLISHED["messages"][message]


def test_there_are_no_other_messages_and_the_enums_are_as_published() -> None:
    assert set(MESSAGES) == set(PUBLISHED["messages"])
    assert PUBLISHED["enums"] == ENUMS


def test_the_contract_has_32_messages_257_fields_and_8_enums() -> None:
    assert len(MESSAGES) == 32
    assert sum(len(fields) for fields in MESSAGES.values()) == 257
    assert len(ENUMS) == 8


def test_paths_in_other_tables_are_paths_of_the_contract() -> None:
    for path in (*SECRET_PATHS, *AKS_REQUIRED, *ALWAYS_REQUIRED):
        assert known_path_of(path) == path
