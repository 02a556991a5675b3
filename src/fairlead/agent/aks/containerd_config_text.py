"""
The pieces of containerd's config file and of the kubenet template, byte for byte.

Read a piece as (conditions, text): it is written if all conditions hold, in this order. What
looks wrong is upstream's, and images are tested with exactly these files: the indentation, the
repeated keys and tables, and under containerd 2 the kata tables of containerd 1, of which the
file without GPU lacks the confidential one.
"""

from __future__ import annotations

HEAD = "version = 2\noom_score = -999"
DATA_DIR = '\nroot = "{data_dir}"'

KATA_SNAPSHOTTER = """
[plugins."io.containerd.snapshotter.v1.erofs"]
  default_size = "10G"
  enable_fsverity = false
  ovl_mount_options = []

[plugins."io.containerd.service.v1.diff-service"]
  default = ["erofs", "walking"]

[plugins."io.containerd.differ.v1.erofs"]
  mkfs_options = ["-T0", "--mkfs-time", "--sort=none"]
  enable_tar_index = false"""

METRICS = """
[metrics]
  address = "0.0.0.0:10257\""""

OVERLAYBD_PLUGIN = """
[proxy_plugins]
  [proxy_plugins.overlaybd]
    type = "snapshot"
    address = "/run/overlaybd-snapshotter/overlaybd.sock\""""

KATA_PREVIEW = """
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata-preview]
  runtime_type = "io.containerd.kata.v2"
  privileged_without_host_devices = true
  snapshotter = "erofs"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata-preview.options]
    ConfigPath = "/usr/share/defaults/kata-containers/configuration-clh-preview.toml"
[proxy_plugins]
  [proxy_plugins.tardev]
    type = "snapshot"
    address = "/run/containerd/tardev-snapshotter.sock\""""

KATA_CONFIDENTIAL = """
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata-cc]
  snapshotter = "tardev"
  runtime_type = "io.containerd.kata-cc.v2"
  privileged_without_host_devices = true
  pod_annotations = ["io.katacontainers.*"]
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata-cc.options]
    ConfigPath = "/opt/confidential-containers/share/defaults/kata-containers/configuration-clh-snp.toml\""""  # noqa: E501

CONTAINERD_1_PIECES = (
    ("", HEAD),
    ("data-dir", DATA_DIR),
    ("kata", KATA_SNAPSHOTTER),
    (
        "",
        """
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{sandbox_image}\"""",
    ),
    ("gpu-file", "\n  enable_cdi = true"),
    ("", '\n  [plugins."io.containerd.grpc.v1.cri".containerd]'),
    (
        "kata",
        """
    disable_snapshot_annotations = false
    snapshotter = "overlayfs\"""",
    ),
    (
        "artifact-streaming",
        """
    snapshotter = "overlaybd"
    disable_snapshot_annotations = false""",
    ),
    (
        "nvidia",
        """
    default_runtime_name = "nvidia-container-runtime"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia-container-runtime]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia-container-runtime.options]
      BinaryName = "/usr/bin/nvidia-container-runtime\"""",
    ),
    (
        "runc",
        """
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "/usr/bin/runc\"""",
    ),
    ("cgroup-v2", "\n      SystemdCgroup = true"),
    (
        "",
        """
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.untrusted]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.untrusted.options]""",
    ),
    ("nvidia", '\n      BinaryName = "/usr/bin/nvidia-container-runtime"'),
    ("runc", '\n      BinaryName = "/usr/bin/runc"'),
    (
        "kubenet-bridge",
        """
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
    conf_template = "/etc/containerd/kubenet_template.conf\"""",
    ),
    (
        "certs.d",
        """
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d\"""",
    ),
    (
        "",
        """
  [plugins."io.containerd.grpc.v1.cri".registry.headers]
    X-Meta-Source-Client = ["azure/aks"]""",
    ),
    ("", METRICS),
    ("artifact-streaming", OVERLAYBD_PLUGIN),
    (
        "kata",
        """
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata]
  runtime_type = "io.containerd.kata.v2"
  snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.katacli]
  runtime_type = "io.containerd.runc.v1"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.katacli.options]
  NoPivotRoot = false
  NoNewKeyring = false
  ShimCgroup = ""
  IoUid = 0
  IoGid = 0
  BinaryName = "/usr/bin/kata-runtime"
  Root = ""
  CriuPath = ""
  SystemdCgroup = false""",
    ),
    ("kata", KATA_PREVIEW),
    ("kata", KATA_CONFIDENTIAL),
    ("", "\n"),
)

CONTAINERD_2_PIECES = (
    ("", HEAD),
    ("data-dir", DATA_DIR),
    ("kata", KATA_SNAPSHOTTER),
    ("", '\n[plugins."io.containerd.cri.v1.images"]'),
    (
        "artifact-streaming",
        """
  snapshotter = "overlaybd"
  disable_snapshot_annotations = false""",
    ),
    (
        "",
        """
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{sandbox_image}\"""",
    ),
    (
        "certs.d",
        """
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "/etc/containerd/certs.d\"""",
    ),
    (
        "",
        """
  [plugins."io.containerd.cri.v1.images".registry.headers]
    X-Meta-Source-Client = ["azure/aks"]
[plugins."io.containerd.cri.v1.runtime".containerd]""",
    ),
    (
        "nvidia",
        """
    default_runtime_name = "nvidia-container-runtime"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia-container-runtime]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia-container-runtime.options]
      BinaryName = "/usr/bin/nvidia-container-runtime\"""",
    ),
    (
        "runc",
        """
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = "/usr/bin/runc\"""",
    ),
    (
        "",
        """
      SystemdCgroup = true
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.untrusted]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.untrusted.options]""",
    ),
    ("nvidia", '\n      BinaryName = "/usr/bin/nvidia-container-runtime"'),
    ("runc", '\n      BinaryName = "/usr/bin/runc"'),
    (
        "kubenet-bridge",
        """
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
    conf_template = "/etc/containerd/kubenet_template.conf\"""",
    ),
    ("", METRICS),
    ("artifact-streaming", OVERLAYBD_PLUGIN),
    (
        "kata",
        """
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata]
  runtime_type = "io.containerd.kata.v2"
  privileged_without_host_devices = true
  snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.kata.options]
    ConfigPath = "/usr/share/defaults/kata-containers/configuration.toml\"""",
    ),
    ("kata", KATA_PREVIEW),
    ("kata gpu-file", KATA_CONFIDENTIAL),
    ("", "\n"),
)

KUBENET_TEMPLATE = """{
	"cniVersion": "0.3.1",
	"name": "kubenet",
	"plugins": [{
		"type": "bridge",
		"bridge": "cbr0",
		"mtu": 1500,
		"addIf": "eth0",
		"isGateway": true,
		"ipMasq": false,
		"promiscMode": true,
		"hairpinMode": false,
		"ipam": {
			"type": "host-local",
			"ranges": [{{range $i, $range := .PodCIDRRanges}}{{if $i}}, {{end}}[{"subnet": "{{$range}}"}]{{end}}],
			"routes": [{{range $i, $route := .Routes}}{{if $i}}, {{end}}{"dst": "{{$route}}"}{{end}}]
		}
	},
	{
		"type": "portmap",
		"capabilities": {"portMappings": true},
		"externalSetMarkChain": "KUBE-MARK-MASQ"
	}]
}
"""  # noqa: E501
