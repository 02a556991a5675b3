"""
One API server for all tests of a worker, with a namespace of its own for each test; and one with
Cluster API, a provider and an operator.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.kube.client import KubeClient, connect
from fairlead.kube.resource import Resource
from kube.cluster import TestCluster, running_cluster
from kube.cluster_api import IN_HASTE, Provider, install_all, running_provider
from kube.fleet import NAMESPACE, Fleet

NAMESPACES = Resource("", "v1", "namespaces", "Namespace", is_namespaced=False)

HERE = Path(__file__).parent

_numbers = itertools.count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """
    Every test of this folder is run by `make test-kube`, and by no other command.

    Workers begin with halves of the list and take from each other: who may take minutes goes first.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.kube)
    items.sort(key=lambda item: item.get_closest_marker("begin_with") is None)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    """A real API server."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def admin(cluster: TestCluster) -> Iterator[KubeClient]:
    """A client that may do everything."""
    client = connect(cluster.admin)
    yield client
    client.close()


@pytest.fixture
def namespace(admin: KubeClient) -> str:
    """A namespace that nobody else uses; it is left to the end of the cluster."""
    name = f"test-{next(_numbers)}"
    admin.create(
        NAMESPACES,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
    )
    return name


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestCluster, Provider]]:
    """A server with our definitions, Cluster API and a provider, and no operator."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        install_all(cluster, IN_HASTE)
        with running_provider(cluster, NAMESPACE) as provider:
            provider.declare_template("small", size="small")
            yield cluster, provider


@pytest.fixture
def unmanned(bare: tuple[TestCluster, Provider]) -> Iterator[Fleet]:
    """A fleet whose test starts the operators."""
    fleet = Fleet(*bare)
    yield fleet
    fleet.stop_operators()
    fleet.admin.close()


@pytest.fixture
def fleet(unmanned: Fleet) -> Fleet:
    """A fleet with one operator."""
    unmanned.start_operator()
    return unmanned
