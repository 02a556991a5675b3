"""
Is this signed by that key? The `openssl` of the image says so: no cryptography is written here.

What it reads lies in files of this run, below /run where only root writes, for as long as it runs.
"""

from __future__ import annotations

from fairlead.trust.refused import RefusedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.run import Run
    from fairlead.trust.verify import IsSigned

CANNOT_VERIFY = "cannot-verify"

# It takes 10 ms; the rest is for a cold, slow disk.
DEADLINE_S = 2.0

# Nothing of the boot's environment: it could name another configuration to load.
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}

VERIFIED = b"Verified OK\n"


def signature_check(run: Run, end_ns: int) -> IsSigned:
    """Return the check for trust/verify.py, which refuses from `end_ns` on (monotonic clock)."""
    host = run.host
    paths = [f"{run.layout.state}/hotfix-{run.id}.{name}" for name in ("pem", "signature", "text")]
    key, signature, content = map(host.real_path, paths)
    command = ["openssl", "dgst", "-sha256", "-verify", key, "-signature", signature, content]

    def is_signed(pem: str, text: bytes, proof: bytes) -> bool:
        left_s = min(DEADLINE_S, (end_ns - host.monotonic_ns()) / 1e9)
        if left_s <= 0:
            raise RefusedError(CANNOT_VERIFY, "no time is left to check signatures")
        host.make_directory(run.layout.state)
        try:
            for path, part in zip(paths, (pem.encode(), proof, text), strict=True):
                host.write_file(path, part, 0o600, sync=False)
            found = host.run(command, environment=ENVIRONMENT, deadline_s=left_s)
        except FileNotFoundError as error:
            raise RefusedError(
                CANNOT_VERIFY, "openssl is not installed; it comes with ca-certificates"
            ) from error
        except OSError as error:
            raise RefusedError(CANNOT_VERIFY, f"openssl cannot be asked: {error}") from error
        finally:
            _remove(run, paths)
        if found.is_timeout:
            raise RefusedError(CANNOT_VERIFY, f"openssl does not answer in {left_s:.1f} s")
        return found.exit_code == 0 and found.output == VERIFIED

    return is_signed


def _remove(run: Run, paths: list[str]) -> None:
    for path in paths:
        try:
            run.host.remove(path)
        except OSError:  # noqa: PERF203 - each of them, whatever becomes of the others
            continue  # not written, or gone with /run at the next boot
