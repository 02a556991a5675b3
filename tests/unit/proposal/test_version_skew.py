"""Versions of pools against the control plane's, and against what a pool has."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.embedded.serve.apply import apply
from fairlead.errors import InputError
from fairlead.proposal.propose import Shown
from fairlead.proposal.versions import skewed
from pool_documents import platform_document, pool_document
from service.stored_plane import StoredPlane


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[StoredPlane]:
    """A control plane at 1.34.1 with a pool at 1.33.5."""
    plane = StoredPlane(tmp_path)
    declare(plane, platform_document(controlPlaneVersion="1.34.1"), pool("1.33.5"))
    yield plane
    plane.close()


def pool(version: str, *allow: str, name: str = "workers", **spec: Any) -> dict[str, Any]:
    release = {"version": version} | ({"allow": list(allow)} if allow else {})
    return pool_document(name, release=release, **spec)


def declare(plane: StoredPlane, *documents: Any) -> None:
    apply(plane.world, documents, Shown(), plane.now())


def refusal(plane: StoredPlane, *documents: Any) -> str:
    with pytest.raises(InputError) as refused:
        declare(plane, *documents)
    return str(refused.value)


@pytest.mark.parametrize("version", ["1.34.9", "1.33.6", "1.33.4"])
def test_versions_within_the_policy_are_taken(plane: StoredPlane, version: str) -> None:
    declare(plane, pool(version))


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (pool("1.35.0"), "spec.release.version: found 1.35.0, newer than the control plane, "
         "which is at 1.34.1 (to have it anyway: release.allow: [Skew])"),
        (pool("1.30.9", name="others"), "spec.release.version: found 1.30.9, more than 3 minor "
         "versions behind the control plane, which is at 1.34.1 "
         "(to have it anyway: release.allow: [Skew])"),
        (pool("1.32.1"), "spec.release.version: found 1.32.1, older than the 1.33 that the pool "
         "has (to have it anyway: release.allow: [Downgrade])"),
        (platform_document(controlPlaneVersion="1.37.0"), "spec.controlPlaneVersion: workers: "
         "found 1.33.5, more than 3 minor versions behind the control plane, which is at 1.37.0 "
         "(bring workers to another version first)"),
        (platform_document(controlPlaneVersion="1.32.0"), "spec.controlPlaneVersion: workers: "
         "found 1.33.5, newer than the control plane, which is at 1.32.0 "
         "(bring workers to another version first)"),
    ],
)  # fmt: skip
def test_a_version_beyond_the_policy_is_refused_with_the_way_to_have_it(
    plane: StoredPlane, document: Any, says: str
) -> None:
    assert refusal(plane, document) == says


def test_who_says_so_has_it(plane: StoredPlane) -> None:
    declare(plane, pool("1.30.0", "Downgrade", "Skew"))
    declare(plane, pool("1.36.0", "Skew"))
    declare(plane, platform_document(controlPlaneVersion="1.33.0"))


def test_a_pool_and_its_control_plane_may_go_together(plane: StoredPlane) -> None:
    declare(plane, platform_document(controlPlaneVersion="1.37.0"), pool("1.36.0"))


def test_what_is_so_already_goes_on(plane: StoredPlane) -> None:
    plane.world.pools.write_pool(pool("1.36.0"))

    declare(plane, pool("1.36.0", replicas=4))
    declare(plane, platform_document(controlPlaneVersion="1.34.1", noProxy=[".x"]))


def test_a_pool_that_cannot_be_read_keeps_no_control_plane_from_its_version() -> None:
    strange = {**pool("1.33.5", name="strange"), "apiVersion": "other/v9"}

    told = skewed({}, {"strange": strange}, platform_document(controlPlaneVersion="1.40.0"), None)

    assert list(told) == []


def test_to_allow_something_changes_no_machine(plane: StoredPlane) -> None:
    plane.settle()
    before = plane.names()

    declare(plane, pool("1.33.5", "Downgrade"))
    plane.settle()

    assert plane.names() == before


def test_nobody_says_what_the_control_plane_is_and_nothing_is_held_against_it(
    plane: StoredPlane,
) -> None:
    declare(plane, platform_document(), pool("1.40.0"))
