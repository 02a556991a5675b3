"""The payload service's certificates: one authority at a time, a server certificate in time."""

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from fairlead.embedded.certificates.authority import announce, make_or_read, show
from fairlead.errors import InputError

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)


def served(directory: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate((directory / "server.pem").read_bytes())


def test_a_first_run_makes_an_authority_and_a_certificate_for_this_computer(tmp_path: Path) -> None:
    found = make_or_read(tmp_path, now=NOW)

    authority = x509.load_pem_x509_certificate(found.ca_pem.encode())
    assert authority.not_valid_after_utc == datetime(2036, 7, 1, 12, tzinfo=UTC)
    assert authority.not_valid_before_utc == datetime(2026, 6, 30, 12, tzinfo=UTC)
    certificate = served(tmp_path)
    certificate.verify_directly_issued_by(authority)
    assert certificate.not_valid_after_utc == datetime(2027, 7, 1, 12, tzinfo=UTC)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["127.0.0.1", "::1", "localhost"]
    assert "PRIVATE KEY" not in found.ca_pem


def test_what_a_server_is_told_to_load_can_be_loaded(tmp_path: Path) -> None:
    found = make_or_read(tmp_path)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(found.certificate_file, found.key_file)


def test_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    make_or_read(tmp_path, now=NOW)

    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {"authority.pem": 0o600, "server.pem": 0o600}


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    first = make_or_read(tmp_path, now=NOW)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    second = make_or_read(tmp_path, now=NOW + timedelta(days=335))

    assert second == first
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda file: file.unlink(), id="lost"),
        pytest.param(lambda file: file.write_bytes(b""), id="empty"),
        pytest.param(lambda file: file.write_bytes(file.read_bytes()[:700]), id="cut off"),
        pytest.param(lambda file: file.write_bytes(b"-----BEGIN X-----"), id="something else"),
    ],
)
def test_a_server_certificate_that_is_spoiled_is_made_again_under_the_same_authority(
    tmp_path: Path, spoil: object
) -> None:
    assert callable(spoil)
    first = make_or_read(tmp_path, now=NOW)
    spoil(tmp_path / "server.pem")

    second = make_or_read(tmp_path, now=NOW)

    assert second == first
    served(tmp_path).verify_directly_issued_by(
        x509.load_pem_x509_certificate(first.ca_pem.encode())
    )


def test_a_server_certificate_is_renewed_a_month_before_its_end(tmp_path: Path) -> None:
    first = make_or_read(tmp_path, now=NOW)
    number = served(tmp_path).serial_number

    second = make_or_read(tmp_path, now=NOW + timedelta(days=335, seconds=1))

    assert served(tmp_path).serial_number != number
    assert second.ca_pem == first.ca_pem


def test_a_clock_that_was_set_back_gets_a_certificate_that_is_valid_then(tmp_path: Path) -> None:
    make_or_read(tmp_path, now=NOW)

    make_or_read(tmp_path, now=NOW - timedelta(days=400))

    assert served(tmp_path).not_valid_before_utc == NOW - timedelta(days=401)


def test_another_name_gives_another_certificate(tmp_path: Path) -> None:
    make_or_read(tmp_path, now=NOW)

    make_or_read(tmp_path, ["plane.example.test", "10.0.0.9"], now=NOW)

    names = served(tmp_path).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == [
        "10.0.0.9",
        "127.0.0.1",
        "::1",
        "localhost",
        "plane.example.test",
    ]


def test_a_certificate_of_another_authority_is_not_served(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    found = make_or_read(here, now=NOW)
    make_or_read(there, now=NOW)
    (here / "server.pem").write_bytes((there / "server.pem").read_bytes())

    make_or_read(here, now=NOW)

    served(here).verify_directly_issued_by(x509.load_pem_x509_certificate(found.ca_pem.encode()))


def test_a_run_that_was_cut_off_leaves_nothing_that_hurts(tmp_path: Path) -> None:
    (tmp_path / ".authority.pem.0123abcd.fairlead-half").write_bytes(b"half a cert")
    (tmp_path / ".server.pem.0123abcd.fairlead-half").write_bytes(b"half a cert")

    make_or_read(tmp_path, now=NOW)

    assert sorted(file.name for file in tmp_path.iterdir()) == ["authority.pem", "server.pem"]


def test_an_authority_that_cannot_be_read_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "authority.pem").write_bytes(b"spoiled")

    with pytest.raises(InputError, match="holds no certificate with its key"):
        make_or_read(tmp_path, now=NOW)

    assert (tmp_path / "authority.pem").read_bytes() == b"spoiled"
    assert not (tmp_path / "server.pem").exists()


# The next authority.

END = NOW + timedelta(days=3653)


def authorities(ca_pem: str) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(ca_pem.encode())


def is_issued_by(directory: Path, authority: x509.Certificate) -> bool:
    return served(directory).issuer == authority.subject and _verifies(directory, authority)


def _verifies(directory: Path, authority: x509.Certificate) -> bool:
    try:
        served(directory).verify_directly_issued_by(authority)
    except InvalidSignature:
        return False
    return True


def test_the_next_authority_is_announced_long_before_the_end_and_does_not_serve_yet(
    tmp_path: Path,
) -> None:
    first = make_or_read(tmp_path, now=NOW)
    before = make_or_read(tmp_path, now=END - timedelta(days=400, seconds=1))
    announced = make_or_read(tmp_path, now=END - timedelta(days=400))
    still = make_or_read(tmp_path, now=END - timedelta(days=370, seconds=1))

    assert before.ca_pem == first.ca_pem
    assert announced.ca_pem.startswith(first.ca_pem)
    old, new = authorities(announced.ca_pem)
    assert still == announced
    assert (is_issued_by(tmp_path, old), is_issued_by(tmp_path, new)) == (True, False)


