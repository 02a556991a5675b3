# Prints nothing: everything goes to files that the harness reads in the node's upper layer.
directory=/var/lib/boot-test
mkdir -p "$directory"
systemctl is-system-running --wait >"$directory/state"
systemctl show >"$directory/manager"
systemctl show --property=Id,LoadState,ActiveState,SubState,Result,NRestarts,ConditionResult \
    --property=ExecMainStartTimestampMonotonic,ExecMainExitTimestampMonotonic,ExecMainStatus \
    --property=InactiveExitTimestampMonotonic,ActiveEnterTimestampMonotonic \
    fairlead-node.service fairlead-node.path fairlead-node-seed.service fairlead-node-check.service aks-node-controller.service \
    cloud-init-local.service cloud-init.service cloud-init-main.service \
    cloud-init-network.service cloud-config.service cloud-final.service \
    sysinit.target basic.target network-online.target cloud-config.target multi-user.target \
    cloud-init.target >"$directory/units"
systemctl list-units --failed --plain --no-legend >"$directory/failed"
/usr/lib/fairlead/fairlead-node report >"$directory/report"
journalctl --boot --output=short-monotonic >"$directory/journal"
touch "$directory/collected"
