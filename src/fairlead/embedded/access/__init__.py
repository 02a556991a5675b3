"""Who may do what with the control plane of this computer, and how they reach it."""
