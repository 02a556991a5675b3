"""Script files of a fix: one shape is understood, everything else is refused whole."""

import base64
import gzip
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlead.agent.host import RealHost
from fairlead.agent.hotfix.script_files import files_of_fix, write_script_files
from fairlead.agent.hotfix.script_text import LARGEST_FILE, parse_script_files
from fairlead.errors import InputError

PACKED = base64.b64encode(gzip.compress(b"#!/bin/bash\necho packed\n", mtime=0)).decode()
RENDERED = f"""\
#cloud-config

write_files:
# a comment of the template
- path: /opt/azure/containers/provision.sh
  permissions: "0744"
  owner: root
  content: |
    #!/bin/bash

    if true; then
      echo "it is: 'so'"  # not a comment of YAML
    fi

- path: /opt/azure/containers/packed.sh
  permissions: '0600'
  encoding: gzip
  owner: root
  content: !!binary |
    {PACKED}

- path: /etc/plain
  content: abc
"""


def write(root: Path, text: str | bytes) -> str:
    (root / "document.yml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return "/document.yml"


def test_a_document_as_upstream_renders_it_is_read_as_a_yaml_library_reads_it() -> None:
    files = parse_script_files(RENDERED.encode())

    expected = yaml.safe_load(RENDERED)["write_files"]
    assert [file.path for file in files] == [entry["path"] for entry in expected]
    assert files[0].content.decode() == expected[0]["content"]
    assert files[1].content == b"#!/bin/bash\necho packed\n"
    assert [file.mode for file in files] == [0o744, 0o600, 0o644]


@pytest.mark.parametrize("encoding", ["b64", "base64"])
def test_base64_is_decoded(encoding: str) -> None:
    text = f"write_files:\n- path: /a\n  encoding: {encoding}\n  content: aGVsbG8=\n"

    assert parse_script_files(text.encode())[0].content == b"hello"


@pytest.mark.parametrize("encoding", ["gz+b64", "gz+base64", "gzip+b64", "gzip+base64"])
def test_both_encodings_in_cloud_inits_spellings(encoding: str) -> None:
    text = f"write_files:\n- path: /a\n  encoding: {encoding}\n  content: {PACKED}\n"

    assert parse_script_files(text.encode())[0].content == b"#!/bin/bash\necho packed\n"


BLOCK_LINES = st.lists(st.text(alphabet="ab #:-|'\"", max_size=8).map(str.rstrip), max_size=6)


@given(lines=BLOCK_LINES, mark=st.sampled_from(["|", "|-", "|+"]), last=st.booleans())
def test_blocks_mean_what_a_yaml_library_makes_of_them(
    lines: list[str], mark: str, last: bool
) -> None:
    body = "".join(f"    {line}\n" if line else "\n" for line in lines)
    more = "- path: /b\n  content: x\n" if last else ""
    text = f"write_files:\n- path: /a\n  content: {mark}\n{body}{more}"
    try:
        ours = parse_script_files(text.encode())
    except InputError:
        return  # refusing is always allowed
    theirs = yaml.safe_load(text)["write_files"]
    assert [file.content.decode() for file in ours] == [entry["content"] for entry in theirs]


@given(st.text(alphabet="ab:-|\n #'\"!{}[]&*%@`write_filespathcontent/", max_size=80))
def test_whatever_is_read_is_what_a_yaml_library_reads(text: str) -> None:
    whole = f"write_files:\n{text}"
    try:
        ours = parse_script_files(whole.encode())
    except InputError:
        return
    theirs = yaml.safe_load(whole)["write_files"] or []
    assert [file.path for file in ours] == [entry["path"] for entry in theirs]


@pytest.mark.parametrize(
    "text",
    [
        "runcmd:\n- reboot\n",
        "write_files:\n- path: /a\n  content: x\nruncmd: []\n",
        "write_files:\n- path: /a\n  defer: true\n",
        "write_files:\n- path: /a\n  append: true\n  content: x\n",
        "write_files:\n- content: x\n",
        "write_files:\n- path: relative\n  content: x\n",
        "write_files:\n- path: /a/../etc/shadow\n  content: x\n",
        "write_files:\n- path: /a//b\n  content: x\n",
        "write_files:\n- path: /a\n  owner: nobody\n  content: x\n",
        "write_files:\n- path: /a\n  permissions: '4755'\n  content: x\n",
        "write_files:\n- path: /a\n  permissions: 0x1ff\n  content: x\n",
        "write_files:\n- path: /a\n  encoding: rot13\n  content: x\n",
        "write_files:\n- path: /a\n  encoding: b64\n  content: '!!'\n",
        "write_files:\n- path: /a\n  encoding: gzip\n  content: !!binary |\n    aGVsbG8=\n",
        "write_files:\n- path: /a\n  content: >\n    folded\n",
        "write_files:\n- path: /a\n  content: &anchor x\n- path: /b\n  content: *anchor\n",
        "write_files:\n- path: /a\n  content: \"a\\nb\"\n",
        "write_files:\n- path: /a\n  content: x\n- path: /a\n  content: y\n",
        "write_files:\n-\tpath: /a\n",
        "write_files: [{path: /a, content: x}]\n",
        "\u00e9".encode("latin-1").decode("latin-1") + "write_files:\n",
        "",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused_whole_and_nothing_is_written(
    tmp_path: Path, text: str
) -> None:
    good = "write_files:\n- path: /good\n  content: x\n"
    combined = (
        good + text.removeprefix("write_files:\n") if text.startswith("write_files:\n-") else text
    )

    with pytest.raises(InputError, match="refused whole"):
        write_script_files(RealHost(str(tmp_path)), write(tmp_path, combined))

    assert not (tmp_path / "good").exists()


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = base64.b64encode(gzip.compress(b"\0" * (LARGEST_FILE + 1), mtime=0)).decode()
    text = f"write_files:\n- path: /a\n  encoding: gz+b64\n  content: {bomb}\n"

    with pytest.raises(InputError, match="when unpacked"):
        parse_script_files(text.encode())


def test_files_are_written_whole_with_their_modes_and_a_second_time_not_at_all(
    tmp_path: Path,
) -> None:
    host = RealHost(str(tmp_path))
    path = write(tmp_path, RENDERED)

    assert write_script_files(host, path) == 3
    assert write_script_files(host, path) == 0

    script = tmp_path / "opt/azure/containers/provision.sh"
    assert stat.S_IMODE(script.stat().st_mode) == 0o744
    assert script.read_text().startswith("#!/bin/bash\n\nif true; then\n  echo")
    assert not list(tmp_path.rglob(".*"))


@pytest.mark.parametrize("links", ["opt", "opt/azure", "opt/azure/containers/provision.sh"])
def test_no_link_is_followed(tmp_path: Path, links: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    place = root / links
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside)

    with pytest.raises(InputError):
        write_script_files(RealHost(str(root)), write(root, RENDERED))

    assert list(outside.iterdir()) == []


def test_a_merged_usr_is_no_link_of_a_stranger(tmp_path: Path) -> None:
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "lib").symlink_to("usr/lib")
    text = "write_files:\n- path: /lib/systemd/system/a.service\n  content: x\n"

    assert write_script_files(RealHost(str(tmp_path)), write(tmp_path, text)) == 1
    assert (tmp_path / "usr/lib/systemd/system/a.service").read_text() == "x"


def test_scripts_of_a_package_replace_and_never_add(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/plain").write_text("before")

    written = write_script_files(
        RealHost(str(tmp_path)), write(tmp_path, RENDERED), only_replaces=True
    )

    assert written == 1
    assert (tmp_path / "etc/plain").read_text() == "abc"
    assert not (tmp_path / "opt").exists()


FIVE = ["/a", "/b", "/c", "/d", "/e"]


def five_files(root: Path, third: bytes) -> str:
    """A document of five files, all of which are there; the third has this content."""
    entries = []
    for path in FIVE:
        (root / path.strip("/")).write_text("as baked")
        packed = gzip.compress(third if path == "/c" else b"fixed", mtime=0)
        text = base64.b64encode(packed).decode()
        entries.append(f"- path: {path}\n  encoding: gz+b64\n  content: {text}\n")
    return write(root, "write_files:\n" + "".join(entries))


def test_a_set_of_which_one_has_no_place_replaces_none(tmp_path: Path) -> None:
    document = five_files(tmp_path, b"fixed")
    (tmp_path / "d").unlink()
    (tmp_path / "d").mkdir()

    with pytest.raises(InputError, match="/d: in its place is no plain file"):
        write_script_files(RealHost(str(tmp_path)), document)

    assert {(tmp_path / name).read_text() for name in "abce"} == {"as baked"}
    assert not list(tmp_path.glob(".*"))


LIMITED = """
import resource, signal, sys
from fairlead.agent.host import RealHost
from fairlead.agent.hotfix.script_files import write_script_files
signal.signal(signal.SIGXFSZ, getattr(signal, sys.argv[2]))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
write_script_files(RealHost(sys.argv[1]), "/document.yml")
"""


@pytest.mark.parametrize(
    ("how", "code", "left"),
    [
        ("SIG_IGN", 1, []),
        ("SIG_DFL", -25, [".a.fairlead-tmp", ".b.fairlead-tmp", ".c.fairlead-tmp"]),
    ],
    ids=["the disk is full", "killed"],
)
def test_an_end_in_the_middle_of_the_third_file_of_five_replaces_none(
    tmp_path: Path, how: str, code: int, left: list[str]
) -> None:
    document = five_files(tmp_path, b"\0" * 200_000)

    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path), how], capture_output=True, check=False
    )

    assert ran.returncode == code, ran.stderr
    assert {(tmp_path / name).read_text() for name in "abcde"} == {"as baked"}
    assert sorted(path.name for path in tmp_path.glob(".*")) == left
    # The next boot makes it good, and leaves nothing.
    assert write_script_files(RealHost(str(tmp_path)), document) == 5
    assert {(tmp_path / name).read_text() for name in "abde"} == {"fixed"}
    assert not list(tmp_path.glob(".*"))


