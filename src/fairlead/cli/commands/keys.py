"""`fairlead keys`: who may say which hotfixes count, and what becomes of a key that was stolen."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from fairlead import __version__
from fairlead.cli.clock import present
from fairlead.cli.confirm import DECLINED, is_agreed
from fairlead.cli.depot_flags import add_depot_command, add_keys, depot_of, offline_keys_of
from fairlead.cli.flags import add_yes
from fairlead.cli.request import write_json
from fairlead.contract.image_version import base_of
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.hotfix.publish.depot import Depot
    from fairlead.hotfix.publish.metadata import Signed

INIT_EXAMPLE = """\
example: three root keys of which two must agree, and an empty depot for images of this agent
  fairlead keys init --depot depot --keys offline

Root and release keys go to --keys, and belong on a drive that is not plugged in, each root key with
another person. The depot gets the online key and the key of the package repositories, no other.
"""
ROTATE_EXAMPLE = """\
example: the online key was seen where it should not be
  fairlead keys rotate online --depot depot --keys offline --yes
example: one of three root keys is lost; the others are with two people
  fairlead keys rotate root --replace 3f2a --roots drive-a --roots drive-b --new drive-c --yes

Nodes follow from the root that their image has to the newest, at their next boot. The key of the
repositories is another matter: the image has it as a file, so old and new sign side by side until
--at-once. --roots may be given again; without it the root keys are looked for in --keys.
"""
RENEW_EXAMPLE = """\
example: what the release key signed ends after 90 days, a root after a year
  fairlead keys renew --depot depot --keys offline
  fairlead keys renew --root --depot depot --keys offline
"""
SHOW_EXAMPLE = """\
example: who signs for what, until when; then the root that an image is baked with
  fairlead keys show --depot depot
  fairlead keys show --depot depot --anchor > root.json
"""

ROLES = ("root", "release", "online", "repository")


def add_commands(parser: ArgumentParser) -> None:
    """Add init, rotate, renew and show."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    init = add_depot_command(commands, "init", "make every key", INIT_EXAMPLE, _init)
    add_keys(init)
    init.add_argument("--root-keys", type=int, default=3, metavar="N", help="how many (default: 3)")
    init.add_argument(
        "--threshold", type=int, default=2, metavar="N", help="how many must agree (default: 2)"
    )
    rotate = add_depot_command(
        commands, "rotate", "replace the keys of one role", ROTATE_EXAMPLE, _rotate
    )
    rotate.add_argument("role", choices=ROLES, help="root, release, online or repository")
    add_keys(rotate)
    _add_roots(rotate)
    rotate.add_argument("--new", type=Path, metavar="DIR", help="root: where new root keys go")
    rotate.add_argument(
        "--replace", action="append", default=[], metavar="ID",
        help="root: a key to replace, by the beginning of its id (default: all), once or more",
    )  # fmt: skip
    rotate.add_argument("--threshold", type=int, metavar="N", help="root: how many must agree")
    rotate.add_argument(
        "--at-once", action="store_true", help="repository: older keys stop signing, for good"
    )
    add_yes(rotate)
    renew = add_depot_command(
        commands, "renew", "sign anew with the same keys", RENEW_EXAMPLE, _renew
    )
    add_keys(renew)
    _add_roots(renew)
    renew.add_argument("--root", action="store_true", help="the root too, with the root keys")
    show = add_depot_command(
        commands, "show", "list roles, keys, thresholds and ends", SHOW_EXAMPLE, _show
    )
    show.add_argument("--anchor", action="store_true", help="print the newest root.json")


def _add_roots(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--roots",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a directory with root keys (default: that of --keys); may be given again",
    )


def _init(arguments: Namespace) -> int:
    from fairlead.hotfix.catalog import add_base
    from fairlead.hotfix.publish.key_change import RootShape, start_depot
    from fairlead.hotfix.publish.publisher import change_catalog

    depot, offline = depot_of(arguments), offline_keys_of(arguments)
    if offline.is_relative_to(depot.directory):
        raise InputError(
            f"{offline} is inside the depot, which is served", field="--keys",
            hint="name a directory outside of it",
        )  # fmt: skip
    shape = RootShape(count=arguments.root_keys, threshold=arguments.threshold)
    signed = start_depot(depot, offline, shape, present())
    base = base_of(__version__) or ""
    change_catalog(depot, lambda catalog: add_base(catalog, base))
    if arguments.json:
        return _show_json(depot, signed)
    sys.stderr.write(
        f"{offline}: {shape.count} root keys, of which {shape.threshold} must agree, and the "
        f"release key: take them away from here\n"
        f"{depot.keys}: the online key and the key of the repositories; they stay\n"
        "an image is baked with what this prints: fairlead keys show --anchor\n"
        f"fixes are taken in for images of {base}, the agent here; others: fairlead hotfix bases\n"
        "fixes are offered nowhere yet: fairlead hotfix region on NAME (fairlead up: local)\n"
    )
    return 0


