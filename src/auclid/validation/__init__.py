"""Checks of what users pass: parameters, rows, labels, weights and groups; each raises one clear sentence."""

from auclid.validation.dataset import (
    binary_source,
    count_labels,
    encoded_batch,
    encoded_labelled_rows,
    encoded_rows,
    labelled_dataset,
    labelled_parts,
    mapped_source,
    prepared_dataset,
)
from auclid.validation.groups import checked_groups
from auclid.validation.parameters import at_least, between, checked, checked_with_parts, implements, real, unchanged
from auclid.validation.partial_labels import PartialLabels, is_auto, partial_labels
from auclid.validation.parts import decoded_parts, part_answers, partwise
from auclid.validation.results import (
    MIN_SQUARABLE,
    finite,
    finite_scores,
    finite_state,
    fitted,
    largest,
    last_step,
    measurable,
    mergeable,
    warn_if_constant_scores,
)
from auclid.validation.rows import (
    DTYPES,
    RowAccess,
    check_rows,
    check_rows_and_labels,
    in_parts,
    labels_to_score,
    names_known,
    own_columns,
    own_labels,
    own_outcome,
    own_weight,
    remember_columns,
    require_every_label,
    require_labels,
    unlabelled_parts,
)
from auclid.validation.tables import checked_table, floating, is_numeric, numeric_array, take_rows
from auclid.validation.vectors import (
    both_weighed,
    check_relative_weights,
    check_weight_scale,
    known_labels,
    labels,
    one_kind,
    two_classes,
    warn_if_common_on_top,
    weights,
)
