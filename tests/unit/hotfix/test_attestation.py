"""Proofs of four kinds: what each proves, and what none of them is."""

import json
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from shutil import which
from typing import Any

import pytest

from certificate_chain import Wanted, issue, rsa_key
from fairlead.errors import InputError
from fairlead.hotfix.service.attestation.evidence import decoded, url_decoded
from fairlead.hotfix.service.attestation.gcp import KeysFile
from fairlead.hotfix.service.attestation.join import SpentInMemory
from fairlead.hotfix.service.attestation.verifier import (
    AttestationVerifier,
    Claims,
    NotAdmittedError,
    UnprovenError,
)
from unit.hotfix.attested import (
    AWS_DOCUMENT,
    AZURE_DOCUMENT,
    GCP_CLAIMS,
    NOW,
    aws_message,
    aws_plain_proof,
    aws_proof,
    aws_signer,
    aws_verifier,
    azure_chain,
    azure_message,
    azure_proof,
    azure_verifier,
    gcp_verifier,
    google_keys,
    join_proof,
    join_verifier,
    jwt,
    mutated,
    other_signer,
)

KINDS: dict[str, tuple[Callable[[], AttestationVerifier], Callable[[], str]]] = {
    "azure": (azure_verifier, azure_proof),
    "aws": (aws_verifier, aws_proof),
    "aws-plain": (aws_verifier, aws_plain_proof),
    "gcp": (gcp_verifier, lambda: jwt(GCP_CLAIMS)),
    "join": (join_verifier, join_proof),
}


def cause(verifier: AttestationVerifier, proof: str, now: datetime = NOW, name: str = "") -> str:
    """Why it is refused; '' if it is not."""
    try:
        verifier.verify(proof, name, now)
    except UnprovenError as error:
        return error.cause
    except NotAdmittedError as error:
        return f"not admitted: {error.cause}"
    return ""


def changed(document: dict[str, Any], *path: str, to: Any) -> dict[str, Any]:
    new = deepcopy(document)
    place = new
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = to
    return new


def test_an_azure_document_proves_machine_region_and_subscription() -> None:
    assert azure_verifier().verify(azure_proof(), "", NOW) == Claims(
        machine="azure:bd8e7443-24a0-41f3-b949-8baf4fd1c573",
        region="southcentralus",
        account="5f130ffc-0a3e-4795-b691-4f56a12a5547",
        until=datetime(2026, 11, 18, 16, 0, tzinfo=UTC),
    )


@pytest.mark.parametrize("proof", [aws_proof, aws_plain_proof])
def test_an_aws_document_proves_machine_region_and_account(proof: Any) -> None:
    assert aws_verifier().verify(proof(), "", NOW) == Claims(
        machine="aws:i-1234567890abcdef0",
        region="us-west-2",
        account="123456789012",
        until=datetime(2026, 12, 18, 11, 55, 11, tzinfo=UTC),
    )


def test_a_gcp_token_proves_machine_region_and_project() -> None:
    assert gcp_verifier().verify(jwt(GCP_CLAIMS), "", NOW) == Claims(
        machine="gcp:152986662232938449",
        region="us-west1",
        account="fleet-1",
        until=datetime(2026, 11, 18, 12, 30, tzinfo=UTC),
    )


def test_a_join_token_proves_machine_region_and_pool() -> None:
    claims = Claims(
        machine="workers-1",
        region="lab",
        pool="workers",
        until=datetime(2026, 11, 19, tzinfo=UTC),
    )

    assert join_verifier().verify(join_proof(), "", NOW) == claims
    assert join_verifier().verify(join_proof(), "workers-1", NOW) == claims
    assert cause(join_verifier(), join_proof(), name="workers-2") == "another machine's"


