"""The page that installs everything, as printed, on a real API server."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.kube.client import connect
from fairlead.kube.resource import NODE_POOLS, Resource
from kube.built_tools import built_tool
from kube.cluster import TestCluster, running_cluster
from kube.hotfix_catalog import catalog_text
from pages import script_of
from shared_cases import REPOSITORY

pytestmark = pytest.mark.slow

PAGE = REPOSITORY / "docs/howto/run-on-kubernetes.md"
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")

# No engine builds images here, there is no Cluster API, and without an operator nothing becomes
# ready. Commands of ours against a cluster are in test_commands_on_a_cluster.py.
NOT_HERE = """\
podman() { :; }
fairlead() { :; }
kubectl() {
  case "$1 ${2-}" in
    "wait "*|"get machines"|"create -f"|*" machinedeployment") ;;
    *) command kubectl "$@" ;;
  esac
}
"""


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    """A server on which nothing was installed: the page makes the namespace itself."""
    with running_cluster(tmp_path_factory.mktemp("page")) as running:
        yield running


def test_the_page_about_kubernetes_works_as_printed(cluster: TestCluster, tmp_path: Path) -> None:
    cluster.kubectl("create", "namespace", "payments")
    (tmp_path / "deploy").symlink_to(REPOSITORY / "deploy")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").symlink_to(built_tool("kubectl"))
    pair = cluster.authority.server("page", ["fairlead-payload.fairlead-system.svc"])
    for name, file in (
        ("tls.crt", pair.certificate),
        ("tls.key", pair.key),
        ("ca.crt", cluster.authority.pair.certificate),
    ):
        (tmp_path / name).write_bytes(file.read_bytes())
    (tmp_path / "join.key").write_bytes(b"k" * 32)
    (tmp_path / "catalog.json").write_bytes(catalog_text())
    (tmp_path / "pool.yaml").write_text(pool_of_the_page())

    ran = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", NOT_HERE + script_of(PAGE)],
        cwd=tmp_path,
        env={
            **os.environ,
            "KUBECONFIG": str(cluster.admin),
            "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        },
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert ran.returncode == 0, ran.stderr
    admin = connect(cluster.admin)
    found, _ = admin.list_all(DEPLOYMENTS, "fairlead-system")
    assert sorted(one["metadata"]["name"] for one in found) == [
        "fairlead-extension",
        "fairlead-hotfix",
        "fairlead-operator",
        "fairlead-payload",
    ]
    pool = admin.find(NODE_POOLS, "workers", "default")
    assert pool is not None
    assert pool["spec"]["replicas"] == 5
    admin.close()


def pool_of_the_page() -> str:
    (pool,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(pool)
