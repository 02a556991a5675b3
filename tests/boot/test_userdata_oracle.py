"""
cloud-init and Ignition themselves, as programs, take what we render.

cloud-init's own code runs in the roots that nodes boot from, mounted read-only, without a
network: 22.4 on bookworm, 25.1 on trixie. Whole boots are in the other files of this folder.
"""

import base64
import gzip
import hashlib
import json
import random
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from boot.node import missing_tools
from boot.roots import SUITES, base_root
from fairlead.contract.boot_document import BootDocument
from fairlead.userdata.delivery import Fetch, Inline
from fairlead.userdata.inspect import inspect_user_data
from fairlead.userdata.render import Target, render_user_data
from hook_run import hook_of
from properties.test_userdata import HOSTILE

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_tools()), reason=f"needs {', '.join(missing_tools())}"),
]

CONFIG = b'{"version": "v1", "kubernetes_version": "1.34.0"}'
CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
INLINE = Inline(CONFIG)
FETCH = Fetch(BootDocument("https://api.example.test/node", CA, "dG9rZW4="))

# The root stays as it is; what cloud-init writes goes into memory and vanishes with the mounts.
ENTER = """
set -e
mount --bind "$1" "$1"
mount -o remount,ro,bind "$1"
for directory in tmp run opt; do mount -t tmpfs tmpfs "$1/$directory"; done
exec chroot "$1" python3 -c "$2"
"""

# Documents as base64 in a JSON list; for each, type, name and digest of its parts.
SPLIT = """
import base64, hashlib, json, sys
from cloudinit.helpers import Paths
from cloudinit.user_data import UserDataProcessor
answers = []
for document in json.load(sys.stdin):
    processor = UserDataProcessor(Paths({"cloud_dir": "/tmp/cloud", "run_dir": "/tmp/run"}))
    message = processor.process(base64.b64decode(document))
    answers.append([
        [part.get_content_type(), hashlib.sha256(part.get_payload(decode=True)).hexdigest()]
        for part in message.walk() if not part.is_multipart()
    ])
print(json.dumps(answers))
"""

# Exit code and output of `cloud-init schema` for each document.
SCHEMA = """
import base64, json, subprocess, sys
answers = []
for document in json.load(sys.stdin):
    open("/tmp/config", "wb").write(base64.b64decode(document))
    command = ["cloud-init", "schema", "--config-file", "/tmp/config"]
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    answers.append([found.returncode, found.stdout])
print(json.dumps(answers))
"""

# What cc_write_files leaves on the disk: content and mode of each path, document by document.
WRITE_FILES = """
import base64, json, os, sys, yaml
from cloudinit.config.cc_write_files import write_files
answers = []
for document in json.load(sys.stdin):
    files = yaml.safe_load(base64.b64decode(document))["write_files"]
    write_files("test", files, "root:root")
    path = files[-1]["path"]
    content = open(path, "rb").read()
    answers.append([base64.b64encode(content).decode(), os.stat(path).st_mode & 0o7777])
    os.unlink(path)
answers.append([sorted(os.listdir("/opt/azure/containers")), os.path.exists("CANARY")])
print(json.dumps(answers))
"""


