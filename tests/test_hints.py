"""Names that are not known, and what is said of them."""

import pytest

from auclid._hints import did_you_mean, listed, plain


@pytest.mark.parametrize(
    ("wanted", "known", "said"),
    [
        ("incme", ["income", "age"], "Did you mean 'income'?"),
        ("INCOME", ["income", "age"], "Did you mean 'income'?"),
        ("x_1", ["x1", "x11"], "Did you mean 'x1'?"),
        ("x13", ["x11", "x12", "y"], "Did you mean 'x12' or 'x11'?"),
        ("возрст", ["возраст", "доход"], "Did you mean 'возраст'?"),
        ("boostin", ["boosting", "RankBoost"], "Did you mean 'boosting'?"),
        ("zzz", ["income", "age"], ""),
        (3, ["income"], ""),
        ("", [], ""),
    ],
)
def test_near_names_are_asked_for(wanted, known, said):
    assert did_you_mean(wanted, known, show=repr) == said


def test_names_are_shown_as_the_caller_likes():
    assert did_you_mean("logistik", ["logistic"]) == "Did you mean logistic?"
    assert did_you_mean("khalid", ["khalid-4.3"], cutoff=0.4) == "Did you mean khalid-4.3?"


def test_letters_and_digits_make_a_name():
    assert plain(" SPAM_L2 ") == plain("spam-l2") == "spaml2"


def test_a_list_is_cut():
    assert listed(["a"]) == "'a'"
    assert listed(list("abcdefg")) == "'a', 'b', 'c', 'd', 'e' and 2 more"
