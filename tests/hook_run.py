"""Run a rendered boothook with a real shell, on a directory that stands for a machine."""

import os
import subprocess
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path

# Writes down how it was called, one word per line.
RECORDER = '#!/bin/sh\nfor word; do echo "$word"; done >>"$CALLS/{name}"\nexit {code}\n'


@dataclass
class HookRun:
    exit_code: int
    root: Path
    systemctl: list[str]

    def read(self, path: str) -> bytes:
        return (self.root / path.lstrip("/")).read_bytes()

    def mode(self, path: str) -> int:
        return (self.root / path.lstrip("/")).stat().st_mode & 0o7777

    def files(self) -> list[str]:
        """Every file below the root but what the recorders wrote."""
        found = (
            str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()
        )
        return sorted(name for name in found if not name.startswith(".test/"))


def hook_of(document: bytes) -> bytes:
    """The boothook part of a MIME document, as cloud-init would write it to a file."""
    for part in message_from_bytes(document).walk():
        if part.get_content_type() == "text/cloud-boothook":
            payload = part.get_payload(decode=True)
            assert isinstance(payload, bytes)
            return payload.removeprefix(b"#cloud-boothook").lstrip()
    raise AssertionError("no boothook in the document")


def run_hook(
    hook: bytes, root: Path, *, shell: str = "/bin/sh", systemctl_code: int = 0
) -> HookRun:
    """Run the hook once; systemctl is a recorder that ends with the given code."""
    programs = root / ".test/bin"
    programs.mkdir(parents=True, exist_ok=True)
    recorder = programs / "systemctl"
    recorder.write_text(RECORDER.format(name="systemctl", code=systemctl_code))
    recorder.chmod(0o755)
    script = root / ".test/part-001"
    script.write_bytes(hook)
    calls = root / ".test"
    (calls / "systemctl").unlink(missing_ok=True)
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "CALLS": str(calls),
        "INSTANCE_ID": "i-1",
    }
    finished = subprocess.run(
        [shell, script], env=environment, cwd=root, capture_output=True, timeout=60, check=False
    )
    words = calls / "systemctl"
    return HookRun(
        finished.returncode, root, words.read_text().splitlines() if words.exists() else []
    )
