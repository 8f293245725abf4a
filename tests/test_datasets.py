"""The tables that come with the package are the tables they say they are."""

from importlib import resources

import numpy as np

from auclid.datasets import load_anes96, load_gbsg2, load_mammography, load_travel_modes


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


def test_gbsg2_has_the_published_shape_and_counts():
    """686 women, 299 events and 246 with hormonal therapy, as Sauerbrei and Royston (1999) have it."""
    table = load_gbsg2()
    assert table.data.shape == (686, 8) and table.data.dtype == np.float64 and np.isfinite(table.data).all()
    assert table.target.dtype.names == ("event", "time") and table.target["event"].sum() == 299
    assert table.data[:, 0].sum() == 246 and table.target["time"].min() == 8.0 and table.target["time"].max() == 2659.0
    assert np.bincount(table.data[:, 4].astype(int)).tolist() == [0, 81, 444, 161]
    assert len(table.feature_names) == 8
    for fact in ("686", "299", "Schumacher", "lifelines", "MIT"):
        assert fact in table.DESCR
    assert "MIT License" in (resources.files("auclid.datasets") / "gbsg2-licence.txt").read_text("utf-8")


def test_travel_modes_have_one_choice_of_four_a_traveller():
    table = load_travel_modes()
    assert table.data.shape == (840, 9) and len(table.feature_names) == 9
    assert np.bincount(table.groups).tolist() == [0] + 210 * [4]
    assert np.bincount(table.groups, table.target).tolist() == [0] + 210 * [1]
    modes = np.column_stack([table.data[:, :3], 1.0 - table.data[:, :3].sum(axis=1)])
    assert (modes * table.target[:, None]).sum(axis=0).tolist() == [58, 63, 30, 59]  # Greene's shares
    filled = table.data[(table.target == 0) & (table.data[:, 0] == 1.0), 3]
    assert np.unique(filled).tolist() == [64.0, 69.0]  # as the description says
    for fact in ("840", "210", "Greene", "public domain", "filled in"):
        assert fact in table.DESCR


def test_anes96_has_seven_levels():
    table = load_anes96()
    assert table.data.shape == (944, 8) and len(table.feature_names) == 8
    assert np.bincount(table.target).tolist() == [200, 180, 108, 37, 94, 150, 175]
    assert len(table.target_names) == 7
    for fact in ("944", "7 ordered levels", "National Election", "public domain"):
        assert fact in table.DESCR
