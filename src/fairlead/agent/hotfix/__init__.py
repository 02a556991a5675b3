"""
The fix path of a boot: asking for a fix, installing it, proving it, in a process of its own.

Nothing of this folder is loaded by a boot without the feature and without a pointer.
"""
