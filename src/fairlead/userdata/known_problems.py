"""
What goes wrong with user data on which cloud-init, as measured on real boots.

Most of it is silent on 22.4. From 25.1 on, the status is `degraded` and the exit code 2 where
22.4 says `done` and 0.
"""

from __future__ import annotations

from dataclasses import dataclass

VERSIONS = ("22.4", "25.1", "26.2")

NOTHING_SILENTLY = "nothing runs, and the status is `done`"
NOTHING = "nothing runs; the status is degraded, exit code 2"
LOST_SILENTLY = "the cloud-config is lost, and the status is `done`"
LOST = "the cloud-config is lost; the status is degraded, exit code 2"
NOT_JUDGED = "not judged"
DEGRADED = "applied; the status is degraded, exit code 2"

# code: (what is wrong, the effect on 22.4, the effect on 25.1 and 26.2); '' is no effect.
KNOWN_PROBLEMS = {
    "base64": (
        "the whole document is base64: right where the cloud decodes it, as Azure does, and "
        "wrong in a NoCloud seed",
        f"NoCloud: {NOTHING_SILENTLY}",
        f"NoCloud: {NOTHING}",
    ),
    "zlib": ("the document is zlib; cloud-init unpacks gzip only", NOTHING_SILENTLY, NOTHING),
    "damaged": ("{0}", NOTHING_SILENTLY, NOTHING),
    "unknown-document": (
        "no first line or header that cloud-init knows",
        NOTHING_SILENTLY,
        NOTHING,
    ),
    "no-closing-boundary": (
        "the MIME document has no closing boundary",
        "parts run; the status is error, exit code 1",
        "parts run; the status is error, exit code 1",
    ),
    "no-parts": ("the MIME document has no parts", NOTHING_SILENTLY, NOTHING),
    "jinja-hook": (
        "a boothook that starts with `## template: jinja`",
        "the hook does not run",
        "the hook does not run",
    ),
    "broken-yaml": ("line {0} of a cloud-config {1}", LOST_SILENTLY, LOST),
    "no-mapping": (
        "a cloud-config that is a list or a value, not a mapping of keys",
        LOST_SILENTLY,
        LOST,
    ),
    "unread-yaml": (
        "line {0} of a cloud-config {1}; nothing of it was read here",
        NOT_JUDGED,
        NOT_JUDGED,
    ),
    "large-files": (
        "it holds more than {0} bytes once unpacked, or {1} files; the rest was not read here",
        NOT_JUDGED,
        NOT_JUDGED,
    ),
    "unread-json": (
        "a JSON text of more than {0} bytes, of which nothing was read here",
        NOT_JUDGED,
        NOT_JUDGED,
    ),
    "unknown-key": ("`{0}` is no key of cloud-config", "ignored, silently", DEGRADED),
    "large-yaml": (
        "write_files carries {0} bytes of text, which cloud-init reads as YAML; a boothook "
        "carries them without cost",
        "64 KiB delay the boot by 0.1 s, 1 MiB by 1.9 s",
        "64 KiB delay the boot by 0.2 s, 1 MiB by 2.2 to 3.5 s",
    ),
    "write-in-place": (
        "cloud-init writes {0} in place, without a rename",
        "a .path unit may start on a part of the file",
        "a .path unit may start on a part of the file",
    ),
    "late-config": (
        "the node config is written by {0}",
        "a unit with ConditionPathExists was skipped by then, silently",
        "a unit with ConditionPathExists was skipped by then, silently",
    ),
    "blocking-start": (
        "the hook runs `systemctl start` without --no-block",
        "the boot hangs for ever if the unit has default dependencies",
        "the boot hangs for ever if the unit has default dependencies",
    ),
    "no-timeout": (
        "nothing in the hook is under `timeout`",
        "a command that hangs keeps the machine from sysinit.target: no ssh, no console",
        "a command that hangs keeps the machine from sysinit.target: no ssh, no console",
    ),
    "enable-only": (
        "the hook enables a unit and does not start it",
        "it does not start on this boot",
        "it does not start on this boot",
    ),
    "silent-hook": ("the hook keeps no log of its own", "what it prints is lost", ""),
    "hook-writes-in-place": (
        "the hook writes {0} without a rename",
        "a .path unit may start on a part of the file",
        "a .path unit may start on a part of the file",
    ),
    "after-cloud-init-service": (
        "a unit is ordered After=cloud-init.service",
        "",
        "it never starts: the service is called cloud-init-network.service; use "
        "cloud-config.target",
    ),
    "after-network-online": (
        "a unit is ordered After=network-online.target",
        "it starts after cloud-init's network stage, not when the hook asks for it",
        "it starts after cloud-init's network stage, not when the hook asks for it",
    ),
    "default-dependencies": (
        "a unit without DefaultDependencies=no",
        "it starts after cloud-init's network stage, not when the hook asks for it",
        "the same, and starting it from a hook holds basic.target back by 0.1 to 0.5 s",
    ),
    "late-script": (
        "a shell script part",
        "it runs last, when cloud-init.target is near",
        "it runs last, when cloud-init.target is near",
    ),
    "readable-secret": (
        "{0} gets mode {1}; it may hold secrets, so only root should read it (0600)",
        "anybody on the node can read it",
        "anybody on the node can read it",
    ),
    "no-config": (
        "no node config and no boot document were found in it",
        "the agent has nothing to start from",
        "the agent has nothing to start from",
    ),
}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, and what each cloud-init makes of it."""

    code: str
    sentence: str
    effects: dict[str, str]


def problem_of(code: str, *details: object) -> Problem:
    """Return the known problem with its details filled in."""
    sentence, old, later = KNOWN_PROBLEMS[code]
    effects = dict(zip(VERSIONS, (old, later, later), strict=True))
    return Problem(
        code,
        sentence.format(*details),
        {version: effect for version, effect in effects.items() if effect},
    )
