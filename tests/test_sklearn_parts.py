"""Every class of scikit-learn that model files may hold is saved, comes back, and is refused where it is not sound."""

import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler

from auclid import load, save
from auclid.io import ModelFileError
from auclid.io._learnt import check_attributes
from auclid.io._sklearn import CHECKS, DERIVED, HOMES, find_sklearn, specifications
from auclid.io._sklearn_types import SKLEARN_TYPES
from model_files import forged, opened, signed
from sklearn_parts import LEVELS, VERSION, X, Y, answers, objects, specimens

NEWER = {"_TemperatureScaling": (1, 8)}
"""Classes that older versions of scikit-learn do not have."""

SPECIMENS = list(specimens())


def same(a, b):
    """Equal; floats to rounding, since BLAS adds in another order where arrays lie at other addresses.

    That the arrays themselves are the same bits is what the bytes of the second file tell.
    """
    a, b = (x.toarray() if sparse.issparse(x) else np.asarray(x) for x in (a, b))
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    return np.allclose(a, b, rtol=1e-13, atol=1e-13 * np.nan_to_num(np.abs(a)).max(initial=0.0), equal_nan=True)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda pair: type(pair[0]).__name__)
def test_every_part_comes_back_to_the_same_answers(specimen, tmp_path):
    model, rows = specimen
    save(tmp_path / "a", model)
    loaded = load(tmp_path / "a")
    assert type(loaded) is type(model) and repr(loaded) == repr(model) and "sk-top-container" in loaded._repr_html_()
    then, now = answers(model, rows), answers(loaded, rows)
    assert then.keys() == now.keys() and all(same(then[name], now[name]) for name in then)
    save(tmp_path / "b", loaded)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def attributes_seen():
    """Class to the attributes besides parameters that its specimens have."""
    found = {}
    for model, _ in SPECIMENS:
        for part in objects(model):
            parameters = part.get_params(deep=False) if hasattr(part, "get_params") else {}
            found.setdefault(type(part).__name__, set()).update(set(vars(part)) - set(parameters))
    return found


def test_every_listed_class_has_a_specimen():
    there = {name for name in HOMES if NEWER.get(name, (0,)) <= VERSION}
    assert there - set(attributes_seen()) == set()
    assert set(CHECKS) | set(DERIVED) <= set(HOMES)


OTHER_VERSIONS = {"_alphas", "_metadata_request"}
"""Attributes that older versions of scikit-learn leave, and 1.9 does not."""


def test_the_table_knows_the_attributes_of_every_class_and_no_others():
    rare = {"n_features_in_", "feature_names_in_", "_sklearn_output_config"} | OTHER_VERSIONS
    for name, seen in attributes_seen().items():
        listed = specifications(name) if name in HOMES else {}
        assert name not in HOMES or seen <= set(listed), name
        never = {key for key in listed if listed[key] != "versioned"} - seen - rare
        assert VERSION != (1, 9) or never == set(), f"{name} never has {never}"


def test_names_are_those_of_public_classes():
    for module, classes in SKLEARN_TYPES.items():
        for name in classes:
            if NEWER.get(name, (0,)) <= VERSION:
                assert isinstance(find_sklearn(name), type), f"{module}.{name}"


def refusal(path):
    with pytest.raises(ModelFileError) as error:
        load(path)
    assert "\n" not in str(error.value) and len(str(error.value)) < 1000
    return str(error.value)


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda pair: type(pair[0]).__name__)
def test_arrays_of_another_width_are_refused(specimen):
    """No array whose last length is the number of features can be wider than that."""
    name, values = type(specimen[0]).__name__, vars(specimen[0])
    specs = specifications(name)
    for key in [key for key, spec in specs.items() if "d]" in spec and isinstance(values.get(key), np.ndarray)]:
        if "n_features_in_" in values and values[key].ndim:
            wide = {**values, key: np.concatenate([values[key]] * 2, axis=-1)}
            with pytest.raises(ModelFileError, match=f"its {name} has learnt does not fit together: {key} must be"):
                check_attributes(name, " ".join(map(":".join, specs.items())), wide)


STRAYS = ["_doc_link_template", "__doc_link_template", "_doc_link_module", "_in_fit", "predict", "__class__", "note_"]