@pytest.mark.parametrize("kind", KINDS)
def test_of_1000_mutated_documents_none_is_accepted(kind: str) -> None:
    make_verifier, make_proof = KINDS[kind]
    verifier, proof, random = make_verifier(), make_proof(), Random(12)
    accepted = [text for _ in range(1000) if cause(verifier, text := mutated(proof, random)) == ""]

    assert cause(verifier, proof) == ""
    assert accepted == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_refusal_repeats_what_was_shown(kind: str) -> None:
    make_verifier, make_proof = KINDS[kind]
    verifier, proof, random = make_verifier(), make_proof(), Random(3)
    for _ in range(50):
        with pytest.raises((UnprovenError, NotAdmittedError)) as caught:
            verifier.verify(mutated(proof, random), "", NOW)
        assert len(str(caught.value)) < 60
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "proof", ["", ".", "..", "...", "x", "MIA=", "MIAA", "ü", "\0", "A" * 40_000, "MIAwgDCA" * 999]
)
def test_texts_that_are_no_proof_are_refused(kind: str, proof: str) -> None:
    assert cause(KINDS[kind][0](), proof) in ("malformed", "too long", "forged")


@pytest.mark.parametrize(
    ("document", "now", "why"),
    [
        (AZURE_DOCUMENT, datetime(2026, 11, 18, 16, 0, tzinfo=UTC), "expired"),
        (AZURE_DOCUMENT, datetime(2026, 11, 18, 9, 57, tzinfo=UTC), "not yet valid"),
        (AZURE_DOCUMENT, datetime(2026, 11, 18, 9, 58, tzinfo=UTC), ""),
        (changed(AZURE_DOCUMENT, "subscriptionId", to="other"), NOW, "not admitted: subscription"),
        (changed(AZURE_DOCUMENT, "vmId", to=""), NOW, "malformed"),
        (changed(AZURE_DOCUMENT, "vmId", to=7), NOW, "malformed"),
        (
            changed(AZURE_DOCUMENT, "timeStamp", "expiresOn", to="11/18/27 16:00:00 -0000"),
            NOW,
            "malformed",
        ),
        (changed(AZURE_DOCUMENT, "timeStamp", "expiresOn", to="tomorrow"), NOW, "malformed"),
        (changed(AZURE_DOCUMENT, "timeStamp", to=[]), NOW, "malformed"),
    ],
)
def test_an_azure_document_counts_in_its_time_and_subscription(
    document: dict[str, Any], now: datetime, why: str
) -> None:
    assert cause(azure_verifier(), azure_proof(document), now) == why


def test_a_nonce_that_is_asked_for_must_be_there() -> None:
    assert cause(azure_verifier(nonce="20261118-180000"), azure_proof()) == ""
    assert cause(azure_verifier(nonce="1234567890"), azure_proof()) == "nonce"


def test_a_region_that_is_not_served_is_not_admitted() -> None:
    no_region = frozenset(["elsewhere"])

    assert cause(azure_verifier(regions=no_region), azure_proof()) == "not admitted: region"
    assert cause(gcp_verifier(regions=no_region), jwt(GCP_CLAIMS)) == "not admitted: region"
    assert cause(join_verifier(regions=no_region), join_proof()) == "not admitted: region"
    elsewhere = changed(AWS_DOCUMENT, "region", to="eu-central-1")
    assert cause(aws_verifier(), aws_proof(elsewhere)) == "not admitted: region"


def test_a_document_without_a_region_gets_the_one_of_the_service() -> None:
    names = ("metadata.azure.com", "*.metadata.azure.com")
    signer = issue(Wanted(names[0], names), azure_chain().between, rsa_key())

    assert cause(azure_verifier(), azure_proof(signer=signer)) == "not admitted: region"
    verifier = azure_verifier(region="southcentralus")
    assert verifier.verify(azure_proof(signer=signer), "", NOW).region == "southcentralus"


def test_a_signer_that_nobody_pinned_is_not_believed() -> None:
    assert cause(azure_verifier(), azure_proof(signer=other_signer())) == "untrusted signer"
    assert cause(azure_verifier(intermediates=b""), azure_proof()) == "untrusted signer"
    assert cause(aws_verifier(), aws_proof(signer=other_signer())) == "untrusted signer"


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted("metadata.azure.com", ("www.example.com",)),
        Wanted("metadata.azure.com", ("metadata.azure.com.example.com",)),
        Wanted("metadata.azure.com", ("evilmetadata.azure.com",)),
        Wanted("metadata.azure.com"),
        Wanted("m", ("metadata.azure.com",), last=datetime(2026, 11, 1, tzinfo=UTC)),
        Wanted("m", ("metadata.azure.com",), first=datetime(2026, 12, 1, tzinfo=UTC)),
        Wanted("m", ("metadata.azure.com",), is_authority=True),
    ],
)
def test_a_certificate_for_something_else_or_another_time_signs_no_document(wanted: Wanted) -> None:
    signer = issue(wanted, azure_chain().between, rsa_key())

    assert cause(azure_verifier(), azure_proof(signer=signer)) == "untrusted signer"


