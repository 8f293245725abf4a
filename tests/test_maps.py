"""RandomFourier and KMeansNystroem: products near the kernel, on any layout, in either precision."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels, rbf_kernel
from sklearn.utils.estimator_checks import check_estimator

import auclid
from auclid import KMeansNystroem, RandomFourier, _sizes
from auclid.data import as_table
from auclid.io import ModelFileError
from auclid.kernels._kernel_block import kernel_of, width

KERNELS = {"rbf": rbf_kernel, "laplacian": laplacian_kernel}
MAPS = [KMeansNystroem(30, random_state=0), RandomFourier(30, random_state=0)]
EACH_MAP = pytest.mark.parametrize("feature_map", MAPS, ids=lambda m: type(m).__name__)


def table(n=200, d=4, seed=0):
    """Normal rows, a third of the entries zero."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 2 / 3)


def off(Z, K):
    """Root mean square distance of the products of rows to the kernel."""
    return np.sqrt(np.mean((Z @ Z.T - K) ** 2))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", ["pair", "phase"])
def test_fourier_products_near_the_kernel_like_one_over_root_m(kernel, form):
    X = table(60)
    K = KERNELS[kernel](X, gamma=0.3)

    def mean_off(m):
        maps = [RandomFourier(m, gamma=0.3, kernel=kernel, form=form, random_state=s) for s in range(8)]
        return np.sqrt(np.mean([off(one.fit_transform(X), K) ** 2 for one in maps]))

    few, many = mean_off(64), mean_off(64 * 64)
    assert many < 1.5 / 64  # a column's variance is at most 3/2 (phase), 1/2 (pair)
    assert 6.0 < few / many < 10.5  # 8 by the law


@pytest.mark.parametrize("form", ["pair", "phase"])
def test_fourier_is_unbiased_for_any_number_of_columns(form):
    X = table(8)
    made = [RandomFourier(3, gamma=0.3, form=form, random_state=s).fit_transform(X) for s in range(1500)]
    mean = np.mean([Z @ Z.T for Z in made], axis=0)
    np.testing.assert_allclose(mean, rbf_kernel(X, gamma=0.3), atol=0.07)


def test_paired_fourier_rows_have_length_one():
    Z = RandomFourier(40, random_state=1).fit_transform(table())
    np.testing.assert_allclose((Z**2).sum(axis=1), 1.0, rtol=1e-12)


def test_fourier_needs_no_rows_when_gamma_is_given():
    a, b = table(3, seed=1), table(50, seed=2)
    one, other = (RandomFourier(16, gamma=0.5, random_state=7).fit(X) for X in (a, b))
    np.testing.assert_array_equal(one.transform(b), other.transform(b))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "sigmoid", "cosine"])
def test_nystroem_of_all_rows_is_the_kernel(kernel):
    X = table(50)
    if kernel == "sigmoid":
        X = 0.1 * X  # where it is positive semidefinite, nearly
    fitted = KMeansNystroem(50, gamma=0.4, kernel=kernel).fit(X)
    K = pairwise_kernels(X, metric=kernel, filter_params=True, gamma=0.4)
    Z = fitted.transform(X)
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-3 if kernel == "sigmoid" else 1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
def test_nystroem_is_exact_on_landmarks_and_nears_the_kernel_with_more(kernel):
    X = table(600, d=2)
    K, errors = KERNELS[kernel](X, gamma=0.5), []
    for m in (8, 32, 128):
        fitted = KMeansNystroem(m, gamma=0.5, kernel=kernel, random_state=0).fit(X)
        Z = fitted.transform(fitted.landmarks_)
        np.testing.assert_allclose(Z @ Z.T, KERNELS[kernel](fitted.landmarks_, gamma=0.5), atol=1e-6)
        errors.append(off(fitted.transform(X), K))
        # E|k - k'| is bounded by the distance of rows to their landmarks (Zhang, Tsang & Kwok 2008)
        assert errors[-1] < 4.0 * np.sqrt(np.mean(nearest(X, fitted.landmarks_)))
    assert errors[0] > 2.0 * errors[1] > 4.0 * errors[2]


def nearest(X, landmarks):
    """Squared distance of each row to its landmark."""
    return ((X[:, None] - landmarks) ** 2).sum(axis=2).min(axis=1)


def test_landmarks_are_spread_better_than_random_rows():
    X = table(3000, d=3)
    rng = np.random.default_rng(0)
    ours = nearest(X, KMeansNystroem(40, random_state=0).fit(X).landmarks_).mean()
    random = np.mean([nearest(X, X[rng.permutation(len(X))[:40]]).mean() for _ in range(10)])
    assert ours < 0.7 * random


@EACH_MAP
def test_sparse_rows_are_dense_rows(feature_map):
    X = table()
    for made in (sparse.csr_matrix(X), sparse.csr_array(X)):
        Z = feature_map.fit(X).transform(X)
        np.testing.assert_allclose(feature_map.transform(made), Z, atol=1e-8)
        S = feature_map.fit(made).transform(made)
        np.testing.assert_allclose(S @ S.T, Z @ Z.T, atol=1e-8)
        np.testing.assert_allclose(feature_map.transform(X), S, atol=1e-8)


