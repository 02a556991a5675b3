"""
A decision to machines replaced, within budget: policy, plan, steps, progress and secrets.

Imports decision and what is left of it; imported by timeline, controller and the edges.
Only carry_out.py touches the world, through the seams that machines.py and secrets.py draw.
"""