def test_a_signer_that_issues_certificates_itself_extends_no_chain() -> None:
    names = ("southcentralus.metadata.azure.com",)
    signer = issue(Wanted("m", names), azure_chain().signer, rsa_key())

    assert cause(azure_verifier(), azure_proof(signer=signer)) == "untrusted signer"


def test_short_keys_sign_nothing() -> None:
    names = ("southcentralus.metadata.azure.com",)
    short = issue(Wanted("m", names), azure_chain().between, rsa_key(1024))
    own = issue(Wanted("short"), key=rsa_key(1024))

    assert cause(azure_verifier(), azure_proof(signer=short)) != ""
    verifier = aws_verifier(certificates={"us-west-2": own.pem})
    assert cause(verifier, aws_proof(signer=own)) == "forged"


def test_a_signature_by_another_key_is_forged() -> None:
    key = rsa_key()
    azure = azure_message(json.dumps(AZURE_DOCUMENT).encode(), azure_chain().signer, key)
    aws = aws_message(json.dumps(AWS_DOCUMENT).encode(), aws_signer(), key)

    assert cause(azure_verifier(), b64encode(azure).decode()) == "forged"
    assert cause(aws_verifier(), b64encode(aws).decode()) == "forged"
    assert cause(gcp_verifier(), jwt(GCP_CLAIMS, key=key)) == "forged"
    assert cause(join_verifier(keys=(b"x" * 32,)), join_proof()) == "forged"


@pytest.mark.parametrize(
    ("document", "now", "why"),
    [
        # A machine that was rebooted, not stopped, shows the document of its first boot.
        (AWS_DOCUMENT, NOW + timedelta(days=29), ""),
        (AWS_DOCUMENT, NOW + timedelta(days=30), "expired"),
        (AWS_DOCUMENT, NOW - timedelta(minutes=7), "not yet valid"),
        (changed(AWS_DOCUMENT, "accountId", to="999999999999"), NOW, "not admitted: account"),
        (changed(AWS_DOCUMENT, "instanceId", to=None), NOW, "malformed"),
        (changed(AWS_DOCUMENT, "pendingTime", to="2026-11-18T11:55:11"), NOW, "malformed"),
    ],
)
def test_an_aws_document_counts_in_its_time_and_account(
    document: dict[str, Any], now: datetime, why: str
) -> None:
    assert cause(aws_verifier(), aws_proof(document), now) == why


def test_the_certificate_of_one_region_does_not_speak_for_another() -> None:
    other = issue(Wanted("Frankfurt"), key=rsa_key())
    verifier = aws_verifier(certificates={"us-west-2": aws_signer().pem, "eu-central-1": other.pem})

    assert cause(verifier, aws_proof()) == ""
    assert cause(verifier, aws_proof(signer=other)) == "not admitted: region"


