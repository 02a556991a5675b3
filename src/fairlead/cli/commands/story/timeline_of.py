"""The story of a pool from its events; of a machine, its boot from the report it sent as well."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import replace

from fairlead.answering.questions import Questions
from fairlead.answers.machine import MachineDetail
from fairlead.answers.pool import PoolDetail
from fairlead.answers.text import plain
from fairlead.boots.boot import BootTimeline, boot_timeline_of, parse_boots, timeline_fields
from fairlead.boots.draw_page import draw_page
from fairlead.boots.draw_svg import draw_svg
from fairlead.boots.draw_text import draw_text
from fairlead.cli.commands.story.timeline_files import drawing_width, write_drawing
from fairlead.cli.request import find_subject, plane_of, write_json
from fairlead.cli.screens.blocks import line, shown
from fairlead.cli.screens.machine import event_story, story_blocks, story_of
from fairlead.cli.screens.show import write_blocks
from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError


def run_of(arguments: Namespace) -> int:
    """Show what happened to the pool or machine that was named; an exit code."""
    client = plane_of(arguments)
    found = find_subject(client, arguments.name)
    if isinstance(found, PoolDetail):
        return _show_pool(client, arguments)
    boot = boot_of(found)
    if arguments.svg or arguments.html:
        return _write_boot(arguments, found, boot)
    if arguments.json:
        fields = timeline_fields(boot) if boot else None
        write_json({"machine": found.name, "boot": fields, "events": plain(found.events)})
        return 0
    if boot:
        sys.stdout.write(
            draw_text(as_shown(boot), drawing_width(arguments), shows_all=arguments.all)
        )
    else:
        write_blocks([line(no_boot(found))])
    write_blocks([line(), *story_blocks(story_of(found))])
    return 0


def no_boot(machine: MachineDetail) -> str:
    """Return why there is no boot to draw."""
    if machine.report_problem:
        return f"{machine.name}: {machine.report_problem}"
    return f"{machine.name} has sent no boot report"


def _write_boot(arguments: Namespace, machine: MachineDetail, boot: BootTimeline | None) -> int:
    if boot is None:
        raise InputError(no_boot(machine))
    if arguments.svg:
        write_drawing(arguments.svg, draw_svg(as_shown(boot)))
    if arguments.html:
        write_drawing(arguments.html, draw_page(as_shown(boot)))
    return 0


def boot_of(machine: MachineDetail) -> BootTimeline | None:
    """Return the last boot that a machine reported, named after it and its pool."""
    if not machine.report:
        return None
    boot = boot_timeline_of(parse_boots(encode_json(machine.report).encode())[-1])
    return replace(boot, title=f"{machine.name} of the pool {machine.pool}, {boot.title}")


def as_shown(boot: BootTimeline) -> BootTimeline:
    """Return a boot with its causes as every screen tells them: without our own directories."""
    spans = tuple(replace(span, cause=shown(span.cause)) for span in boot.spans)
    return replace(boot, spans=spans)


def _show_pool(client: Questions, arguments: Namespace) -> int:
    if arguments.svg or arguments.html:
        raise InputError("a pool has no boot to draw", field=arguments.name, hint="name a machine")
    events = client.events(arguments.name).events
    if arguments.json:
        write_json({"pool": arguments.name, "events": plain(events)})
    else:
        write_blocks(story_blocks(event_story(events)))
    return 0
