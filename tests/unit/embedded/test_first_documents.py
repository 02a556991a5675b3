"""What `fairlead up` starts with is what the examples show."""

from importlib.resources import files

import pytest

from fairlead.cli.commands.up_here import first_documents
from shared_cases import REPOSITORY


@pytest.mark.parametrize("name", ["pool.yaml", "platform.yaml"])
def test_the_first_documents_are_the_examples(name: str) -> None:
    shipped = files("fairlead.embedded.first").joinpath(name).read_text()

    assert shipped == (REPOSITORY / "examples" / name).read_text()


def test_the_first_pool_has_three_machines_and_a_platform() -> None:
    documents = {document.title: document for document in first_documents()}

    assert sorted(documents) == ["NodePool/workers", "PlatformConfig/platform"]
    assert documents["NodePool/workers"]["spec"]["replicas"] == 3  # type: ignore[index]
