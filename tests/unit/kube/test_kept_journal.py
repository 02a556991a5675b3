"""What a NodePool keeps of its events stays as it was written, and costs nothing to keep."""

import json

from fairlead.kube.resource import NODE_POOLS
from unit.kube.one_operator import one_operator


def test_an_event_is_written_again_as_the_text_that_it_was() -> None:
    with one_operator() as one:
        one.declare()
        one.passes(3)
        *others, last = one.status()["journal"]
        # As a later version may have written it, with a field more and blanks.
        later = json.dumps({**json.loads(last), "later": "?"}, indent=1)
        found = one.server.get(NODE_POOLS, "workers")
        assert found is not None
        found["status"]["journal"] = [*others, later]
        one.declare(generation=2, replicas=3)
        one.passes(2)

        journal = one.status()["journal"]
    assert journal[: len(others) + 1] == [*others, later]


def test_an_event_that_cannot_be_read_is_not_written_again() -> None:
    with one_operator() as one:
        one.declare()
        one.passes(3)
        before = one.status()["journal"]
        found = one.server.get(NODE_POOLS, "workers")
        assert found is not None
        found["status"]["journal"] = ["{", "[]", *before]
        one.declare(generation=2, replicas=3)
        one.passes(2)

        journal = one.status()["journal"]
    assert journal[: len(before)] == before


def test_of_many_events_the_last_hundred_are_kept() -> None:
    with one_operator() as one:
        one.declare()
        one.passes(3)
        *_, last = one.status()["journal"]
        found = one.server.get(NODE_POOLS, "workers")
        assert found is not None
        found["status"]["journal"] = [
            json.dumps({**json.loads(last), "key": f"k{number}"}) for number in range(101)
        ]
        one.declare(generation=2, replicas=3)
        one.passes(2)

        keys = [json.loads(text)["key"] for text in one.status()["journal"]]
    assert (len(keys), keys[0], keys[-1]) == (100, "k1", "k100")
