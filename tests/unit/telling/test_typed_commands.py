"""Commands that answers suggest name the control plane that was asked."""

import pytest

from fairlead.telling.typed import typed_machine, typed_pool, typed_text
from unit.telling.answers import make_machine, make_pool

CLUSTER = "fairlead --kube -n team-a"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("fairlead pool resume workers", "fairlead --kube -n team-a pool resume workers"),
        (
            "fairlead apply -f FILE, or fairlead pool delete w.",
            "fairlead --kube -n team-a apply -f FILE, or fairlead --kube -n team-a pool delete w.",
        ),
        ("fairlead hotfix list shows what is published", None),
        ("see docs of fairlead", None),
    ],
)
def test_commands_in_a_sentence_begin_with_what_was_typed(text: str, typed: str | None) -> None:
    assert typed_text(text, CLUSTER) == (typed or text)
    assert typed_text(text, "fairlead") == text


def test_every_way_out_of_a_pool_and_a_machine_does() -> None:
    resume, delete = "fairlead pool resume workers", "fairlead machine delete workers-1"
    way = {"command": resume, "says": "ends the pause"}
    verdict = {"is_complete": False, "needs": "it", "command": resume, "ways": [way]}
    fix = {"version": "202611.16.1", "since": "2026-11-20T11:58:00.000Z", "machines": 1}
    adopt = "fairlead pool adopt workers replaces those without it"
    pool = typed_pool(make_pool(verdict=verdict, fixes=[{**fix, "says": adopt}]), CLUSTER)
    told = {"baked": "202611.16.0", "used": "", "says": adopt}
    machine = typed_machine(make_machine(sentence=f"{delete} --force.", fix=told), CLUSTER)

    assert pool.verdict.command == "fairlead --kube -n team-a pool resume workers"
    assert pool.verdict.ways[0].command == pool.verdict.command
    assert pool.fixes[0].says.startswith("fairlead --kube -n team-a pool adopt workers ")
    assert machine.sentence == "fairlead --kube -n team-a machine delete workers-1 --force."
    assert machine.fix is not None
    assert machine.fix.says == pool.fixes[0].says
    assert typed_pool(make_pool(), CLUSTER) == make_pool()
