"""Hotfixes on this computer: a depot that is served, by workers or by the control plane itself."""
