"""The formula of a criterion as one GPU kernel, written from the same plain torch code that runs everywhere else.

``record`` runs the formula and its derivative once and notes the operations; ``write`` turns them into the source of a
Triton kernel; ``kernel`` compiles and launches it.
"""
