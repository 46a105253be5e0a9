"""The figures, each a function of saved results; the numbers behind it come with it."""
