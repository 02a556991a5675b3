# Stands for the scripts of an AKS image: leaves a line per run, and when the first began.
mkdir -p /var/lib/boot-test
read -r uptime _ </proc/uptime
[ -e /var/lib/boot-test/script-began ] || echo "$uptime" >/var/lib/boot-test/script-began
echo "run" >>/var/lib/boot-test/runs
