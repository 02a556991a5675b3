"""
The environment of the AKS bootstrap scripts: one row per variable, grouped as the config is.

The scripts and this table are two sides of one contract, so a row is never left out because its
value is empty. Besides the rows there is one CUSTOM_CA_CERT_n for each custom CA certificate.
"""

from __future__ import annotations

from fairlead.agent.aks import cloud, containerd_config, gpu, kubelet, linux_os, local_dns, proxy
from fairlead.agent.aks.sources import (
    Machine,
    all_filled,
    always,
    choice,
    chosen,
    filled,
    flag,
    flag_or,
    joined,
    number,
    number_or,
    one_line,
    present,
    real_or,
    text,
    text_or,
    without_line_breaks,
)
from fairlead.agent.aks.sysctl_content import sysctl_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.aks.components import Components
    from fairlead.agent.aks.sources import Source
    from fairlead.contract.node_config import NodeConfig

CUSTOM_CA_CERTS = "custom_ca_certs"
SECURE_TLS_BOOTSTRAPPING = 2
TEMP_DISK = 2

ROWS: dict[str, Source] = {
    # the same on every machine
    "CLI_TOOL": always("ctr"),
    "CSE_CONFIG_FILEPATH": always("/opt/azure/containers/provision_configs.sh"),
    "CSE_DISTRO_HELPERS_FILEPATH": always("/opt/azure/containers/provision_source_distro.sh"),
    "CSE_DISTRO_INSTALL_FILEPATH": always("/opt/azure/containers/provision_installs_distro.sh"),
    "CSE_HELPERS_FILEPATH": always("/opt/azure/containers/provision_source.sh"),
    "CSE_INSTALL_FILEPATH": always("/opt/azure/containers/provision_installs.sh"),
    "CUSTOM_SEARCH_DOMAIN_FILEPATH": always("/opt/azure/containers/setup-custom-search-domains.sh"),
    "DHCPV6_CONFIG_FILEPATH": always("/opt/azure/containers/enable-dhcpv6.sh"),
    "DHCPV6_SERVICE_FILEPATH": always("/etc/systemd/system/dhcpv6.service"),
    "INIT_AKS_CLOUD_FILEPATH": always("/opt/azure/containers/init-aks-cloud.sh"),
    "KUBENET_TEMPLATE": containerd_config.kubenet_template,
    "MOBY_VERSION": always(""),
    "NETWORK_ISOLATED_CLUSTER_TEST_MODE": always("false"),
    "NETWORK_MODE": always(""),
    "PROVISION_OUTPUT": always("/var/log/azure/cluster-provision-cse-output.log"),
    "SKIP_WAAGENT_HOLD": always("true"),
    # Configuration
    "ADMINUSER": text_or("linux_admin_username", "azureuser"),
    "ARTIFACT_STREAMING_ENABLED": flag("enable_artifact_streaming"),
    "AZURE_PRIVATE_REGISTRY_SERVER": text("azure_private_registry_server"),
    "BOOTSTRAP_PROFILE_CONTAINER_REGISTRY_SERVER": text(
        "bootstrap_profile_container_registry_server"
    ),
    "CONTAINERD_CONFIG_CONTENT": containerd_config.containerd_config,
    "CONTAINERD_CONFIG_NO_GPU_CONTENT": containerd_config.containerd_config_without_gpu,
    "CSE_TIMEOUT": linux_os.script_seconds,
    "CUSTOM_CA_TRUST_COUNT": lambda machine: str(len(machine.config.texts(CUSTOM_CA_CERTS))),
    "DISABLE_PUBKEY_AUTH": flag("disable_pubkey_auth"),
    "DISABLE_SSH": lambda machine: (
        "true" if machine.config.find("enable_ssh") is False else "false"
    ),
    "ENABLE_HOSTS_CONFIG_AGENT": flag("enable_hosts_config_agent"),
    "ENABLE_UNATTENDED_UPGRADES": flag("enable_unattended_upgrade"),
    "IPV6_DUAL_STACK_ENABLED": flag("ipv6_dual_stack_enabled"),
    "IS_KATA": flag("is_kata"),
    "IS_VHD": flag_or("is_vhd", "true"),
    "KUBEPROXY_URL": text("kube_proxy_url"),
    "KUBERNETES_VERSION": text("kubernetes_version"),
    "KUBE_CA_CRT": text("kubernetes_ca_cert"),
    "MESSAGE_OF_THE_DAY": text("message_of_the_day"),
    "NEEDS_CGROUPV2": flag("needs_cgroupv2"),
    "OUTBOUND_COMMAND": text("outbound_command"),
    "PRE_PROVISION_ONLY": flag("pre_provision_only"),
    "PRIVATE_EGRESS_PROXY_ADDRESS": text("private_egress_proxy_address"),
    "SGX_NODE": gpu.sgx_node,
    "SHOULD_CONFIGURE_CUSTOM_CA_TRUST": filled(CUSTOM_CA_CERTS),
    # kube_binary_config, containerd_config, runc_config
    "CREDENTIAL_PROVIDER_DOWNLOAD_URL": text("kube_binary_config.linux_credential_provider_url"),
    "CUSTOM_KUBE_BINARY_URL": text("kube_binary_config.custom_kube_binary_url"),
    "KUBE_BINARY_URL": text("kube_binary_config.kube_binary_url"),
    "PRIVATE_KUBE_BINARY_URL": text("kube_binary_config.private_kube_binary_url"),
    "CONTAINERD_DOWNLOAD_URL_BASE": text("containerd_config.containerd_download_url_base"),
    "CONTAINERD_PACKAGE_URL": text("containerd_config.containerd_package_url"),
    "CONTAINERD_VERSION": text("containerd_config.containerd_version"),
    "RUNC_PACKAGE_URL": text("runc_config.runc_package_url"),
    "RUNC_VERSION": text("runc_config.runc_version"),
    # custom_cloud_config, and the cloud by location
    "AKS_CUSTOM_CLOUD_CONTAINER_REGISTRY_DNS_SUFFIX": text(
        "custom_cloud_config.container_registry_dns_suffix"
    ),
    "ARM_RESOURCE_ENDPOINT": cloud.arm_endpoint,
    "AZURE_ENVIRONMENT_FILEPATH": cloud.environment_file,
    "CUSTOM_ENV_JSON": text("custom_cloud_config.custom_env_json_content"),
    "IS_CUSTOM_CLOUD": cloud.custom_cloud,
    "REPO_DEPOT_ENDPOINT": cloud.repo_depot_endpoint,
    "TARGET_CLOUD": cloud.target_cloud,
    "TARGET_ENVIRONMENT": cloud.target_environment,
    # api_server_config, auth_config
    "APISERVER_PUBLIC_KEY": text("api_server_config.api_server_public_key"),
    "API_SERVER_NAME": text("api_server_config.api_server_name"),
    "SERVICE_PRINCIPAL_CLIENT_ID": text("auth_config.service_principal_id"),
    "SERVICE_PRINCIPAL_FILE_CONTENT": text("auth_config.service_principal_secret"),
    "SUBSCRIPTION_ID": text("auth_config.subscription_id"),
    "TENANT_ID": text("auth_config.tenant_id"),
    "USER_ASSIGNED_IDENTITY_ID": text("auth_config.assigned_identity_id"),
    "USE_MANAGED_IDENTITY_EXTENSION": flag("auth_config.use_managed_identity_extension"),
    # cluster_config
    "LOCATION": text("cluster_config.location"),
    "PRIMARY_AVAILABILITY_SET": text("cluster_config.primary_availability_set"),
    "PRIMARY_SCALE_SET": text("cluster_config.primary_scale_set"),
    "RESOURCE_GROUP": text("cluster_config.resource_group"),
    "USE_INSTANCE_METADATA": flag("cluster_config.use_instance_metadata"),
    "VM_TYPE": choice("cluster_config.vm_type", {1: "standard", 2: "vmss"}),
    "NETWORK_SECURITY_GROUP": text("cluster_config.cluster_network_config.security_group_name"),
    "ROUTE_TABLE": text("cluster_config.cluster_network_config.route_table"),
    "SUBNET": text("cluster_config.cluster_network_config.subnet"),
    "VIRTUAL_NETWORK": text("cluster_config.cluster_network_config.vnet_name"),
    "VIRTUAL_NETWORK_RESOURCE_GROUP": text(
        "cluster_config.cluster_network_config.vnet_resource_group"
    ),
    "EXCLUDE_MASTER_FROM_STANDARD_LB": flag_or(
        "cluster_config.load_balancer_config.exclude_master_from_standard_load_balancer", "true"
    ),
    "LOAD_BALANCER_DISABLE_OUTBOUND_SNAT": flag(
        "cluster_config.load_balancer_config.disable_outbound_snat"
    ),
    "LOAD_BALANCER_SKU": choice(
        "cluster_config.load_balancer_config.load_balancer_sku", {1: "basic", 2: "standard"}
    ),
    "MAXIMUM_LOADBALANCER_RULE_COUNT": number_or(
        "cluster_config.load_balancer_config.max_load_balancer_rule_count", "148"
    ),
    "CLOUDPROVIDER_BACKOFF": flag_or("cluster_config.cloud_provider_config.backoff", "true"),
    "CLOUDPROVIDER_BACKOFF_DURATION": number_or(
        "cluster_config.cloud_provider_config.backoff_duration", "5"
    ),
    "CLOUDPROVIDER_BACKOFF_EXPONENT": real_or(
        "cluster_config.cloud_provider_config.backoff_exponent", "0"
    ),
    "CLOUDPROVIDER_BACKOFF_JITTER": real_or(
        "cluster_config.cloud_provider_config.backoff_jitter", "0"
    ),
    "CLOUDPROVIDER_BACKOFF_MODE": text_or(
        "cluster_config.cloud_provider_config.backoff_mode", "v2"
    ),
    "CLOUDPROVIDER_BACKOFF_RETRIES": number_or(
        "cluster_config.cloud_provider_config.backoff_retries", "6"
    ),
    "CLOUDPROVIDER_RATELIMIT": flag_or("cluster_config.cloud_provider_config.rate_limit", "true"),
    "CLOUDPROVIDER_RATELIMIT_BUCKET": number_or(
        "cluster_config.cloud_provider_config.rate_limit_bucket", "100"
    ),
    "CLOUDPROVIDER_RATELIMIT_BUCKET_WRITE": number_or(
        "cluster_config.cloud_provider_config.rate_limit_bucket_write", "100"
    ),
    "CLOUDPROVIDER_RATELIMIT_QPS": real_or(
        "cluster_config.cloud_provider_config.rate_limit_qps", "10"
    ),
    "CLOUDPROVIDER_RATELIMIT_QPS_WRITE": real_or(
        "cluster_config.cloud_provider_config.rate_limit_qps_write", "10"
    ),
    # bootstrapping_config
    "CUSTOM_SECURE_TLS_BOOTSTRAPPING_CLIENT_DOWNLOAD_URL": text(
        "bootstrapping_config.secure_tls_bootstrapping_custom_client_download_url"
    ),
    "ENABLE_SECURE_TLS_BOOTSTRAPPING": chosen(
        "bootstrapping_config.bootstrapping_auth_method", SECURE_TLS_BOOTSTRAPPING
    ),
    "SECURE_TLS_BOOTSTRAPPING_AAD_RESOURCE": text(
        "bootstrapping_config.secure_tls_bootstrapping_aad_resource"
    ),
    "SECURE_TLS_BOOTSTRAPPING_GET_ACCESS_TOKEN_TIMEOUT": text(
        "bootstrapping_config.secure_tls_bootstrapping_get_access_token_timeout"
    ),
    "SECURE_TLS_BOOTSTRAPPING_GET_ATTESTED_DATA_TIMEOUT": text(
        "bootstrapping_config.secure_tls_bootstrapping_get_attested_data_timeout"
    ),
    "SECURE_TLS_BOOTSTRAPPING_GET_CREDENTIAL_TIMEOUT": text(
        "bootstrapping_config.secure_tls_bootstrapping_get_credential_timeout"
    ),
    "SECURE_TLS_BOOTSTRAPPING_GET_INSTANCE_DATA_TIMEOUT": text(
        "bootstrapping_config.secure_tls_bootstrapping_get_instance_data_timeout"
    ),
    "SECURE_TLS_BOOTSTRAPPING_GET_NONCE_TIMEOUT": text(
        "bootstrapping_config.secure_tls_bootstrapping_get_nonce_timeout"
    ),
    "SECURE_TLS_BOOTSTRAPPING_USER_ASSIGNED_IDENTITY_ID": text(
        "bootstrapping_config.secure_tls_bootstrapping_user_assigned_identity_id"
    ),
    "SECURE_TLS_BOOTSTRAPPING_VALIDATE_KUBECONFIG_TIMEOUT": text(
        "bootstrapping_config.secure_tls_bootstrapping_validate_kubeconfig_timeout"
    ),
    "TLS_BOOTSTRAP_TOKEN": text("bootstrapping_config.tls_bootstrapping_token"),
    # kubelet_config
    "ENABLE_KUBELET_SERVING_CERTIFICATE_ROTATION": flag(
        "kubelet_config.kubelet_config_file_config.server_tls_bootstrap"
    ),
    "HAS_KUBELET_DISK_TYPE": chosen("kubelet_config.kubelet_disk_type", TEMP_DISK),
    "KUBELET_CLIENT_CERT_CONTENT": text("kubelet_config.kubelet_client_cert_content"),
    "KUBELET_CLIENT_CONTENT": text("kubelet_config.kubelet_client_key"),
    "KUBELET_CONFIG_FILE_CONTENT": kubelet.config_file_content,
    "KUBELET_CONFIG_FILE_ENABLED": flag("kubelet_config.enable_kubelet_config_file"),
    "KUBELET_FLAGS": kubelet.kubelet_flags,
    "KUBELET_NODE_LABELS": kubelet.node_labels,
    # custom_search_domain_config
    "CUSTOM_SEARCH_DOMAIN_NAME": text("custom_search_domain_config.domain_name"),
    "CUSTOM_SEARCH_REALM_PASSWORD": text("custom_search_domain_config.realm_password"),
    "CUSTOM_SEARCH_REALM_USER": text("custom_search_domain_config.realm_user"),
    "HAS_CUSTOM_SEARCH_DOMAIN": all_filled(
        "custom_search_domain_config.domain_name",
        "custom_search_domain_config.realm_user",
        "custom_search_domain_config.realm_password",
    ),
    # custom_linux_os_config
    "CONTAINERD_ULIMITS": linux_os.containerd_ulimits,
    "SHOULD_CONFIG_CONTAINERD_ULIMITS": present("custom_linux_os_config.ulimit_config"),
    "SHOULD_CONFIG_SWAP_FILE": linux_os.swap_file,
    "SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE": linux_os.huge_page_setting,
    "SWAP_FILE_SIZE_MB": number("custom_linux_os_config.swap_file_size"),
    "SYSCTL_CONTENT": sysctl_content,
    "THP_DEFRAG": text("custom_linux_os_config.transparent_defrag"),
    "THP_ENABLED": text("custom_linux_os_config.transparent_hugepage_support"),
    # http_proxy_config
    "HTTPS_PROXY_URLS": text("http_proxy_config.https_proxy"),
    "HTTP_PROXY_TRUSTED_CA": one_line("http_proxy_config.proxy_trusted_ca"),
    "HTTP_PROXY_URLS": text("http_proxy_config.http_proxy"),
    "NO_PROXY_URLS": joined("http_proxy_config.no_proxy_entries"),
    "PROXY_VARS": proxy.proxy_exports,
    "SHOULD_CONFIGURE_HTTP_PROXY": proxy.proxy_wanted,
    "SHOULD_CONFIGURE_HTTP_PROXY_CA": filled("http_proxy_config.proxy_trusted_ca"),
    # gpu_config, and the GPU by VM size
    "CONFIG_GPU_DRIVER_IF_NEEDED": flag("gpu_config.config_gpu_driver"),
    "ENABLE_GPU_DEVICE_PLUGIN_IF_NEEDED": flag("gpu_config.gpu_device_plugin"),
    "ENABLE_MANAGED_GPU": flag("gpu_config.enable_managed_gpu"),
    "ENABLE_MANAGED_GPU_DRA": flag("gpu_config.enable_managed_gpu_dra"),
    "GPU_DRIVER_TYPE": gpu.driver_type,
    "GPU_DRIVER_VERSION": gpu.driver_version,
    "GPU_IMAGE_SHA": gpu.image_suffix,
    "GPU_INSTANCE_PROFILE": text("gpu_config.gpu_instance_profile"),
    "GPU_NEEDS_FABRIC_MANAGER": gpu.fabric_manager,
    "GPU_NODE": flag("gpu_config.enable_nvidia"),
    "MANAGED_GPU_EXPERIENCE_AFEC_ENABLED": flag("gpu_config.managed_gpu_experience_afec_enabled"),
    "MIG_NODE": filled("gpu_config.gpu_instance_profile"),
    "NVIDIA_MIG_PROFILE_LAYOUT": joined("gpu_config.mig_profile_layout"),
    "NVIDIA_MIG_STRATEGY": text("gpu_config.mig_strategy"),
    # network_config
    "ENSURE_NO_DUPE_PROMISCUOUS_BRIDGE": containerd_config.kubenet_bridge,
    "NETWORK_PLUGIN": choice(
        "network_config.network_plugin", {1: "none", 2: "azure", 3: "kubenet"}
    ),
    "NETWORK_POLICY": choice("network_config.network_policy", {1: "none", 2: "azure", 3: "calico"}),
    "STANDARD_SECONDARY_NIC_COUNT": number("network_config.standard_secondary_nic_count"),
    "VNET_CNI_PLUGINS_URL": text("network_config.vnet_cni_plugins_url"),
    # imds_restriction_config, service_account_image_pull_profile
    "ENABLE_IMDS_RESTRICTION": flag("imds_restriction_config.enable_imds_restriction"),
    "INSERT_IMDS_RESTRICTION_RULE_TO_MANGLE_TABLE": flag(
        "imds_restriction_config.insert_imds_restriction_rule_to_mangle_table"
    ),
    "IDENTITY_BINDINGS_LOCAL_AUTHORITY_SNI": text(
        "service_account_image_pull_profile.local_authority_sni"
    ),
    "SERVICE_ACCOUNT_IMAGE_PULL_DEFAULT_CLIENT_ID": text(
        "service_account_image_pull_profile.default_client_id"
    ),
    "SERVICE_ACCOUNT_IMAGE_PULL_DEFAULT_TENANT_ID": text(
        "service_account_image_pull_profile.default_tenant_id"
    ),
    "SERVICE_ACCOUNT_IMAGE_PULL_ENABLED": flag("service_account_image_pull_profile.enabled"),
    # local_dns_profile
    "LOCALDNS_COREFILE_BASE": local_dns.corefile,
    "LOCALDNS_COREFILE_WITH_HOSTS": local_dns.corefile_with_hosts,
    "LOCALDNS_CPU_LIMIT": local_dns.cpu_limit,
    "LOCALDNS_CRITICAL_FQDNS": local_dns.critical_names,
    "LOCALDNS_GENERATED_COREFILE": local_dns.corefile,
    "LOCALDNS_HOSTS_PLUGIN_REFRESH_INTERVAL_IN_SECONDS": local_dns.hosts_refresh_seconds,
    "LOCALDNS_MEMORY_LIMIT": local_dns.memory_limit,
    "SHOULD_ENABLE_HOSTS_PLUGIN": local_dns.hosts_plugin_enabled,
    "SHOULD_ENABLE_LOCALDNS": local_dns.enabled,
}


def environment_of(
    config: NodeConfig, components: Components, containerd_version: str
) -> dict[str, str]:
    """
    Return the variables of the bootstrap scripts for one machine.

    containerd_version: of the containerd found on the machine, '' if there is none.
    """
    machine = Machine(config, components, containerd_version)
    environment = {variable: source(machine) for variable, source in ROWS.items()}
    for index, certificate in enumerate(config.texts(CUSTOM_CA_CERTS)):
        environment[f"CUSTOM_CA_CERT_{index}"] = without_line_breaks(certificate)
    return environment
