"""User data is what the chosen cloud takes, or an error that says what is too large."""

import base64
import gzip
import random

import pytest

from fairlead.errors import InputError
from fairlead.userdata.delivery import Inline
from fairlead.userdata.render import Target, render_user_data


def noise(length: int) -> str:
    """Text that does not compress to less than 3/4."""
    source = random.Random(length)
    return base64.b64encode(source.randbytes(length * 3 // 4 + 3)).decode()[:length]


def config_of(**fields: str) -> bytes:
    inner = ", ".join(f'"{name}": "{value}"' for name, value in fields.items())
    return ('{"version": "v1", ' + inner + "}").encode()


SMALL = config_of(vm_size="a")


def test_azure_gets_base64_and_nocloud_never_does() -> None:
    raw = render_user_data(Inline(SMALL), Target("boothook", "nocloud"))

    assert raw.startswith(b"MIME-Version: 1.0\r\n")
    assert base64.b64decode(render_user_data(Inline(SMALL), Target("boothook", "azure"))) == raw
    for cloud in ("aws", "gcp", "openstack"):
        assert render_user_data(Inline(SMALL), Target("boothook", cloud)) == raw


def test_a_document_above_the_cap_is_sent_as_gzip_to_who_unpacks_it() -> None:
    config = config_of(custom_ca_certs=noise(14_500))
    raw = render_user_data(Inline(config), Target("boothook"))
    assert len(raw) > 16 * 1024

    sent = render_user_data(Inline(config), Target("boothook", "aws"))

    assert len(sent) <= 16 * 1024
    assert gzip.decompress(sent) == raw


@pytest.mark.parametrize(
    ("cloud", "format_name", "size", "cap"),
    [
        ("aws", "boothook", 24_000, 16384),
        ("azure", "boothook", 100_000, 65535),
        ("openstack", "boothook", 80_000, 65535),
        ("gcp", "boothook", 300_000, 262144),
        ("aws", "ignition", 18_000, 16384),
        ("aws", "cloud-config", 24_000, 16384),
    ],
)
def test_what_stays_too_large_is_refused_with_size_cap_and_largest_fields(
    cloud: str, format_name: str, size: int, cap: int
) -> None:
    config = config_of(kubernetes_ca_cert=noise(size), vm_size="b" * 300, location="c" * 200)

    with pytest.raises(InputError) as caught:
        render_user_data(Inline(config), Target(format_name, cloud))

    assert f"{cloud} takes at most {cap}; the largest fields: " in str(caught.value)
    assert f"kubernetes_ca_cert {size} bytes, vm_size 300 bytes, location 200 bytes" in str(
        caught.value
    )


def test_gcp_gets_no_gzip_because_its_metadata_is_text() -> None:
    config = config_of(kubernetes_ca_cert=noise(258_000))

    with pytest.raises(InputError, match="gcp takes at most 262144"):
        render_user_data(Inline(config), Target("boothook", "gcp"))


def test_nocloud_has_no_limit() -> None:
    config = config_of(kubernetes_ca_cert=noise(3 << 20))

    assert len(render_user_data(Inline(config), Target("boothook"))) > 3 << 20


@pytest.mark.parametrize(
    ("config", "field"),
    [
        (b'{"version": "v1", "vm_size": "a\\u0000b"}', "vm_size"),
        (b'{"version": "v1", "vm_size": "a\0b"}', "vm_size"),
        (b'{"a": {"b": ["x", "\\u0000"]}}', "a.b[1]"),
        (b'{"a\\u0000": 1}', "a\0"),
        (b"not JSON \0", "byte 9"),
    ],
)
def test_a_nul_is_refused_by_field(config: bytes, field: str) -> None:
    with pytest.raises(InputError) as caught:
        render_user_data(Inline(config), Target("boothook"))

    assert caught.value.field == field


def test_an_escaped_backslash_before_u0000_is_no_nul() -> None:
    config = b'{"version": "v1", "vm_size": "a\\\\u0000"}'

    assert b"text/cloud-boothook" in render_user_data(Inline(config), Target("boothook"))


def test_an_unknown_word_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="format: 'x' is not known, expected boothook, cloud-con"):
        Target("x")
    with pytest.raises(InputError, match="cloud: 'x' is not known, expected azure, aws, gcp, open"):
        Target("boothook", "x")
    with pytest.raises(InputError, match="layout: 'x' is not known, expected aks, fairlead"):
        Target("boothook", layout="x")
