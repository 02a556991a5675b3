"""
What a node remembers of hotfix metadata across boots: what it saw, and what it verified last.

Both are written whole. A memory that is damaged refuses every fix: whoever can damage it could
otherwise lead the node back to what was withdrawn.
"""

from __future__ import annotations

from fairlead.agent.files import find_file, write_atomically
from fairlead.contract.hotfix.answer import SINGLE_TEXTS, update_texts
from fairlead.contract.json_text import encode_json
from fairlead.errors import InputError
from fairlead.trust.refused import RefusedError
from fairlead.trust.seen import Seen, parse_seen
from fairlead.trust.verify import Update

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

SEEN_FILE = "/var/lib/fairlead/hotfix-seen.json"
UPDATE_FILE = "/var/lib/fairlead/hotfix-update.json"
MODE = 0o600

DAMAGED = "damaged-memory"


def read_seen(host: Host) -> Seen:
    """Return what was seen; nothing on the first boot. Raises RefusedError with the way out."""
    text = find_file(host, SEEN_FILE)
    if text is None:
        return Seen()
    try:
        return parse_seen(text)
    except (InputError, ValueError) as error:
        raise RefusedError(
            DAMAGED,
            f"{SEEN_FILE}: {error}; replace this machine, or remove the file if you know why it "
            "is damaged: the node then trusts what its image trusted",
        ) from error


def find_update(host: Host) -> Update | None:
    """Return the metadata that was verified last, None if none was. It must be verified again."""
    text = find_file(host, UPDATE_FILE)
    if text is None:
        return None
    try:
        return update_in(text)
    except InputError as error:
        raise RefusedError(DAMAGED, f"{UPDATE_FILE}: {error}; remove it") from error


def update_in(body: bytes) -> Update | None:
    """Return the metadata of an answer, None if it has none. Raises InputError."""
    texts = update_texts(body)
    if texts is None:
        return None
    single = (texts[name].encode("utf-8", "surrogatepass") for name in SINGLE_TEXTS)
    roots = [root.encode("utf-8", "surrogatepass") for root in texts["roots"]]
    return Update(roots, *single)


def keep(host: Host, update: Update, seen: Seen) -> None:
    """Remember what was verified. Raises OSError: what is not remembered does not count."""
    _write_if_other(host, SEEN_FILE, seen.render())
    texts: dict[str, object] = {name: getattr(update, name).decode() for name in SINGLE_TEXTS}
    # Roots are in the memory: the newest of them is trusted by itself.
    document = encode_json({"update": {"roots": [], **texts}}, ascii_only=False)
    _write_if_other(host, UPDATE_FILE, document.encode() + b"\n")


def _write_if_other(host: Host, path: str, content: bytes) -> None:
    if find_file(host, path) != content:
        write_atomically(host, path, content, MODE)
