"""Google's own reader of protobuf JSON, told the contract by the published table."""

import json
import math
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

from shared_cases import shared_case

FIELD = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    "string": FIELD.TYPE_STRING,
    "bool": FIELD.TYPE_BOOL,
    "int32": FIELD.TYPE_INT32,
    "double": FIELD.TYPE_DOUBLE,
}
PACKAGE = "oracle"


def _name_type(field: Any, kind: str, enums: dict[str, Any]) -> None:
    if kind in SCALARS:
        field.type = SCALARS[kind]
        return
    field.type = FIELD.TYPE_ENUM if kind in enums else FIELD.TYPE_MESSAGE
    field.type_name = f".{PACKAGE}.{kind}"


def _add_map_entry(message: Any, field: Any, row: dict[str, Any]) -> None:
    entry = message.nested_type.add()
    entry.name = "".join(word.title() for word in row["name"].split("_")) + "Entry"
    entry.options.map_entry = True
    key = entry.field.add(name="key", number=1, label=FIELD.LABEL_OPTIONAL, json_name="key")
    key.type = FIELD.TYPE_STRING
    value = entry.field.add(name="value", number=2, label=FIELD.LABEL_OPTIONAL, json_name="value")
    _name_type(value, row["type"].removeprefix("map<string,").removesuffix(">"), {})
    field.label = FIELD.LABEL_REPEATED
    field.type = FIELD.TYPE_MESSAGE
    field.type_name = f".{PACKAGE}.{message.name}.{entry.name}"


def _configuration_class() -> Any:
    table = json.loads(shared_case("aksnodeconfig-v1.json").read_text())
    file = descriptor_pb2.FileDescriptorProto(name="node.proto", package=PACKAGE, syntax="proto3")
    for name, values in table["enums"].items():
        enum = file.enum_type.add(name=name)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    for name, rows in table["messages"].items():
        message = file.message_type.add(name=name)
        for row in rows:
            field = message.field.add(name=row["name"], number=row["number"], json_name=row["json"])
            field.label = FIELD.LABEL_REPEATED if row.get("repeated") else FIELD.LABEL_OPTIONAL
            if row["type"].startswith("map<"):
                _add_map_entry(message, field, row)
                continue
            _name_type(field, row["type"], table["enums"])
            if row.get("optional"):
                field.proto3_optional = True
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name="_" + row["name"])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.Configuration"))


CONFIGURATION = _configuration_class()


def fields_by_google(text: str) -> dict[str, Any]:
    """Return what Google's reader understands, by proto name, enums as numbers."""
    message = json_format.Parse(text, CONFIGURATION(), ignore_unknown_fields=True)
    fields: dict[str, Any] = json_format.MessageToDict(
        message, preserving_proto_field_name=True, use_integers_for_enums=True
    )
    return fields


def comparable(value: object) -> object:
    """Return our values in the form that fields_by_google gives."""
    if isinstance(value, dict):
        return {name: comparable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