def ask_cloud_init(suite: str, program: str, documents: list[bytes]) -> list[Any]:
    """Run a program of ours with the suite's cloud-init; its answer for each document."""
    finished = subprocess.run(
        ["unshare", "--mount", "--net", "sh", "-c", ENTER, "enter", str(base_root(suite)), program],
        input=json.dumps([base64.b64encode(document).decode() for document in documents]),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    answers: list[Any] = json.loads(finished.stdout.splitlines()[-1])
    return answers


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(scope="module", params=SUITES)
def suite(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("delivery", [INLINE, FETCH], ids=["inline", "fetch"])
@pytest.mark.parametrize("layout", ["aks", "fairlead"])
def test_cloud_init_hands_out_the_hook_and_the_config_as_we_wrote_them(
    suite: str, layout: str, delivery: Inline | Fetch
) -> None:
    document = render_user_data(
        delivery, Target("boothook", layout=layout, features={"A": "$(reboot)"})
    )
    hook = b"#cloud-boothook\n" + hook_of(document)
    config = inspect_user_data(document).parts[1].content

    plain, zipped = ask_cloud_init(suite, SPLIT, [document, gzip.compress(document)])

    assert (
        plain
        == zipped
        == [
            ["text/cloud-boothook", digest(hook)],
            ["text/cloud-config", digest(config)],
        ]
    )


def test_what_our_inspection_takes_for_a_part_cloud_init_does_too(suite: str) -> None:
    document = render_user_data(INLINE, Target("boothook"))
    documents = [
        document,
        document.replace(b"\r\n", b"\n"),
        document[: document.rindex(b"--==")],
        render_user_data(INLINE, Target("boothook", "azure")),
        render_user_data(INLINE, Target("cloud-config")),
        hook_of(document),
        b"#cloud-boothook\n" + hook_of(document),
        b"hello\n",
    ]

    found = ask_cloud_init(suite, SPLIT, documents)

    kinds = [[kind for kind, _ in parts] for parts in found]
    assert kinds[0] == kinds[1] == kinds[2] == ["text/cloud-boothook", "text/cloud-config"]
    assert kinds[3] == ["text/x-not-multipart"]
    for raw, parts in zip(documents, kinds, strict=True):
        inspection = inspect_user_data(raw)
        if inspection.wrappings != ("base64",):
            assert [part.kind for part in inspection.parts] == parts


def test_a_large_hostile_config_leaves_the_document_in_two_parts(suite: str) -> None:
    documents = []
    for piece in HOSTILE:
        config = (piece + b"x") * (1 + 1_000_000 // (len(piece) + 1))
        documents.append(render_user_data(Inline(config), Target("boothook")))

    found = ask_cloud_init(suite, SPLIT, documents)

    for document, parts in zip(documents, found, strict=True):
        assert parts[0] == ["text/cloud-boothook", digest(b"#cloud-boothook\n" + hook_of(document))]
        assert [kind for kind, _ in parts] == ["text/cloud-boothook", "text/cloud-config"]


def test_every_cloud_config_passes_the_schema_of_cloud_init(suite: str) -> None:
    documents = [
        inspect_user_data(render_user_data(INLINE, Target("boothook"))).parts[1].content,
        render_user_data(INLINE, Target("cloud-config", features={"A": "1"})),
        render_user_data(FETCH, Target("cloud-config", layout="aks")),
        render_user_data(Inline(CONFIG + b" " * 5000), Target("cloud-config")),
        b"#cloud-config\nwrite_file: []\n",
    ]

    *valid, broken = ask_cloud_init(suite, SCHEMA, documents)

    for code, output in valid:
        assert (code, "Valid" in output) == (0, True), output
    # 22.4 accepts unknown keys; the others prove that the schema is looked at.
    assert broken[0] == (0 if suite == "bookworm" else 1), broken


def test_hostile_configs_arrive_byte_for_byte_by_write_files_too(suite: str) -> None:
    source = random.Random(4)
    configs = [b"".join(source.choices(HOSTILE, k=8)) for _ in range(100)]
    documents = [
        render_user_data(Inline(config), Target("cloud-config", layout="aks")) for config in configs
    ]

    *answers, (left, has_run) = ask_cloud_init(suite, WRITE_FILES, documents)

    for config, (content, mode) in zip(configs, answers, strict=True):
        assert base64.b64decode(content) == config
        assert mode == 0o600
    assert (left, has_run) == ([], False)


@pytest.mark.parametrize("delivery", [INLINE, FETCH], ids=["inline", "fetch"])
@pytest.mark.parametrize("size", [0, 5000])
def test_ignition_takes_what_we_render(delivery: Inline | Fetch, size: int, tmp_path: Path) -> None:
    program = which("ignition-validate")
    if program is None:
        pytest.skip("ignition-validate is not installed (Debian: ignition)")
    if isinstance(delivery, Inline):
        delivery = Inline(delivery.config + b" " * size)
    config = tmp_path / "config.ign"
    # Debian's Ignition knows specs up to 3.3; ours differs from it in the version only.
    config.write_bytes(render_user_data(delivery, Target("ignition", ignition_version="3.3.0")))

    found = subprocess.run([program, config], capture_output=True, text=True, check=False)

    # Warnings end with exit code 0 too, so there must be no output either.
    assert (found.returncode, found.stdout + found.stderr) == (0, "")
