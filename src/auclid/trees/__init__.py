"""Trees as plain arrays: extremely randomised ones grown here, LightGBM's read from what it writes."""