def test_one_file_by_two_paths_is_refused(tmp_path: Path) -> None:
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "lib").symlink_to("usr/lib")
    text = "write_files:\n- path: /lib/a\n  content: x\n- path: /usr/lib/a\n  content: y\n"

    with pytest.raises(InputError, match="/usr/lib/a is there twice"):
        write_script_files(RealHost(str(tmp_path)), write(tmp_path, text))

    assert list((tmp_path / "usr/lib").iterdir()) == []


@pytest.mark.parametrize(
    ("release", "taken"),
    [
        ('ID=ubuntu\nVERSION_ID="22.04"\n', "scripts/ubuntu22.04/nodecustomdata.yml"),
        ('ID=ubuntu\nVERSION_ID="24.04"\n', "scripts/ubuntu/nodecustomdata.yml"),
        ('NAME="Ubuntu"\nID=ubuntu\n', "scripts/ubuntu/nodecustomdata.yml"),
        ('ID=debian\nVERSION_ID="12"\n', "nodecustomdata.yml"),
        ("ID=ubuntu/../ubuntu\nVERSION_ID=22.04\n", "nodecustomdata.yml"),
        ("", "nodecustomdata.yml"),
    ],
)
def test_the_most_specific_document_of_a_fix_is_the_one_that_counts(
    tmp_path: Path, release: str, taken: str
) -> None:
    fix = tmp_path / "usr/lib/fairlead-node/hotfix/202604.01.3"
    for directory in (fix, fix / "scripts/ubuntu", fix / "scripts/ubuntu22.04"):
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "nodecustomdata.yml").touch()
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text(release)
    host = RealHost(str(tmp_path))

    found = files_of_fix(host, "202604.01.3")

    assert found == f"/usr/lib/fairlead-node/hotfix/202604.01.3/{taken}"
    assert files_of_fix(host, "202604.01.4") == ""