@EACH_MAP
@pytest.mark.parametrize("order", ["C", "F"])
def test_result_has_the_type_of_the_rows_and_of_the_fit_its_digits(feature_map, order):
    X = table()
    wide = feature_map.fit(X).transform(X)
    narrow_rows = np.asarray(X, dtype=np.float32, order=order)
    assert feature_map.transform(narrow_rows).dtype == np.float32
    np.testing.assert_allclose(feature_map.transform(narrow_rows), wide, atol=1e-4)
    feature_map.set_params(gamma=0.25)
    narrow, wide = (feature_map.fit(rows).transform(rows) for rows in (narrow_rows, X))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow @ narrow.T, wide @ wide.T, atol=5e-4)
    feature_map.set_params(gamma=None)


def test_float32_values_keep_six_digits_wherever_the_rows_lie():
    rng = np.random.default_rng(0)
    X, U = (rng.normal(size=(n, 20)).astype(np.float32) + np.float32(1000.0) for n in (300, 70))
    exact = rbf_kernel(X.astype(np.float64) - 1000.0, U.astype(np.float64) - 1000.0, gamma=0.05)
    values = kernel_of("rbf", U.astype(np.float64), 0.05, U.mean(axis=0), np.float32)(X)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, exact, rtol=3e-6, atol=1e-12)


def test_float32_values_from_equal_to_infinitely_far():
    U = np.array([[0.0], [1e30]], dtype=np.float32)
    X = np.array([[0.0], [1.0], [9.0], [20.0], [1e4], [-1e30]], dtype=np.float32)
    values = kernel_of("rbf", U.astype(np.float64), 1.0, np.zeros(1, np.float32), np.float32)(X)
    np.testing.assert_allclose(values[:3, 0], np.exp([0.0, -1.0, -81.0]), rtol=1e-5)
    assert values[0, 0] == 1.0
    assert np.all((values[3:] >= 0.0) & (values[3:] < 1e-37))


@pytest.mark.parametrize(("kernel", "power"), [("rbf", 2), ("laplacian", 1)])
def test_width_follows_the_scale_and_not_the_place(kernel, power):
    X = table(500)

    def gamma(rows):
        return width(as_table(rows), kernel, 1.0, np.random.default_rng(0))

    assert gamma(10.0 * X) == pytest.approx(gamma(X) / 10.0**power)
    assert gamma(X + 5.0) == pytest.approx(gamma(X))
    assert gamma(sparse.csr_matrix(X)) == pytest.approx(gamma(X))
    K = KERNELS[kernel](X, gamma=gamma(X))
    assert np.median(K[np.triu_indices(500, 1)]) == pytest.approx(np.exp(-1.0), rel=0.05)


def test_width_of_rows_that_are_alike():
    rng = np.random.default_rng(0)
    assert width(as_table(np.ones((9, 4))), "rbf", 1.0, rng) == 0.25
    assert width(as_table(np.ones((1, 4))), "rbf", 4.0, rng) == 0.5
    mostly = np.zeros((100, 2))
    mostly[:5] = 3.0
    assert 0.0 < width(as_table(mostly), "rbf", 0.1, rng) < np.inf
    assert width(as_table(mostly), "linear", 0.1, rng) is None


@EACH_MAP
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scale_of_the_rows_is_no_matter(feature_map, scale):
    X = table(80)
    expected = feature_map.fit(X).transform(X)
    scaled = feature_map.fit(scale * X).transform(scale * X)
    np.testing.assert_allclose(scaled @ scaled.T, expected @ expected.T, atol=1e-6)


