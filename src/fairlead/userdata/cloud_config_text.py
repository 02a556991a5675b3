"""
Read as much of a cloud-config as an inspection needs: its keys, and what write_files writes.

This is not a YAML parser. It knows mappings and lists in block style with plain, quoted and `|`
values, and JSON, which is what generators write; the rest it leaves alone rather than guess.
"""

from __future__ import annotations

import re

from fairlead.contract.json_text import Pairs, parse_json
from fairlead.errors import InputError
from fairlead.userdata.delivery import NodeFile
from fairlead.userdata.known_problems import Problem, problem_of
from fairlead.userdata.unwrap import decode_base64, find_gunzipped

TOP_KEY = re.compile(r"^([A-Za-z_][\w.-]*|\"[^\"]*\"|'[^']*')\s*:(\s|$)")
ENTRY = re.compile(r"^(\s*)-\s+(?=\S)")
FIELD = re.compile(r"^\s*([\w-]+)\s*:\s*(.*)$")
BLOCK_SCALAR = re.compile(r"^[|>][+-]?\d?\s*(#.*)?$")

# Above this the cost shows in every boot; measured.
LARGE_CONTENT = 64 * 1024

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
    """What was read: top-level keys in order, entries of write_files, and what is broken."""

    def __init__(self, text: str) -> None:
        self.keys: list[str] = []
        self.entries: list[dict[str, str]] = []
        self.broken: list[Problem] = []
        body = "\n".join(line for line in text.split("\n") if not line.startswith("#"))
        if body.lstrip().startswith("{"):
            self._read_json(body)
        else:
            self._read_block(text.replace("\r\n", "\n").split("\n"))

    def files(self) -> list[tuple[NodeFile, str, bool]]:
        """Return the files of write_files, each with its mode ('' if unset) and if it is late."""
        return [
            (
                NodeFile(entry.get("path", ""), _content_of(entry)),
                entry.get("permissions", ""),
                entry.get("defer", "").lower() in ("true", "yes", "on"),
            )
            for entry in self.entries
        ]

    def problems(self) -> list[Problem]:
        """Return what cloud-init would complain about, and what it would take long for."""
        found = list(self.broken)
        found += [problem_of("unknown-key", key) for key in self.keys if key not in KNOWN_KEYS]
        size = sum(len(entry.get("content", "")) for entry in self.entries)
        if size >= LARGE_CONTENT:
            found.append(problem_of("large-yaml", size))
        return found

    def _read_json(self, body: str) -> None:
        try:
            value = parse_json(body.encode("utf-8", "surrogateescape"))
        except InputError:
            return  # YAML in flow style is wider than JSON
        if not isinstance(value, Pairs):
            return
        self.keys = [name for name, _ in value]
        for entry in dict(value).get("write_files") or []:
            if isinstance(entry, Pairs):
                self.entries.append({name: _plain(item) for name, item in entry})

    def _read_block(self, lines: list[str]) -> None:
        section = ""
        at = 0
        while at < len(lines):
            line = lines[at]
            at += 1
            indent = line[: len(line) - len(line.lstrip())]
            if "\t" in indent:
                self.broken.append(problem_of("broken-yaml", at, "a tab in its indentation"))
                return
            match = TOP_KEY.match(line)
            if match:
                section = match[1].strip("\"'")
                self.keys.append(section)
            elif line and not indent and line[0] not in "#-]})%." and section:
                self.broken.append(problem_of("broken-yaml", at, "neither a key nor a list"))
                return
            elif section == "write_files":
                at = self._read_entry_line(lines, at - 1)

    def _read_entry_line(self, lines: list[str], at: int) -> int:
        """Take one line of write_files, and the block below it if it has one."""
        line = lines[at]
        entry = ENTRY.match(line)
        if entry:
            self.entries.append({})
            line = " " * len(entry[0]) + line[len(entry[0]) :]
        field = FIELD.match(line)
        at += 1
        if field is None or not self.entries:
            return at
        value = field[2].strip()
        if BLOCK_SCALAR.match(value):
            indent = len(line) - len(line.lstrip())
            start = at
            while at < len(lines) and (not lines[at].strip() or _indent_of(lines[at]) > indent):
                at += 1
            value = _dedented(lines[start:at])
        self.entries[-1][field[1]] = _unquoted(value)
        return at


def _content_of(entry: dict[str, str]) -> bytes:
    content = entry.get("content", "").encode("utf-8", "surrogateescape")
    encoding = entry.get("encoding", "").lower()
    if "b64" in encoding or "base64" in encoding:
        content = decode_base64(content) or b""
    if encoding.startswith("gz"):
        unzipped = find_gunzipped(content)
        content = content if unzipped is None else unzipped
    return content


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _dedented(lines: list[str]) -> str:
    indent = min((_indent_of(line) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines) + "\n"


def _unquoted(value: str) -> str:
    for quote in "\"'":
        if len(value) > 1 and value.startswith(quote) and value.endswith(quote):
            return value[1:-1]
    return value
