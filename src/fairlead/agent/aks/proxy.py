"""
The proxy exports that older scripts evaluate.

The values go in as they are, quotes included, because the result must equal upstream's; scripts
of current images read HTTP_PROXY_URLS and its siblings instead.
"""

from __future__ import annotations

from fairlead.agent.aks.go_text import render_flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.aks.sources import Machine

HTTP = "http_proxy_config.http_proxy"
HTTPS = "http_proxy_config.https_proxy"
EXCEPTIONS = "http_proxy_config.no_proxy_entries"


def proxy_wanted(machine: Machine) -> str:
    """SHOULD_CONFIGURE_HTTP_PROXY. Exceptions alone need no proxy."""
    return render_flag(machine.config.text(HTTP) or machine.config.text(HTTPS))


def proxy_exports(machine: Machine) -> str:
    """PROXY_VARS. Only http_proxy, the last, has no space behind it."""
    config = machine.config
    exports = ""
    if exceptions := config.texts(EXCEPTIONS):
        exports += f'export NO_PROXY="{",".join(exceptions)}"; '
    if https := config.text(HTTPS):
        exports += f'export HTTPS_PROXY="{https}"; '
    if http := config.text(HTTP):
        exports += f'export http_proxy="{http}";'
    return exports
