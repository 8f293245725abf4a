"""Sizes of tables, and memory budgets, at which the package takes another path.

Each is read as ``_sizes.NAME``. tests/test_sizes.py and tests/test_probabilities.py compare the results on both sides
of it: a size without a case fails a test, and so does one that is defined elsewhere.
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

KNOT_SAMPLE = 20_000
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
"""Rows whose held-out scores give the AUC of a choice and the sigmoid, and whose scores give the threshold; of more, so
many are drawn, the rarer class first. The moments are of all rows."""

JUDGE_ROWS = 30_000
"""Held-out rows that knots and penalties are chosen by, at the most."""

FOCUS_ROWS = 20_000
"""Held-out rows that a focus is tried on, at the most."""

MIN_LEFT_TO_GAIN = 5e-4
"""What held-out rows must leave of the AUC for pairs to be looked at; and of the AUC, times the negatives for each
positive where these are fewer, for the logistic loss: average precision gains by it where the AUC hardly can."""

MIN_ROWS_FOR_PAIRS = 50
"""Rows of the rarer class below which no pair is looked for: too many grids look well by chance."""

PAIR_TRIAL_ROWS = 15_000
"""Rows of the trial of pairs, at the most."""

PAIR_MOMENT_ROWS = 120_000
"""Rows that the moments with pairs come from, at the most: a row then costs the square of what all pairs touch."""

MAX_PAIRED_COLUMNS = 100
"""Columns that are paired with one another; the most important ones."""

MAX_HISTOGRAM_CELLS = 5e7
"""Cells of the histograms of all pairs that are looked at; of more rows than that allows, a part is taken."""

ORDERED_CARD_ROWS = 30_000
"""Rows that knots, penalties and pairs of a scorecard of ordered rows come from, at the most."""

NEWTON_STEP_WORK = 1.5e8
"""Multiplications of a Newton step, at the most, of some sixty in all; 180,000 rows of 20 columns without pairs. Beyond
it the weights are those of the square loss."""

SLOPE_ROWS = 5_000
"""Rows whose pairs give the slope of the odds that one row is ranked above another, at the most."""

MAX_ORDER_LEVELS = 2048
"""Levels of an order without groups that are told apart; of more, neighbours count as tied."""

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

MIN_COLUMNS_TO_SAMPLE = 8
"""Columns from which on each tree of slow boosting sees half of them: half of two columns leave no interactions."""

TREE_ROWS = 10_000
"""Rows that one tree of a forest sees, at the most."""

MAX_NEWTON_COLUMNS, MAX_NEWTON_ENTRIES = 200, 1 << 23
"""Columns, and entries of the table, up to which the folds of logistic regression are a few Newton steps from the model
of all rows: fitting anew takes scikit-learn two milliseconds of checks alone."""

# Rows in memory, files and partitions

BLOCK_BYTES = 1 << 21
"""Memory of one block of rows: it stays in the processor's cache (with 16 MB, products took six times as long)."""

LARGE_BYTES = 1 << 25
"""Memory for what need not stay in the cache: bounded all the same."""

COPY_BYTES = 1 << 28
"""Memory for the C-ordered copy of F-ordered rows that row-wise solvers use."""

STRETCH_BYTES = 1 << 24
"""Memory of the dense rows of files or partitions that are brought together for steps in random order."""

CENTRE_SAMPLE = 1 << 12
"""Rows whose mean is the centre of a table."""

SWEEP = 1 << 16
"""Steps a kernel makes before Python may look up (an interrupt, a gathered block)."""

DEFAULT_MEMORY = 1 << 26
"""Bytes of decoded rows that are kept between passes where the user gives no number."""

MIN_COMPILED_VALUES = 1 << 18
"""Values from which a compiled loop multiplies rows with a vector: BLAS and SciPy would want float64 first."""

EXACT_BYTES = 1 << 24
"""Bytes of embedded rows up to which float64 stays float64."""

KEPT_VALUE_BYTES = 3 << 30
"""Bytes of values that are kept for a solver that multiplies with all rows again and again."""

KEPT_ROW_BYTES = 1 << 30
"""Bytes of embedded rows that are kept for a solver that steps from row to row."""

SWEPT_ROW_BYTES = 1 << 29
"""Bytes of embedded rows that are made for one stretch of steps from row to row, where they are not kept."""

MIN_RUNS = 4
"""Runs from which on reading in parallel pays: of fewer, the last ones would leave a thread idle for long."""

MIN_RUN_BLOCKS = 8
"""Blocks of a run of row groups, at the least: its last block may be a short one."""

MAX_RUN_BLOCKS = 16
"""Blocks of a run, at the most, that is decoded whole, so that runs can be read in parallel."""

MAX_RUN_COLUMNS = 200
"""Columns up to which runs are read in parallel: a sum over a run may be as large as the square of its columns."""

MAX_COMPARED_LEVELS = 8
"""Labels up to which comparing all rows with each is faster than counting codes."""

MIN_BLOCK_ROWS = 20_000
"""Rows of a block in memory, at the least."""

# Statistics and solvers

MAX_SORTED_ROWS = 10_000
"""Largest table whose random order depends on the contents of the rows instead of their positions."""

MIN_PACKED_ROWS = 20_000
"""Numbers from which on a stable order is that of keys, which hold a number and its place."""

MAX_STATE_COLUMNS = 8192
"""Columns up to which a d x d matrix is kept (half a gigabyte)."""

MAX_NARROW_COLUMNS = 200
"""Columns up to which a compiled loop forms moments in less time than BLAS, which squares few columns whole."""

MAX_MOMENT_GROUPS = 32
"""Groups of rows up to which a compiled loop forms the moments of each: it holds sums and waiting rows of them all."""

