"""Which resource an object is, and where the API server has it."""

from __future__ import annotations

from dataclasses import dataclass

GROUP = "fairlead.dev"
VERSION = "v1alpha1"


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of the API server. group '' is the core group."""

    group: str
    version: str
    plural: str
    kind: str
    is_namespaced: bool = True

    def __hash__(self) -> int:
        """Every read of a pass asks by resource, some dozens of times: one text, hashed once."""
        return hash(self.plural)

    @property
    def api_version(self) -> str:
        """What objects of it have as apiVersion."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return where objects are: all of them, those of a namespace, or one."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{namespace}" if namespace and self.is_namespaced else ""
        one = f"/{name}" if name else ""
        part = f"/{subresource}" if subresource else ""
        return f"{root}{inside}/{self.plural}{one}{part}"


NODE_POOLS = Resource(GROUP, VERSION, "nodepools", "NodePool")
PLATFORM_CONFIGS = Resource(GROUP, VERSION, "platformconfigs", "PlatformConfig")
HOTFIXES = Resource(GROUP, VERSION, "hotfixes", "Hotfix")
HOTFIX_LEDGERS = Resource(GROUP, VERSION, "hotfixledgers", "HotfixLedger")
BOOT_REPORTS = Resource(GROUP, VERSION, "bootreports", "BootReport")
ROLLOUT_PLANS = Resource(GROUP, VERSION, "rolloutplans", "RolloutPlan")
NODE_REVISIONS = Resource(GROUP, VERSION, "noderevisions", "NodeRevision")

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
NODES = Resource("", "v1", "nodes", "Node", is_namespaced=False)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
PODS = Resource("", "v1", "pods", "Pod")
JOBS = Resource("batch", "v1", "jobs", "Job")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")

MACHINE_DEPLOYMENTS = Resource(
    "cluster.x-k8s.io", "v1beta2", "machinedeployments", "MachineDeployment"
)
MACHINE_SETS = Resource("cluster.x-k8s.io", "v1beta2", "machinesets", "MachineSet")
MACHINES = Resource("cluster.x-k8s.io", "v1beta2", "machines", "Machine")
MACHINE_HEALTH_CHECKS = Resource(
    "cluster.x-k8s.io", "v1beta2", "machinehealthchecks", "MachineHealthCheck"
)
CLUSTERS = Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster")
