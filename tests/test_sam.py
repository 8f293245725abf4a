"""SAM, ASAM, PSAM: the kernel is the plain walk, the walk nears the optimum, streams are what they say."""

import pickle
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone

import auclid
from auclid import ASAM, PSAM, Kernelized, RandomFourier, RankSVM
from auclid.losses import LOSSES, prox_step, slope, value
from auclid.metrics import group_auc
from auclid.pairwise.sam import RULE_ALPHA, STREAM_ALPHA
from auclid.solvers import random_pairs
from reference import all_pairs
from reference_sam import STEPS, drawn_pairs, drawn_pairs_within, streamed_pairs, walk

BOTH = pytest.mark.parametrize("method", [ASAM, PSAM])


def table(n=60, d=5, seed=0, shift=0.7):
    """Rows with some zeros, of which a third are positive and lie ``shift`` further along each column."""
    rng = np.random.default_rng(seed)
    is_pos = np.arange(n) % 3 == 0
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7) + shift * is_pos[:, None], is_pos


def long_indices(X):
    made = sparse.csr_array(X)
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


LAYOUTS = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "csr": sparse.csr_matrix,
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "csr int64": long_indices,
}


def mean_square(X, is_pos):
    """E|z|^2 over all pairs."""
    Z, share = all_pairs(X, is_pos)
    return share @ np.sum(Z * Z, axis=1)


def reference_fit(X, is_pos, method, loss, *, n_epochs=1, alpha=0.05, t0=None, rskip=3, askip=4, seed=0):
    Z = drawn_pairs(X, is_pos, n_epochs * len(X), seed)
    t0 = mean_square(X, is_pos) / alpha if t0 is None else t0
    return walk(Z, STEPS[method, loss], alpha, t0, rskip, askip)


@pytest.mark.parametrize(("method", "loss"), STEPS)
def test_fit_is_the_plain_walk(method, loss):
    X, is_pos = table()
    last, mean = reference_fit(X, is_pos, method, loss, n_epochs=3)
    keywords = {"alpha": 0.05, "loss": loss, "n_epochs": 3, "rskip": 3, "askip": 4, "random_state": 0}
    make = getattr(auclid, method)
    np.testing.assert_allclose(make(**keywords).fit(X, is_pos).coef_[0], mean, rtol=1e-10)
    np.testing.assert_allclose(make(**keywords, average=False).fit(X, is_pos).coef_[0], last, rtol=1e-10)


@pytest.mark.parametrize(("method", "loss"), [("ASAM", "hinge"), ("PSAM", "hinge"), ("PSAM", "square")])
def test_pairs_within_groups_take_the_plain_walk(method, loss):
    X, is_pos = table()
    groups = np.random.default_rng(3).choice(["a", "b", "c", "d", "e"], len(X))
    Z = drawn_pairs_within(X, is_pos, groups, 2 * len(X), 0)
    keywords = {"alpha": 0.05, "loss": loss, "n_epochs": 2, "t0": 3.0, "rskip": 3, "askip": 4, "random_state": 0}
    model = getattr(auclid, method)(**keywords).fit(X, is_pos, groups=groups)
    np.testing.assert_allclose(model.coef_[0], walk(Z, STEPS[method, loss], 0.05, 3.0, 3, 4)[1], rtol=1e-10)


