"""Which loss for which data: region sizes of a data set, the nearest sets of the evidence, and what won there."""
