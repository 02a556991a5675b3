"""Machines of this computer: directories or containers, and what becomes of each next."""
