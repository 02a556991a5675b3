"""`fairlead hotfix token`: a join token, with which a machine proves who it is."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from fairlead.cli.flags import add_form, add_state, describe_command
from fairlead.cli.request import write_json
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.cli.flags import Commands

EXAMPLE = """\
example: a machine in a rack, which asks for its fix and reports once
  head -c 32 /dev/urandom | base64 > join.key; chmod 600 join.key
  fairlead hotfix token rack-7 --join-key join.key --region local --uses 2 > rack-7.token

The service that is to take it runs with `fairlead hotfix serve --join-key join.key`. The token is a
secret: it is printed, and kept nowhere.
"""

LONGEST_HOURS = 366 * 24
LARGEST_KEY = 4096
NONCE_BYTES = 16


def add(commands: Commands) -> None:
    """Add token to the commands of hotfix."""
    purpose = "make a join token, with which a machine proves who it is"
    parser = commands.add_parser("token", help=purpose)
    describe_command(parser, purpose[0].upper() + purpose[1:] + ".", EXAMPLE, _token)
    parser.add_argument("machine", metavar="MACHINE", help="the name of the machine")
    parser.add_argument("--join-key", type=Path, required=True, metavar="FILE", help="signs it")
    parser.add_argument("--region", required=True, metavar="NAME", help="where the machine is")
    parser.add_argument("--pool", default="", metavar="NAME", help="that the machine belongs to")
    parser.add_argument(
        "--hours", type=int, default=24, metavar="N", help="until it ends (default: 24)"
    )
    parser.add_argument(
        "--uses",
        type=int,
        default=0,
        metavar="N",
        help="how often it may be shown; 0 is any number of times (default: 0)",
    )
    add_form(parser)
    add_state(parser)


def _token(arguments: Namespace) -> int:
    from datetime import timedelta
    from secrets import token_hex

    from fairlead.cli.clock import present
    from fairlead.hotfix.service.attestation.join import Joining, issue_token

    if not 0 < arguments.hours <= LONGEST_HOURS:
        problem = f"found {arguments.hours}, expected 1 to {LONGEST_HOURS}"
        raise InputError(problem, field="--hours")
    joining = Joining(
        machine=arguments.machine,
        region=arguments.region,
        pool=arguments.pool,
        until=present() + timedelta(hours=arguments.hours),
        nonce=token_hex(NONCE_BYTES),
        uses=arguments.uses,
    )
    token = issue_token(joining, _read(arguments.join_key))
    if arguments.json:
        write_json({"machine": joining.machine, "token": token})
    else:
        sys.stdout.write(f"{token}\n")
    return 0


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(LARGEST_KEY).strip()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}", field="--join-key") from None
