"""What an image allows the early reader, as its builder and cloud-init's files say."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builders import make_disk
from fairlead.agent.early.data_sources import listed_sources
from fairlead.agent.early.image_settings import ImageSettings, read_settings
from fairlead.sim.host import SimHost

OURS = "/etc/fairlead-node/seeds.conf"
CLOUD = "/etc/cloud/cloud.cfg"
DEBIAN = "/etc/cloud/cloud.cfg.d/90_dpkg.cfg"
LAST = "/etc/cloud/cloud.cfg.d/99-image.cfg"
PINNED = "/etc/cloud/ds-identify.cfg"


def settings_of(files: dict[str, bytes]) -> ImageSettings:
    return read_settings(SimHost(make_disk(files)))


@pytest.mark.parametrize(
    "text",
    [
        b"datasource_list: [NoCloud, None]\n",
        b"datasource_list: [ NoCloud, None ]  # pinned\n",
        b"# datasource_list: [Ec2]\nusers: []\ndatasource_list: ['NoCloud', \"None\"]\n",
        b"datasource_list: [\n  NoCloud,\n  # or\n  None,\n]\nusers: []\n",
        b"datasource_list:\n  - NoCloud\n\n  - None\nusers: []\n",
        b"datasource_list:\n- NoCloud\n- None\n",
        b"'datasource_list': [NoCloud, None]\r\n",
        b"datasource_list: [Ec2]\ndatasource_list: [NoCloud, None]\n",
    ],
)
def test_a_list_is_read_as_cloud_init_reads_it(text: bytes) -> None:
    listed = listed_sources(SimHost(make_disk({CLOUD: text})))

    assert (listed.names, listed.problem) == (["NoCloud", "None"], "")
    assert [str(name) for name in yaml.safe_load(text)["datasource_list"]] == ["NoCloud", "None"]


@pytest.mark.parametrize(
    "text",
    [
        b"datasource_list: NoCloud\n",
        b"datasource_list: [NoCloud\n",
        b"datasource_list: [NoCloud] [Azure]\n",
        b"datasource_list: [No Cloud]\n",
        b"datasource_list: [&a NoCloud, *a]\n",
        b"{datasource_list: [NoCloud]}\n",
        b"x: {a: 1}\n  datasource_list: [NoCloud]\n",
        b"datasource_list: [" + b"A,\n" * 100 + b"]\n",
    ],
)
def test_a_list_in_any_other_form_lists_nothing_and_is_told(text: bytes) -> None:
    settings = settings_of({CLOUD: text})

    assert settings.sources == []
    assert settings.problems == [f"{CLOUD}: datasource_list is not written as a list of names"]


def test_the_last_file_with_a_list_counts() -> None:
    files = {CLOUD: b"datasource_list: [Ec2]\n", LAST: b"users: []\n"}

    assert settings_of(files).sources == ["Ec2"]
    files[DEBIAN] = b"datasource_list: [NoCloud]\n"
    assert settings_of(files).sources == ["NoCloud"]
    files[LAST] = b"datasource_list: [Azure]\n"
    assert settings_of(files).sources == ["Azure"]
    files["/etc/cloud/cloud.cfg.d/99-z.cfg.bak"] = b"datasource_list: [GCE]\n"
    assert settings_of(files).sources == ["Azure"]


def test_a_pinned_source_goes_before_every_list() -> None:
    files = {CLOUD: b"datasource_list: [NoCloud]\n", PINNED: b"policy: x\ndatasource: Azure\n"}

    assert settings_of(files).sources == ["Azure"]
    files[PINNED] = b"policy: search,found=all\n"
    assert settings_of(files).sources == ["NoCloud"]


def test_our_own_file_goes_before_cloud_inits() -> None:
    ours = b"# for this image\nDATA_SOURCES=ConfigDrive, Azure\nDRIVES=disk\nREPROVISION=yes\n"
    settings = settings_of({CLOUD: b"datasource_list: [NoCloud]\n", OURS: ours})

    assert settings.sources == ["ConfigDrive", "Azure"]
    assert (settings.drives, settings.reprovisions, settings.problems) == ("disk", True, [])


def test_an_image_that_says_nothing_allows_seeds_and_no_drive() -> None:
    settings = settings_of({})

    assert settings.sources is None
    assert settings.lists("NoCloud", is_drive=False)
    assert not settings.lists("NoCloud", is_drive=True)
    assert (settings.drives, settings.reprovisions, settings.problems) == ("optical", False, [])


def test_a_word_that_is_not_known_changes_nothing_and_is_told() -> None:
    settings = settings_of({OURS: b"DRIVES=all\nREPROVISION=true\nDRIVE=any\nDATA_SOURCES=a;b\n"})

    assert (settings.sources, settings.drives, settings.reprovisions) == ([], "optical", False)
    assert settings.problems == [
        f"{OURS}: DRIVES must be one of optical, disk, any, found 'all'",
        f"{OURS}: REPROVISION must be one of no, yes, found 'true'",
        f"{OURS}: DRIVE is not a setting",
        f"{OURS}: DATA_SOURCES must be names with commas between, found 'a;b'",
    ]


def test_a_file_that_others_may_write_is_not_believed() -> None:
    disk = make_disk({OURS: b"REPROVISION=yes\n"})
    disk.read(OURS).mode |= 0o020

    settings = read_settings(SimHost(disk))

    assert not settings.reprovisions
    assert settings.problems == [f"{OURS} is not believed: others than its owner may write it"]


@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise_or_list_what_yaml_does_not(data: bytes) -> None:
    text = b"datasource_list: [NoCloud\n" + data
    listed = listed_sources(SimHost(make_disk({CLOUD: text, OURS: data})))

    assert listed.names is not None
    read_settings(SimHost(make_disk({CLOUD: text, OURS: data})))
