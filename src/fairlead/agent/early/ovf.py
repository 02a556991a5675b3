"""
Custom data in the environment file that Azure puts on a machine's provisioning media.

One element of a large XML document is wanted, and an XML parser costs 20 ms. The element's text
is base64, which holds no markup, so its end is the next `<`.
"""

from __future__ import annotations

from fairlead.agent.early.layers import Room, decode_base64

ELEMENT_END = b"CustomData>"


def custom_data_in(environment: bytes) -> bytes | None:
    """Return the custom data of an ovf-env.xml; None if it has none, or not in base64."""
    at = environment.find(ELEMENT_END)
    # `<CustomData>` or, as Azure writes it, `<ns1:CustomData>`.
    if at < 1 or environment[at - 1 : at] not in (b"<", b":"):
        return None
    start = at + len(ELEMENT_END)
    end = environment.find(b"<", start)
    return decode_base64(environment[start:end], Room()) or None if end > 0 else None
