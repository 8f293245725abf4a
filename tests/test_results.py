"""Results: frozen dataclasses that unpack like tuples, print as a line and become frames."""

import pickle
import pydoc
from dataclasses import FrozenInstanceError, is_dataclass

import numpy as np
import pytest

from auclid import metrics

Y = np.array([0, 0, 0, 1, 1, 1, 0, 1])
A, B = np.array([1.0, 2, 4, 3, 5, 6, 2, 1]), np.array([3.0, 2, 4, 1, 5, 6, 2, 7])
GROUPS = np.array(["a", "a", "a", "a", "b", "b", "b", "b"])


class Ranker:
    """A classifier that scores by its first column."""

    def fit(self, X, y, **_):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]

    def get_params(self, deep=False):
        return {}


def results():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    return {
        "auc_interval": metrics.auc_interval(Y, A),
        "bca": metrics.auc_interval(Y, A, method="bca", n_bootstrap=100, random_state=0),
        "compare_auc": metrics.compare_auc(Y, A, B),
        "compare_auc_unpaired": metrics.compare_auc_unpaired(Y, A, Y, B),
        "compare_many": metrics.compare_many(Y, {"a": A, "b": B, "c": -A}),
        "auc_by_group": metrics.auc_by_group(np.tile([0, 1], 4), A, GROUPS),
        "average_precision_interval": metrics.average_precision_interval(Y, A),
        "compare_average_precision": metrics.compare_average_precision(Y, A, B),
        "cross_val_auc": metrics.cross_val_auc(Ranker(), X, y, cv=3),
        "compare_cross_val_auc": metrics.compare_cross_val_auc(Ranker(), Ranker(), X, y, cv=3),
        "rates_at": metrics.rates_at(Y, A, fpr=0.3),
        "operating_point": metrics.operating_point(Y, A),
        "operating_point_interval": metrics.operating_point_interval(Y, A, n_bootstrap=100, random_state=0),
        "lift_table": metrics.lift_table(Y, A, n_bins=4),
        "sample_size": metrics.sample_size(0.8),
        "streaming": metrics.StreamingAUC().update(Y, A).result(),
    }


ORDER = {
    "auc_interval": "auc low high se",
    "compare_auc": "difference low high pvalue",
    "compare_many": "intervals pairs statistic pvalue",
    "auc_by_group": "intervals table worst gap",
    "average_precision_interval": "ap low high se",
    "compare_average_precision": "difference low high pvalue",
    "cross_val_auc": "auc low high se folds",
    "compare_cross_val_auc": "difference low high pvalue folds",
    "rates_at": "threshold tpr tpr_low tpr_high fpr fpr_low fpr_high precision",
    "operating_point": "threshold tpr fpr",
    "sample_size": "n_pos n_neg",
    "streaming": "auc low high",
}


@pytest.fixture(scope="module", name="found")
def _found():
    return results()


@pytest.mark.parametrize("name", sorted(ORDER))
def test_results_unpack_in_the_order_of_the_contract(found, name):
    result, names = found[name], ORDER[name].split()
    assert list(result._asdict()) == names
    assert len(result) == len(names)
    for at, (key, value) in enumerate(zip(names, result, strict=True)):
        assert getattr(result, key) is value
        assert result[at] is value
    assert len(result[1:]) == len(names) - 1


@pytest.mark.parametrize("name", sorted(results()))
def test_every_result_is_frozen_pickles_equals_itself_and_can_be_read(found, name):
    result = found[name]
    assert is_dataclass(result)
    with pytest.raises(FrozenInstanceError):
        setattr(result, result._fields[0], 1.0)
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert result == tuple(result)
    assert result != object()
    assert type(result).__name__ in repr(result)
    assert str(result)
    assert "object at" not in str(result)
    frame = result.to_frame()
    assert len(frame) >= 1
    lines = [line.count("<td") for line in result._repr_html_().split("<tr>")[2:]]
    assert lines == [2] * len(lines) if len(frame) == 1 and len(lines) > 1 else len(lines) == len(frame)
    assert max(lines) <= (7 if len(frame) == 1 else len(frame.columns))


def test_a_notebook_shows_intervals_beside_their_estimates(found):
    shown = found["auc_interval"]._repr_html_()
    auc, low, high, _ = (f"{value:.4g}" for value in found["auc_interval"])
    assert f"<td>{auc} [{low}, {high}]</td>" in shown and "<th>low</th>" not in shown
    assert '<td style="text-align: left">delong</td>' in shown
    rates = found["rates_at"]
    ends = f"{rates.tpr:.4g} [{rates.tpr_low:.4g}, {rates.tpr_high:.4g}]"
    assert f'<td style="text-align: left">tpr</td><td>{ends}</td>' in rates._repr_html_()
    many = found["compare_many"]._repr_html_()
    assert many.count(" [") == 3 and ">adjusted</th>" in many


def test_results_compare_by_their_items(found):
    result = found["auc_interval"]
    assert result != result._replace(low=0.0)
    assert result == result._replace(method="bootstrap")
    assert result != found["compare_auc"]
    assert hash(result) == hash(tuple(result))
    folds = found["cross_val_auc"]
    assert folds != folds._replace(folds=folds.folds + 1.0)


def test_an_interval_prints_as_a_line_of_a_report():
    said = str(metrics.auc_interval([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6]))
    assert said.startswith("AUC 0.8889 [")
    assert "(95 % interval)" in said
    assert said.endswith("3 positives, 3 negatives, delong")


def test_results_say_what_they_rest_on(found):
    compared = found["compare_auc"]
    assert (compared.n_positive, compared.n_negative, compared.level, compared.method) == (4, 4, 0.95, "delong")
    assert compared.estimate_a - compared.estimate_b == pytest.approx(compared.difference)
    assert compared.statistic == pytest.approx(compared.difference / compared.se)
    assert metrics.auc_interval(Y, A, groups=np.arange(8)).n_groups == 8
    partial = metrics.compare_auc(Y, A, B, max_fpr=0.5)
    assert partial.estimate_a == pytest.approx(metrics.partial_auc(Y, A, max_fpr=0.5))


def test_frames_have_a_row_for_each_model_pair_or_part(found):
    assert found["compare_many"].to_frame()[["a", "b"]].values.tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert found["auc_by_group"].to_frame()["group"].tolist() == ["a", "b"]
    assert found["lift_table"].to_frame()["top"].tolist() == [0.25, 0.5, 0.75, 1.0]
    assert found["cross_val_auc"].to_frame()["auc"].tolist() == [found["cross_val_auc"].auc]


def test_names_of_groups_are_escaped_in_html():
    pair = metrics.compare_many(Y, {"<b>": A, "c": B}).pairs[0]
    assert ">&lt;b&gt;</td>" in pair._repr_html_()


@pytest.mark.parametrize("function", [metrics.auc_interval, metrics.compare_auc, metrics.rates_at, metrics.top_k])
def test_help_shows_short_types_and_then_the_summary(function):
    said = pydoc.plaintext.document(function)  # from Python 3.13 on a long signature takes a line for each parameter
    signature, _, rest = said.partition("\n    " + function.__doc__.splitlines()[0].strip())
    assert "ArrayLike" in signature and "numpy._typing" not in signature and rest
    assert signature.count("(") == signature.count(")")


def test_a_column_of_figures_is_one_though_its_first_cell_is_empty():
    from auclid._page import table

    shown = table("t", [{"model": "a", "auc": "", "none": ""}, {"model": "b", "auc": "0.9", "none": ""}])
    assert "<th>auc</th>" in shown and "none" not in shown and "<td>0.9</td>" in shown
