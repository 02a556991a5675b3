"""The flags that say how machines prove who they are, and the verifiers that they ask for."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import timedelta
from pathlib import Path

from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from fairlead.hotfix.publish.depot import Depot
    from fairlead.hotfix.service.attestation.join import SpentTokens
    from fairlead.hotfix.service.attestation.verifier import AttestationVerifier

# Bytes of a file with keys or certificates.
LARGEST_FILE = 1 << 20

# A machine shows the same document at every boot until it is stopped. One that nobody heard of for
# so long is forgotten as well.
AWS_OLDEST_DAYS = 180
MOST_DAYS = 3650


def add_verifiers(parser: ArgumentParser) -> None:
    """Add what chooses verifiers. Several may be chosen: each proof is shown to all of them."""
    parser.add_argument(
        "--region",
        action="append",
        default=[],
        metavar="REGION",
        help="serve machines of it (default: the regions that the catalog names)",
    )
    for flag, name, purpose in (
        ("--join-key", "FILE", "machines with join tokens of this key; again: older keys"),
        ("--azure-subscription", "ID", "machines of it"),
        ("--aws-certificate", "REGION=FILE", "AWS machines there, by its PEM certificates"),
        ("--aws-account", "ID", "machines of it"),
        ("--gcp-project", "ID", "machines of it"),
    ):
        kind = Path if name == "FILE" else str
        parser.add_argument(
            flag, type=kind, action="append", default=[], metavar=name, help=purpose
        )
    _add_settings(parser)
    parser.add_argument(
        "--insecure-lab",
        action="store_true",
        help="believe every name: nobody proves anything, for labs only",
    )


def _add_settings(parser: ArgumentParser) -> None:
    """Add what a verifier needs once."""
    for flag, name, purpose in (
        ("--azure-roots", "FILE", "Azure machines, by these PEM roots"),
        ("--azure-intermediates", "FILE", "PEM certificates between root and document"),
        ("--gcp-keys", "FILE", "GCP machines, by this set of keys (JWKS)"),
    ):
        parser.add_argument(flag, type=Path, metavar=name, help=purpose)
    parser.add_argument(
        "--azure-region", default="", metavar="REGION", help="if a document has none"
    )
    parser.add_argument(
        "--gcp-audience",
        default="",
        metavar="ADDRESS",
        help="that tokens must name: the address that machines ask, to the letter, such as "
        "https://HOST:PORT/v1/hotfix",
    )
    parser.add_argument(
        "--aws-oldest",
        type=int,
        default=AWS_OLDEST_DAYS,
        metavar="DAYS",
        help="believe an AWS document for so long after its machine was started (default: "
        f"{AWS_OLDEST_DAYS})",
    )


def verifiers_of(
    arguments: Namespace, depot: Depot, spent: SpentTokens | None = None
) -> list[AttestationVerifier]:
    """
    Return what the flags ask for. Raises InputError if that is nothing, or cannot be had.

    spent: who counts uses of join tokens, by default the ledger in the depot.
    """
    from fairlead.embedded.hotfix.catalog_regions import CatalogRegions

    regions = frozenset(arguments.region) if arguments.region else CatalogRegions(depot)
    found: list[AttestationVerifier] = []
    if arguments.join_key:
        found.append(_join(arguments, regions, spent or _spent_in(depot)))
    if arguments.azure_roots:
        found.append(_azure(arguments, regions))
    if arguments.aws_certificate:
        found.append(_aws(arguments))
    if arguments.gcp_keys:
        found.append(_gcp(arguments, regions))
    if arguments.insecure_lab:
        from fairlead.embedded.hotfix.lab_verifier import LabVerifier

        found.append(LabVerifier())
    if not found:
        raise InputError(
            "nothing says how machines prove who they are, so anybody would be answered",
            hint="--join-key, --azure-roots, --aws-certificate or --gcp-keys; in a lab: "
            "--insecure-lab",
        )
    return found


def _spent_in(depot: Depot) -> SpentTokens:
    from fairlead.hotfix.service.spent_tokens import SpentInLedger

    return SpentInLedger(depot.directory)


def _join(arguments: Namespace, regions: Container[str], spent: SpentTokens) -> AttestationVerifier:
    from fairlead.hotfix.service.attestation.join import JoinSettings, JoinVerifier

    keys = tuple(_read(file, "--join-key").strip() for file in arguments.join_key)
    return JoinVerifier(JoinSettings(keys=keys, regions=regions, spent=spent))


def _azure(arguments: Namespace, regions: Container[str]) -> AttestationVerifier:
    from fairlead.hotfix.service.attestation.azure import AzureSettings, AzureVerifier

    _refuse_nobody(arguments.azure_subscription, "--azure-subscription")
    between = arguments.azure_intermediates
    return AzureVerifier(
        AzureSettings(
            roots=_read(arguments.azure_roots, "--azure-roots"),
            intermediates=_read(between, "--azure-intermediates") if between else b"",
            subscriptions=frozenset(arguments.azure_subscription),
            regions=regions,
            region=arguments.azure_region,
        )
    )


def _aws(arguments: Namespace) -> AttestationVerifier:
    from fairlead.hotfix.service.attestation.aws import AwsSettings, AwsVerifier

    _refuse_nobody(arguments.aws_account, "--aws-account")
    certificates: dict[str, bytes] = {}
    for word in arguments.aws_certificate:
        region, equals, file = word.partition("=")
        if not equals or not region:
            raise InputError(f"found {word!a}, expected REGION=FILE", field="--aws-certificate")
        certificates[region] = _read(Path(file), "--aws-certificate")
    if not 0 < arguments.aws_oldest <= MOST_DAYS:
        raise InputError(f"expected 1 to {MOST_DAYS} days", field="--aws-oldest")
    return AwsVerifier(
        AwsSettings(
            certificates=certificates,
            accounts=frozenset(arguments.aws_account),
            oldest=timedelta(days=arguments.aws_oldest),
        )
    )


def _gcp(arguments: Namespace, regions: Container[str]) -> AttestationVerifier:
    from fairlead.hotfix.service.attestation.gcp import GcpSettings, GcpVerifier, KeysFile

    _refuse_nobody(arguments.gcp_project, "--gcp-project")
    if not arguments.gcp_audience:
        raise InputError("say whom tokens are meant for", field="--gcp-audience")
    return GcpVerifier(
        GcpSettings(
            audience=arguments.gcp_audience,
            keys=KeysFile(arguments.gcp_keys),
            projects=frozenset(arguments.gcp_project),
            regions=regions,
        )
    )


def _refuse_nobody(names: list[str], flag: str) -> None:
    if not names:
        raise InputError("say whose machines are served; nobody's would be", field=flag)


def _read(file: Path, flag: str) -> bytes:
    try:
        with file.open("rb") as opened:
            text = opened.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}", field=flag) from error
    if len(text) > LARGEST_FILE:
        raise InputError(f"{file} has more than {LARGEST_FILE} bytes", field=flag)
    return text
