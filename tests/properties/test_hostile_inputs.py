"""
No document, however broken, causes a traceback, a hang or a boot without a verdict.

Every input goes through a whole boot of the real agent on a simulated host. 2,000 in the default
run, 100,000 in the slow one; `HOSTILE_SEED` repeats a run.
"""

import json
import os
import random
import time

import pytest

from builders import (
    AKS_IMAGE,
    BUILT_IN_CONFIG,
    CONFIG_PATH,
    FEATURES_PATH,
    NBC_PATH,
    POINTER_PATH,
    aks_files,
    make_boot,
    make_disk,
    make_sim_host,
)
from fairlead.agent.boot import run_boot
from fairlead.agent.boot_stages import BOOT_STAGES
from fairlead.agent.report.record import parse_record
from fairlead.agent.wait import judge_status, wait_for_sentinel
from fairlead.errors import InputError
from properties.hostile import case_lines, hurt, originals

SEED = int(os.environ.get("HOSTILE_SEED", "20261116"))
LONGEST_BOOT_S = 5.0

# Where the hostile document goes, beside which others, and on which layout.
PLACES = {
    "configs": (CONFIG_PATH, "aks", AKS_IMAGE),
    "configs-without-scripts": ("/etc/fairlead/node-config.json", "fairlead", {}),
    "configs-beside-nbc": (CONFIG_PATH, "aks", {**AKS_IMAGE, NBC_PATH: b"A=1 bash x"}),
    "pointers": (POINTER_PATH, "aks", aks_files()),
    "features": (FEATURES_PATH, "aks", {**aks_files(), POINTER_PATH: b"{}"}),
    "nbc": (NBC_PATH, "aks", aks_files()),
}


def run_hostile(place: str, count: int, seed: int) -> None:
    path, layout, others = PLACES[place]
    source = random.Random(seed)
    documents = originals(place.split("-")[0])
    if place == "configs-without-scripts":
        documents = [json.dumps(BUILT_IN_CONFIG).encode(), *documents]
    for number in range(count):
        document = hurt(source.choice(documents), source)
        try:
            assert_boots_with_a_verdict({**others, path: document}, layout)
        except BaseException as error:
            error.add_note(f"{place} input {number} of seed {seed}: {document[:2000]!r}")
            raise


def assert_boots_with_a_verdict(files: dict[str, bytes], layout: str) -> None:
    host = make_sim_host(make_disk(files))
    start = time.monotonic()
    boot = make_boot(host, layout=layout)
    exit_code = run_boot(boot, BOOT_STAGES, "202611.16.0")
    paths = boot.run.layout

    wait_for_sentinel(host, paths, timeout_s=0.0)
    status = json.loads(host.read_file(paths.status))
    assert {"0": 0, "240": 1, "241": 241}[status["ExitCode"]] == exit_code
    assert "defect" not in status["Error"]
    if exit_code == 0:
        judge_status(host, paths)
    else:
        with pytest.raises(InputError):
            judge_status(host, paths)
    (run,) = parse_record(host.read_file(paths.record))
    assert run.exit_code == exit_code
    assert not [stage.cause for stage in run.stages if "defect" in stage.cause]
    assert len(json.dumps(status["fairlead"], separators=(",", ":"))) <= 3000
    assert b"Traceback" not in host.said
    assert time.monotonic() - start < LONGEST_BOOT_S


@pytest.mark.parametrize("place", PLACES)
def test_hostile_documents_always_end_in_a_verdict(place: str) -> None:
    run_hostile(place, 330, SEED)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
@pytest.mark.parametrize("place", PLACES)
def test_a_hundred_thousand_hostile_documents_always_end_in_a_verdict(
    place: str, batch: int
) -> None:
    run_hostile(place, 1700, SEED + 1 + batch)


@pytest.mark.parametrize("place", ["configs", "configs-without-scripts"])
def test_only_a_document_of_a_known_version_provisions(place: str) -> None:
    path, layout, others = PLACES[place]
    source = random.Random(SEED)
    documents = originals("configs")
    provisioned = 0
    for _ in range(300):
        document = hurt(source.choice(documents), source)
        host = make_sim_host(make_disk({**others, path: document}))
        if run_boot(make_boot(host, layout=layout), BOOT_STAGES, "202611.16.0") == 0:
            provisioned += 1
            assert first_version(document) in ("v0", "v1"), document[:500]
    assert provisioned > (50 if place == "configs" else -1)


def first_version(document: bytes) -> object:
    """What the standard library's reader finds first under `version`."""
    reader = json.JSONDecoder(object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    text = document.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return reader.raw_decode(text.lstrip())[0].get("version")


def test_every_real_document_boots_if_its_version_is_known() -> None:
    verdicts = []
    for line in case_lines("aks-env.jsonl.gz"):
        if "parseError" not in line:
            host = make_sim_host(make_disk(aks_files(line["input"].encode())))
            exit_code = run_boot(make_boot(host), BOOT_STAGES, "202611.16.0")
            verdicts.append((exit_code, line["version"] in ("v0", "v1")))

    assert set(verdicts) == {(0, True), (1, False)}
