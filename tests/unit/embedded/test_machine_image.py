"""Images that would ask around on a network, or that lack what a boot needs, are refused."""

from pathlib import Path

import pytest

from fairlead.embedded.machines.image import data_sources_of, lay_out, refuse_unusable_image
from fairlead.errors import InputError

LIMITED = "datasource_list: [NoCloud, None]\n"


def make_layer(directory: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return directory


def make_image(directory: Path, settings: dict[str, str]) -> Path:
    """A root with systemd, cloud-init, the agent, and these settings of cloud-init."""
    files = {
        "usr/lib/systemd/systemd": "",
        "usr/bin/cloud-init": "",
        "usr/lib/fairlead/fairlead-node": "",
        "etc/cloud/cloud.cfg": "users: []\n",
    }
    files |= {f"etc/cloud/cloud.cfg.d/{name}": text for name, text in settings.items()}
    return make_layer(directory, files)


def test_an_image_that_keeps_to_itself_is_taken(tmp_path: Path) -> None:
    refuse_unusable_image((make_image(tmp_path, {"99-fairlead.cfg": LIMITED}),))


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({}, "no datasource_list"),
        ({"90_dpkg.cfg": "datasource_list: [Ec2, NoCloud, None]"}, "Ec2, NoCloud, None"),
        ({"90_dpkg.cfg": LIMITED, "99_cloud.cfg": "datasource_list: [Azure]"}, "Azure"),
        ({"99-fairlead.cfg": "datasource_list: [None]"}, "None"),
        ({"99-fairlead.cfg": "datasource_list: ["}, "no datasource_list"),
    ],
)
def test_an_image_that_asks_around_is_refused_with_what_to_write_where(
    tmp_path: Path, settings: dict[str, str], shown: str
) -> None:
    image = make_image(tmp_path, settings)

    with pytest.raises(InputError) as caught:
        refuse_unusable_image((image,))

    assert caught.value.problem == (
        f"cloud-init of {image} would look for its data on the network: {shown}"
    )
    assert caught.value.hint == (
        "write `datasource_list: [NoCloud, None]` to etc/cloud/cloud.cfg.d/99-fairlead.cfg "
        "of the image"
    )


def test_the_file_of_the_upper_layer_and_the_last_file_count(tmp_path: Path) -> None:
    lower = make_image(tmp_path / "lower", {"90_dpkg.cfg": "datasource_list: [Ec2]"})
    upper = make_layer(tmp_path / "upper", {"etc/cloud/cloud.cfg.d/90_dpkg.cfg": LIMITED})
    later = make_layer(
        tmp_path / "later", {"etc/cloud/cloud.cfg.d/95.cfg": "datasource_list: [GCE]"}
    )

    assert data_sources_of((lower,)) == ["Ec2"]
    assert data_sources_of((upper, lower)) == ["NoCloud", "None"]
    assert data_sources_of((later, upper, lower)) == ["GCE"]


@pytest.mark.parametrize(
    ("missing", "hint"),
    [
        ("usr/lib/systemd/systemd", "make the image with systemd"),
        ("usr/bin/cloud-init", "install cloud-init in it"),
        (
            "usr/lib/fairlead/fairlead-node",
            "install the fairlead-node package in it: make agent",
        ),
    ],
)
def test_an_image_without_what_a_boot_needs_is_refused(
    tmp_path: Path, missing: str, hint: str
) -> None:
    image = make_image(tmp_path, {"99-fairlead.cfg": LIMITED})
    (image / missing).unlink()

    with pytest.raises(InputError, match=f"has no {missing}") as caught:
        refuse_unusable_image((image,))
    assert caught.value.hint == hint


def test_what_is_no_directory_is_no_image(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a directory"):
        refuse_unusable_image((tmp_path / "nowhere",))
    with pytest.raises(InputError, match="at least one"):
        refuse_unusable_image(())


def test_a_machine_keeps_the_image_that_it_was_made_of(tmp_path: Path) -> None:
    (tmp_path / "machine").mkdir()
    first, second = (Path("/one"), Path("/two")), (Path("/three"),)

    lay_out(tmp_path / "machine", first)
    lay_out(tmp_path / "machine", second)

    links = sorted((tmp_path / "machine").glob("layer*"))
    assert [str(link.readlink()) for link in links] == ["/one", "/two"]
