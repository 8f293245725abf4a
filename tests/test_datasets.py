"""The table that comes with the package is the table it says it is."""

import numpy as np

from auclid.datasets import load_mammography


def test_mammography_has_the_published_shape_and_counts():
    table = load_mammography()
    assert table.data.shape == (11183, 6) and table.data.dtype == np.float64
    assert table.data.flags.c_contiguous and np.isfinite(table.data).all()
    assert table.target.dtype == np.int64
    assert np.bincount(table.target).tolist() == [10923, 260]
    assert len(table.feature_names) == 6 and len(table.target_names) == 2


def test_mammography_description_says_what_is_in_the_table():
    table = load_mammography()
    assert len(np.unique(table.data, axis=0)) == 7848
    np.testing.assert_allclose(table.data.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(table.data.std(axis=0), 1.0, atol=1e-3)
    for fact in ("11,183", "260", "7,848", "Woods", "OpenML", "Licence"):
        assert fact in table.DESCR


def test_mammography_pair_equals_bunch_and_is_fresh_each_time():
    X, y = load_mammography(return_X_y=True)
    X[:], y[:] = 0.0, 0
    table = load_mammography()
    assert np.ptp(table.data) > 0.0 and table.target.sum() == 260
    again = load_mammography(return_X_y=True)
    np.testing.assert_array_equal(again[0], table.data)
    np.testing.assert_array_equal(again[1], table.target)
