"""Feature flags are read, never run."""

import pytest

from fairlead.contract.feature_file import parse_features


@pytest.mark.parametrize(
    ("text", "features"),
    [
        (b"A=1\nB=2", {"A": "1", "B": "2"}),
        (b"A=1\nA=2\n", {"A": "2"}),
        (b"# A=1\n\n  \n#\n", {}),
        (b'A= true\nB=true \nC="true"\n', {"A": " true", "B": "true ", "C": '"true"'}),
        (b"A=true\r\n", {"A": "true\r"}),
        (b"A=$(reboot)\nB=`reboot`;x\n", {"A": "$(reboot)", "B": "`reboot`;x"}),
        (b"A=b=c=\n", {"A": "b=c="}),
        (b"A=\n", {"A": ""}),
        (b" A=1\nA =1\nexport B=1\n9A=1\nA-B=1\n=1\n", {}),
        (b"_a9=1\n", {"_a9": "1"}),
        (b"JUST_A_NAME\n", {}),
        ("\u00c4=1\nA\u00e9=1\n".encode(), {}),
        (b"A=\xff\n", {"A": "\udcff"}),
        (b"A=x\0y\nB=1\n", {"B": "1"}),
        (b"", {}),
    ],
)
def test_only_plain_assignments_count_and_values_are_literal(
    text: bytes, features: dict[str, str]
) -> None:
    assert parse_features(text) == features