@pytest.mark.parametrize("stray", STRAYS)
@pytest.mark.parametrize("model", [StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_attributes_that_no_fit_leaves_are_refused(stray, model, tmp_path):
    fitted = model.fit(X, Y)

    def change(tree, entries):
        tree["sklearn"][1][stray] = "<script>alert(1)</script>"

    assert stray in refusal(forged(tmp_path, fitted, change))


def test_what_is_derived_is_not_taken_from_a_file(tmp_path):
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
    for name in ("_loss", "_raw_predict", "_scorer"):
        path = forged(tmp_path, model, lambda tree, entries, name=name: tree["sklearn"][1].update({name: 1}))
        assert f"{name!r}, an attribute that auclid does not know" in refusal(path)


def test_parameters_that_another_scikit_learn_has_or_lacks(tmp_path):
    def change(tree, entries):
        tree["sklearn"][1].update(multi_class="auto", penalty="deprecated", fit_intercept="warn")
        del tree["sklearn"][1]["tol"]

    loaded, model = load(forged(tmp_path, LogisticRegression().fit(X, Y), change)), LogisticRegression()
    assert (loaded.tol, loaded.penalty, loaded.fit_intercept) == (model.tol, model.penalty, model.fit_intercept)
    assert hasattr(loaded, "multi_class") == ("multi_class" in model.get_params())


@pytest.mark.parametrize(("model", "attribute"), [(RidgeClassifier(), "classes_"), (SimpleImputer(), "_fill_dtype")])
def test_attributes_that_an_older_scikit_learn_lacks(model, attribute, tmp_path):
    fitted = model.fit(X, Y)
    path = forged(tmp_path, fitted, lambda tree, entries: tree["sklearn"][1].pop(attribute, None) and None)
    then, now = answers(fitted, X), answers(load(path), X)
    assert all(same(then[name], now[name]) for name in then)


def test_a_parameter_that_is_called_like_a_default_is_kept(tmp_path):
    encoder = OneHotEncoder(handle_unknown="warn").fit(LEVELS)
    save(tmp_path / "a", encoder)
    assert load(tmp_path / "a").handle_unknown == "warn"


def test_a_parameter_without_a_default_must_be_there(tmp_path):
    model = make_pipeline(StandardScaler()).fit(X)
    path = forged(tmp_path, model, lambda tree, entries: {"sklearn": ["Pipeline", {}]})
    assert "lacks 'steps'" in refusal(path)


def test_another_scikit_learn_is_told_once(tmp_path):
    from sklearn.exceptions import InconsistentVersionWarning

    save(tmp_path / "a", make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y))
    (tmp_path / "a").write_bytes(signed(opened(tmp_path / "a"), **{"scikit-learn": "1.7.9"}))
    with pytest.warns(InconsistentVersionWarning, match="1.7.9") as heard:
        load(tmp_path / "a")
    assert len(heard) == 1


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())]), "use voting='soft'"),
        (HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]), "splits categories"),
        (make_pipeline(FunctionTransformer(np.abs, kw_args={"where": True}), MaxAbsScaler()), "passes arguments"),
        (make_pipeline(StandardScaler()).set_params(steps=[("<b>", StandardScaler())]), "no plain text"),
    ],
    ids=["hard votes", "categories", "arguments", "name"],
)
def test_what_load_would_refuse_is_not_saved(model, reason, tmp_path):
    rows = np.column_stack([np.arange(len(Y)) % 3, X])
    with pytest.raises(TypeError, match=reason):
        save(tmp_path / "a", model.fit(rows, Y))
    assert list(tmp_path.iterdir()) == []


def test_an_attribute_that_the_table_lacks_is_told_with_a_way_out(tmp_path):
    model = StandardScaler().fit(X)
    model.note_ = "mine"
    with pytest.raises(TypeError, match=r"StandardScaler with note_. If .* trusted=\['sklearn.preprocessing._data"):
        save(tmp_path / "a", model)
    pytest.importorskip("skops")
    trusted = ["sklearn.preprocessing._data.StandardScaler"]
    save(tmp_path / "a", make_pipeline(model), trusted=trusted)
    assert load(tmp_path / "a", trusted=trusted).steps[0][1].note_ == "mine"
    assert "loads from nobody it does not know" in refusal(tmp_path / "a")


def test_a_file_of_listed_parts_needs_no_skops(tmp_path):
    save(tmp_path / "a", make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y))
    with zipfile.ZipFile(tmp_path / "a") as archive:
        assert not any(name.endswith(".skops") for name in archive.namelist())
