if command -v systemctl >/dev/null 2>&1; then
    systemctl --quiet disable fairlead-node.service fairlead-node.path \
        fairlead-node-seed.service fairlead-node-seed.path fairlead-node-check.service
fi
agent=/opt/azure/containers/aks-node-controller
if [ "$(readlink "$agent")" = /usr/lib/fairlead/fairlead-node ]; then
    rm "$agent"
fi