def _rotate(arguments: Namespace) -> int:
    from fairlead.hotfix.publish.key_change import rotate_role
    from fairlead.hotfix.publish.keys import ONLINE, RELEASE
    from fairlead.hotfix.publish.metadata import root_of

    _refuse_strange_flags(arguments)
    depot, offline = depot_of(arguments), offline_keys_of(arguments)
    if arguments.role == "repository":
        return _rotate_repository(arguments, depot, offline)
    if not is_agreed(arguments, f"replace the {arguments.role} keys? The old ones count no more."):
        return DECLINED
    if arguments.role == "root":
        signed = _rotated_root(arguments, depot, offline)
    else:
        name = RELEASE if arguments.role == "release" else ONLINE
        signed = rotate_role(depot, offline, name, arguments.roots or [offline], present())
    if arguments.json:
        return _show_json(depot, signed)
    version = root_of(signed).version
    sys.stderr.write(f"root {version} names the new key; nodes follow to it at their next boot\n")
    return 0


def _refuse_strange_flags(arguments: Namespace) -> None:
    of_root = {"--new": arguments.new, "--replace": arguments.replace}
    of_root["--threshold"] = arguments.threshold
    strange = [flag for flag, value in of_root.items() if value and arguments.role != "root"]
    if arguments.at_once and arguments.role != "repository":
        strange.append("--at-once")
    if strange:
        raise InputError(f"{', '.join(strange)} means nothing for {arguments.role} keys")


def _rotated_root(arguments: Namespace, depot: Depot, offline: Path) -> Signed:
    from fairlead.hotfix.publish.key_change import RootChange, rotate_root

    if arguments.new is None:
        raise InputError("say where the new root keys go", field="--new", hint="--new DIR")
    change = RootChange(
        directory=arguments.new.absolute(),
        replaced=tuple(arguments.replace),
        threshold=arguments.threshold,
    )
    return rotate_root(depot, offline, arguments.roots or [offline], change, present())


def _rotate_repository(arguments: Namespace, depot: Depot, offline: Path) -> int:
    from fairlead.hotfix.publish.publisher import rotate_repository_key

    question = "stop signing with the older keys of the repositories for good?"
    if arguments.at_once and not is_agreed(arguments, question):
        return DECLINED
    names = rotate_repository_key(depot, offline, present(), at_once=arguments.at_once)
    if arguments.json:
        write_json({"repository": names})
        return 0
    sys.stderr.write(
        f"signs from here on: {', '.join(names)}\n"
        f"bake images with {depot.apt / 'repository.gpg'} and {depot.rpm / 'repository.asc'}\n"
    )
    return 0


def _renew(arguments: Namespace) -> int:
    from fairlead.hotfix.publish.key_change import renew_release, renew_root

    depot, offline = depot_of(arguments), offline_keys_of(arguments)
    if arguments.root:
        signed = renew_root(depot, offline, arguments.roots or [offline], present())
    else:
        signed = renew_release(depot, offline, present())
    return _show_json(depot, signed) if arguments.json else _show_table(depot, signed)


def _show(arguments: Namespace) -> int:
    depot = depot_of(arguments)
    signed = depot.read_signed()
    if arguments.anchor:
        sys.stdout.write(signed.roots[-1].decode())
        return 0
    return _show_json(depot, signed) if arguments.json else _show_table(depot, signed)


def _show_json(depot: Depot, signed: Signed) -> int:
    from fairlead.hotfix.publish.key_list import list_roles

    write_json({"depot": str(depot.directory), "roles": list_roles(depot, signed)})
    return 0


def _show_table(depot: Depot, signed: Signed) -> int:
    from fairlead.cli.screens.keys import role_grid
    from fairlead.cli.screens.show import write_blocks
    from fairlead.hotfix.publish.key_list import list_roles

    write_blocks([role_grid(list_roles(depot, signed))])
    return 0
