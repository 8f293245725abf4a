"""Storage of rows: structs and row operations for kernels, blocks for BLAS, tables for solvers."""

from auclid.data.array_tables import DenseTable, SparseTable, Stacked, as_table, to_dense
from auclid.data.blocks import (
    append_rows,
    as_array,
    block_arrays,
    block_from_arrays,
    centre_rows,
    gram_matrix,
    kernel_rows,
    reference_point,
    row_squared_norms,
    scaled_products,
    with_int32_indices,
)
from auclid.data.embedded import Embedded
from auclid.data.structs import (
    CSR,
    Dense,
    RowStruct,
    centre_dot,
    pair_axpy,
    pair_axpy_two,
    pair_dot,
    pair_squared_norm,
    row_accumulate,
    row_add_raw,
    row_axpy,
    row_axpy_two,
    row_dot,
    row_dots,
    row_entry,
    row_prefetch,
    row_span,
    row_squared_norm,
    update_centre,
)
from auclid.data.table import Table
