"""The registry: every method by its paper's name, forgiving about spelling, helpful about the rest."""

import inspect
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier

import auclid
from auclid import LeastSquaresAUC, algorithms, make

# The methods whose results the papers publish.
PUBLISHED = """
ASAM AdaOAM B-LS-SVM B-SVM-OR BAM CBR-FIFO CBR-RS CBR-diag FASAM FBAM FCBR-FIFO FCBR-RS FOAM NASAM
NBAM NOAMgra NOAMseq NPSAM NSOLAM OAMgra OAMseq OPAUC OPAUCr PSAM RBF-RankSVM RBF-RankSVM-subsample
RankSVM SOLAM SPAM-L2 SPAM-NET SVMpAUC TopPush Uni-Exp
""".split()

RECORDS = algorithms()
every = pytest.mark.parametrize(
    "method", [method for method in RECORDS if method.target == "classes"], ids=lambda method: method.name
)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_names_resolve(name):
    assert isinstance(make(name), BaseEstimator)
    assert name in [method.name for method in RECORDS]


@every
def test_a_record_says_what_it_is(method):
    assert method.name and method.reference and method.good_for
    for flag in (method.online, method.sparse, method.kernel, method.semi_supervised):
        assert isinstance(flag, bool)
    model = make(method.name)
    assert is_classifier(model) and type(model).__module__.startswith("auclid.")
    assert method.online == hasattr(model, "partial_fit")
    assert clone(model).get_params().keys() == model.get_params().keys()


@every
def test_a_method_fits_and_takes_parameters(method):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    X[:, 0] += 2 * y
    model = make(method.name)
    if "random_state" in model.get_params():
        model = make(method.name, random_state=3)
        assert model.random_state == 3
    assert model.fit(X, y).score(X, y) > 0.6


def test_methods_of_ordered_rows():
    """They are listed and made, but offered to no one who has two classes."""
    ordered = [method for method in RECORDS if method.target != "classes"]
    assert [type(make(method.name)) for method in ordered] == [auclid.OrderedRanker, auclid.SurvivalRanker]
    for method in ordered:
        assert method.reference and method.good_for and method.online == hasattr(make(method.name), "partial_fit")
        assert not is_classifier(make(method.name))
    with pytest.raises(ValueError, match="SurvivalRanker"):
        auclid.AUCClassifier(methods=["SurvivalRanker"]).fit(np.eye(40), np.arange(40) % 2)


OWN = """
ASAM AdaOAM CBR-FIFO CBR-RS CBR-diag FASAM FBAM FCBR-FIFO FCBR-RS FOAM FSAUC NASAM NBAM NOAMgra NOAMseq NPSAM NSAM
NSOLAM NU-AUC OAM OAMgra OAMseq OPAUC OPAUCr PNU-AUC PSAM PU-AUC QSG-S2AUC SAM SAMULT SOLAM SOLAM-L2 SPAM-L2 SPAM-NET
SVMpAUC TopPush Uni-Exp
""".split()


@every
def test_a_name_that_is_not_the_papers_algorithm_says_so_and_how_to_have_that(method):
    assert bool(method.differs) == (method.published is not None) == (method.name in OWN)
    params = {key.split("__")[-1] for key in make(method.name, published=True).get_params()}
    for name in re.findall(r"(\w+)=", method.differs):
        assert name in params, f"{method.name} has no parameter {name}"
    model = make(method.name)
    if method.differs and not hasattr(model, "feature_map"):
        assert re.search("publish|print|paper", inspect.getdoc(type(model)))


QUICK = {"n_components": 8, "n_epochs": 1, "n_iter": 20}


@pytest.mark.filterwarnings("ignore")
@every
def test_the_published_form_fits_by_one_switch(method):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), np.arange(200) % 2
    X[:, 0] += 2 * y
    model = make(method.name, published=True)
    keys = {key: key.split("__")[-1] for key in model.get_params()}
    quick = {key: QUICK[name] for key, name in keys.items() if name in QUICK and model.get_params()[key] is not None}
    seeds = {key: 0 for key, name in keys.items() if name == "random_state"}
    priors = {key: 0.5 for key, name in keys.items() if name == "prior"}
    assert model.set_params(**quick, **seeds, **priors).fit(X, y).score(X, y) > 0.6


def test_the_published_form_takes_parameters_and_leaves_the_default_alone():
    assert make("SOLAM", published=True, zeta=7.0).zeta == 7.0 and make("SOLAM").zeta is None
    model = make("NASAM", published=True, n_components=50, alpha=0.1)
    assert model.feature_map.n_components == 50 and model.feature_map.gamma == "variance"
    assert model.ranker.alpha == 0.1
    assert not make("NSAM").ranker.average


APART = {"AUCClassifier", "Calibrated", "Kernelized", "MulticlassAUC", "MinimaxAUC", "ConstrainedAUC"}
"""Made of other methods, or asking for more than rows of two classes: several classes, groups of rows."""


def test_names_are_unique_and_every_exported_ranker_has_one():
    names = [method.name for method in RECORDS]
    assert len(set(names)) == len(names)
    built = {type(make(name)) for name in names}
    for name in auclid.__all__:
        cls = getattr(auclid, name)
        ours = inspect.isclass(cls) and issubclass(cls, BaseEstimator)
        if ours and is_classifier(cls()) and name not in APART:
            assert cls in built, f"{name} has no name in the registry"
            assert isinstance(make(name), cls)


@pytest.mark.parametrize("name", ["SPAM-L2", "spam-l2", "spam l2", "SPAM_L2", "  Spaml2"])
def test_spelling_is_forgiven(name):
    assert isinstance(make(name, alpha=0.5), auclid.SPAM) and make(name, alpha=0.5).alpha == 0.5


def test_paper_names_carry_their_settings_and_may_be_overruled():
    assert make("SPAM-NET").l1 > 0.0 and make("SPAM-NET", l1=0.5).l1 == 0.5
    assert isinstance(make("B-LS-SVM"), LeastSquaresAUC)


def test_a_near_miss_is_named():
    said = r"^The 'name' parameter of make must be the name of a method\. Got 'SPAMM-L2' instead\. Did you mean SPAM-L2"
    with pytest.raises(ValueError, match=said):
        make("SPAMM-L2")


@pytest.mark.parametrize("name", ["", "zzzzzz", None, 3])
def test_other_names_get_the_list(name):
    with pytest.raises(ValueError, match=r"Known are: .*B-LS-SVM.*SPAM-L2"):
        make(name)


def test_a_wrong_keyword_is_pythons_own_error():
    with pytest.raises(TypeError, match="colour"):
        make("SPAM-L2", colour="red")


def test_the_list_is_ones_own():
    algorithms().clear()
    assert algorithms() == RECORDS
