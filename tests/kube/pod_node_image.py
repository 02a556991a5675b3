"""
An image whose machines run pods: Debian with containerd, runc and CNI plugins, the agent's package,
and what no registry has to be asked for.

The kubelet comes with the machine (see nspawn_provider.py): two versions differ in it.
"""

import io
import json
import tarfile
from hashlib import sha256
from pathlib import Path

from boot.roots import PACKAGES, agent_layer, base_root
from fairlead.agent.stages.read_features import HOTFIX_FEATURE
from kube.fleet import IN_PLACE_IMAGE

SUITE = "bookworm"
POD_PACKAGES = (*PACKAGES, "busybox-static", "containerd", "containernetworking-plugins", "runc")

POD_IMAGE = "registry.example.test/web:1"
# All that a change in place takes from the image of its Job: in the image, and in Debian.
CHANGE_PROGRAM = {
    "usr/sbin/chroot": "usr/sbin/chroot",
    "lib/x86_64-linux-gnu/libc.so.6": "lib/x86_64-linux-gnu/libc.so.6",
    "lib64/ld-linux-x86-64.so.2": "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
}

# What this containerd holds a pod's namespaces open with, if nobody names another.
SANDBOX_IMAGE = "registry.k8s.io/pause:3.6"
FOR_EVER = ["/bin/busybox", "sleep", "2147483647"]

POD_NETWORK = {
    "cniVersion": "1.0.0",
    "name": "pods",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": "10.88.0.0/24"}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }
    ],
}

IMAGES = "/usr/share/images.tar"
KERNEL_LOG = "/usr/share/kernel-log"
WITH_IMAGES = f"[Service]\nExecStartPost=/usr/bin/ctr --namespace k8s.io images import {IMAGES}\n"

# A kubelet wants to divide groups, sees to it that the kernel is set as it likes, and its bridge
# forwards. A container may only look at the first, and shares a kernel that is not its own: it gets
# the groups that were made for it, and files where the kubelet looks for settings.
CONTAINER_FIXES = """\
#!/bin/sh
set -e
for group in /sys/fs/cgroup/*/; do mount -o remount,bind,rw "${group%/}"; done
mount --bind /proc/sys/net /proc/sys/net
mount -o remount,bind,rw /proc/sys/net
for setting in kernel/panic=10 kernel/panic_on_oops=1 vm/overcommit_memory=1 vm/panic_on_oom=0 \
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file=/run/kernel-settings/${setting%%=*}
  mkdir -p "${file%/*}"
  echo "${setting#*=}" >"$file"
  mount --bind "$file" "/proc/sys/${setting%%=*}"
done
"""
PROGRAM = "/usr/local/sbin/container-fixes"
UNIT = "etc/systemd/system/container-fixes.service"
UNIT_TEXT = f"""\
[Unit]
DefaultDependencies=no
Before=sysinit.target fairlead-node-seed.service fairlead-node.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh {PROGRAM}
"""


def make_pod_node_image(directory: Path, baked: dict[str, bytes]) -> tuple[Path, ...]:
    """Return the layers of the image, the first on top; baked: more files of it by their path."""
    root = base_root(SUITE, POD_PACKAGES)
    web = {"bin/busybox": (root / "bin/busybox").read_bytes(), "www/index.html": b"it runs\n"}
    change = {path: (root / found).read_bytes() for path, found in CHANGE_PROGRAM.items()}
    files = {
        **baked,
        "/etc/fairlead/features.env": f"{HOTFIX_FEATURE}=true\n".encode(),
        "/etc/cni/net.d/10-pods.conflist": json.dumps(POD_NETWORK).encode(),
        "/etc/resolv.conf": b"# nobody to ask\n",
        IMAGES: image_archive({(POD_IMAGE, SANDBOX_IMAGE): web, (IN_PLACE_IMAGE,): change}),
        "/etc/systemd/system/containerd.service.d/50-images.conf": WITH_IMAGES.encode(),
        PROGRAM: CONTAINER_FIXES.encode(),
        f"/{UNIT}": UNIT_TEXT.encode(),
        # Looked at for processes that were killed for want of memory: this kernel's are not ours.
        KERNEL_LOG: b"",
    }
    for path, content in files.items():
        file = directory / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    wanted = directory / "etc/systemd/system/sysinit.target.wants"
    wanted.mkdir(parents=True)
    (wanted / Path(UNIT).name).symlink_to(f"/{UNIT}")
    return directory, agent_layer(SUITE, packages=POD_PACKAGES), root


def image_archive(images: dict[tuple[str, ...], dict[str, bytes]]) -> bytes:
    """
    Images as `docker save` has them: the files of each, by the names that it has.

    What a pod gives no command sleeps, if its image has what that takes.
    """
    files: dict[str, bytes] = {}
    manifest = []
    for number, (names, content) in enumerate(images.items()):
        layer = _archive(content)
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": FOR_EVER},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer).hexdigest()}"]},
        }
        files[f"{number}/config.json"] = json.dumps(config).encode()
        files[f"{number}/layer.tar"] = layer
        parts = {"Config": f"{number}/config.json", "Layers": [f"{number}/layer.tar"]}
        manifest.append({**parts, "RepoTags": list(names)})
    return _archive({"manifest.json": json.dumps(manifest).encode(), **files})


def _archive(files: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()
