"""Files on drives that real tools made, and on drives that are broken."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fairlead.agent.early.drive import find_file_on_drive
from fairlead.agent.early.fat import find_file_in_fat
from fairlead.agent.early.iso9660 import find_file_in_iso
from fairlead.agent.early.udf import find_file_in_udf
from fairlead.agent.host import RealHost

# More than one cluster of any of the file systems below.
LARGE = bytes(range(256)) * 600
FILES = {
    "user-data": b"#cloud-config\n",
    "openstack/latest/user_data": b"nested",
    "openstack/latest/a-name-longer-than-any-short-one.bin": LARGE,
}


def make_tree(directory: Path) -> Path:
    for name, content in FILES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    return directory


def run(*command: str | Path) -> None:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"NOT RUN: install {command[0]}")
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


def make_iso(tmp_path: Path, *options: str) -> Path:
    image = tmp_path / "drive.iso"
    run("genisoimage", "-output", image, *options, make_tree(tmp_path / "tree"))
    return image


def make_fat(tmp_path: Path, bits: int, kib: int) -> Path:
    image = tmp_path / "drive.img"
    run("mkfs.vfat", "-C", "-F", str(bits), "-n", "CIDATA", image, str(kib))
    for entry in sorted(make_tree(tmp_path / "tree").iterdir()):
        run("mcopy", "-s", "-i", image, entry, "::")
    return image


def read(image: Path, name: str) -> bytes | None:
    return find_file_on_drive(RealHost(), str(image), name, lambda _: True)


@pytest.mark.parametrize("options", [("-J",), ("-R",), ("-J", "-R"), ("-J", "-udf")])
def test_every_file_of_an_iso_is_found(tmp_path: Path, options: tuple[str, ...]) -> None:
    image = make_iso(tmp_path, *options)

    assert {name: read(image, name) for name in FILES} == FILES


def make_udf(tmp_path: Path) -> bytes:
    """A disc with nothing but UDF on it: the marks of ISO 9660 are gone."""
    return make_iso(tmp_path, "-udf").read_bytes().replace(b"CD001", b"NONE!")


def test_every_file_of_a_udf_is_found(tmp_path: Path) -> None:
    image = tmp_path / "drive.udf"
    image.write_bytes(make_udf(tmp_path))

    assert {name: read(image, name) for name in FILES} == FILES
    for name in ("openstack", "openstack/user-data", "user-data/x", "nothing", ""):
        assert read(image, name) is None


@pytest.mark.parametrize(("bits", "kib"), [(12, 2880), (16, 20000), (32, 300000)])
def test_every_file_of_a_fat_is_found(tmp_path: Path, bits: int, kib: int) -> None:
    image = make_fat(tmp_path, bits, kib)

    assert {name: read(image, name) for name in FILES} == FILES
    assert read(image, "USER-DATA") == FILES["user-data"]


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    image = make_iso(tmp_path, "-J", "-R")

    for name in ("openstack", "openstack/user-data", "user-data/x", "nothing"):
        assert read(image, name) is None
    assert read(tmp_path / "no-such-device", "user-data") is None
    assert read(tmp_path, "user-data") is None


def test_a_drive_with_anything_on_it_is_passed_over(tmp_path: Path) -> None:
    image = tmp_path / "noise"
    for content in (b"", b"\0" * 100_000, b"\xff" * 100_000, b"CD001" * 20_000):
        image.write_bytes(content)
        assert read(image, "user-data") is None


def test_a_damaged_drive_ends_the_search_and_not_the_agent(tmp_path: Path) -> None:
    for name in ("iso", "fat"):
        (tmp_path / name).mkdir()
    iso = make_iso(tmp_path / "iso", "-J", "-R").read_bytes()
    fat = make_fat(tmp_path / "fat", 12, 2880).read_bytes()

    def reader(content: bytes):  # type: ignore[no-untyped-def]
        return lambda offset, length: content[offset : offset + length]

    (tmp_path / "udf").mkdir()
    udf = make_udf(tmp_path / "udf")
    for at in (*range(32 * 2048, 38 * 2048, 7), *range(256 * 2048, 290 * 2048, 61)):
        for byte in (b"\xff", b"\0"):
            broken = udf[:at] + byte + udf[at + 1 :]
            find_file_in_udf(reader(broken), "openstack/latest/user_data")
        find_file_in_udf(reader(udf[:at]), "openstack/latest/user_data")
    for at in range(16 * 2048, 40 * 2048, 97):
        broken = iso[:at] + b"\xff" + iso[at + 1 :]
        find_file_in_iso(reader(broken), "openstack/latest/user_data")
        find_file_in_iso(reader(iso[:at]), "openstack/latest/user_data")
    for at in range(0, 64 * 512, 61):
        broken = fat[:at] + b"\xff" + fat[at + 1 :]
        find_file_in_fat(reader(broken), "openstack/latest/user_data")
        find_file_in_fat(reader(fat[:at]), "openstack/latest/user_data")
