"""Three small real tables whose rows have an order: censored times, choices within groups, and levels."""

from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

_GBSG2 = """\
GBSG2: recurrence-free survival of women with node-positive breast cancer
-------------------------------------------------------------------------

686 rows, 8 numeric columns, 299 events (44 %), no missing values.
A row is a patient of trial 2 of the German Breast Cancer Study Group, 1984 to 1989. An event is a recurrence or
death; the other times are censored. Times are in days.

Columns: hormone_therapy (0 or 1), age (years), postmenopausal (0 or 1), tumour_size (mm), tumour_grade (1 to 3),
positive_nodes, progesterone_receptor and oestrogen_receptor (fmol/l).

Source: Schumacher et al. for the German Breast Cancer Study Group, "Randomized 2 x 2 trial evaluating hormonal
treatment and the duration of chemotherapy in node-positive breast cancer patients", Journal of Clinical Oncology 12,
2086-2093, 1994; published with Sauerbrei and Royston, Journal of the Royal Statistical Society A 162(1), 71-94, 1999.
This copy was taken from the package lifelines 0.30.3, file gbsg2.csv, which is under the MIT licence (copyright 2017
Cameron Davidson-Pilon); words were replaced by numbers.

Licence: that of lifelines, MIT, which is the file gbsg2-licence.txt beside the table. It is the authors' data and not
covered by auclid's own licence.
"""

_TRAVEL_MODES = """\
Travel modes: which of four modes a traveller takes between Sydney, Canberra and Melbourne
------------------------------------------------------------------------------------------

840 rows, 9 numeric columns, 210 groups of four rows, no missing values.
A group is a traveller, a row one of the four modes (air, train, bus, car) of that trip; target 1 is the mode that was
taken. The sample was drawn by mode, with fewer cars than among all trips.

Columns: air, train, bus (0 or 1; none of them is car), waiting_time (minutes at the terminal, 0 for car), cost
(dollars), travel_time (minutes), generalized_cost (cost plus time at its value, dollars), income (of the household,
1,000 dollars) and party_size. The last two are equal in the four rows of a traveller. Waiting times of modes that were
not taken were filled in, with two numbers a mode, so that a curve of this column tells the answer: leave it out of
models that are to be judged.

Source: Greene and Hensher, 1997; data table F18-2 of Greene, "Econometric Analysis", 7th edition, 2011. This copy was
taken from the package statsmodels 0.15.0 (modechoice.csv), which says of it: "This is public domain."
"""

_ANES96 = """\
ANES 1996: party identification of voters in the United States
--------------------------------------------------------------

944 rows, 8 numeric columns, 7 ordered levels, no missing values.
A row is a respondent of the American National Election Study of 1996. The target is the party that he or she
identifies with, from 0 (strong Democrat) over 3 (independent) to 6 (strong Republican).

Columns: population (of the place, in 1,000s), tv_news (days a week), age (years), education (1 to 7), income (24
classes), own_position, clinton_position and dole_position: of the respondent, and of the two candidates as he or she
sees them, from 1 (extremely liberal) to 7 (extremely conservative).

Source: The American National Election Studies, www.electionstudies.org. This copy was taken from the package
statsmodels 0.15.0 (anes96.csv), which says of it: "This is public domain." The expected vote was left out.
"""


def load_gbsg2() -> Bunch:
    """Censored times: 686 patients with breast cancer, 8 columns, 299 events.

    Returns
    -------
    Bunch with
        data : ndarray (686, 8), float64
        target : structured ndarray (686,) of event (bool) and time (float, days), as scikit-survival has it
        feature_names : list of str
        DESCR : str; what the table is, its source and its licence

    Examples
    --------
    >>> from auclid.datasets import load_gbsg2
    >>> table = load_gbsg2()
    >>> table.data.shape, int(table.target["event"].sum())
    ((686, 8), 299)

    References
    ----------
    Schumacher et al., Randomized 2 x 2 trial evaluating hormonal treatment and the duration of chemotherapy in
    node-positive breast cancer patients, Journal of Clinical Oncology 12, 1994.
    """
    table = _arrays("gbsg2.npz")
    target = np.empty(len(table["time"]), dtype=[("event", bool), ("time", float)])
    target["event"], target["time"] = table["event"], table["time"]
    names = [
        "hormone_therapy", "age", "postmenopausal", "tumour_size", "tumour_grade", "positive_nodes",
        "progesterone_receptor", "oestrogen_receptor",
    ]  # fmt: skip
    return Bunch(data=table["X"].astype(np.float64), target=target, feature_names=names, DESCR=_GBSG2)


def load_travel_modes() -> Bunch:
    """Choices within groups: 210 travellers with four modes of travel each, 9 columns.

    Returns
    -------
    Bunch with
        data : ndarray (840, 9), float64
        target : ndarray (840,), int64; 1 is the mode that was taken
        groups : ndarray (840,), int64; the number of the traveller
        feature_names : list of str
        DESCR : str; what the table is, its source and its licence

    Examples
    --------
    >>> from auclid.datasets import load_travel_modes
    >>> table = load_travel_modes()
    >>> table.data.shape, len(set(table.groups.tolist()))
    ((840, 9), 210)

    References
    ----------
    Greene, Econometric Analysis, 7th edition, 2011, table F18-2.
    """
    table = _arrays("travel_modes.npz")
    names = [
        "air", "train", "bus", "waiting_time", "cost", "travel_time", "generalized_cost", "income", "party_size",
    ]  # fmt: skip
    return Bunch(
        data=table["X"].astype(np.float64),
        target=table["y"].astype(np.int64),
        groups=table["traveller"].astype(np.int64),
        feature_names=names,
        DESCR=_TRAVEL_MODES,
    )


def load_anes96() -> Bunch:
    """Ordered levels: party identification (7 levels) of 944 voters, 8 columns.

    Returns
    -------
    Bunch with
        data : ndarray (944, 8), float64
        target : ndarray (944,), int64; 0 (strong Democrat) to 6 (strong Republican)
        feature_names, target_names : lists of str; the latter from the lowest level to the highest
        DESCR : str; what the table is, its source and its licence

    Examples
    --------
    >>> from auclid.datasets import load_anes96
    >>> table = load_anes96()
    >>> table.data.shape, table.target_names[0], table.target_names[-1]
    ((944, 8), 'strong Democrat', 'strong Republican')

    References
    ----------
    The American National Election Studies, www.electionstudies.org.
    """
    table = _arrays("anes96.npz")
    names = [
        "population", "tv_news", "age", "education", "income", "own_position", "clinton_position", "dole_position",
    ]  # fmt: skip
    levels = [
        "strong Democrat", "weak Democrat", "independent Democrat", "independent", "independent Republican",
        "weak Republican", "strong Republican",
    ]  # fmt: skip
    return Bunch(
        data=table["X"].astype(np.float64),
        target=table["y"].astype(np.int64),
        feature_names=names,
        target_names=levels,
        DESCR=_ANES96,
    )


def _arrays(name: str) -> dict[str, np.ndarray]:
    """The arrays of a file that comes with the package."""
    with np.load(Path(__file__).with_name(name)) as table:
        return dict(table)
