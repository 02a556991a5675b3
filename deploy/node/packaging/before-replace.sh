find /usr/lib/fairlead/fairlead-node.d -name __pycache__ -type d -exec rm -rf {} +
rm -f /usr/lib/fairlead/fairlead-node.d/*.bundle
