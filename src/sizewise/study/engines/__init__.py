"""What carries out the runs of a study: this machine, or a cluster. Each engine is one file, ``NAME_engine.py``."""
