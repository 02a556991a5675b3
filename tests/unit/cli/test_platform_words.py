"""LEAF=VALUE words of `fairlead platform set`, as the merge patch that they become."""

import pytest

from fairlead.cli.files.platform_patch import platform_patch
from fairlead.errors import InputError


def test_a_leaf_is_set_where_the_document_has_it() -> None:
    assert platform_patch(["proxy.image=haproxy@sha256:bb"], {}) == {
        "proxy": {"image": "haproxy@sha256:bb"},
        "notices": {"proxy.image": None},
    }


def test_the_prefix_that_explain_shows_may_be_typed() -> None:
    assert platform_patch(["platform.metadataAddress=169.254.169.254"], {}) == {
        "metadataAddress": "169.254.169.254",
        "notices": {"metadataAddress": None},
    }


def test_dots_in_a_name_of_a_family_stay() -> None:
    patch = platform_patch(["registryOverrides.registry.example.com=mirror.example.com:5000"], {})

    assert patch["registryOverrides"] == {"registry.example.com": "mirror.example.com:5000"}


def test_nothing_unsets_a_leaf_and_its_notice() -> None:
    assert platform_patch(["proxy.image="], {"id": "CHG-1"}) == {
        "proxy": {"image": None},
        "notices": {"proxy.image": None},
    }


def test_lists_and_flags_are_yaml_and_text_is_text() -> None:
    patch = platform_patch(
        ["noProxy=[.svc, .local]", "stopEverything=true", "controlPlaneImage=1.30"], {}
    )

    assert patch["noProxy"] == [".svc", ".local"]
    assert patch["stopEverything"] is True
    assert patch["controlPlaneImage"] == "1.30"


def test_a_notice_goes_with_every_leaf_of_the_change() -> None:
    notice = {"id": "CHG-1042", "severity": "security"}

    patch = platform_patch(["proxy.image=a", "hotfix.base-1=b", "stub.proxy=c"], notice)

    assert patch["notices"] == {"proxy.image": notice, "hotfix.base-1": notice}


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("proxy.image", "found 'proxy.image', expected LEAF=VALUE (LEAF= unsets it)"),
        (
            "proxy.imge=x",
            "proxy.imge: no platform leaf has this name (did you mean proxy.image?)",
        ),
        ("noProxy=5", "noProxy: found the number 5, expected a list of texts"),
        ("stopEverything=yes", "stopEverything: found yes, which YAML 1.1 reads as true"),
        ("registryOverrides.=x", "registryOverrides.: no platform leaf has this name"),
    ],
)
def test_words_that_cannot_be_used_are_refused(word: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        platform_patch([word], {})

    assert str(caught.value).startswith(says)
