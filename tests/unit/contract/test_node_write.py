"""Writing a node config."""

from fairlead.contract.node_config import NodeConfig
from node_write import write_node_config


def test_names_are_proto_names_in_schema_order_and_enums_are_names() -> None:
    config = NodeConfig(
        {
            "enabled_features": {"B": "2", "A": "1"},
            "workload_runtime": 9,
            "cluster_config": {
                "vm_type": 2,
                "cloud_provider_config": {"backoff_jitter": float("-inf"), "rate_limit_qps": 1.5},
            },
            "version": "v\u00e9",
            "is_vhd": False,
            "custom_ca_certs": ["x", ""],
        }
    )

    assert write_node_config(config) == (
        "{\n"
        '  "version": "v\u00e9",\n'
        '  "cluster_config": {\n'
        '    "vm_type": "VM_TYPE_VMSS",\n'
        '    "cloud_provider_config": {\n'
        '      "backoff_jitter": "-Infinity",\n'
        '      "rate_limit_qps": 1.5\n'
        "    }\n"
        "  },\n"
        '  "is_vhd": false,\n'
        '  "custom_ca_certs": [\n'
        '    "x",\n'
        '    ""\n'
        "  ],\n"
        '  "workload_runtime": 9,\n'
        '  "enabled_features": {\n'
        '    "B": "2",\n'
        '    "A": "1"\n'
        "  }\n"
        "}\n"
    )


def test_messages_in_maps_are_written_with_their_fields() -> None:
    config = NodeConfig({"local_dns_profile": {"kube_dns_overrides": {"k": {"protocol": "tcp"}}}})

    assert '"protocol": "tcp"' in write_node_config(config)