def test_equal_rows_leave_fewer_columns():
    X = np.repeat(table(5), 20, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Z = KMeansNystroem(20, gamma=0.3, random_state=0).fit_transform(X)
    assert Z.shape == (100, 5)
    np.testing.assert_allclose(Z @ Z.T, rbf_kernel(X, gamma=0.3), atol=1e-8)
    assert KMeansNystroem(3, kernel="linear").fit_transform(np.zeros((9, 2))).shape == (9, 1)


def test_columns_within_rounding_are_cut_by_precision():
    X = table(300, d=2)
    wide, narrow = (KMeansNystroem(100, gamma=0.01, random_state=0).fit_transform(X.astype(t)) for t in "df")
    assert narrow.shape[1] < wide.shape[1] < 100
    assert np.abs(narrow).max() < 1.5 and np.abs(wide).max() < 1.5


def test_few_rows_all_become_landmarks():
    with pytest.warns(UserWarning, match="50 landmarks to find among 20 rows"):
        fitted = KMeansNystroem(50).fit(table(20))
    np.testing.assert_array_equal(fitted.landmarks_, table(20))


@EACH_MAP
def test_same_seed_same_bits(feature_map):
    X = table()
    first = feature_map.fit(X).transform(X)
    np.testing.assert_array_equal(feature_map.fit(X).transform(X), first)
    for seed in (np.random.default_rng(3), np.random.RandomState(3)):
        feature_map.set_params(random_state=seed).fit(X)
    feature_map.set_params(random_state=0)


def forged(fitted, **changed):
    """A file with a map whose parts are others."""
    kernel = getattr(fitted, "_kernel", None)
    for name, value in changed.items():
        if kernel is not None and name in kernel._fields:
            fitted._kernel = kernel._replace(**{name: value})
        else:
            setattr(fitted, name, value)
    return fitted


def without_gamma(fitted):
    """The same with lengths that are too few, looking as if it were not fitted."""
    del fitted.gamma_
    return forged(fitted, lengths=np.zeros(3))


HOSTILE = {
    "lengths, and no gamma_": lambda: without_gamma(KMeansNystroem(9).fit(table(30))),
    "lengths": lambda: forged(KMeansNystroem(9).fit(table(30)), lengths=np.zeros(3)),
    "type of lengths": lambda: forged(KMeansNystroem(9).fit(table(30)), lengths=np.zeros(9, np.float32)),
    "doubles": lambda: forged(KMeansNystroem(9).fit(table(30)), double=np.zeros((4, 90))),
    "centre": lambda: forged(KMeansNystroem(9).fit(table(30)), centre=np.zeros(3)),
    "scale": lambda: forged(KMeansNystroem(9).fit(table(30)), scale=np.ones(9)),
    "landmarks": lambda: forged(KMeansNystroem(9).fit(table(30)), landmarks_=np.zeros((8, 4))),
    "whitening": lambda: forged(KMeansNystroem(9).fit(table(30)), whitening_=np.zeros((3, 9))),
    "another kernel": lambda: forged(KMeansNystroem(9).fit(table(30)), kernel="laplacian"),
    "other landmarks": lambda: forged(
        KMeansNystroem(9, kernel="laplacian").fit(table(30)), landmarks=np.zeros((9, 3))
    ),
    "waves": lambda: forged(RandomFourier(9).fit(table(30)), n_components=20),
    "phases": lambda: forged(RandomFourier(9).fit(table(30)), phases_=np.zeros(2)),
    "width": lambda: forged(RandomFourier(9).fit(table(30)), gamma_="wide"),
}


@pytest.mark.parametrize("part", HOSTILE)
def test_a_loaded_map_must_fit_together(part, tmp_path):
    auclid.save(tmp_path / "map", HOSTILE[part]())
    with pytest.raises(ModelFileError, match=r"what its \w+ has learnt does not fit together|of its \w+ must be"):
        auclid.load(tmp_path / "map")


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "cosine"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_loaded_map_gives_the_same_bits(kernel, dtype, tmp_path):
    X = table(60).astype(dtype)
    maps = [KMeansNystroem(9, kernel=kernel, random_state=0)]
    if kernel != "cosine":
        maps += [RandomFourier(9, kernel=kernel, form=form, random_state=0) for form in ("pair", "phase")]
    for feature_map in maps:
        auclid.save(tmp_path / "map", feature_map.fit(X))
        np.testing.assert_array_equal(auclid.load(tmp_path / "map").transform(X), feature_map.transform(X))


@EACH_MAP
def test_names_of_columns(feature_map):
    Z = feature_map.fit_transform(table())
    names = feature_map.get_feature_names_out()
    assert len(names) == Z.shape[1] and names[0] == f"{type(feature_map).__name__.lower()}0"


@pytest.mark.parametrize(
    ("feature_map", "said"),
    [
        (RandomFourier(0), "'n_components' parameter of RandomFourier"),
        (RandomFourier(gamma=0.0), "'gamma' parameter of RandomFourier"),
        (RandomFourier(kernel="linear"), "'kernel' parameter of RandomFourier"),
        (KMeansNystroem(kernel="wave"), "'kernel' parameter of KMeansNystroem"),
        (KMeansNystroem(n_components=2.5), "'n_components' parameter of KMeansNystroem"),
    ],
)
def test_bad_parameters_are_named(feature_map, said):
    with pytest.raises(ValueError, match=said):
        feature_map.fit(table())


@pytest.mark.filterwarnings("ignore:.*landmarks to find among:UserWarning")
@pytest.mark.parametrize("feature_map", [RandomFourier(), KMeansNystroem()], ids=lambda m: type(m).__name__)
def test_scikit_learn_checks(feature_map):
    check_estimator(feature_map)


def test_the_width_of_the_variance_is_that_of_any_order_of_the_rows(monkeypatch):
    """Of more rows than it is taken from, too: not those that come first."""
    monkeypatch.setattr(_sizes, "VARIANCE_ROWS", 2_000)
    X = np.sort(np.random.default_rng(0).normal(size=(20_000, 2)), axis=0)
    feature_map = KMeansNystroem(5, gamma="variance", random_state=0).fit(X)
    assert feature_map.gamma_ == pytest.approx(1.0 / X.var(axis=0).sum(), rel=0.1)
