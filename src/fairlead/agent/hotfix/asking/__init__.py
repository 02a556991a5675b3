"""Asking for a fix, and believing the answer: wires, proofs, signed metadata, the outcome."""
