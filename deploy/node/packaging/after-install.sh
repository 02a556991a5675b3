# Runs after .deb and .rpm are unpacked, in an image that is being built as on a machine.
# Nothing is started: a machine that is already a node stays as it is.

# The bundle that the agent runs from, for the Python of this machine.
packages=/usr/lib/fairlead/fairlead-node.d
python3 -IS "$packages/fairlead/agent/bundle/make.py" "$packages"
# For a start that cannot use it. Unchecked: that one neither compares time stamps nor writes.
python3 -m compileall -q --invalidation-mode unchecked-hash "$packages"

if command -v systemctl >/dev/null 2>&1; then
    systemctl --quiet enable fairlead-node.service fairlead-node.path \
        fairlead-node-seed.service fairlead-node-seed.path fairlead-node-check.service
fi

# Where the AKS extension command looks for the agent. What the image baked there stays.
agent=/opt/azure/containers/aks-node-controller
if [ -d "${agent%/*}" ] && [ ! -e "$agent" ]; then
    ln -s /usr/lib/fairlead/fairlead-node "$agent"
fi
