"""`fairlead userdata`: render what a machine boots from, and see what somebody's user data does."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from pathlib import Path

from fairlead.cli.failure import print_error
from fairlead.cli.files.private_file import write_private
from fairlead.cli.files.typed_file import read_typed_file
from fairlead.cli.flags import add_form
from fairlead.cli.request import write_json
from fairlead.cli.screens.inspection import inspection_blocks, inspection_fields
from fairlead.cli.screens.show import write_blocks
from fairlead.contract.boot_document import DEFAULT_DEADLINE_S, BootDocument
from fairlead.contract.json_text import Pairs, parse_json
from fairlead.contract.node_parse import parse_node_config
from fairlead.contract.node_paths import LAYOUTS
from fairlead.contract.node_settings import problems_of
from fairlead.contract.node_validate import validate
from fairlead.errors import InputError
from fairlead.userdata.cse import cse_command
from fairlead.userdata.delivery import (
    Delivery,
    Fetch,
    Inline,
    features_in,
    is_feature,
    refuse_nul,
)
from fairlead.userdata.ignition import DEFAULT_VERSION
from fairlead.userdata.inspect import inspect_user_data
from fairlead.userdata.limits import CLOUDS
from fairlead.userdata.render import FORMATS, Target, render_user_data

RENDER_EXAMPLE = """\
example: a NoCloud seed, ready for a machine
  echo '{"version": "v1"}' > node-config.json
  fairlead userdata render --config node-config.json --format boothook --output user-data
  fairlead userdata inspect user-data

On stdout, or in --output FILE with mode 0600: the document may hold secrets. What the config
lacks is a warning on stderr; what makes it unusable is an error that names the field.
"""


def add_commands(parser: ArgumentParser) -> None:
    """Add render, inspect and cse-command."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    render = commands.add_parser(
        "render",
        help="write the user data of a machine",
        description="Write the user data of a machine.",
        epilog=RENDER_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    _add_render(render)
    inspect = commands.add_parser(
        "inspect", help="show parts, sizes, what is inside, and every known problem"
    )
    inspect.add_argument("file", type=Path, help="user data in any format; - is stdin")
    add_form(inspect)
    inspect.set_defaults(run=_inspect)
    cse = commands.add_parser(
        "cse-command", help="print the command that a cloud runs to wait for the verdict"
    )
    cse.add_argument("--layout", choices=LAYOUTS, default="fairlead")
    cse.set_defaults(run=_cse_command)


def _add_render(parser: ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="node config; - is stdin")
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument(
        "--cloud",
        choices=tuple(CLOUDS),
        default="nocloud",
        help="its size limit, and whether its API wants base64 (default: nocloud)",
    )
    parser.add_argument("--layout", choices=LAYOUTS, default="fairlead")
    parser.add_argument(
        "--feature", action="append", default=[], metavar="KEY=VALUE", help="may be given again"
    )
    parser.add_argument("--ignition-version", default=DEFAULT_VERSION, metavar="VERSION")
    parser.add_argument("--output", type=Path, metavar="FILE", help="written with mode 0600")
    fetch = parser.add_argument_group("fetch delivery: the node config stays on a server")
    fetch.add_argument("--fetch", action="store_true", help="instead of --config")
    fetch.add_argument("--endpoint", metavar="URL", help="https:// address of the node config")
    fetch.add_argument("--ca", type=Path, metavar="FILE", help="PEM; the only CA to be trusted")
    fetch.add_argument("--token-file", type=Path, metavar="FILE", help="bearer token")
    fetch.add_argument(
        "--report", default="", metavar="URL", help="https:// address for the boot report"
    )
    fetch.add_argument("--deadline", type=float, default=DEFAULT_DEADLINE_S, metavar="SECONDS")
    parser.set_defaults(run=_render)


def _render(arguments: Namespace) -> int:
    delivery = _fetch_delivery(arguments) if arguments.fetch else _inline_delivery(arguments)
    target = Target(
        format=arguments.format,
        cloud=arguments.cloud,
        layout=arguments.layout,
        features=_features_of(arguments.feature),
        ignition_version=arguments.ignition_version,
    )
    write_private(arguments.output, render_user_data(delivery, target))
    return 0


def _inline_delivery(arguments: Namespace) -> Delivery:
    if arguments.report:
        raise InputError("--report needs --fetch: only a boot document names whom to tell")
    if arguments.config is None:
        raise InputError("--config FILE is needed, or --fetch")
    config = read_typed_file(arguments.config)
    # First, because a NUL is not JSON either, and this message is the better one.
    refuse_nul(config)
    try:
        value = parse_json(config, encoding_errors="surrogateescape")
    except InputError as error:
        raise InputError(error.problem, field=str(arguments.config)) from error
    if not isinstance(value, Pairs):
        raise InputError("a node config must be a JSON object", field=str(arguments.config))
    parsed = parse_node_config(config)
    found = [*parsed.violations, *parsed.problems, *validate(parsed.config, arguments.layout)]
    for problem in [*found, *problems_of(parsed.config)]:
        print_error(f"warning: {problem}")
    delivery = Inline(config)
    for name, value in features_in(delivery).items():
        if not is_feature(name, value):
            print_error(
                f"warning: enabled_features {name!r} is not KEY=VALUE on one line, left out"
            )
    return delivery


def _fetch_delivery(arguments: Namespace) -> Delivery:
    needed = {"--endpoint": "endpoint", "--ca": "ca", "--token-file": "token_file"}
    missing = [flag for flag, name in needed.items() if getattr(arguments, name) is None]
    if missing:
        raise InputError(f"--fetch needs {', '.join(missing)} too")
    if arguments.config is not None:
        raise InputError("--fetch and --config exclude each other")
    document = BootDocument(
        arguments.endpoint,
        _read_text(arguments.ca),
        _read_text(arguments.token_file).strip(),
        arguments.deadline,
        arguments.report,
    )
    return Fetch(document)


def _features_of(words: list[str]) -> dict[str, str]:
    features: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not is_feature(name, value):
            print_error(f"warning: --feature {word!r} is not KEY=VALUE on one line, left out")
            continue
        features[name] = value
    return features


def _inspect(arguments: Namespace) -> int:
    inspection = inspect_user_data(read_typed_file(arguments.file))
    if arguments.json:
        write_json(inspection_fields(inspection))
    else:
        write_blocks(inspection_blocks(inspection))
    return 0


def _cse_command(arguments: Namespace) -> int:
    sys.stdout.write(cse_command(arguments.layout) + "\n")
    return 0


def _read_text(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except UnicodeDecodeError as error:
        raise InputError("must be plain ASCII text", field=str(path)) from error
