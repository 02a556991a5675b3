"""
Names in a KubeletConfiguration that no kubelet reads, as far as is known here.

A kubelet of another version may know more, so such a name is warned of and passes. The names are
those of kubelet.config.k8s.io/v1beta1 up to Kubernetes 1.35.
"""

from collections.abc import Iterator, Mapping

from fairlead.inputs.leaf import Json
from fairlead.proposal.hint import close_name

FIELDS = frozenset(
    [
        "address",
        "allowedUnsafeSysctls",
        "authentication",
        "authorization",
        "cgroupDriver",
        "cgroupRoot",
        "cgroupsPerQOS",
        "clusterDNS",
        "clusterDomain",
        "configMapAndSecretChangeDetectionStrategy",
        "containerLogMaxFiles",
        "containerLogMaxSize",
        "containerLogMaxWorkers",
        "containerLogMonitorInterval",
        "containerRuntimeEndpoint",
        "contentType",
        "cpuCFSQuota",
        "cpuCFSQuotaPeriod",
        "cpuManagerPolicy",
        "cpuManagerPolicyOptions",
        "cpuManagerReconcilePeriod",
        "crashLoopBackOff",
        "enableContentionProfiling",
        "enableControllerAttachDetach",
        "enableDebugFlagsHandler",
        "enableDebuggingHandlers",
        "enableProfilingHandler",
        "enableServer",
        "enableSystemLogHandler",
        "enableSystemLogQuery",
        "enforceNodeAllocatable",
        "eventBurst",
        "eventRecordQPS",
        "evictionHard",
        "evictionMaxPodGracePeriod",
        "evictionMinimumReclaim",
        "evictionPressureTransitionPeriod",
        "evictionSoft",
        "evictionSoftGracePeriod",
        "failCgroupV1",
        "failSwapOn",
        "featureGates",
        "fileCheckFrequency",
        "hairpinMode",
        "healthzBindAddress",
        "healthzPort",
        "httpCheckFrequency",
        "imageGCHighThresholdPercent",
        "imageGCLowThresholdPercent",
        "imageMaximumGCAge",
        "imageMinimumGCAge",
        "imagePullCredentialsVerificationPolicy",
        "imageServiceEndpoint",
        "iptablesDropBit",
        "iptablesMasqueradeBit",
        "kernelMemcgNotification",
        "kubeAPIBurst",
        "kubeAPIQPS",
        "kubeReserved",
        "kubeReservedCgroup",
        "kubeletCgroups",
        "localStorageCapacityIsolation",
        "logging",
        "makeIPTablesUtilChains",
        "maxOpenFiles",
        "maxParallelImagePulls",
        "maxPods",
        "memoryManagerPolicy",
        "memorySwap",
        "memoryThrottlingFactor",
        "mergeDefaultEvictionSettings",
        "nodeLeaseDurationSeconds",
        "nodeStatusMaxImages",
        "nodeStatusReportFrequency",
        "nodeStatusUpdateFrequency",
        "oomScoreAdj",
        "podCIDR",
        "podLogsDir",
        "podPidsLimit",
        "podsPerCore",
        "port",
        "preloadedImagesVerificationAllowlist",
        "protectKernelDefaults",
        "providerID",
        "qosReserved",
        "readOnlyPort",
        "registerNode",
        "registerWithTaints",
        "registryBurst",
        "registryPullQPS",
        "reservedMemory",
        "reservedSystemCPUs",
        "resolvConf",
        "rotateCertificates",
        "runOnce",
        "runtimeRequestTimeout",
        "seccompDefault",
        "serializeImagePulls",
        "serverTLSBootstrap",
        "showHiddenMetricsForVersion",
        "shutdownGracePeriod",
        "shutdownGracePeriodByPodPriority",
        "shutdownGracePeriodCriticalPods",
        "singleProcessOOMKill",
        "staticPodPath",
        "staticPodURL",
        "staticPodURLHeader",
        "streamingConnectionIdleTimeout",
        "syncFrequency",
        "systemCgroups",
        "systemReserved",
        "systemReservedCgroup",
        "tlsCertFile",
        "tlsCipherSuites",
        "tlsCurvePreferences",
        "tlsMinVersion",
        "tlsPrivateKeyFile",
        "topologyManagerPolicy",
        "topologyManagerPolicyOptions",
        "topologyManagerScope",
        "tracing",
        "userNamespaces",
        "volumePluginDir",
        "volumeStatsAggPeriod",
    ]
)
HEADER = ("apiVersion", "kind", "metadata")


def strange_fields(document: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Give the path of each name that no kubelet is known to read, and what is to be said of it."""
    spec = document.get("spec")
    configs = spec.get("config") if isinstance(spec, Mapping) else None
    for at, config in enumerate(configs if isinstance(configs, list | tuple) else ()):
        if not isinstance(config, Mapping) or config.get("kind") != "KubeletConfiguration":
            continue
        for name in config:
            if name not in FIELDS and name not in HEADER:
                hint = close_name(str(name), sorted(FIELDS))
                says = "no kubelet up to 1.35 has this field, and one that does not know it goes on"
                yield f"spec.config[{at}].{name}", f"{says} without it" + (hint and f" ({hint})")
