"""The receipt: true counts, paths while they fit, never a value."""

from fairlead.contract.json_text import encode_json
from fairlead.contract.node_parse import parse_node_config


def test_every_field_of_the_messages_met_is_understood_defaulted_or_ignored() -> None:
    receipt = parse_node_config(
        b'{"version": "v1", "is_kata": false, "cse_timeout": "soon",'
        b' "api_server_config": {"api_server_name": "a", "future": 1}}'
    ).receipt

    assert list(receipt.understood_paths()) == [
        "version",
        "api_server_config",
        "api_server_config.api_server_name",
        "is_kata",
    ]
    assert receipt.understood == 4
    # 44 fields at the top and 2 of the API server; 4 understood, 1 refused.
    assert receipt.defaulted == 41
    assert len(list(receipt.defaulted_paths())) == 41
    assert "api_server_config.api_server_public_key" in list(receipt.defaulted_paths())
    assert receipt.ignored == 2
    assert receipt.ignored_paths == ["cse_timeout", "api_server_config.future"]


def test_a_small_receipt_lists_everything() -> None:
    receipt = parse_node_config(b'{"version": "v1", "brand_new": {"deep": 1}}').receipt

    encoded = receipt.encode()

    assert encoded["understood"] == {"count": 1, "paths": ["version"]}
    assert encoded["ignored"] == {"count": 1, "paths": ["brand_new"]}


def test_what_does_not_fit_is_counted() -> None:
    receipt = parse_node_config(b"{}").receipt

    assert receipt.encode()["defaulted"] == {
        "count": 44,
        "paths": [
            "version",
            "kube_binary_config",
            "custom_cloud_config",
            "api_server_config",
            "cluster_config",
            "bootstrapping_config",
            "auth_config",
            "runc_config",
            "containerd_config",
            "kubelet_config",
            "custom_search_domain_config",
            "custom_linux_os_config",
            "http_proxy_config",
            "gpu_config",
            "network_config",
            "kubernetes_ca_cert",
            "kubernetes_version",
            "kube_proxy_url",
            "vm_size",
            "linux_admin_username",
            "is_vhd",
            "+23 more",
        ],
    }


def test_a_long_list_of_unknown_names_leaves_the_receipt_within_its_limit() -> None:
    names = ",".join(f'"unknown_{at}": 1' for at in range(5_000))

    receipt = parse_node_config(f'{{"version": "v1", {names}}}'.encode()).receipt

    assert receipt.ignored == 5_000
    assert len(receipt.ignored_paths) == 50
    assert len(encode_json(receipt.encode())) <= 512


def test_unknown_names_are_cut_and_reduced_to_ascii() -> None:
    document = '{"' + "n" * 90 + '": 1, "sch\u00f6n\\u0007": 1, "\\ud800": 1}'

    assert parse_node_config(document.encode()).receipt.ignored_paths == [
        "n" * 37 + "...",
        "sch?n?",
        "?",
    ]


def test_map_keys_are_shown_in_brackets_and_their_fields_counted() -> None:
    receipt = parse_node_config(
        b'{"local_dns_profile": {"kube_dns_overrides": {"cluster.local": {"protocol": "tcp"}}}}'
    ).receipt

    assert list(receipt.understood_paths()) == [
        "local_dns_profile",
        "local_dns_profile.kube_dns_overrides",
        "local_dns_profile.kube_dns_overrides[cluster.local].protocol",
    ]
    assert receipt.understood == 3
