"""
Tokens by a program that a kubeconfig names, as clouds have them: ExecCredential, v1 and v1beta1.

lightkube knows v1beta1 alone, and tells the program nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading

import msgspec
from lightkube.config.models import UserExec

from fairlead.errors import InputError
from fairlead.kube.answer import UNAUTHORIZED, Asked, Shown

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1", f"{GROUP}/v1alpha1")

# Seconds. Some let a person log in meanwhile; what they say to that person goes to the terminal.
DEADLINE_S = 120


class ProgramLogin:
    """Shows a token of a program, and asks for another one when the server takes it no more."""

    def __init__(self, named: UserExec) -> None:
        if named.apiVersion not in VERSIONS:
            raise InputError(
                f"the kubeconfig's program speaks {named.apiVersion}, expected {VERSIONS[0]}"
            )
        self._named = named
        self._token = ""
        self._lock = threading.Lock()

    def sync_auth_flow(self, request: Asked) -> Shown:
        """Send a request, once more with a new token if the one that is known is refused."""
        known = self._token
        if known:
            request.headers["Authorization"] = f"Bearer {known}"
            answer = yield request
            if answer.status_code != UNAUTHORIZED:
                return
        request.headers["Authorization"] = f"Bearer {self._other_than(known)}"
        yield request

    def _other_than(self, refused: str) -> str:
        """Return a token; of threads that are refused at once, one asks for it."""
        with self._lock:
            if self._token == refused:
                self._token = _token_of(self._named, self._said())
            return self._token

    def _said(self) -> bytes:
        named = self._named
        about = {"apiVersion": named.apiVersion, "kind": "ExecCredential"}
        info = json.dumps({**about, "spec": {"interactive": False}})
        more = {one.name: one.value for one in named.env or ()}
        environment = {**os.environ, "KUBERNETES_EXEC_INFO": info, **more}
        try:
            ran = subprocess.run(  # noqa: S603 - the kubeconfig's owner names it, as for kubectl
                [named.command, *(named.args or ())],
                env=environment,
                stdout=subprocess.PIPE,
                timeout=DEADLINE_S,
                check=True,
            )
        except FileNotFoundError as error:
            raise _refused(named, "is not there") from error
        except OSError as error:
            raise _refused(named, f"cannot be run: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise _refused(named, f"gave no token in {DEADLINE_S} s") from error
        except subprocess.CalledProcessError as error:
            raise _refused(named, f"ended with {error.returncode}") from error
        return ran.stdout


def _token_of(named: UserExec, said: bytes) -> str:
    try:
        status = (msgspec.json.decode(said) or {}).get("status") or {}
        token = status.get("token")
    except (msgspec.DecodeError, AttributeError) as error:
        raise _refused(named, "printed no ExecCredential") from error
    if isinstance(token, str) and token:
        return token
    if "clientCertificateData" in status:
        raise _refused(named, "gives a certificate, and only tokens are taken")
    raise _refused(named, "printed no token")


def _refused(named: UserExec, why: str) -> InputError:
    hint = " ".join((named.installHint or "").split())
    return InputError(f"the program {named.command} of the kubeconfig {why}", hint=hint)
