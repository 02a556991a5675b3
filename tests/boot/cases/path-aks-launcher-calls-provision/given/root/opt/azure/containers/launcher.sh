#!/bin/bash
# Calls the agent in the order of the AKS launcher: the host name first, then provision with both.
containers=/opt/azure/containers
until [ "$(hostname)" = "$(cat /etc/hostname)" ]; do sleep 1; done
"$containers/aks-node-controller" provision \
    "--provision-config=$containers/aks-node-controller-config.json" \
    "--nbc-cmd=$containers/aks-node-controller-nbc-cmd.sh" &
wait $!