@pytest.mark.parametrize(
    ("claims", "now", "why"),
    [
        (GCP_CLAIMS, datetime(2026, 11, 18, 12, 30, tzinfo=UTC), "expired"),
        (GCP_CLAIMS, datetime(2026, 11, 18, 11, 27, tzinfo=UTC), "not yet valid"),
        (changed(GCP_CLAIMS, "aud", to="https://other.example"), NOW, "audience"),
        (changed(GCP_CLAIMS, "aud", to=["https://hotfix.example"]), NOW, "malformed"),
        (changed(GCP_CLAIMS, "iss", to="https://accounts.example"), NOW, "untrusted signer"),
        (changed(GCP_CLAIMS, "exp", to=1795091400), NOW, "malformed"),
        (changed(GCP_CLAIMS, "exp", to=True), NOW, "malformed"),
        (changed(GCP_CLAIMS, "exp", to=1e400), NOW, "malformed"),
        (changed(GCP_CLAIMS, "google", to={}), NOW, "malformed"),
        (
            changed(GCP_CLAIMS, "google", "compute_engine", "project_id", to="p"),
            NOW,
            "not admitted: project",
        ),
    ],
)
def test_a_gcp_token_counts_in_its_time_and_for_its_audience(
    claims: dict[str, Any], now: datetime, why: str
) -> None:
    assert cause(gcp_verifier(), jwt(claims), now) == why


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ({"alg": "none", "kid": "key-1"}, "malformed"),
        ({"alg": "HS256", "kid": "key-1"}, "malformed"),
        ({"alg": "RS256", "kid": "key-2"}, "untrusted signer"),
        ({"alg": "RS256"}, "malformed"),
        ({"alg": "RS256", "kid": "key-1", "crit": ["exp"]}, "malformed"),
        ({"alg": "RS256", "kid": "key-1", "typ": "at+jwt"}, "malformed"),
        ({"alg": "RS256", "kid": "key-1"}, ""),
    ],
)
def test_a_token_says_nothing_about_how_it_is_verified(header: dict[str, Any], why: str) -> None:
    assert cause(gcp_verifier(), jwt(GCP_CLAIMS, header)) == why


def test_google_keys_are_read_again_when_their_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(google_keys().replace(b"key-1", b"key-0"))
    keys = KeysFile(file)
    verifier = gcp_verifier(keys=keys)
    assert cause(verifier, jwt(GCP_CLAIMS)) == "untrusted signer"

    file.write_bytes(google_keys())
    assert cause(verifier, jwt(GCP_CLAIMS)) == ""
    file.write_text("{}")
    assert cause(verifier, jwt(GCP_CLAIMS)) == ""
    assert keys.problem.startswith("the new keys are not in use: keys: found no list")


def test_a_token_for_one_use_is_refused_the_second_time() -> None:
    verifier = join_verifier()
    once = join_proof(uses=1)

    assert verifier.verify(once, "", NOW).until is None
    assert cause(verifier, once) == "replayed"
    assert cause(verifier, join_proof(uses=1, nonce="another")) == ""


def test_a_token_for_two_uses_is_good_for_a_pointer_and_a_report() -> None:
    verifier = join_verifier()
    twice = join_proof(uses=2)

    assert [cause(verifier, twice) for _ in range(4)] == ["", "", "replayed", "replayed"]


def test_uses_are_counted_by_whoever_keeps_them_also_for_other_workers() -> None:
    spent = SpentInMemory()
    once = join_proof(uses=1)

    assert cause(join_verifier(spent=spent), once) == ""
    assert cause(join_verifier(spent=spent), once) == "replayed"


def test_a_token_that_is_refused_for_another_reason_is_not_spent() -> None:
    spent = SpentInMemory()
    once = join_proof(uses=1)

    assert cause(join_verifier(spent=spent), once, name="workers-2") == "another machine's"
    refusing = join_verifier(spent=spent, regions=frozenset())
    assert cause(refusing, once) == "not admitted: region"
    assert cause(join_verifier(spent=spent), once) == ""


def test_a_join_token_ends_and_may_not_last_for_ever() -> None:
    assert cause(join_verifier(), join_proof(), NOW + timedelta(hours=12)) == "expired"
    for_ever = join_proof(until=NOW + timedelta(days=367))
    assert cause(join_verifier(), for_ever) == "malformed"


def test_a_key_that_is_being_replaced_still_counts() -> None:
    assert cause(join_verifier(keys=(b"n" * 32, b"k" * 32)), join_proof()) == ""


def test_a_short_key_is_refused_before_anything_is_issued_or_served() -> None:
    with pytest.raises(InputError, match="found 31 bytes, expected 32 or more"):
        join_verifier(keys=(b"k" * 31,))


@pytest.mark.parametrize("change", [{"machine": ""}, {"region": "r" * 254}, {"pool": "ü"}])
def test_no_token_is_issued_that_nobody_would_take(change: dict[str, str]) -> None:
    with pytest.raises(InputError, match="expected printable ASCII"):
        join_proof(**change)


