"""The boot document: what it says survives its text, and an address that is none is refused."""

import json

import pytest

from fairlead.contract.boot_document import (
    BootDocument,
    parse_boot_document,
    render_boot_document,
)
from fairlead.errors import InputError

CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
ENDPOINT = "https://api.example.test/v1/node-config"
REPORT = "https://api.example.test:8443/v1/boot-report?pool=a"


def test_a_document_with_a_report_address_survives_its_text() -> None:
    text = render_boot_document(BootDocument(ENDPOINT, CA, "abcdef", 60, REPORT))

    found = parse_boot_document(text)

    assert (found.endpoint, found.ca, found.token, found.deadline_s, found.report) == (
        ENDPOINT,
        CA,
        "abcdef",
        60,
        "https://api.example.test:8443/v1/boot-report?pool=a",
    )


def test_a_document_without_a_report_address_has_the_text_it_always_had() -> None:
    text = render_boot_document(BootDocument("https://a/", CA, "abcdef", 60))

    assert list(json.loads(text)) == ["format", "endpoint", "ca", "token", "deadline_s"]
    assert parse_boot_document(text).report == ""


@pytest.mark.parametrize(
    "report",
    ["http://a/x", "a.example", "https://", "https:///x", "https://u:p@a/x", "https://a:0/x",
     "https://a:65536/x", "https://a:000443999/x", "https://a/\r\nX: y", "https://a/\tb",
     "https://a/ b", "https://a/#b", "https://é/", "https://a?b", "https://a\\b/", "https://a..b/",
     "https://.a/", f"https://{'a' * 64}/", "file:///etc/passwd", "https://a/\x00", " "],
)  # fmt: skip
def test_a_report_address_that_could_do_harm_is_refused(report: str) -> None:
    text = json.dumps({"endpoint": ENDPOINT, "ca": CA, "token": "abcdef", "report": report})

    with pytest.raises(InputError) as caught:
        parse_boot_document(text.encode())
    assert caught.value.field == "report"


@pytest.mark.parametrize("report", [1, True, ["https://a/"], {"a": "b"}, None])
def test_a_report_address_that_is_no_text_is_refused(report: object) -> None:
    text = json.dumps({"endpoint": ENDPOINT, "ca": CA, "token": "abcdef", "report": report})

    with pytest.raises(InputError, match=r"report: found .+, expected text"):
        parse_boot_document(text.encode())


def test_fields_of_later_formats_are_ignored() -> None:
    text = json.dumps({"endpoint": ENDPOINT, "ca": CA, "token": "abcdef", "later": {"a": 1}})

    assert parse_boot_document(text.encode()).endpoint == ENDPOINT
