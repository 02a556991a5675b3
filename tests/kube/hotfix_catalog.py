"""What a publisher's catalog says, for tests."""

from datetime import UTC, datetime

from fairlead.contract.hotfix.answer import OUR_COMPONENT
from fairlead.hotfix.campaign import Schedule
from fairlead.hotfix.catalog import Catalog, Fix, publish, switch_region, withdraw
from fairlead.hotfix.catalog_text import render_catalog

BASE, BAKED, FIX = "202611.17", "202611.17.0", "202611.17.1"


def catalog_text(withdrawn: str = "", *, everyone: bool = True) -> bytes:
    """A catalog with one fix; withdrawn: why it was, or ''. everyone: no waves."""
    fix = Fix(
        component=OUR_COMPONENT,
        version=FIX,
        base=BASE,
        schedule=Schedule.NORMAL,
        published_at=datetime(2026, 11, 18, tzinfo=UTC),
        packages=(),
        summary="kubelet starts after its disk",
        everyone=everyone,
    )
    catalog = publish(switch_region(Catalog(bases=(BASE,)), "local", is_on=True), fix)
    return render_catalog(withdraw(catalog, FIX, withdrawn) if withdrawn else catalog)
