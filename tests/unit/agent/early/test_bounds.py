"""However large user data says that it is, reading it takes little memory and little time."""

import pytest

from bombs import make_bombs, read_within_limits
from fairlead.agent.early.carried_files import files_in_user_data
from fairlead.agent.early.fat import find_file_in_fat
from fairlead.agent.early.iso9660 import find_file_in_iso
from fairlead.agent.early.layers import LARGEST_BYTES, MOST_PARTS, Room, gunzip, leaf_parts
from fairlead.userdata.delivery import Inline
from fairlead.userdata.render import FORMATS, Target, render_user_data


@pytest.mark.parametrize("name", make_bombs())
def test_no_bomb_takes_much_of_the_agents_memory_or_time(name: str) -> None:
    module = "fairlead.agent.early.carried_files"

    assert read_within_limits(module, "files_in_user_data", make_bombs()[name]) == ""


def test_what_does_not_fit_leaves_no_room_for_more() -> None:
    room = Room()

    assert gunzip(make_bombs()["gzip"], room) is None
    assert room.left == 0


def test_parts_beyond_the_last_that_counts_are_left_out() -> None:
    part = b"--B\n\n#cloud-config\n"
    text = b"Content-Type: multipart/mixed; boundary=B\n\n" + part * (MOST_PARTS + 9)

    assert leaf_parts(text, Room()) == [b"#cloud-config"] * MOST_PARTS


@pytest.mark.parametrize("form", FORMATS)
def test_a_config_with_two_mebibytes_of_certificates_fits(form: str) -> None:
    config = b'{"version": "v1", "custom_ca_certs": ["' + b"QUJD" * (700 << 10) + b'"]}'
    assert 5 * len(config) < LARGEST_BYTES

    files = files_in_user_data(render_user_data(Inline(config), Target(form)))

    assert [file.content for file in files if file.place.endswith("config.json")] == [config]


def test_a_drive_says_nothing_about_how_much_of_it_is_read() -> None:
    asked: list[int] = []

    def read_at(_offset: int, length: int) -> bytes:
        asked.append(length)
        return b"\xff" * min(length, 4096)

    boot = bytearray(512)
    boot[11:17] = (4096).to_bytes(2, "little") + bytes([128, 1, 0, 2])
    boot[32:36] = boot[36:40] = b"\xff\xff\xff\xff"
    boot[510:512] = b"\x55\xaa"

    find_file_in_fat(lambda at, n: bytes(boot)[:n] if at == 0 else read_at(at, n), "user-data")

    # One cluster of 512 KiB is the most of it.
    assert max(asked) <= 512 << 10


def test_an_iso_is_searched_once_for_each_kind_of_name() -> None:
    searched: list[int] = []
    record = bytes([34, 0]) + (100).to_bytes(4, "little") + bytes(4) + (2048).to_bytes(4, "little")
    record = record.ljust(25, b"\0") + b"\2" + bytes(8)
    descriptor = (b"\1CD001".ljust(156, b"\0") + record).ljust(2048, b"\0")

    def read_at(offset: int, length: int) -> bytes:
        if offset < 100 * 2048:
            return descriptor
        searched.append(length)
        return b""

    assert find_file_in_iso(read_at, "user-data") is None
    assert searched == [2048]
