"""The story of a pool from its events; of a machine, its boot from the report it sent as well."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from fairlead.boots.boot import BootTimeline, boot_timeline_of, parse_boots, timeline_fields
from fairlead.boots.draw_page import draw_page
from fairlead.boots.draw_svg import draw_svg
from fairlead.boots.draw_text import draw_text
from fairlead.cli.commands.timeline_files import drawing_width, write_drawing
from fairlead.cli.request import ask, ask_for_subject, write_json
from fairlead.cli.screens.blocks import line, write_blocks
from fairlead.cli.screens.machine import event_blocks, story_of
from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError


def run_of(arguments: Namespace) -> int:
    """Show what happened to the pool or machine that was named; an exit code."""
    kind, found = ask_for_subject(arguments, arguments.name)
    if kind == "pool":
        return _show_pool(arguments)
    boot = boot_of(found)
    if arguments.svg or arguments.html:
        if boot is None:
            raise InputError("has sent no boot report", field=arguments.name)
        if arguments.svg:
            write_drawing(arguments.svg, draw_svg(boot))
        if arguments.html:
            write_drawing(arguments.html, draw_page(boot))
        return 0
    if arguments.json:
        fields = timeline_fields(boot) if boot else None
        write_json({"machine": found["name"], "boot": fields, "events": found["events"]})
        return 0
    if boot:
        sys.stdout.write(draw_text(boot, drawing_width(arguments), shows_all=arguments.all))
    else:
        write_blocks([line(f"{found['name']} has sent no boot report")])
    write_blocks([line(), *event_blocks(story_of(found))])
    return 0


def boot_of(machine: dict[str, Any]) -> BootTimeline | None:
    """Return the last boot that a machine reported."""
    if not machine["report"]:
        return None
    return boot_timeline_of(parse_boots(encode_json(machine["report"]).encode())[-1])


def _show_pool(arguments: Namespace) -> int:
    from urllib.parse import urlencode

    if arguments.svg or arguments.html:
        raise InputError("a pool has no boot to draw", field=arguments.name, hint="name a machine")
    answer = ask(arguments, "GET", f"/v1/events?{urlencode({'pool': arguments.name})}")
    if arguments.json:
        write_json({"pool": arguments.name, "events": answer["events"]})
    else:
        write_blocks(event_blocks(answer["events"]))
    return 0
