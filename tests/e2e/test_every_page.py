"""Every block of shell on the README and in the howtos works as printed, for a newcomer."""

from __future__ import annotations

import re

import pytest

from e2e.newcomer import Newcomer
from hotfix_depot import SUITE, needs
from shared_cases import REPOSITORY

# What comes first on the README, and before every page.
START = ("make demo", "export PATH=$PWD/.venv/bin:$PATH")

STORY = "README.md: See it work"  # tests/e2e/test_story.py, which also reads what it says

# Blocks that nobody can type who has no rights, no cluster and no image: by page, how the block
# begins, and who runs it instead, or why nobody does.
APART = {
    ("README.md: Work on it", "make test"): "runs all tests, this one among them",
    ("a-hotfix-went-wrong.md", 'chroot "$IMAGE"'): "root: e2e/test_hotfix_containers.py",
    ("bake-an-image.md", "python3 deploy"): "root, and an image: boot/test_image_building.py",
    ("bake-an-image.md", "install -D"): "root, and an image with RPM packages; nobody does",
    ("bake-an-image.md", "echo 'datasource"): "root, and an image: e2e/test_nspawn_plane.py",
    ("bake-an-image.md", "rm -f /etc"): "on a machine that becomes an image",
    ("read-a-boot.md", "fairlead-node report"): "on a node: process/test_pages_of_a_node.py",
    ("serve-behind-your-api-server.md", "apt-get install"): "root",
    ("serve-behind-your-api-server.md", "fairlead hotfix serve"): (
        "an answering service: service/test_hotfix_behind_api_server.py"
    ),
    ("share-a-control-plane.md", "install -d"): "root, and other users: e2e/test_other_users.py",
}
# Whole pages likewise.
PAGES_APART = {
    "run-on-kubernetes.md": "a cluster: kube/test_install_page.py",
}
# Lines of blocks that a newcomer can type otherwise.
LINES_APART = {
    ("README.md: On a node", "apt-get install"): "root",
    ("README.md: On a node", "fairlead-node "): "on a node: process/test_pages_of_a_node.py",
}

# What whoever reads a page has at hand.
FIX = "202611.16.1"
PUBLISHED = (
    "fairlead keys init",
    "fairlead hotfix region on local",
    f"fairlead hotfix build --version {FIX} --to build",
    f"fairlead hotfix publish build/*{FIX}* --summary 'wait for the disk'",
)
MACHINES = "fairlead machine list -o name | sort"
GIVEN = {
    "a-hotfix-went-wrong.md": PUBLISHED,
    "backup-and-restore.md": (f"{MACHINES} > ~/before",),
    "read-a-boot.md": ("cp examples/boots/trixie.json boot.json",),
    "serve-behind-your-api-server.md": (
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -subj /CN=cluster",
    ),
    "ship-a-hotfix.md": ("echo '# mended' >> src/fairlead/agent/wait.py",),
    "upgrade.md": (f"{MACHINES} > ~/before",),
}
# What is so afterwards.
SAME_MACHINES = ("fairlead rollout watch workers --timeout 60", f"{MACHINES} | diff ~/before -")
THEN = {
    "README.md: On a node": ("ls build/fairlead-node_*_all.deb", "test -s user-data"),
    "backup-and-restore.md": SAME_MACHINES,
    "roll-a-pool.md": ("fairlead pool show workers --yaml | grep 'version: 1.36.0'",),
    "upgrade.md": SAME_MACHINES,
    "user-data.md": ('test "$(stat -c %a user-data)" = 600',),
}
# Of these blocks one is typed at a time: each is another way to go on, or to end.
WAYS = {
    "a-hotfix-went-wrong.md": ("fairlead hotfix withdraw", "fairlead hotfix promote"),
    "ship-a-hotfix.md": ("fairlead hotfix withdraw", "fairlead hotfix bases remove"),
}
# What a page is about that does not end with 0: machines would be replaced, a rollout halted.
CODES = {
    "roll-a-pool.md": [
        ("fairlead diff -f pool.yaml", 10),
        ("fairlead plan -f pool.yaml", 10),
        ("fairlead plan -f pool.yaml --save plan.json", 10),
        ("fairlead diff workers", 10),
        ("fairlead apply -f pool.yaml --yes --timeout 300", 4),
    ],
}


def pages() -> dict[str, str]:
    """Every document that a newcomer types from; the README by section."""
    found = {page.name: page.read_text() for page in (REPOSITORY / "docs").glob("*.md")}
    found |= {page.name: page.read_text() for page in (REPOSITORY / "docs/howto").glob("*.md")}
    for section in (REPOSITORY / "README.md").read_text().split("\n## ")[1:]:
        found[f"README.md: {section.splitlines()[0]}"] = section
    return {name: text for name, text in sorted(found.items()) if blocks_of(text)}


def blocks_of(text: str) -> list[str]:
    return re.findall(r"```sh\n(.*?)```", text, re.DOTALL)


def is_apart(page: str, block: str) -> bool:
    return any(page == one and block.startswith(start) for one, start in APART)


def lines_to_type(page: str, way: str = "") -> list[str]:
    """The lines of a page, without what is apart, and without the other ways."""
    others = [start for start in WAYS.get(page, ()) if start != way]
    return [
        line
        for block in blocks_of(pages()[page])
        if not is_apart(page, block) and not block.startswith(tuple(others))
        for line in block.splitlines()
        if not any(page == one and line.startswith(start) for one, start in LINES_APART)
    ]


TYPED = [
    (page, way)
    for page in pages()
    if page != STORY and page not in PAGES_APART and lines_to_type(page)
    for way in WAYS.get(page, ("",))
]


def test_nothing_is_excepted_that_a_page_no_longer_has() -> None:
    found = pages()
    assert {*PAGES_APART, *GIVEN, *THEN, *WAYS, *CODES, STORY} <= set(found)

    of_ways = ((page, start) for page, ways in WAYS.items() for start in ways)
    for page, start in (*APART, *of_ways):
        blocks = [block for block in blocks_of(found[page]) if block.startswith(start)]
        assert len(blocks) == 1, (page, start)
    for page, start in LINES_APART:
        assert f"\n{start}" in found[page], (page, start)


def test_every_reason_names_a_test_that_is_there() -> None:
    for reason in (*APART.values(), *PAGES_APART.values(), *LINES_APART.values()):
        for test in re.findall(r"\w+/test_\w+\.py", reason):
            assert (REPOSITORY / "tests" / test).exists(), reason


@pytest.mark.parametrize("page", sorted({page for page, _ in TYPED if "README" not in page}))
def test_every_page_says_what_comes_first(page: str) -> None:
    assert all(f"`{line}`" in pages()[page] for line in START)


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.parametrize(("page", "way"), TYPED)
def test_every_line_of_a_page_works_as_printed(page: str, way: str, newcomer: Newcomer) -> None:
    needs(*SUITE)
    lines = [*START, *GIVEN.get(page, ()), *lines_to_type(page, way), *THEN.get(page, ())]

    told = newcomer.types(lines)

    codes = [(typed.line, typed.code) for typed in told if typed.code != 0]
    assert codes == CODES.get(page, []), [typed for typed in told if typed.code != 0]
