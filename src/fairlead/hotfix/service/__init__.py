"""Answering booting nodes: who asks (attestation), what they get (answer), how it went (ledger)."""
