"""People with a role of ours, who type commands."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from kube.cluster import TestCluster
from kube.fleet import NAMESPACE

ROLES = Path(__file__).parents[2] / "deploy" / "kube" / "roles"
TIMEOUT_S = 120


class Person:
    """
    Somebody with a certificate of the cluster, at a terminal of their own.

    home: the namespace of their role, of pools and of the operator.
    """

    def __init__(
        self,
        cluster: TestCluster,
        name: str,
        role: str,
        *,
        home: str = NAMESPACE,
        is_everywhere: bool = False,
    ) -> None:
        self.name = name
        self._home = home
        self.kubeconfig = cluster.kubeconfig_of(name, cluster.authority.client(name, name))
        kind = "clusterrolebinding" if is_everywhere else "rolebinding"
        where = () if is_everywhere else ("-n", home)
        given = [f"--clusterrole={role}", f"--user={name}", "--dry-run=client", "-o", "yaml"]
        binding = cluster.kubectl("create", kind, name, *where, *given)
        cluster.kubectl("apply", "-f", "-", said=binding)

    def run(self, *words: str, said: str = "") -> "subprocess.CompletedProcess[str]":
        flags = ("--kube", "--operator-namespace", self._home, "--namespace", self._home)
        return self.types(*flags, *words, said=said)

    def pastes(self, command: str) -> None:
        """Run a command just as an answer names it; it must succeed."""
        program, *words = shlex.split(command)
        ran = self.types(*words)
        assert (program, ran.returncode) == ("fairlead", 0), ran.stderr

    def types(self, *words: str, said: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "fairlead", *words],
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig), "COLUMNS": "160"},
            input=said,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def says(self, *words: str, said: str = "", code: int = 0) -> str:
        ran = self.run(*words, said=said)
        assert ran.returncode == code, f"{words}: {ran.returncode}: {ran.stdout}{ran.stderr}"
        return ran.stdout

    def reads(self, *words: str, said: str = "", code: int = 0) -> Any:
        return json.loads(self.says(*words, "-o", "json", said=said, code=code))

    def is_refused(self, *words: str, said: str = "", code: int = 2) -> str:
        ran = self.run(*words, said=said)
        assert ran.returncode == code, f"{words}: {ran.returncode}: {ran.stdout}{ran.stderr}"
        return ran.stderr