def test_after_a_month_the_next_authority_serves_and_is_the_only_one(tmp_path: Path) -> None:
    make_or_read(tmp_path, now=NOW)
    announced = make_or_read(tmp_path, now=END - timedelta(days=400))
    _, new = authorities(announced.ca_pem)

    taken_over = make_or_read(tmp_path, now=END - timedelta(days=370))

    assert authorities(taken_over.ca_pem) == [new]
    assert is_issued_by(tmp_path, new)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["authority.pem", "server.pem"]
    assert make_or_read(tmp_path, now=END) == taken_over


def test_a_control_plane_that_was_off_for_years_announces_first(tmp_path: Path) -> None:
    first = make_or_read(tmp_path, now=NOW)

    late = make_or_read(tmp_path, now=END - timedelta(days=40))
    later = make_or_read(tmp_path, now=END - timedelta(days=10))

    assert late.ca_pem.startswith(first.ca_pem)
    assert authorities(later.ca_pem) == authorities(late.ca_pem)[1:]


def test_an_authority_that_has_ended_is_replaced_at_once(tmp_path: Path) -> None:
    first = make_or_read(tmp_path, now=NOW)

    found = make_or_read(tmp_path, now=END)

    (new,) = authorities(found.ca_pem)
    assert found.ca_pem != first.ca_pem
    assert is_issued_by(tmp_path, new)


def test_an_announced_authority_that_is_spoiled_is_announced_anew(tmp_path: Path) -> None:
    make_or_read(tmp_path, now=NOW)
    announced = make_or_read(tmp_path, now=END - timedelta(days=400))
    (tmp_path / "next-authority.pem").write_bytes(b"spoiled")

    again = make_or_read(tmp_path, now=END - timedelta(days=370))

    assert authorities(again.ca_pem)[0] == authorities(announced.ca_pem)[0]
    assert authorities(again.ca_pem)[1] != authorities(announced.ca_pem)[1]
    assert is_issued_by(tmp_path, authorities(again.ca_pem)[0])


def test_the_key_of_the_next_authority_is_for_its_owner_only(tmp_path: Path) -> None:
    make_or_read(tmp_path, now=NOW)

    make_or_read(tmp_path, now=END - timedelta(days=400))

    mode = (tmp_path / "next-authority.pem").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


# Asked for before its time.

SOON = timedelta(0)


def test_an_authority_that_is_asked_for_is_announced_at_once_and_takes_over(tmp_path: Path) -> None:
    old = make_or_read(tmp_path, now=NOW).ca_pem

    announce(tmp_path, NOW, SOON)

    both = make_or_read(tmp_path, now=NOW).ca_pem
    assert both.startswith(old)
    assert both != old
    later = make_or_read(tmp_path, now=NOW + timedelta(seconds=31))
    assert both == old + later.ca_pem
    assert later.takes_over_at is None
    again = make_or_read(tmp_path, now=NOW + timedelta(days=300))
    assert again.ca_pem == later.ca_pem


def test_the_overlap_that_is_asked_for_outlives_a_restart(tmp_path: Path) -> None:
    old = make_or_read(tmp_path, now=NOW).ca_pem
    announce(tmp_path, NOW, timedelta(days=5))

    before, after = NOW + timedelta(days=4, hours=23), NOW + timedelta(days=5, hours=1)

    found = make_or_read(tmp_path, now=before)
    assert found.takes_over_at == NOW + timedelta(days=5)
    assert found.ca_pem.startswith(old)
    assert old not in make_or_read(tmp_path, now=after).ca_pem


def test_a_boot_from_before_is_waited_for_but_not_without_end(tmp_path: Path) -> None:
    old = make_or_read(tmp_path, now=NOW).ca_pem
    announce(tmp_path, NOW, SOON)
    asked: list[datetime] = []

    def boots(known: datetime) -> bool:
        asked.append(known)
        return True

    for minutes in (1, 30, 59):
        later = NOW + timedelta(minutes=minutes)
        assert old in make_or_read(tmp_path, now=later, is_awaited=boots).ca_pem
    assert set(asked) == {NOW + timedelta(seconds=30)}
    ended = make_or_read(tmp_path, now=NOW + timedelta(minutes=61), is_awaited=boots)
    assert old not in ended.ca_pem


def test_asking_again_keeps_the_announced_one_and_only_hastens_it(tmp_path: Path) -> None:
    make_or_read(tmp_path, now=NOW)
    announce(tmp_path, NOW, timedelta(days=5))
    both = make_or_read(tmp_path, now=NOW).ca_pem

    announce(tmp_path, NOW, timedelta(days=30))
    assert make_or_read(tmp_path, now=NOW).takes_over_at == NOW + timedelta(days=5)
    announce(tmp_path, NOW, SOON)

    assert make_or_read(tmp_path, now=NOW).ca_pem == both
    assert make_or_read(tmp_path, now=NOW).takes_over_at == NOW


def test_what_serves_and_what_will_is_shown(tmp_path: Path) -> None:
    make_or_read(tmp_path, now=NOW)
    first = show(tmp_path, NOW)
    announce(tmp_path, NOW, timedelta(days=5))

    found = show(tmp_path, NOW)

    assert (first.next, first.takes_over_at) == (None, None)
    assert found.authority == first.authority
    assert found.authority.days_left == 3653
    assert found.next is not None
    assert found.next.fingerprint != found.authority.fingerprint
    assert found.takes_over_at == NOW + timedelta(days=5)
