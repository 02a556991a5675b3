"""Worlds of every kind, for the suites that hold on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lightkube.config.kubeconfig import KubeConfig

from conformance.cluster_world import ClusterWorld, CountedClient
from conformance.stored_world import StoredWorld
from fairlead.kube.client import KubeClient, connect
from fairlead.sim.world import SimWorld
from kube.cluster import TestCluster, running_cluster
from kube.processes import HOME, install, kubeconfig_of
from pool_documents import platform_document, pool_document
from transitions.pool_worlds import declare

MakeWorld = Callable[[], SimWorld]

# A cluster renders what machines boot from when it is written, and takes no other authority.
STUB = {
    "endpoint": "https://payload.example.test/v1/config",
    "ca": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    """A real API server with our manifests."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.start_controller_manager("clusterrole-aggregation-controller")
        install(cluster)
        yield cluster


@pytest.fixture(scope="session")
def clients(installed: TestCluster) -> Iterator[tuple[KubeClient, CountedClient]]:
    """It as its administrator and as the operator's own account sees it."""
    admin = connect(installed.admin)
    operator = CountedClient(KubeConfig.from_file(kubeconfig_of(installed, "fairlead-operator")))
    yield admin, operator
    operator.close()
    admin.close()


@pytest.fixture
def hotfix_client(installed: TestCluster) -> Iterator[KubeClient]:
    """It as the hotfix service's own account sees it, with a ledger in which nothing is."""
    installed.kubectl("-n", HOME, "delete", "hotfixledgers", "--all")
    client = connect(kubeconfig_of(installed, "fairlead-hotfix"))
    yield client
    client.close()


MAKE_MACHINES = ["sim", "embedded"]
ON_A_CLUSTER = pytest.param("kube", marks=[pytest.mark.slow, pytest.mark.kube])


@pytest.fixture(params=[*MAKE_MACHINES, ON_A_CLUSTER])
def make_world(request: pytest.FixtureRequest) -> Iterator[MakeWorld]:
    """Makes worlds of one kind in which a pool of three is declared and nothing has run."""
    yield from worlds(request)


@pytest.fixture
def world(make_world: MakeWorld) -> SimWorld:
    return make_world()


@pytest.fixture(params=MAKE_MACHINES)
def maker(request: pytest.FixtureRequest) -> Iterator[SimWorld]:
    """
    A world whose controller makes, names, changes and lets go of machines itself.

    Cluster API does that on a cluster: the controller may not, and tests/kube/ has what comes of
    it. Nor is a pool refused there that is forgotten too early, or its story kept: its Secrets and
    its story are the NodePool's own, and go with it.
    """
    for make in worlds(request):
        yield make()


def worlds(request: pytest.FixtureRequest) -> Iterator[MakeWorld]:
    made: list[StoredWorld | ClusterWorld] = []

    def make() -> SimWorld:
        world: SimWorld = SimWorld()
        if request.param == "embedded":
            world = StoredWorld()
            made.append(world)
        if request.param == "kube":
            world = ClusterWorld(*request.getfixturevalue("clients"))
            made.append(world)
        declare(world, pool_document(), platform_document(stub=STUB))
        return world

    yield make
    for world in made:
        world.close()


@pytest.fixture
def settled(world: SimWorld) -> SimWorld:
    """A world whose three machines run."""
    world.settle()
    return world