def test_pinned_certificates_that_are_none_are_named() -> None:
    with pytest.raises(InputError, match=r"azure\.roots: found no certificates"):
        azure_verifier(roots=b"nothing")
    with pytest.raises(InputError, match=r"aws\.certificates\.us-west-2: found no certificates"):
        aws_verifier(certificates={"us-west-2": b""})


def test_a_signature_has_one_name() -> None:
    """OpenSSL takes the name of digest and signature, too, in the place of the signature's."""
    rsa, rsa_sha256 = (bytes.fromhex(f"06092a864886f70d01010{last}0500") for last in ("1", "b"))
    head, found, tail = b64decode(azure_proof()).rpartition(rsa)

    assert found
    renamed = b64encode(head + rsa_sha256 + tail).decode()
    assert cause(azure_verifier(), renamed) == "malformed"


def test_the_moment_that_counts_is_the_one_that_is_given() -> None:
    names = ("southcentralus.metadata.azure.com",)
    years = datetime(2031, 1, 1, tzinfo=UTC), datetime(2032, 1, 1, tzinfo=UTC)
    signer = issue(Wanted("m", names, *years), azure_chain().between, rsa_key())
    stamp = {"createdOn": "06/01/31 10:00:00 -0000", "expiresOn": "06/01/31 16:00:00 -0000"}
    proof = azure_proof(changed(AZURE_DOCUMENT, "timeStamp", to=stamp), signer)

    assert cause(azure_verifier(), proof, datetime(2031, 6, 1, 12, tzinfo=UTC)) == ""


@pytest.mark.parametrize("text", ["QR==", "QQ", "QQ=", "QQ==\n", " QQ==", "QQ==QQ==", "Q-Q="])
def test_base64_has_one_spelling(text: str) -> None:
    assert decoded("QQ==") == b"A"
    with pytest.raises(UnprovenError):
        decoded(text)


@pytest.mark.parametrize("text", ["QR", "QQ==", "QQ=", "Q Q", "Q+Q", "Q"])
def test_base64url_has_one_spelling(text: str) -> None:
    assert url_decoded("QQ") == b"A"
    with pytest.raises(UnprovenError):
        url_decoded(text)


def openssl_accepts(message: bytes, directory: Path, *words: str) -> bool:
    """Whether openssl takes a message of CMS."""
    file = directory / "message.der"
    file.write_bytes(message)
    time = str(int(NOW.timestamp()))
    command = ["openssl", "cms", "-verify", "-binary", "-inform", "DER", "-in", str(file)]
    done = subprocess.run(
        [*command, "-attime", time, "-out", "/dev/null", *words], capture_output=True, check=False
    )
    return done.returncode == 0


@pytest.mark.skipif(which("openssl") is None, reason="NOT RUN: needs openssl")
@pytest.mark.parametrize("kind", ["azure", "aws"])
def test_whatever_we_accept_openssl_accepts(tmp_path: Path, kind: str) -> None:
    make_verifier, make_proof = KINDS[kind]
    verifier, proof, random = make_verifier(), make_proof(), Random(5)
    words = oracle_words(tmp_path, kind)
    both: list[tuple[bool, bool]] = []
    texts = [proof, *(mutated(proof, random) for _ in range(60))]
    for text in texts:
        try:
            message = b64decode(text, validate=True)
        except ValueError:
            continue
        both.append((cause(verifier, text) == "", openssl_accepts(message, tmp_path, *words)))

    assert both[0] == (True, True)
    assert [pair for pair in both if pair == (True, False)] == []
    assert both.count((False, False)) > 30


def oracle_words(directory: Path, kind: str) -> list[str]:
    if kind == "aws":
        signer = directory / "signer.pem"
        signer.write_bytes(aws_signer().pem)
        return ["-noverify", "-certfile", str(signer)]
    trusted = directory / "trusted.pem"
    trusted.write_bytes(azure_chain().root.pem + azure_chain().between.pem)
    return ["-CAfile", str(trusted), "-no-CApath", "-no-CAstore", "-purpose", "sslserver"]
