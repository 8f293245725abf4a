"""Tree ensembles as plain arrays: bagged trees grown here, and LightGBM's, read from its text format."""
