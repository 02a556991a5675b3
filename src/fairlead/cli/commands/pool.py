"""`fairlead pool`: pools of machines, and the few things an owner does to one by hand."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from fairlead.cli.commands.history import add_history
from fairlead.cli.flags import add_command, add_dry_run, add_yes
from fairlead.cli.output import FORM, WIDE, as_typed
from fairlead.cli.request import plane_of, write_answer
from fairlead.cli.watching import add_watch, show_answer
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.answers.reply import PatchedPool
    from fairlead.cli.flags import Commands
    from fairlead.inputs.leaf import Json

LIST_EXAMPLE = """\
example: every pool, and what it waits for
  fairlead pool list
"""
SHOW_EXAMPLE = """\
example: one pool with its machines and conditions, and the document to edit and apply again
  fairlead pool show workers
  fairlead pool show workers --yaml
"""
APPLY_EXAMPLE = """\
example: as `fairlead apply`, for files that hold pools only
  fairlead pool apply -f examples/pool.yaml --yes
"""
SCALE_EXAMPLE = """\
example: five machines; those that run stay
  fairlead pool scale workers 5

It asks before machines are removed, and before a pool more than doubles or gets more than 50
machines at once; without a terminal it then needs --yes (exit 2, nothing is changed). exit code: 1
if you said no; 5 if somebody changed the pool while you were asked.
"""
PAUSE_EXAMPLE = """\
example: replace nothing for two hours
  fairlead pool pause workers --until 2h

MOMENT is an RFC 3339 moment (2026-11-20T22:00:00Z) or a duration from now (90s, 30m, 2h, 7d).
Conditions and drift stay current; scaling and repair go on unless --scaling-too is given.
"""
RESUME_EXAMPLE = """\
example: end a pause; if the rollout halted itself, let it go on once
  fairlead pool resume workers
"""
FORCE_EXAMPLE = """\
example: replace every machine once, although nothing changed
  fairlead pool force workers --yes

Each distinct value of --value fires once; without it, the present moment is the value. Held
platform changes go along.
"""
ADOPT_EXAMPLE = """\
example: replace the machines that lack the newest hotfix, within the pool's budgets and windows
  fairlead pool adopt workers --yes

It shows which machines these are and asks; exactly they are replaced, and those that have the fix
stay. Without --fix it is the fix that machines of the pool lack by what is published. A fix that is
withdrawn or halted meanwhile ends it. What was asked for is in the pool's document, as
rollout.replaceWithout. exit code: 1 if you said no; 5 if somebody changed the pool while you were
asked.
"""
DELETE_EXAMPLE = """\
example: the pool and all its machines
  fairlead pool delete workers --yes
"""


def add_commands(parser: ArgumentParser) -> None:
    """Add the commands of pool."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_looks(commands)
    _add_apply(add_command(commands, "apply", "apply a file of pools", APPLY_EXAMPLE, _apply))
    _add_scale(add_command(commands, "scale", "change how many machines", SCALE_EXAMPLE, _scale))
    pause = add_command(commands, "pause", "let rollouts wait", PAUSE_EXAMPLE, _pause)
    _add_name(pause)
    pause.add_argument("--until", metavar="MOMENT", help="when the pause ends by itself")
    pause.add_argument("--scaling-too", action="store_true", help="scaling and repair wait as well")
    add_dry_run(pause)
    purpose = "end a pause, and let a halted rollout go on"
    resume = add_command(commands, "resume", purpose, RESUME_EXAMPLE, _resume)
    _add_name(resume)
    add_dry_run(resume)
    force = add_command(commands, "force", "replace every machine once", FORCE_EXAMPLE, _force)
    _add_name(force)
    force.add_argument("--value", metavar="TEXT", help="fires if it was not seen before")
    add_yes(force)
    add_dry_run(force)
    purpose = "replace the machines that lack a hotfix"
    adopt = add_command(commands, "adopt", purpose, ADOPT_EXAMPLE, _adopt)
    _add_name(adopt)
    adopt.add_argument("--fix", metavar="VERSION", help="this one, as 202604.01.3")
    add_yes(adopt)
    add_dry_run(adopt)
    purpose = "remove a pool and its machines"
    delete = add_command(commands, "delete", purpose, DELETE_EXAMPLE, _delete)
    _add_name(delete)
    add_yes(delete)
    add_dry_run(delete)


