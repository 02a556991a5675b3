"""
User data for cloud-init images: a boothook that starts the agent at once, and a cloud-config.

The hook runs on every boot, before most of the machine is up, and holds the boot up while it
runs. So all of it is under one `timeout`, a file that is already right is left alone, and the
agent is started with --no-block: a blocking start of a unit that waits for cloud-init is a
deadlock. Values reach the script only as base64 between the lines of a quoted here-document,
whose end holds a character that base64 does not have: nothing in them can become shell.
"""

from __future__ import annotations

import hashlib
import shlex

from fairlead.contract.hook_files import END, FIRST_LINE, UNPACK_GZIP, UNPACK_PLAIN, put_line
from fairlead.contract.node_paths import boothook_log_of, unit_of
from fairlead.userdata.delivery import NodeFile
from fairlead.userdata.packed import pack

# Writing 16 MiB takes 1 s; a disk that needs longer than this is broken, and a machine that waits
# for it for ever has neither ssh nor a console to say so.
HOOK_DEADLINE_S = 60
KILL_AFTER_S = 5

# Neither base64 nor our own lines can hold this.
BOUNDARY = "==fairlead-user-data=="

CRLF = "\r\n"

# cloud-init hands a part to its handler by type; an empty mapping is a valid cloud-config.
EMPTY_CLOUD_CONFIG = """\
#cloud-config
# The boothook in this document writes the files and starts the agent. Nothing is left to do.
{}
"""

# The digest decides whether there is anything to do, and whether the bytes arrived whole.
# The agent waits for this script, and every program it starts costs 2 to 5 ms of a busy boot: what
# is not needed to start the agent comes after the start, and nothing is started to find out what
# the shell can see by itself.
HOOK_START = """\
{first_line}
#!/bin/sh
# Puts this node's documents in place and starts its agent. Runs on every boot.
[ "${{1-}}" = bounded ] || exec timeout -k {kill_after} {deadline} /bin/sh "$0" bounded
umask 077
log={log}
failed=0
wrote=

say() {{
    echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) fairlead-boothook: $*" >&2
}}

make_directory() {{
    [ -d "$1" ] || (umask 022 && mkdir -p "$1")
}}

is_in_place() {{
    [ -f "$1" ] && sum=$(sha256sum "$1") && [ "${{sum%% *}}" = "$2" ]
}}

# put DIGEST PATH UNPACK: the file of this digest is at the path, mode 0600; packed on stdin.
put() {{
    directory=${{2%/*}}
    temporary=$directory/.${{2##*/}}.boothook-tmp
    if is_in_place "$2" "$1"; then
        chmod 600 "$2"
        return
    fi
    make_directory "$directory" || return
    [ ! -e "$temporary" ] || rm -f "$temporary" || return
    if [ "$3" = cat ]; then
        base64 -d >"$temporary"
    else
        base64 -d | $3 >"$temporary"
    fi
    if ! is_in_place "$temporary" "$1"; then
        rm -f "$temporary"
        say "$2: the bytes did not arrive whole, or there is no room for them"
        return 1
    fi
    sync "$temporary" 2>/dev/null
    mv -f "$temporary" "$2" || return
    wrote="$wrote $2"
}}

# Tried in a subshell: a redirection that fails would end this one.
{{ make_directory "${{log%/*}}" && (: >>"$log"); }} 2>/dev/null && exec 2>>"$log"
"""

HOOK_FILE = """
{put}
{lines}
{end}
"""

HOOK_END = """
if systemctl start --no-block {unit} </dev/null >&2; then
    started="asked systemd to start {unit}"
else
    started="systemd did not take the start of {unit}"
    failed=1
fi
for path in $wrote; do
    sync "${{path%/*}}" 2>/dev/null
done
say "${{wrote:+wrote$wrote; }}$started"
exit "$failed"
"""


def render_boothook_document(
    files: list[NodeFile], layout: str, cloud_config: str = EMPTY_CLOUD_CONFIG, root: str = ""
) -> bytes:
    """Return the MIME document of a boothook that brings these files, and of a cloud-config."""
    parts = (
        ("text/cloud-boothook", "boothook.sh", render_boothook(files, layout, root)),
        ("text/cloud-config", "cloud-config.yaml", cloud_config),
    )
    lines = [
        "MIME-Version: 1.0",
        f'Content-Type: multipart/mixed; boundary="{BOUNDARY}"',
        "",
    ]
    for kind, name, content in parts:
        lines += [
            f"--{BOUNDARY}",
            f'Content-Type: {kind}; charset="us-ascii"',
            "MIME-Version: 1.0",
            "Content-Transfer-Encoding: 7bit",
            f'Content-Disposition: attachment; filename="{name}"',
            "",
            content,
        ]
    lines += [f"--{BOUNDARY}--", ""]
    return CRLF.join(lines).encode("ascii")


def render_boothook(files: list[NodeFile], layout: str, root: str = "") -> str:
    """
    Return the hook: a shell script after cloud-init's own first line.

    `root` puts every path below a directory, for tests that run the hook; on a node it is ''.
    """
    text = HOOK_START.format(
        kill_after=KILL_AFTER_S,
        deadline=HOOK_DEADLINE_S,
        first_line=FIRST_LINE,
        log=shlex.quote(root + boothook_log_of(layout)),
    )
    for file in files:
        packed = pack(file.content)
        text += HOOK_FILE.format(
            put=put_line(
                hashlib.sha256(file.content).hexdigest(),
                shlex.quote(root + file.path),
                UNPACK_GZIP if packed.is_compressed else UNPACK_PLAIN,
            ),
            end=END,
            lines="\n".join(packed.lines()),
        )
    return text + HOOK_END.format(unit=unit_of(layout))
