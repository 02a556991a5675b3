"""
The command that starts the AKS bootstrap scripts. It is one line on purpose.

Everything that differs between nodes is in the environment, so the command is a constant, and
no secret can reach a process list through it. The tab and the last space are what AKS runs.
"""

from __future__ import annotations

BOOTSTRAP_LINE = (
    "echo $(date),$(hostname) > ${PROVISION_OUTPUT}; "
    'if [ -f "${INIT_AKS_CLOUD_FILEPATH}" ]; then '
    '\t"${INIT_AKS_CLOUD_FILEPATH}" >> /var/log/azure/cluster-provision.log 2>&1 || exit $?; '
    "fi; "
    '/usr/bin/nohup /bin/bash -c "/bin/bash /opt/azure/containers/provision_start.sh" '
)

BOOTSTRAP_COMMAND = ["/bin/bash", "-c", BOOTSTRAP_LINE]
