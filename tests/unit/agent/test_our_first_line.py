"""How a fix of ours is told from another program."""

from fairlead.agent.stages.other_agent import OUR_FIRST_LINE
from shared_cases import REPOSITORY


def test_a_program_of_ours_begins_as_the_launcher_does() -> None:
    launcher = (REPOSITORY / "deploy/node/launcher.py").read_bytes()

    assert launcher.startswith(OUR_FIRST_LINE)