def test_pairs_within_groups_rank_within_groups():
    """What differs between groups is of no use, and only misleads where pairs are of all rows."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(80), 15)
    level = rng.normal(size=80)[groups]
    X = np.column_stack([rng.normal(size=1200) + 4.0 * level, rng.normal(size=1200)])
    is_pos = X[:, 0] - 8.0 * level + X[:, 1] + rng.normal(size=1200) > 0.0
    within, overall = PSAM(random_state=0).fit(X, is_pos, groups=groups), PSAM(random_state=0).fit(X, is_pos)
    mean = [group_auc(is_pos, model.decision_function(X), groups).auc for model in (within, overall)]
    assert mean[0] > mean[1] + 0.2
    under_map = Kernelized(RandomFourier(20, random_state=0), PSAM(random_state=0)).fit(X, is_pos, groups=groups)
    assert np.isfinite(under_map.decision_function(X)).all()


def test_groups_without_a_pair_are_said():
    X, is_pos = table()
    with pytest.raises(ValueError, match=r"PSAM must hold two levels or more within a group"):
        PSAM().fit(X, is_pos, groups=np.arange(len(X)))
    with pytest.raises(ValueError, match="groups"):
        PSAM().fit(X, is_pos, groups=np.arange(len(X) - 1))


def compiled(layout):
    """In plain Python a float times a float32 is a float32."""
    return pytest.param(layout, marks=pytest.mark.jit if "float32" in layout else ())


@pytest.mark.parametrize("layout", [compiled(layout) for layout in LAYOUTS])
def test_every_kind_of_rows_takes_the_same_walk(layout, monkeypatch):
    monkeypatch.setattr("auclid._sizes.COPY_BYTES", 0)
    monkeypatch.setattr("auclid._sizes.BLOCK_BYTES", 8 * 5 * 2 * 7)  # Fortran order: blocks of 7 pairs
    X, is_pos = table()
    X = X.astype(np.float32).astype(np.float64)
    _, mean = reference_fit(X, is_pos, "PSAM", "hinge")
    model = PSAM(alpha=0.05, n_epochs=1, rskip=3, askip=4, random_state=0).fit(LAYOUTS[layout](X), is_pos)
    np.testing.assert_allclose(model.coef_[0], mean, rtol=1e-10)
    assert model.coef_.dtype == np.float64
    assert model.t0_ == pytest.approx(mean_square(X, is_pos) / 0.05)


@BOTH
@pytest.mark.parametrize("skips", [(1, 1), (2, 5), (5, 2)])
def test_t0_zero_begins_anew_at_the_first_shrinking(method, skips):
    """The factor 1 - rskip/t is 0 there: what was averaged before must stay in the average."""
    X, is_pos = table()
    rskip, askip = skips
    _, mean = reference_fit(X, is_pos, method.__name__, "hinge", t0=0.0, rskip=rskip, askip=askip)
    model = method(alpha=0.05, n_epochs=1, t0=0.0, rskip=rskip, askip=askip, random_state=0).fit(X, is_pos)
    np.testing.assert_allclose(model.coef_[0], mean, rtol=1e-10)
    assert model.t0_ == 0.0


def test_a_scale_that_gets_tiny_is_taken_into_v():
    """With a t0 that is almost zero the first factor is almost zero as well, and more follow."""
    X, is_pos = table()
    _, mean = reference_fit(X, is_pos, "PSAM", "hinge", t0=1e-8, rskip=1, askip=1)
    model = PSAM(alpha=0.05, n_epochs=1, t0=1e-8, rskip=1, askip=1, random_state=0).fit(X, is_pos)
    np.testing.assert_allclose(model.coef_[0], mean, rtol=1e-6)
    assert model._state.iterate.weights.factors.scale > random_pairs.MIN_PAIR_SCALE


@pytest.mark.parametrize("loss", ["hinge", "square", "squared_hinge"])
@pytest.mark.parametrize("length", [3.0, 1.0, 0.0])
def test_a_proximal_step_is_the_argmin(loss, length):
    """Two steps on the one pair there is, and neither shrinking nor averaging: each is a proximal map."""
    z, alpha, t0, w = length * np.array([0.6, -0.8]), 0.5, 1.0, np.zeros(2)
    for t in (1, 2):

        def cost(v, start=w, s=1.0 / (alpha * (t + t0))):
            return 0.5 * np.sum((v - start) ** 2) + s * value(LOSSES[loss](), v @ z)

        w = minimize(cost, w, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}).x
    model = PSAM(alpha, loss=loss, n_epochs=1, t0=t0, rskip=9, askip=9, random_state=0)
    model.fit(np.array([z + 1.0, [1.0, 1.0]]), [True, False])
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)


def hinge_optimum(Z, alpha):
    """The least mean hinge loss + alpha/2 |w|^2, from the dual, with proof: primal and dual value meet."""
    n = len(Z)

    def dual(a):
        w = Z.T @ a / (alpha * n)
        return 0.5 * alpha * w @ w - a.mean(), (Z @ w - 1.0) / n

    found = minimize(dual, np.full(n, 0.5), jac=True, bounds=[(0.0, 1.0)] * n, method="L-BFGS-B",
                     options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-10})  # fmt: skip
    best = objective(Z.T @ found.x / (alpha * n), Z, alpha, "hinge")
    assert best + found.fun < 1e-4
    return -found.fun


def objective(w, Z, alpha, loss):
    return np.mean([value(LOSSES[loss](), m) for m in Z @ w]) + 0.5 * alpha * w @ w


def smooth_optimum(Z, alpha, loss):
    return minimize(objective, np.zeros(Z.shape[1]), args=(Z, alpha, loss), method="BFGS", tol=1e-6).fun


@pytest.mark.parametrize(
    ("method", "loss"),
    [(getattr(auclid, method), loss) for method, loss in STEPS],
)
def test_more_epochs_come_nearer_to_the_optimum(method, loss):
    X, is_pos = table(n=45, d=4)
    Z, alpha = all_pairs(X, is_pos)[0], 0.05
    best = hinge_optimum(Z, alpha) if loss == "hinge" else smooth_optimum(Z, alpha, loss)

    def excess(n_epochs):
        models = [method(alpha, loss=loss, n_epochs=n_epochs, random_state=seed) for seed in range(5)]
        return np.mean([objective(m.fit(X, is_pos).coef_[0], Z, alpha, loss) for m in models]) - best

    few, more, many = excess(2), excess(30), excess(600)
    assert few > 2.0 * more > 4.0 * many > -1e-6
    assert many < 1e-3 * best


@BOTH
def test_one_seed_is_one_model_and_blocks_of_draws_do_not_matter(method):
    class SmallDraws(method):
        def _fit_solver(self, summary):
            return replace(super()._fit_solver(summary), pairs_per_chunk=7)

    X, is_pos = table()
    first = method(random_state=1).fit(X, is_pos)
    assert np.any(first.coef_ != method(random_state=2).fit(X, is_pos).coef_)
    second = SmallDraws(random_state=1).fit(X, is_pos)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)


def test_fit_draws_every_pair_alike(monkeypatch):
    seen = []
    real = random_pairs.sweep_pairs

    def watch(rows, pos, neg, steps, iterate):
        seen.append(np.stack([pos, neg]))
        return real(rows, pos, neg, steps, iterate)

    monkeypatch.setattr(random_pairs, "sweep_pairs", watch)
    X, is_pos = table(n=12)
    PSAM(n_epochs=1000, random_state=0).fit(X, is_pos)
    pos, neg = np.concatenate(seen, axis=1)
    assert is_pos[pos].all() and not is_pos[neg].any()
    count = np.bincount(12 * pos + neg, minlength=144)
    count = count[count > 0]
    assert len(count) == 4 * 8
    assert np.sum((count - 375.0) ** 2 / 375.0) < 61.1  # chi-squared, 31 degrees of freedom, 0.1 %


def batches(model, X, is_pos, size):
    for start in range(0, len(is_pos), size):
        model.partial_fit(X[start : start + size], is_pos[start : start + size], classes=[False, True])
    return model


@BOTH
@pytest.mark.parametrize("layout", ["dense", "csr", "fortran"])
def test_a_stream_is_the_plain_walk_however_it_is_cut(method, layout):
    class SmallReservoir(method):
        def _solver(self):
            return replace(super()._solver(), reservoir_capacity=5)

    X, is_pos = table(n=80)
    given = LAYOUTS[layout](X)
    Z = streamed_pairs(X, is_pos, 5, seed=0)
    assert len(Z) == 79
    _, mean = walk(Z, STEPS[method.__name__, "hinge"], 0.05, None, 3, 4)
    fresh = [SmallReservoir(0.05, rskip=3, askip=4, random_state=0) for _ in range(3)]
    models = [batches(model, given, is_pos, size) for model, size in zip(fresh, (80, 1, 7), strict=True)]
    for model in models:
        np.testing.assert_allclose(model.coef_[0], mean, rtol=1e-9)
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        np.testing.assert_array_equal(model.intercept_, models[0].intercept_)
        assert model.t0_ == pytest.approx(np.mean(np.sum(Z * Z, axis=1)) / 0.05)
    middle = 0.5 * (X[is_pos].mean(axis=0) + X[~is_pos].mean(axis=0))
    assert models[0].intercept_[0] == pytest.approx(-models[0].coef_[0] @ middle)


@BOTH
def test_no_step_before_both_classes_were_seen(method):
    X, is_pos = table()
    model = method(random_state=0).partial_fit(X[~is_pos], is_pos[~is_pos], classes=[False, True])
    assert not model.coef_.any() and not model.decision_function(X).any()
    model.partial_fit(X[is_pos][:1], [True])
    assert model.coef_.any()
    again = pickle.loads(pickle.dumps(model))
    for one in (model, again):
        one.partial_fit(X[is_pos][1:], is_pos[is_pos][1:])
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert model.score(X, is_pos) > 0.8


def test_the_t0_used_stays_what_it_was():
    X, is_pos = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40) % 2
    model = PSAM(alpha=0.1, random_state=0)
    assert not hasattr(model, "t0_")
    used = model.fit(X, is_pos).t0_
    assert model.set_params(alpha=1.0).t0_ == used


def test_a_given_t0_holds_in_a_stream_too():
    X, is_pos = table(n=80)
    model = batches(PSAM(0.05, t0=40.0, rskip=3, askip=4, random_state=0), X, is_pos, 11)
    _, mean = walk(streamed_pairs(X, is_pos, 1000, seed=0), STEPS["PSAM", "hinge"], 0.05, 40.0, 3, 4)
    np.testing.assert_allclose(model.coef_[0], mean, rtol=1e-9)
    assert model.t0_ == pytest.approx(40.0)


def test_a_stream_goes_on_after_a_fit_but_fit_keeps_no_rows():
    X, is_pos = table(n=90)
    model = PSAM(random_state=0).fit(X[:60], is_pos[:60])
    w, t0 = model.coef_.copy(), model.t0_
    model.partial_fit(X[60:][is_pos[60:]], is_pos[60:][is_pos[60:]])
    np.testing.assert_array_equal(model.coef_, w)
    model.partial_fit(X[60:], is_pos[60:])
    assert np.any(model.coef_ != w) and model.t0_ == t0


def test_a_batch_that_overflows_changes_nothing():
    X, is_pos = table()
    model = ASAM(random_state=0).partial_fit(X, is_pos)
    w, rng = model.coef_.copy(), model._rng.bit_generator.state
    with pytest.raises(ValueError, match="ASAM must end with finite weights"):
        model.partial_fit(1e200 * X, is_pos)
    np.testing.assert_array_equal(model.coef_, w)
    assert model._rng.bit_generator.state == rng and model._state.iterate.t == 59


@BOTH
@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
def test_the_scale_of_the_rows_does_not_matter(method, scale):
    """With alpha scaled along, the weights are those of the unscaled rows, divided by the scale."""
    X, is_pos = table()
    plain = method(1e-3, random_state=0).fit(X, is_pos).coef_
    model = method(1e-3 * scale**2, random_state=0).fit(scale * X, is_pos)
    np.testing.assert_allclose(model.coef_ * scale, plain, rtol=1e-6)


@BOTH
def test_alpha_is_that_of_the_machine_of_all_pairs(method):
    X, is_pos = table()
    model = method("cv", random_state=0).fit(X, is_pos)
    assert model.alpha_ == RankSVM().fit(X, is_pos).alpha_
    given = method(model.alpha_, random_state=0).fit(X, is_pos)
    np.testing.assert_array_equal(model.coef_, given.coef_)
    assert (given.alpha_, given.t0_) == (model.alpha_, model.t0_)
    weight = np.where(np.arange(60) % 4 == 1, 0.0, 1.0)
    counted = method("cv", random_state=0).fit(X, is_pos, sample_weight=weight)
    assert counted.alpha_ == RankSVM().fit(X, is_pos, sample_weight=weight).alpha_


@BOTH
def test_alpha_follows_from_norms_and_labels_by_default(method, monkeypatch):
    monkeypatch.setattr("auclid.pairwise.sam.best_alpha", None)  # no search
    X, is_pos = table()
    Z = (X[is_pos][:, None] - X[~is_pos][None]).reshape(-1, X.shape[1])
    rarest = min(is_pos.sum(), (~is_pos).sum())
    model = method(random_state=0).fit(X, is_pos)
    assert model.alpha_ == pytest.approx(RULE_ALPHA * np.mean(np.sum(Z * Z, axis=1)) / rarest)
    kept = np.arange(60) % 4 != 1
    weighed = method(random_state=0).fit(X, is_pos, sample_weight=kept.astype(float))
    assert weighed.alpha_ == pytest.approx(method(random_state=0).fit(X[kept], is_pos[kept]).alpha_)


@BOTH
@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
def test_units_do_not_matter_by_default(method, verb, scale):
    X, is_pos = table()
    plain, scaled = (getattr(method(random_state=0), verb)(factor * X, is_pos) for factor in (1.0, scale))
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-6)
    assert scaled.alpha_ == pytest.approx(plain.alpha_ * scale**2)


@BOTH
@pytest.mark.parametrize("t0", [None, 40.0])
def test_a_stream_takes_alpha_from_the_pairs_so_far(method, t0):
    X, is_pos = table(n=80)
    Z = streamed_pairs(X, is_pos, 1000, seed=0)
    so_far = np.cumsum(np.sum(Z * Z, axis=1)) / np.arange(1, len(Z) + 1)
    age = 1.0 / STREAM_ALPHA if t0 is None else t0
    _, mean = walk(Z, STEPS[method.__name__, "hinge"], STREAM_ALPHA * so_far, age, 3, 4)
    models = [batches(method(t0=t0, rskip=3, askip=4, random_state=0), X, is_pos, size) for size in (80, 7)]
    for model in models:
        np.testing.assert_allclose(model.coef_[0], mean, rtol=1e-9)
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        assert model.alpha_ == pytest.approx(STREAM_ALPHA * so_far[-1]) and model.t0_ == pytest.approx(age)


@pytest.mark.parametrize("copied", [0, 1 << 20])
def test_fortran_order_gives_the_same_bits(copied, monkeypatch):
    monkeypatch.setattr("auclid._sizes.COPY_BYTES", copied)
    X, is_pos = table()
    models = [PSAM(random_state=0).fit(turned(X), is_pos) for turned in (np.asarray, np.asfortranarray)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_a_stream_after_a_fit_keeps_its_alpha():
    X, is_pos = table(n=90)
    model = PSAM(random_state=0).fit(X[:60], is_pos[:60])
    alpha = model.alpha_
    assert model.partial_fit(10.0 * X[60:], is_pos[60:]).alpha_ == alpha


@BOTH
def test_extreme_tables_are_ordinary(method):
    same = method(random_state=0).fit(np.ones((6, 3)), [0, 0, 0, 1, 1, 1])
    assert not same.coef_.any() and same.t0_ == 0.0
    X, is_pos = table()
    one = np.zeros(len(X), dtype=bool)
    one[0] = True
    assert np.isfinite(method(random_state=0).fit(X, one).coef_).all()
    empty = sparse.csr_array((4, 3))
    assert not method(random_state=0).fit(empty, [0, 1, 0, 1]).coef_.any()
    far = method(random_state=0).fit(X + 1e6, is_pos)
    near = method(random_state=0).fit(X, is_pos)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-5)


@BOTH
@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
def test_rows_too_long_to_square_are_refused(method, verb):
    X, is_pos = table()
    with pytest.raises(ValueError, match="must end with finite weights"):
        getattr(method(), verb)(1e200 * X, is_pos)


@BOTH
def test_alpha_must_be_positive(method):
    X, is_pos = table()
    said = rf"'alpha' parameter of {method.__name__} must be a float in the range \(0.0, inf\) or .*'auto'.* Got 0.0"
    with pytest.raises(ValueError, match=said):
        method(alpha=0.0).fit(X, is_pos)


def test_losses_without_a_proximal_step_are_refused():
    X, is_pos = table()
    with pytest.raises(ValueError, match=r"The 'loss' parameter of PSAM must be .*squared_hinge"):
        PSAM(loss="logistic").fit(X, is_pos)


def test_the_papers_names():
    assert [type(auclid.make(name)) for name in ("SAM", "ASAM", "PSAM")] == [ASAM, ASAM, PSAM]
    assert not auclid.make("SAM").average and auclid.make("ASAM").average


class MyHinge(NamedTuple):
    """The hinge of a margin, as a user would write it."""

    margin: float = 1.0


@slope.implement(MyHinge)
def _(loss, m):
    return -1.0 if m < loss.margin else 0.0


@prox_step.implement(MyHinge)
def _(loss, m, q, s):
    return min(s, max(0.0, loss.margin - m) / q) if q > 0.0 else 0.0


class MySquare(NamedTuple):
    """(margin - m)^2"""

    margin: float = 1.0


@slope.implement(MySquare)
def _(loss, m):
    return -2.0 * (loss.margin - m)


@pytest.mark.parametrize("method", [ASAM, PSAM])
def test_a_loss_of_ones_own_is_that_loss(method):
    X, is_pos = table()
    ours, mine = (method(loss=loss, alpha=1e-3, random_state=0).fit(X, is_pos) for loss in ("hinge", MyHinge(1)))
    np.testing.assert_array_equal(ours.coef_, mine.coef_)
    stream = [method(loss=loss, alpha=1e-3, random_state=0).partial_fit(X, is_pos) for loss in ("hinge", MyHinge(1))]
    np.testing.assert_array_equal(stream[0].coef_, stream[1].coef_)
    wider = method(loss=MyHinge(3.0), alpha=1e-3, random_state=0).fit(X, is_pos)
    assert np.linalg.norm(wider.coef_) > np.linalg.norm(mine.coef_)
    assert clone(wider).loss == MyHinge(3.0)


def test_a_slope_without_bound_is_stopped_at_the_least_loss():
    X, is_pos = table()
    ours, mine = (ASAM(loss=loss, random_state=0).fit(X, is_pos) for loss in ("square", MySquare()))
    np.testing.assert_array_equal(ours.coef_, mine.coef_)
    long = 1e4 * X
    assert np.isfinite(ASAM(loss=MySquare(2.5), random_state=0).fit(long, is_pos).coef_).all()
    assert random_pairs.subgradient_rule(MySquare(2.5)) == random_pairs.BoundedStep(2.5)
    assert random_pairs.subgradient_rule(MyHinge()) == random_pairs.SubgradientStep()


def test_a_loss_that_lacks_a_function_is_refused_in_one_sentence():
    X, is_pos = table()
    model = PSAM(loss=MySquare())
    with pytest.raises(TypeError) as raised:
        model.fit(X, is_pos)
    assert str(raised.value) == (
        "The 'loss' parameter of PSAM must have slope and prox_step implemented. Got MySquare without prox_step "
        "instead: add @prox_step.implement(MySquare)."
    )
    assert not hasattr(model, "coef_")
    said = r"^The 'loss' parameter of ASAM must have slope implemented\. Got tuple without"
    with pytest.raises(TypeError, match=said):
        ASAM(loss=(1.0, 2.0)).fit(X, is_pos)
