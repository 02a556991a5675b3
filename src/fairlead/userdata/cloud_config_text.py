"""
Read a cloud-config as cloud-init does, with PyYAML's safe loader: what `yes` is there, it is here.

It is the loader in Python, not the one in C: they differ about tabs, and cloud-init uses this one.
Texts are read within bounds; beyond them nothing is judged, and that is told.
"""

from __future__ import annotations

import yaml

from fairlead.userdata.delivery import NodeFile
from fairlead.userdata.known_problems import Problem, problem_of
from fairlead.userdata.unwrap import Room, decode_base64, find_gunzipped
from fairlead.userdata.yaml_bounds import (
    YamlBounds,
    YamlExcess,
    YamlProblem,
    place_of,
    problem_in,
    refuse_large,
)

# Above this the cost shows in every boot; measured.
LARGE_CONTENT = 64 * 1024

# Digits. YAML 1.1 has numbers to the base of 60, which take quadratic time.
LONGEST_NUMBER = 1000
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")

LONGEST_SHOWN = 200  # characters of what the document itself brings into a sentence

# What cloud-init takes for true when it is text or a number.
TRUE_WORDS = ("true", "1", "on", "yes")

# The keys that the schemas of cloud-init 22.4 and 25.1 know, and a few that only its merging does.
KNOWN_KEYS = frozenset(
    """
    allow_public_ssh_keys ansible apk_repos apt apt_pipelining apt_reboot_if_required apt_update
    apt_upgrade authkey_hash autoinstall bootcmd byobu_by_default ca-certs ca_certs chef chpasswd
    cloud_config_modules cloud_final_modules cloud_init_modules create_hostname_file
    device_aliases disable_ec2_metadata disable_root disable_root_opts disk_setup
    drivers fan final_message fqdn fs_setup groups growpart grub-dpkg grub_dpkg hostname keyboard
    landscape launch-index locale locale_configfile lxd manage_etc_hosts manage_resolv_conf
    mcollective merge_how merge_type migrate mount_default_fields mounts no_ssh_fingerprints ntp
    output package_reboot_if_required package_update package_upgrade packages password phone_home
    power_state prefer_fqdn_over_hostname preserve_hostname puppet random_seed reporting
    resize_rootfs resolv_conf rh_subscription rpi rsyslog runcmd salt_minion snap spacewalk ssh
    ssh_authorized_keys ssh_deletekeys ssh_fp_console_blacklist ssh_genkeytypes ssh_import_id
    ssh_key_console_blacklist ssh_keys ssh_publish_hostkeys ssh_pwauth ssh_quiet_keygen swap
    system_info timezone ubuntu_advantage ubuntu_pro updates user users vendor_data version
    wireguard write_files yum_repo_dir yum_repos zypper
    """.split()  # noqa: SIM905 - a list of a hundred words is read as words
)


class CloudConfigText:
    """
    What was read: top-level keys in order, the files of write_files, and what is broken.

    Each file is with its mode, '' if unset, and whether it is written late.
    """

    def __init__(self, text: str, room: Room) -> None:
        self.keys: list[object] = []
        self.files: list[tuple[NodeFile, str, bool]] = []
        self._broken: list[Problem] = []
        self._content_size = 0
        self._room = room
        try:
            config = read_cloud_config(text)
        except YamlExcess as excess:
            self._broken.append(_told("unread-yaml", excess))
        except YamlProblem as problem:
            self._broken.append(_told("broken-yaml", problem))
        else:
            self._take(config)

    def problems(self) -> list[Problem]:
        """Return what cloud-init would complain about, and what it would take long for."""
        found = list(self._broken)
        unknown = [key for key in self.keys if key not in KNOWN_KEYS]
        found += [problem_of("unknown-key", str(key)[:LONGEST_SHOWN]) for key in unknown]
        if self._content_size >= LARGE_CONTENT:
            found.append(problem_of("large-yaml", self._content_size))
        return found

    def _take(self, config: object) -> None:
        if not isinstance(config, dict):
            if config is not None:
                self._broken.append(problem_of("no-mapping"))
            return
        self.keys = list(config)
        entries = config.get("write_files")
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict):
                self._take_file(entry)

    def _take_file(self, entry: dict[object, object]) -> None:
        text = _bytes_of(entry.get("content"))
        self._content_size += len(text)
        if not self._room.take_file():
            return
        content = _unpacked(text, _text_of(entry.get("encoding")).lower(), self._room)
        file = NodeFile(_text_of(entry.get("path")), content)
        self.files.append((file, _mode_of(entry.get("permissions")), _is_true(entry.get("defer"))))


def read_cloud_config(text: str) -> object:
    """Return what PyYAML's safe loader reads. Raises YamlProblem, YamlExcess."""
    refuse_large(text)
    try:
        return _Loader(text).get_single_data()
    except yaml.YAMLError as error:
        raise problem_in(error, text) from error


class _Loader(yaml.SafeLoader):
    """The safe loader, which stops at our bounds."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._bounds = YamlBounds()

    def get_event(self) -> yaml.Event:
        event: yaml.Event = super().get_event()  # type: ignore[no-untyped-call]
        self._bounds.check(event)
        return event

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:  # noqa: FBT001, FBT002 - PyYAML's
        if node.tag in NUMBERS and len(node.value) > LONGEST_NUMBER:
            says = f"holds a number of more than {LONGEST_NUMBER} digits"
            raise YamlExcess(place_of(node), says)
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            # A value that does not fit its tag, `!!bool maybe`: the loader itself stumbles.
            says = f"holds a value that cannot be read: {error!r}"
            raise YamlProblem(place_of(node), says) from error


def _told(code: str, problem: YamlProblem) -> Problem:
    return problem_of(code, problem.place[0], problem.says[:LONGEST_SHOWN])


def _bytes_of(content: object) -> bytes:
    if isinstance(content, str):
        return content.encode("utf-8", "surrogatepass")
    return content if isinstance(content, bytes) else b""


def _unpacked(content: bytes, encoding: str, room: Room) -> bytes:
    if "b64" in encoding or "base64" in encoding:
        content = decode_base64(content) or b""
    if encoding.startswith("gz"):
        unzipped = find_gunzipped(content, room)
        content = content if unzipped is None else unzipped
    return content


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def _mode_of(value: object) -> str:
    """Return permissions in octal; `0600` without quotes is a number, as is `600`: 0o1130."""
    if isinstance(value, str):
        return value
    return f"{value:04o}" if isinstance(value, int) else ""


def _is_true(value: object) -> bool:
    return isinstance(value, (bool, int, str)) and str(value).strip().lower() in TRUE_WORDS