SAMPLE_CAPACITY = 2000
"""Rows of each class, and unlabelled ones, that semi-supervised methods keep to choose their parameters by."""

SMALL_BATCH_ROWS = 32
"""Batches up to this size would spend most of their time on copying a d x d matrix of the state."""

MIN_COLUMNS_PER_ENTRY = 100
"""Columns for each entry of a row from which lazy steps are faster than steps of all columns, which are vectorized."""

MAX_MOMENT_COLUMNS = 3000
"""Columns up to which forming and factoring moments beats products with X."""

MIN_THREADED_SCORES = 1 << 20
"""Held-out scores of a path of penalties from which threads are worth their start."""

MAX_WHOLE_PATH_COLUMNS = 500
"""Columns up to which `likely_alpha` looks at the whole path: its time grows with their cube."""

MAX_HESSIAN_COLUMNS = 1000
"""Columns up to which a Hessian is formed."""

MIN_ROUGH_BYTES, MAX_ROUGH_BYTES = 1 << 22, 1 << 28
"""Memory of a kernel's matrix in float32, for products of few digits, at the least (less is cached) and at the most."""

MIN_GUIDE_ROWS = 2_000
"""Rows of each class, at the least, whose optimum guides the way to that of all pairs, where they are under half."""

MIN_TOP_ROWS_PER_COLUMN = 20
"""Rows a column that the top of a sample must have, so that its optimum is near that of all rows."""

SCORED_PATH_ROWS = 1 << 13
"""Held-out rows that a path of penalties scores at once."""

MAX_DIRECT_ROWS = 512
"""Rows up to which the pairs of a smooth loss are formed one by one."""

SAMPLE_BYTES = 1 << 23
"""Memory of the rows of each class that `RankSVM` solves beforehand, where all rows are in files or partitions."""

MIN_ROWS_FOR_ONE_SPLIT = 200
"""Rows of the rarer class from which folds are drawn once; of fewer rows, up to five times."""

MAX_REPEATED_COLUMNS = 1000
"""Columns from which folds are drawn once in any case."""

# Linear and kernel rankers

MIN_SEARCH_ROWS, MAX_SEARCH_ROWS, SEARCH_VALUES = 1000, 10_000, 2e6
"""Rows of each class that the search for alpha of `RankSVM` looks at, at the least and at the most; and values of
a class in between."""

MAX_WIDE_SEARCH_ROWS = 3000
"""Rows of each class that the search for alpha looks at where columns are many."""

MAX_TUNING_ROWS, MIN_TUNING_CLASS_ROWS = 40_000, 10
"""Rows that the search of a factorization looks at, and rows of each class that it must hold out."""

MAX_KERNEL_BYTES = 1 << 33
"""Memory for a kernel matrix at the most, and never more than half of what the machine has."""

MAP_ROWS = 20_000
"""Rows, at least, from which a map learns where rows lie in files or on a cluster."""

VARIANCE_ROWS = 80_000
"""Rows that gamma="variance" is taken from, of more."""

MIN_CLASS_ROWS_FOR_CV = 5
"""Rows of each class from which on the default ranker cross-validates its alpha."""

MAX_ALPHA_ROWS = 10_000
"""Rows, about, that the search for alpha of ordered rows looks at."""

MAX_LEVEL_MOMENT_VALUES = 1 << 27
"""Numbers of the moments of all levels of a stream, at the most: one gigabyte."""

# Metrics and comparisons

MIN_COMPILED_SCORES = 1 << 14
"""Scores from which a compiled loop places them; fewer are sorted."""

SUMMED_SCORES = 1 << 24
"""Scores whose places are added up in an int64; Python adds the sums, so no number of pairs overflows."""

MAX_SORTED_SCORES = 1 << 13
"""Scores up to which all are sorted for the best threshold; of more, only those of the cells that may hold it."""

MIN_ROWS_FOR_NORMAL_INTERVAL = 100
"""Rows of each class from which on the interval of an area uses normal quantiles in place of Student's."""

MIN_ROWS_FOR_NORMAL_TEST = 30
"""Rows of each class from which on a difference of two areas, whose error is more even, has normal quantiles."""

MIN_CERTAIN_GROUPS = 30
"""Groups below which a variance between groups is told to be uncertain."""

MIN_POSITIVES_IN_REGION = 12
"""Positives in a two-way region below which DeLong's interval covers less than it says."""

MIN_ROWS_TO_HOLD_OUT = 1_000
"""Rows of the rarer class from which on one hold-out is precise enough; fewer are compared by repeated folds."""

# The command

COMMAND_BYTES = 1 << 29
"""Bytes of decoded rows up to which a command learns from them in memory, unless --memory says otherwise."""

MIN_ROWS_FOR_ONE_FOLD, MAX_FOLDED_ENTRIES = 1_000, 5_000_000
"""Rows of the rarer class from which on, and entries of the table beyond which, one fold in place of five says when the
trees of the baseline "lightgbm-small" stop."""

MIN_LOADED_ROWS = 1_000
"""Rows that `compare` loads, whatever --memory says."""

MAX_QUICK_COLUMNS = 2_000
"""Columns from which on d × d moments are no longer the quick way, and `compare` leaves out those that need them."""

MAX_MAP_COLUMNS, MAX_MAP_ROWS, MAX_KERNEL_ROWS = 1_000, 100_000, 2_000
"""Columns and rows up to which `compare` tries a feature map, and rows up to which it tries a kernel matrix."""

MAX_PROFILE_COLUMNS = 2_000
"""Columns up to which a model file holds a profile of the training rows."""

PROFILE_ROWS = 100_000
"""Rows that are counted for the profile in a model file, of those that do not fit in memory."""
