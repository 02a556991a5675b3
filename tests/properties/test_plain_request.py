"""What is read without a general parser, a general parser reads alike."""

from __future__ import annotations

import h11
from hypothesis import example, given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.embedded.serve.plain_request import plain_answer, read_plain_request

PLAIN = (
    b"GET /v1/node-config HTTP/1.1\r\nHost: 127.0.0.1:8443\r\nAuthorization: Bearer dG9rZW4=\r\n"
    b"Fairlead-Machine: workers-a1\r\nConnection: close\r\n\r\n"
)
LINES = st.sampled_from(
    [
        b"Host: x", b"Host: ", b"Host:x", b"host: x ", b"Authorization: Bearer a", b"A: b",
        b"Connection: close", b"Connection: Close", b"Connection: keep-alive", b"Upgrade: h2c",
        b"Content-Length: 0", b"Content-Length: 5", b"Transfer-Encoding: chunked",
        b"Expect: 100-continue", b" folded", b"A : b", b"A\t: b", b"A: b\tc", b"A: \xff", b"A: \0",
        b"A: b\r", b"A: b\nHost: y", b"TE: trailers", b"Fairlead-Machine: workers-a1", b"",
    ]
)  # fmt: skip
REQUESTS = st.builds(
    lambda first, lines, end: b"\r\n".join([first, *lines]) + end,
    st.sampled_from(
        [
            b"GET /v1/node-config HTTP/1.1", b"GET / HTTP/1.0", b"GET /a?b HTTP/1.1",
            b"GET /v1/hotfix?component=fairlead-node&version=202611.16.0 HTTP/1.1",
            b"GET /a? HTTP/1.1", b"GET /a??b HTTP/1.1", b"GET /depot/apt/Release HTTP/1.1",
            b"GET /%2e HTTP/1.1", b"POST / HTTP/1.1", b"GET http://x/ HTTP/1.1", b"GET  / HTTP/1.1",
            b"GET / HTTP/1.2", b"GET /", b"get / HTTP/1.1", b"GET /../a HTTP/1.1",
        ]
    ),
    st.lists(LINES, max_size=5),
    st.sampled_from([b"\r\n\r\n", b"\r\n", b"\n\n", b"\r\n\r\n\r\n", b"\r\n\r\nGET / "]),
)  # fmt: skip


@given(REQUESTS)
@example(PLAIN)
@settings(max_examples=examples(500))
def test_whatever_is_taken_for_plain_is_one_whole_request_to_h11(data: bytes) -> None:
    scope = read_plain_request(data)
    if scope is None:
        return
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    request = connection.next_event()

    assert isinstance(request, h11.Request)
    assert isinstance(connection.next_event(), h11.EndOfMessage)
    assert connection.trailing_data == (b"", False)
    assert scope["method"].encode() == request.method
    path, _, query = request.target.partition(b"?")
    assert scope["raw_path"] == path == scope["path"].encode()
    assert scope["query_string"] == query
    assert scope["http_version"].encode() == request.http_version
    assert scope["headers"] == list(request.headers)


def test_the_request_of_a_machine_is_plain() -> None:
    scope = read_plain_request(PLAIN)

    assert scope is not None
    assert (scope["method"], scope["path"]) == ("GET", "/v1/node-config")
    assert scope["headers"] == [
        (b"host", b"127.0.0.1:8443"),
        (b"authorization", b"Bearer dG9rZW4="),
        (b"fairlead-machine", b"workers-a1"),
        (b"connection", b"close"),
    ]


def test_the_question_for_a_pointer_is_plain() -> None:
    asked = b"GET /v1/hotfix?component=fairlead-node&version=202611.16.0 "
    scope = read_plain_request(PLAIN.replace(b"GET /v1/node-config ", asked))

    assert scope is not None
    assert (scope["path"], scope["raw_path"]) == ("/v1/hotfix", b"/v1/hotfix")
    assert scope["query_string"] == b"component=fairlead-node&version=202611.16.0"


def test_a_long_file_goes_out_in_pieces_by_the_general_parser() -> None:
    assert read_plain_request(PLAIN.replace(b"/v1/node-config", b"/depot/apt/Release")) is None


def test_a_longer_one_is_left_to_the_general_parser() -> None:
    assert read_plain_request(PLAIN.replace(b"dG9rZW4=", b"d" * 13_000)) is None


def test_an_answer_goes_out_as_a_general_parser_would_read_it() -> None:
    start = {"status": 511, "headers": [(b"content-length", b"5"), (b"connection", b"close")]}
    sent = plain_answer([start, {"body": b"hel"}, {"body": b"lo"}], [(b"date", b"now")])
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(sent)

    answer, data, end = (connection.next_event() for _ in range(3))

    assert isinstance(answer, h11.Response)
    assert isinstance(data, h11.Data)
    assert isinstance(end, h11.EndOfMessage)
    assert (answer.status_code, bytes(data.data)) == (511, b"hello")
    assert (b"date", b"now") in list(answer.headers)