def _add_looks(commands: Commands) -> None:
    add_watch(add_command(commands, "list", "list the pools", LIST_EXAMPLE, _list))
    show = add_command(commands, "show", "show one pool in full", SHOW_EXAMPLE, _show)
    _add_name(show)
    show.add_argument("--yaml", action="store_true", help="its document, to edit and apply again")
    add_watch(show)
    add_history(commands)


def _add_name(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the pool")


def _add_scale(parser: ArgumentParser) -> None:
    _add_name(parser)
    parser.add_argument("replicas", type=int, metavar="N", help="how many machines")
    add_yes(parser)
    add_dry_run(parser)


def _add_apply(parser: ArgumentParser) -> None:
    from fairlead.cli.commands.apply import add_apply_flags

    add_apply_flags(parser, needs_file=True)


def _list(arguments: Namespace) -> int:
    from fairlead.cli.screens.pool import pools_blocks

    is_wide = FORM.get() == WIDE
    return show_answer(
        arguments, plane_of(arguments).pools, lambda found: pools_blocks(found, is_wide=is_wide)
    )


def _show(arguments: Namespace) -> int:
    client = plane_of(arguments)
    if arguments.yaml:
        from fairlead.cli.files.yaml_text import yaml_of

        sys.stdout.write(yaml_of(client.pool(arguments.name).document))
        return 0
    from fairlead.cli.clock import present
    from fairlead.cli.screens.pool import pool_blocks

    return show_answer(
        arguments,
        lambda: client.pool(arguments.name),
        lambda pool: pool_blocks(pool, present()),
    )


def _apply(arguments: Namespace) -> int:
    from fairlead.cli.commands.apply import apply_documents
    from fairlead.cli.files.documents import read_documents

    documents = read_documents(arguments.file)
    for document in documents:
        if document.kind != "NodePool":
            raise InputError(f"found {document.title}, expected pools", hint="use fairlead apply")
    return apply_documents(arguments, documents)


def _scale(arguments: Namespace) -> int:
    from fairlead.cli.confirm import DECLINED, is_agreed
    from fairlead.telling.question import scale_question

    patch = {"replicas": arguments.replicas}
    client = plane_of(arguments)
    shown = client.patch_pool(arguments.name, patch, dry_run=True)
    question = scale_question(shown.plan)
    if arguments.dry_run or not question:
        return change_pool(arguments, patch)
    if not arguments.json:
        _show_plan(shown)
    if not is_agreed(arguments, question):
        return DECLINED
    answer = client.patch_pool(arguments.name, patch, shown.plan, shown.base, dry_run=False)
    if arguments.json:
        write_answer(answer)
    return 0


def _pause(arguments: Namespace) -> int:
    from fairlead.cli.files.moment_text import parse_moment

    pause: object = True
    if arguments.until or arguments.scaling_too:
        # Both are named, since a merge patch keeps what it does not name.
        until = parse_moment(arguments.until) if arguments.until else None
        pause = {"until": until, "scalingToo": True if arguments.scaling_too else None}
    undo = f"fairlead pool resume {arguments.name} ends the pause"
    return change_pool(arguments, {"paused": pause}, undo)


def _resume(arguments: Namespace) -> int:
    from fairlead.cli.files.moment_text import fresh_value

    pool = plane_of(arguments).pool(arguments.name)
    patch: dict[str, Json] = {}
    if pool.is_paused:
        patch["paused"] = None
    if pool.halted:
        patch["rollout"] = {"resume": fresh_value()}
    if not patch and not arguments.json:
        sys.stderr.write(f"{arguments.name} is neither paused nor halted\n")
        return 0
    return change_pool(arguments, patch, base=pool.base)


def _force(arguments: Namespace) -> int:
    from fairlead.cli.files.moment_text import fresh_value

    patch = {"force": arguments.value or fresh_value()}
    return _change_as_shown(arguments, patch, "forced")


def _adopt(arguments: Namespace) -> int:
    from fairlead.cli.files.moment_text import fresh_value

    fix = arguments.fix or _lacked_fix(arguments)
    if not fix:
        if arguments.json:
            write_answer(plane_of(arguments).pool(arguments.name))
        else:
            sys.stderr.write(f"no machine of {arguments.name} lacks a hotfix\n")
        return 0
    without = {"fix": fix, "request": fresh_value()}
    return _change_as_shown(arguments, {"rollout": {"replaceWithout": without}}, "asked for")


def _lacked_fix(arguments: Namespace) -> str:
    """Return the one fix that machines of the pool lack, or ''. Raises InputError for several."""
    pool = plane_of(arguments).pool(arguments.name)
    if pool.fixes_problem:
        raise InputError(pool.fixes_problem)
    versions = [one.version for one in pool.fixes if not one.stopped]
    if len(versions) > 1:
        found = ", ".join(versions)
        raise InputError(f"its machines lack several: {found}", hint="say which with --fix VERSION")
    return next(iter(versions), "")


def _change_as_shown(arguments: Namespace, patch: Mapping[str, Json], done: str) -> int:
    """Show what fields of a pool do, ask, and do exactly that; an exit code."""
    from fairlead.cli.confirm import DECLINED, is_agreed
    from fairlead.telling.counted import counted

    client = plane_of(arguments)
    shown = client.patch_pool(arguments.name, patch, dry_run=True)
    if arguments.dry_run:
        return _say_plan(arguments, shown)
    if not arguments.json:
        _show_plan(shown)
    disturbed = len(shown.plan.disturbed)
    if disturbed and not is_agreed(arguments, f"disturb {counted(disturbed)}?"):
        return DECLINED
    answer = client.patch_pool(arguments.name, patch, shown.plan, shown.base, dry_run=False)
    if arguments.json:
        write_answer(answer)
    else:
        watch = as_typed(f"fairlead rollout watch {arguments.name}")
        sys.stderr.write(f"{done}; {watch} follows it\n")
    return 0


def change_pool(
    arguments: Namespace, patch: Mapping[str, Json], undo: str = "", base: str = ""
) -> int:
    """
    Change fields of a pool's spec, as it is by then, and say what that does; an exit code.

    base: of the document that the change follows from, if it follows from one.
    """
    client, dry_run = plane_of(arguments), arguments.dry_run
    answer = client.patch_pool(arguments.name, patch, None, base, dry_run=dry_run)
    code = _say_plan(arguments, answer)
    if undo and not arguments.json and not arguments.dry_run:
        sys.stderr.write(as_typed(undo) + "\n")
    return code


def _say_plan(arguments: Namespace, answer: PatchedPool) -> int:
    if arguments.json:
        write_answer(answer)
    else:
        _show_plan(answer)
    return 0


def _show_plan(answer: PatchedPool) -> None:
    from fairlead.cli.screens.plan import plan_blocks
    from fairlead.cli.screens.show import write_blocks

    write_blocks(plan_blocks([answer.plan]))
    sys.stdout.flush()


def _delete(arguments: Namespace) -> int:
    from fairlead.cli.confirm import DECLINED, is_agreed
    from fairlead.telling.counted import counted, names_text

    client = plane_of(arguments)
    shown = client.delete_pool(arguments.name, dry_run=True)
    leaving = counted(len(shown.machines))
    if not arguments.dry_run:
        if not is_agreed(arguments, f"remove the pool {arguments.name} and {leaving}?"):
            return DECLINED
        shown = client.delete_pool(arguments.name, shown, dry_run=False)
    if arguments.json:
        write_answer(shown)
    else:
        verb = "would leave" if arguments.dry_run else "leaving"
        names = f": {names_text(shown.machines)}" if shown.machines else ""
        sys.stdout.write(f"{arguments.name} {verb} with {leaving}{names}\n")
    return 0
