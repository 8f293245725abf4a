"""Sizes of tables at which `Columns`, `Scorecard`, `AUCClassifier` and `Calibrated` take another path.

Each is read as ``_sizes.NAME``, and tests/test_probabilities.py fits models on both sides of it.
"""

# Columns

COLUMN_SAMPLE = 20_000
"""Rows that medians, tails and ranks of columns are learnt from, of more."""

MIN_ROWS_FOR_IDENTIFIER = 20
"""Rows below which a column of different values is not pointed out as an identifier."""

DENSE_COLUMNS = 200
"""Columns up to which what comes out of `Columns` is an array, however many zeros there are."""

# Scorecard

MIN_SAMPLE_ROWS = 20_000
"""Rows that are drawn from files or partitions for a scorecard, whatever memory allows."""

MIN_CLASS_ROWS = 10
"""Rows of a class that are drawn from files or partitions, if it has so many, whatever its share."""

KNOT_SAMPLE = 50_000
"""Rows that knots and narrow bins come from, of more."""

MAX_COEFFICIENTS = 1_200
"""Coefficients of a scorecard without pairs, as far as fewer knots can help."""

REFINED_COEFFICIENTS = 400
"""Coefficients from which on a path of penalties is solved with factors of half the digits, in half the time."""

ROW_FOLD_COEFFICIENTS, ROW_FOLD_ROWS = 600, 20
"""Coefficients from which on, and rows for each of them up to which, the weights of folds come from products with the
rows instead of a factor for each fold."""

MIN_ROWS_FOR_CV = 20
"""Rows of the rarer class below which nothing is cross-validated: the choice would be noise."""

HELD_OUT_ROWS = 100_000
"""Rows whose held-out scores give the AUC of a choice and the sigmoid; of more, so many are drawn, the rarer class
first. The moments are of all rows."""

JUDGE_ROWS = 30_000
"""Held-out rows that knots and penalties are chosen by, at the most."""

FOCUS_ROWS = 20_000
"""Held-out rows that a focus is tried on, at the most."""

MIN_ROWS_FOR_PAIRS = 50
"""Rows of the rarer class below which no pair is looked for: too many grids look well by chance."""

PAIR_TRIAL_ROWS = 15_000
"""Rows of the trial of pairs, at the most."""

PAIR_MOMENT_ROWS = 120_000
"""Rows that the moments with pairs come from, at the most: a row then costs the square of what all pairs touch."""

MAX_PAIRED_COLUMNS = 100
"""Columns that are paired with one another; the most important ones."""

ORDERED_CARD_ROWS = 30_000
"""Rows that knots, penalties and pairs of a scorecard of ordered rows come from, at the most."""

NEWTON_STEP_WORK = 1.5e8
"""Multiplications of a Newton step, at the most, of some sixty in all; 180,000 rows of 20 columns without pairs. Beyond
it the weights are those of the square loss."""

# Calibrated

CALIBRATION_CLASS_ROWS = 20_000
"""Rows of each class in files or partitions that are held out in turn, of more: the sigmoid has two parameters."""

MIN_ROWS_TO_CALIBRATE = 4
"""Rows of the rarer class below which the sigmoid is fitted to the ranker's own scores: none can be held out."""

# AUCClassifier

MIN_ROWS_TO_COMPARE = 10
"""Rows of a class below which nothing is compared: no comparison could be trusted."""

COMPARED_ROWS = 10_000
"""Rows on which candidates are compared, where there are more; the chosen ones are then fitted on all."""

MIN_COMPARED_CLASS_ROWS = 500
"""Rows of the rarer class that should be among the compared, if it takes more rows."""

MAX_COMPARED_FACTOR = 5
"""Times COMPARED_ROWS, beyond which no rows are added for the sake of the rarer class."""

MIN_DRAWN_ROWS = 10_000
"""Rows that are drawn from files or partitions for a search, whatever memory allows."""

MAX_REPEATED_ROWS = 2_000
"""Rows in all, up to which a row of weight two is put into the table twice."""

FOLD_REPEATS = ((30, 6), (100, 4), (300, 2))
"""Fewer rows of the rarer class than this: so many repeats of the folds, for simple models."""

MIN_ROWS_HELD_OUT = 100
"""Rows of the rarer class that are held out before a curved candidate is judged: two folds, or as many as it takes."""

RACE_ROWS = 1_000
"""Where folds have three times so many rows, a curved candidate first learns from so many of them: it is given up where
it is far behind the leader, who knew all (racing on growing samples)."""

MIN_RACE_CLASS_ROWS = 25
"""Rows of the rarer class, among those thousand, below which they tell nothing."""

MAX_PATH_COLUMNS = 1_000
"""Columns, or rows where they are fewer, up to which least squares chooses its penalty itself."""

MAX_CURVED_COLUMNS = 2_000
"""Columns up to which curved models are tried."""

MAX_SCORECARD_COLUMNS = 100
"""Columns up to which a scorecard is tried."""

MIN_ROWS_TO_FACTOR = 100
"""Rows of the rarer class below which no factorization machine is tried on sparse rows."""

MAX_NETWORK_COLUMNS = 500
"""Columns up to which a network is tried."""

MAX_SPARSE_TREE_COLUMNS = 500
"""Columns up to which trees are tried where rows are sparse, or fewer than columns."""

MANY_ROWS = 5_000
"""Rows below which more than 100 boosted trees gain nothing."""

MIN_ROWS_FOR_MANY_TREES = 2_000
"""Rows below which more than 50 boosted trees gain nothing."""

MIN_ROWS_FOR_LARGE_TREES = 100
"""Rows of the rarer class below which boosted trees stay small: large ones learn the few by heart."""

TREE_ROWS = 10_000
"""Rows that one tree of a forest sees, at the most."""

MAX_NEWTON_COLUMNS, MAX_NEWTON_ENTRIES = 200, 1 << 23
"""Columns, and entries of the table, up to which the folds of logistic regression are a few Newton steps from the model
of all rows: fitting anew takes scikit-learn two milliseconds of checks alone."""
