"""What the manifests of deploy/kube give to `fairlead`, and whether it takes that."""

from collections.abc import Iterable, Iterator
from typing import Any

from fairlead.cli.main import make_parser
from fairlead.cli.parser import find_command, refuse_unknown_flags

IMAGE = "fairlead-operator"


def words_given(documents: Iterable[Any]) -> Iterator[tuple[str, list[str]]]:
    """Name and arguments of every container that runs our image, which begins with `fairlead`."""
    for document in documents:
        template = ((document or {}).get("spec") or {}).get("template") or {}
        for container in (template.get("spec") or {}).get("containers") or ():
            image = container["image"].rpartition("/")[2].partition(":")[0]
            if image == IMAGE:
                yield document["metadata"]["name"], container["args"]


def understood(words: list[str]) -> dict[str, Any]:
    """The flags that a command makes of these words. Raises UsageError."""
    parser = make_parser(words)
    refuse_unknown_flags(*find_command(parser, words))
    return vars(parser.parse_args(words))
