"""
An image whose boots succeed: Debian, the agent's package, and programs in containerd's and the
kubelet's place that answer as those do.

Machines that share a network can each have such a kubelet: they listen on one port together.
"""

from functools import cache
from pathlib import Path

from boot.roots import ROOTS, agent_layer, base_root

CONTAINERD = """\
#!/usr/bin/python3
import os, socket, sys
if "--version" in sys.argv:
    print("containerd example.test/containerd v1.7.22 0")
    sys.exit()
os.makedirs("/run/containerd", exist_ok=True)
path = "/run/containerd/containerd.sock"
if os.path.exists(path):
    os.unlink(path)
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen()
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
while True:
    server.accept()[0].close()
"""

KUBELET = """\
#!/usr/bin/python3
import http.server, socket
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
class Server(http.server.HTTPServer):
    def server_bind(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        super().server_bind()
Server(("127.0.0.1", 10248), Health).serve_forever()
"""


@cache
def node_image(suite: str, version: str = "") -> tuple[Path, ...]:
    """Return the layers of the image, the first on top; version: of its agent, if not ours."""
    layer = ROOTS / "node-programs"
    for name, text in (("containerd", CONTAINERD), ("kubelet", KUBELET)):
        program = layer / "usr/bin" / name
        if not program.is_file() or program.read_text() != text:
            program.parent.mkdir(parents=True, exist_ok=True)
            half = program.with_suffix(".half")
            half.write_text(text)
            half.chmod(0o755)
            half.replace(program)
    return layer, agent_layer(suite, version), base_root(suite)
