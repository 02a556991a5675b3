"""
What a machine that shows a token is answered. Pure: facts come in, an answer goes out.

==========================================  ======  ==========================================
request                                     status  so that
==========================================  ======  ==========================================
any other path                              404     a wrong address is final
any other method                            405     a wrong program is final
bearer missing, malformed or not base64     401     broken user data is final
token unknown, or no longer valid           511     a boot tries again: the service may only
                                                    not know the token yet
no name                                     400     a machine that cannot say who it is is told
another machine's token                     403     a token gives nothing to whoever found it
a pair's token, and no such machine boots   511     a boot tries again: the service may only
                                                    not know the machine yet
the machine has said how its boot ended     410     nothing is given twice, and no word replaces
                                                    the first; the same report again gets 204
node config cannot be served                500     a boot tries again, and the pool shows why;
                                                    of one that is too large, the machine too
ok                                          200     the machine counts as having fetched
report kept                                 204     the machine's word is given
==========================================  ======  ==========================================

A 401 means that no second try can help, so a well-formed token never gets one. Nothing here
repeats what was shown: an answer and a log line never hold a token.
"""

import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from fairlead.contract.boot_report import parse_report
from fairlead.contract.json_text import encode_json
from fairlead.contract.node_parse import parse_node_config
from fairlead.errors import InputError
from fairlead.inputs.bounds import LARGEST_SERVED
from fairlead.payload.bearer import Bearer, Standing, is_good, report_digest
from fairlead.payload.join import Join, put_join
from fairlead.rollout.machines import NodeSettings
from fairlead.rollout.served.config import (
    closed,
    is_about_size,
    opened,
    put_settings,
    size_problem,
)
from fairlead.rollout.served.pool_secrets import PoolSecrets, put_secrets

NODE_CONFIG_PATH = "/v1/node-config"
BOOT_REPORT_PATH = "/v1/boot-report"
METHODS = {NODE_CONFIG_PATH: "GET", BOOT_REPORT_PATH: "POST"}

LARGEST_REPORT = 64 << 10
LONGEST_MACHINE_NAME = 253
NO_SECRETS = PoolSecrets()

_MACHINE_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """
    One answer. `body` is JSON text, or empty.

    problem: why the pair cannot be served, or ''; meaningful for status 200 and 500 only.
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


def refusal_of(method: str, path: str) -> Answer | None:
    """Return the answer to a request that is none of ours, or None."""
    if path not in METHODS:
        return _told(404, "there is nothing at this path")
    if method != METHODS[path]:
        allowed = METHODS[path]
        return _told(405, f"this path takes {allowed} only", {"Allow": allowed})
    return None


def token_shown(authorizations: Sequence[str]) -> str | None:
    """
    Return the token of the Authorization headers, or None if there is no usable one.

    Two such headers are refused: which of them counts would depend on who reads them.
    """
    if len(authorizations) != 1:
        return None
    scheme, _, rest = authorizations[0].strip(" \t").partition(" ")
    token = rest.lstrip(" ")
    if scheme.lower() != "bearer" or not token:
        return None
    try:
        binascii.a2b_base64(token, strict_mode=True)
    except ValueError:  # binascii.Error, or not ASCII
        return None
    return token


def machine_named(header: str) -> str:
    """Return the name that a machine gave itself, or '' if it gave no usable one."""
    is_name = 0 < len(header) <= LONGEST_MACHINE_NAME and _MACHINE_CHARACTERS.issuperset(header)
    return header if is_name else ""


def refusal_of_token(token: str | None, bearer: Bearer | None, now: datetime) -> Answer | None:
    """
    Return the answer to a machine whose token is not good, or None if it is.

    `bearer` was found by the token's hash, so how long a comparison takes tells nothing that
    helps to guess a token.
    """
    if token is None:
        problem = "expected one header Authorization: Bearer TOKEN, the token in base64"
        return _told(401, problem, {"WWW-Authenticate": "Bearer"})
    if bearer is None or not is_good(bearer, token, now):
        return _told(511, "this token is not known, not yet or no longer")
    return None


def refusal_of_machine(bearer: Bearer, machine: str) -> Answer | None:
    """Return the answer to a machine that this good token is not for, or None if it is."""
    if not machine:
        return _told(400, "expected a header Fairlead-Machine with the machine's name")
    if bearer.own is not None and bearer.own.machine != machine:
        return _told(403, "this token is another machine's")
    if bearer.standing is Standing.UNKNOWN:
        return _told(511, "no machine of this name boots with this token, not yet or no longer")
    return None


def refusal_of_fetch(bearer: Bearer) -> Answer | None:
    """Return the answer to a machine that needs no node config any more, or None."""
    if bearer.standing is not Standing.OVER:
        return None
    return _told(410, "this machine has said how its boot ended; its token gives nothing now")


def config_answer(
    bearer: Bearer, join: Join | None = None, secrets: PoolSecrets = NO_SECRETS
) -> Answer:
    """Return the node config of a pair, or why it cannot be served."""
    try:
        body = served_config(bearer.pair.served.node_config, bearer.settings, join, secrets)
        return Answer(status=200, body=body)
    except InputError as error:
        # Which field is wrong is for the pool's owner, in the condition; a machine waits. It is
        # told two numbers where that is all, for its report.
        told = "the node config of this token cannot be served"
        says = f"{told}: {error}" if is_about_size(str(error)) else told
        return replace(_told(500, says), problem=str(error))


def report_answer(body: bytes, bearer: Bearer) -> Answer:
    """Return the answer to a boot report. 204: it may be kept, or it is the one that was."""
    if len(body) > LARGEST_REPORT:
        return too_large()
    if bearer.standing is Standing.OVER:
        # An answer that was lost on its way is asked for again.
        if bearer.said == report_digest(body):
            return Answer(status=204)
        return _told(410, "this machine has said how its boot ended; this is another report")
    try:
        parse_report(body)
    except InputError as error:
        return _told(400, f"not a boot report: {error}")
    return Answer(status=204)


def too_large() -> Answer:
    """Return the answer to a body that is longer than a report may be."""
    return _told(413, f"a boot report has at most {LARGEST_REPORT} bytes")


def unavailable() -> Answer:
    """Return the answer while what is needed cannot be read; a boot tries again."""
    return _told(503, "not available for the moment")


def served_config(
    node_config: str,
    settings: NodeSettings,
    join: Join | None = None,
    secrets: PoolSecrets = NO_SECRETS,
) -> bytes:
    """
    Return a revision's node config with the pool's labels, taints and secrets, and how to join.

    Raises InputError if the contract refuses the result or no agent would read that much.
    """
    document = opened(node_config)
    put_settings(document, settings)
    put_secrets(document, secrets)
    if join is not None:
        put_join(document, join)
    text = closed(document)
    if len(text) > LARGEST_SERVED:
        raise InputError(size_problem(len(text)))
    for problem in parse_node_config(text).problems:
        raise InputError(problem.problem, field=problem.path)
    return text


def _told(status: int, problem: str, headers: Mapping[str, str] | None = None) -> Answer:
    body = encode_json({"error": problem}).encode() + b"\n"
    return Answer(status=status, body=body, headers=headers or {})
