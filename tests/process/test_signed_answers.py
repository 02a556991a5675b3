"""
Attacks on the answer of a hotfix service, against the real check: TLS, openssl, files.

Whoever holds the service, or the line to it, and not the keys, gets no node to take a fix.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from securesystemslib.signer import CryptoSigner

from fairlead import __version__
from fairlead.agent.host import RealHost
from fairlead.agent.hotfix.asking.answered import Served
from fairlead.agent.hotfix.asking.outcomes import take_answer
from fairlead.agent.hotfix.asking.trusted import find_verified, moment
from fairlead.agent.layout import Layout
from fairlead.agent.run import Run
from fairlead.agent.stages.check_hotfix import refresh_pointer
from fairlead.agent.stages.stage import Boot, Inputs
from fairlead.contract.boot_document import BootDocument, render_boot_document
from fairlead.contract.hotfix.answer import render_answer
from fairlead.hotfix.publish import metadata
from fairlead.hotfix.publish.metadata import Signers
from fairlead.trust.refused import RefusedError
from process.tls_server import Server, answer, make_pair, serving
from unit.hotfix_release import BASE, Release

TOKEN = "dG9rZW4tb2YtdGhlLW1hY2hpbmU="
FIX = f"{BASE}.9"
POINTER = "var/lib/fairlead/hotfix.json"
SEEN = "var/lib/fairlead/hotfix-seen.json"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("certificates")
    make_pair(directory, "good", "IP:127.0.0.1")
    return directory


class Node:
    """A machine of a directory with a boot document, and the service that it asks."""

    def __init__(self, root: Path, server: Server, ca: str) -> None:
        self.root = root
        self.server = server
        for directory in ("etc/fairlead/hotfix", "var/lib/fairlead", "run/fairlead"):
            (root / directory).mkdir(parents=True)
        self.layout = Layout("fairlead", {})
        document = render_boot_document(BootDocument(server.endpoint, ca, TOKEN))
        (root / self.layout.boot_document.lstrip("/")).write_bytes(document)
        self.release = Release()
        self.release.publish(FIX)
        self.trust(self.release.anchor())
        self.boots = 0

    def trust(self, anchor: bytes) -> None:
        (self.root / "etc/fairlead/hotfix/root.json").write_bytes(anchor)

    def check(self, body: bytes) -> tuple[str, str]:
        self.boots += 1
        self.server._handlers[:] = [answer(200, body)]
        run = Run(RealHost(str(self.root)), self.layout, f"run-{self.boots}")
        self.boot = Boot(run, Inputs("", ""))
        checked = refresh_pointer(self.boot)
        return checked.outcome, checked.reason

    def pointer(self) -> Any:
        path = self.root / POINTER
        return json.loads(path.read_text()) if path.exists() else None

    def files_of_run(self) -> list[str]:
        return sorted(path.name for path in (self.root / "run/fairlead").iterdir())


@pytest.fixture
def node(certificates: Path, tmp_path: Path) -> Iterator[Node]:
    ca = (certificates / "good-ca.pem").read_text()
    with serving(certificates, answer(200, b"{}")) as server:
        yield Node(tmp_path, server, ca)


def changed(text: bytes, **fields: Any) -> bytes:
    """A document whose signed part was changed after it was signed."""
    document = json.loads(text)
    document["signed"].update(fields)
    return json.dumps(document).encode()


def test_a_signed_fix_is_written_and_remembered(node: Node) -> None:
    assert node.check(node.release.answer({BASE: FIX})) == ("lpsRead", "")

    assert node.pointer() == {"hotfixes": {BASE: FIX}}
    assert (node.root / SEEN).stat().st_mode & 0o777 == 0o600
    assert json.loads((node.root / SEEN).read_text())["targets"] == 2
    assert node.files_of_run() == []
    assert node.boot.verified is not None
    assert node.boot.run.record.report.facts["hotfix"] == {
        "baked": __version__,
        "checked": "lpsRead",
    }
    request = node.server.requests[-1]
    assert request.startswith(
        f"GET /v1/hotfix?component=fairlead-node&version={__version__} HTTP/1.1\r\n".encode()
    )
    assert f"Authorization: Bearer {TOKEN}\r\n".encode() in request


def test_a_root_that_was_rotated_is_followed_and_the_stolen_key_is_worth_nothing(
    node: Node,
) -> None:
    node.check(node.release.answer({BASE: FIX}))
    stolen = node.release.online
    before = node.release.signed
    node.release.online = CryptoSigner.generate_ecdsa()
    node.release.signed = metadata.rotate(
        before, node.release.keys(), node.release.signers(), node.release.now
    )

    assert node.check(node.release.answer({BASE: FIX})) == ("lpsRead", "")
    forged = metadata.renew(before, stolen, node.release.now + timedelta(hours=1))
    outcome, reason = node.check(render_answer({BASE: FIX}, forged.encode()))
    assert (outcome, reason.partition(":")[0]) == ("notTrusted", "wrong-key")


ATTACKS = {
    "no metadata at all": "unsigned",
    "expired": "expired",
    "targets of an earlier release": "mix-and-match",
    "snapshot of an earlier release": "mix-and-match",
    "changed targets": "mix-and-match",
    "changed timestamp": "below-threshold",
    "signed by another release": "wrong-key",
    "root of another release": "below-threshold",
    "root below threshold": "below-threshold",
    "endless targets": "too-large",
    "endless roots": "too-large",
    "endless nesting": "malformed",
    "no signatures": "wrong-key",
    "surrogates": "malformed",
}


def attack(name: str, release: Release) -> bytes:  # noqa: C901, PLR0911, PLR0912 - a table
    first = release.signed
    update = first.encode()
    match name:
        case "no metadata at all":
            return render_answer({BASE: FIX}, None)
        case "expired":
            aged = metadata.renew(first, release.online, release.now - timedelta(days=2))
            return render_answer({BASE: FIX}, aged.encode())
        case "targets of an earlier release" | "snapshot of an earlier release":
            part = name.split()[0]
            release.publish(FIX, f"{BASE}.10")
            mixed = replace(release.signed, **{part: getattr(first, part)})
            return render_answer({BASE: FIX}, mixed.encode())
        case "changed targets":
            text = changed(first.targets, targets={})
            return render_answer({BASE: FIX}, replace(first, targets=text).encode())
        case "changed timestamp":
            text = changed(first.timestamp, version=9)
            return render_answer({BASE: FIX}, replace(first, timestamp=text).encode())
        case "signed by another release":
            other = Release()
            other.publish(FIX)
            return render_answer({BASE: FIX}, {**other.signed.encode(), "roots": []})
        case "root of another release":
            other = Release(roots=(*release.roots[:1], *Release().roots[:2]))
            root = changed(other.signed.roots[0], version=2).decode()
            return render_answer({BASE: FIX}, {**update, "roots": [root]})
        case "root below threshold":
            root = changed(first.roots[0], version=2).decode()
            return render_answer({BASE: FIX}, {**update, "roots": [root]})
        case "endless targets":
            return render_answer({BASE: FIX}, {**update, "targets": " " * (1 << 20) + "{}"})
        case "endless roots":
            return render_answer({BASE: FIX}, {**update, "roots": update["roots"] * 40})
        case "endless nesting":
            return render_answer({BASE: FIX}, {**update, "timestamp": "[" * 5000})
        case "no signatures":
            document = json.loads(first.timestamp)
            document["signatures"] = []
            return render_answer({BASE: FIX}, {**update, "timestamp": json.dumps(document)})
        case "surrogates":
            return json.dumps(
                {"hotfixes": {BASE: FIX}, "update": {**update, "timestamp": "\ud800"}}
            ).encode()
    raise AssertionError(name)


@pytest.mark.parametrize("name", list(ATTACKS))
def test_an_answer_that_is_not_proven_leaves_the_node_as_baked(node: Node, name: str) -> None:
    outcome, reason = node.check(attack(name, node.release))

    assert (outcome, reason.partition(":")[0]) == ("notTrusted", ATTACKS[name])
    assert (node.pointer(), node.boot.verified) == (None, None)
    assert not (node.root / SEEN).exists()
    fact: Any = node.boot.run.record.report.facts["hotfix"]
    assert (fact["checked"], fact["cause"]) == ("notTrusted", reason)
    assert node.files_of_run() == []


def test_a_version_that_no_signed_package_has_is_not_taken(node: Node) -> None:
    outcome, reason = node.check(node.release.answer({BASE: f"{BASE}.10"}))

    assert (outcome, node.pointer()) == ("notTrusted", None)
    assert reason == f"not-listed: {BASE}.10 is wanted, and no signed package has this version"


def test_a_node_is_not_led_back_to_what_it_saw_before(node: Node) -> None:
    early = node.release.answer({BASE: FIX})
    node.release.publish(f"{BASE}.10", revoked=(FIX,))
    assert node.check(node.release.answer({BASE: f"{BASE}.10"})) == ("lpsRead", "")

    outcome, reason = node.check(early)

    assert (outcome, reason.partition(":")[0]) == ("notTrusted", "rollback")
    assert node.pointer() == {"hotfixes": {BASE: f"{BASE}.10"}}


def test_a_signed_revocation_is_a_tombstone_though_the_pointer_still_names_the_fix(
    node: Node,
) -> None:
    node.check(node.release.answer({BASE: FIX}))
    node.release.publish(revoked=(FIX,))

    assert node.check(node.release.answer({BASE: FIX})) == ("lpsRead", "")
    assert node.pointer() == {"hotfixes": {BASE: None}}


def test_a_revocation_takes_back_a_pointer_of_custom_data_with_an_answer_that_names_nothing(
    node: Node,
) -> None:
    (node.root / POINTER).write_text(json.dumps({"version": FIX}))
    node.release.publish(revoked=(FIX,))

    assert node.check(node.release.answer({})) == ("noHotfixAvailable", f"{FIX} was withdrawn")
    assert node.pointer() == {"version": FIX, "hotfixes": {BASE: None}}


def test_a_damaged_memory_refuses_every_fix_and_names_the_way_out(node: Node) -> None:
    (node.root / SEEN).write_text("{")

    outcome, reason = node.check(node.release.answer({BASE: FIX}))

    assert (outcome, reason.partition(":")[0]) == ("notTrusted", "damaged-memory")
    assert "replace this machine, or remove the file" in reason
    assert node.pointer() is None


def test_an_image_without_a_root_of_trust_asks_nobody(node: Node) -> None:
    (node.root / "etc/fairlead/hotfix/root.json").unlink()

    outcome, reason = node.check(node.release.answer({BASE: FIX}))

    assert (outcome, node.pointer(), node.server.requests) == ("failed", None, [])
    assert "/etc/fairlead/hotfix/root.json is missing from this image" in reason


def test_an_image_without_openssl_takes_no_fix_and_says_so(
    node: Node, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    outcome, reason = node.check(node.release.answer({BASE: FIX}))

    assert outcome == "notTrusted"
    assert reason == ("cannot-verify: openssl is not installed; it comes with ca-certificates")


def test_the_online_key_alone_authorises_no_package(node: Node) -> None:
    thief = Signers(release=node.release.online, online=node.release.online)
    with pytest.raises(Exception, match=r"\w"):
        metadata.publish(node.release.signed, [], (), thief, node.release.now)
    other = replace(Release(online=node.release.online).signed, roots=())

    outcome, reason = node.check(render_answer({BASE: FIX}, {**other.encode(), "roots": []}))

    assert (outcome, reason.partition(":")[0]) == ("notTrusted", "wrong-key")


def make_unreachable(node: Node, hotfixes: dict[str, str]) -> tuple[str, str]:
    """The next boot of a node whose service is down and whose custom data names these."""
    config = node.root / node.layout.node_config.lstrip("/")
    config.write_text(json.dumps({"version": "v1", "hotfixes": hotfixes}))
    node.server._handlers[:] = [answer(503)]
    node.boots += 1
    run = Run(RealHost(str(node.root)), node.layout, f"run-{node.boots}")
    node.boot = Boot(run, Inputs(node.layout.node_config, ""))
    checked = refresh_pointer(node.boot)
    return checked.outcome, checked.reason


def test_custom_data_is_not_believed_where_nothing_signed_was_ever_seen(node: Node) -> None:
    outcome, reason = make_unreachable(node, {BASE: FIX})

    assert (outcome, node.pointer()) == ("notTrusted", None)
    assert reason == (
        "unsigned: custom data names fixes, and no signed metadata was ever verified here; "
        "the service: Unavailable"
    )


def test_custom_data_is_believed_as_far_as_metadata_that_was_kept_allows(node: Node) -> None:
    node.release.publish(FIX, revoked=(f"{BASE}.8",))
    node.check(node.release.answer({}))

    assert make_unreachable(node, {BASE: f"{BASE}.8"}) == ("customDataFallback", "Unavailable")
    assert node.pointer() == {"hotfixes": {BASE: None}}
    assert make_unreachable(node, {BASE: FIX}) == ("customDataFallback", "Unavailable")
    assert node.pointer() == {"hotfixes": {BASE: FIX}}
    assert node.boot.verified is not None
    outcome, reason = make_unreachable(node, {BASE: f"{BASE}.7"})
    assert (outcome, reason.partition(":")[0]) == ("notTrusted", "not-listed")


def test_what_was_kept_is_verified_again_by_whoever_uses_it(node: Node) -> None:
    node.check(node.release.answer({BASE: FIX}))
    kept = node.root / "var/lib/fairlead/hotfix-update.json"
    text = kept.read_text()

    def next_process() -> Boot:
        return Boot(Run(RealHost(str(node.root)), node.layout, "next"), Inputs("", ""))

    found = find_verified(next_process())
    assert found is not None
    assert [package.version for package in found.targets.packages] == [FIX]
    kept.write_text(text.replace(FIX, f"{BASE}.7"))
    with pytest.raises(RefusedError, match="mix-and-match"):
        find_verified(next_process())
    kept.write_text("{")
    with pytest.raises(RefusedError, match="damaged-memory"):
        find_verified(next_process())
    kept.unlink()
    assert find_verified(next_process()) is None


class ShiftedHost(RealHost):
    """A machine whose clock is wrong by some days."""

    days = 0.0

    def now_ns(self) -> int:
        return super().now_ns() + int(self.days * 86_400 * 10**9)


@pytest.mark.parametrize(
    ("days", "aged_days", "outcome"),
    [
        (-3.0, 0.0, "lpsRead"),  # behind: what is fresh stays so
        (-3.0, 2.0, "lpsRead"),  # and what ended a day ago looks fresh
        (-3.0, 4.5, "notTrusted"),
        (2.0, 0.0, "notTrusted"),  # ahead by more than a timestamp lives
        (-9000.0, 0.0, "lpsRead"),
    ],
)
def test_a_wrong_clock_makes_metadata_fresher_or_older_by_as_much(
    node: Node, days: float, aged_days: float, outcome: str
) -> None:
    aged = metadata.renew(
        node.release.signed, node.release.online, node.release.now - timedelta(days=aged_days)
    )
    body = render_answer({BASE: FIX}, aged.encode())
    host = ShiftedHost(str(node.root))
    host.days = days
    run = Run(host, node.layout, "run")
    end_ns = host.monotonic_ns() + 5 * 10**9

    checked = take_answer(Boot(run, Inputs("", "")), Served(body), end_ns)

    assert checked.outcome == outcome, checked.reason


def test_a_clock_before_this_agent_was_made_is_noticed(
    node: Node, capfd: pytest.CaptureFixture[str]
) -> None:
    host = ShiftedHost(str(node.root))
    host.days = -9000.0

    day = f"{__version__[:4]}-{__version__[4:6]}-{__version__[7:9]}"
    assert moment(Run(host, node.layout, "run")) == f"{day}T00:00:00Z"
    assert "the clock shows a time before this agent was made" in capfd.readouterr().err
