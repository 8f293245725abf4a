"""How much of a table is in hand at a time. Read as ``sizes.BLOCK_BYTES``, so that tests can make blocks small."""

BLOCK_BYTES = 1 << 21
"""Memory of one block of rows: it stays in the processor's cache (with 16 MB, products took six times as long)."""

LARGE_BYTES = 1 << 25
"""Memory for what need not stay in the cache: bounded all the same."""

COPY_BYTES = 1 << 28
"""Memory for a C-ordered copy of F-ordered rows, for who steps from row to row."""

SAMPLE = 1 << 12
"""Rows that tell where a table is centred."""

SWEEP = 1 << 16
"""Steps a kernel makes before Python may look up (an interrupt, a gathered block)."""
