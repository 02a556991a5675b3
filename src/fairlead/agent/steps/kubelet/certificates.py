"""
The certificate authorities that this machine trusts besides those of its image.

Whether the system bundle is up to date is read from the bundle itself, so that a run that was
killed between writing a file and rebuilding the bundle is put right by the next one.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.steps.kubelet.pem import CERTIFICATE, pem_of
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd, run_command
from fairlead.agent.steps.write import PUBLIC, apply_absence, apply_file
from fairlead.errors import UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

SOURCES = "/usr/local/share/ca-certificates"
HASHED = "/etc/ssl/certs"
BUNDLE = f"{HASHED}/ca-certificates.crt"

# Files that start like this are ours to remove.
OURS = "fairlead-"

# Rehashing about 150 certificates takes 1 to 3 s on a small machine.
REBUILD_DEADLINE_S = 60.0


def certificate_files(config: NodeConfig) -> dict[str, bytes]:
    """Return the files below SOURCES, by path, that this config asks for."""
    files = {}
    for number, value in enumerate(config.texts("custom_ca_certs")):
        path = f"{SOURCES}/{OURS}custom-{number}.crt"
        files[path] = pem_of(value, f"custom_ca_certs[{number}]", CERTIFICATE)
    proxy = config.text("http_proxy_config.proxy_trusted_ca")
    if proxy:
        path = f"{SOURCES}/{OURS}proxy.crt"
        files[path] = pem_of(proxy, "http_proxy_config.proxy_trusted_ca", CERTIFICATE)
    return files


def apply_certificates(host: Host, config: NodeConfig) -> StepOutcome:
    """Trust exactly the custom certificates of this config, besides those of the image."""
    outcome = StepOutcome([], [], "")
    wanted = certificate_files(config)
    for path, content in wanted.items():
        apply_file(host, path, content, PUBLIC, outcome)
    for path in _ours_in(host, SOURCES):
        if path not in wanted:
            apply_absence(host, path, outcome)
    if not has_systemd(host):
        outcome.note = FILES_ONLY
    elif not _is_bundled(host, wanted):
        run_command(host, ["update-ca-certificates"], REBUILD_DEADLINE_S)
        outcome.changed.append("ran update-ca-certificates")
        if not _is_bundled(host, wanted):
            raise UnavailableError(
                f"update-ca-certificates left {BUNDLE} without a custom certificate, "
                "or with one that was removed"
            )
    return outcome


def _is_bundled(host: Host, wanted: dict[str, bytes]) -> bool:
    bundle = find_file(host, BUNDLE) or b""
    # update-ca-certificates leaves a link NAME.pem for each NAME.crt.
    links = {f"{HASHED}/{path.rpartition('/')[2][:-4]}.pem" for path in wanted}
    is_stale = any(path not in links for path in _ours_in(host, HASHED))
    return not is_stale and all(content.strip() in bundle for content in wanted.values())


def _ours_in(host: Host, directory: str) -> list[str]:
    if host.file_mode(directory) is None:
        return []
    names = host.list_directory(directory)
    return [f"{directory}/{name}" for name in names if name.startswith(OURS)]
