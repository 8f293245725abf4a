"""`auclid.export`: code in other languages gives the scores of `decision_function`."""

import copy
import json
import sqlite3
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import auclid
from auclid import (
    AUCClassifier,
    Calibrated,
    Columns,
    Kernelized,
    KernelRankSVM,
    KMeansNystroem,
    LeastSquaresAUC,
    MulticlassAUC,
    OrderedRanker,
    RandomFourier,
    RankBoost,
    RankSVM,
    Scorecard,
    SurvivalRanker,
)
from auclid.exporters._scorecards import step_boundary
from auclid.stats.odds import LOG_ODDS_STEP
from reference_pmml import ScorecardDocument

N_TRAIN, N_TEST = 3_000, 10_000
NUMBERS = ["income", "age", "debt", "flag"]


def make_table(n: int, seed: int) -> pd.DataFrame:
    """Numbers with heavy tails and missing values, whole numbers, a boolean, levels, and dates of two kinds."""
    rng = np.random.default_rng(seed)
    income = np.where(rng.random(n) < 0.1, np.nan, np.exp(rng.normal(8.0, 1.5, n)))
    age = rng.integers(18, 80, n).astype(float)
    debt = np.where(rng.random(n) < 0.4, 0.0, np.round(rng.gamma(1.0, 3.0, n), 1))
    debt[rng.random(n) < 0.05] = np.nan
    city = rng.choice(["Bern", "O'Hare", 'New "York"', "Łódź", "a\\b"], n, p=[0.4, 0.3, 0.2, 0.06, 0.04]).astype(object)
    city[rng.random(n) < 0.05] = None
    seconds = rng.integers(0, 900 * 86_400, n)
    opened = (np.datetime64("2020-01-01") + rng.integers(0, 900, n).astype("timedelta64[D]")).astype("datetime64[s]")
    seen = np.datetime64("2020-06-01T00:00:00") + seconds.astype("timedelta64[s]")
    opened[rng.random(n) < 0.05] = np.datetime64("NaT", "us")
    return pd.DataFrame({
        "income": income, "age": age, "debt": debt, "flag": rng.random(n) < 0.3, "city": city,
        "opened": opened, "seen": seen, "code": rng.choice([1.0, 2.0, 5.0], n),
    })  # fmt: skip


def make_labels(table: pd.DataFrame, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    z = 0.4 * (np.nan_to_num(np.log(table["income"]), nan=7.0) - 8.0) - 0.03 * table["age"]
    z += 0.8 * (table["city"] == "Bern") + 0.2 * np.nan_to_num(table["debt"]) * (table["age"] > 50)
    z += 0.5 * np.sin(2 * np.pi * table["seen"].dt.hour / 24) + 0.5 * (table["code"] == 2.0)
    for a, b in ((table["age"] > 50, table["income"] > 3000), (table["age"] > 50, table["city"] == "Bern"),
                 (table["code"] == 2.0, table["city"] == "Bern")):  # fmt: skip
        z += np.where(a == b, 1.0, -1.0)
    return (z + rng.logistic(size=len(table)) > np.quantile(z, 0.7)).to_numpy().astype(int)


@pytest.fixture(scope="module")
def train() -> tuple[pd.DataFrame, np.ndarray]:
    table = make_table(N_TRAIN, 0)
    return table, make_labels(table, 1)


@pytest.fixture(scope="module")
def test() -> pd.DataFrame:
    """Rows to score, with levels, numbers and dates beyond those of training, and values missing that never were."""
    table = make_table(N_TEST, 2)
    table.loc[::50, "city"] = "never seen"
    table.loc[::60, "income"] = 1e9
    table.loc[::70, "age"] = np.nan
    table.loc[::80, "debt"] = -7.0
    table.loc[::90, "seen"] = pd.NaT
    table.loc[::110, "code"] = 77.0
    table.loc[::120, "opened"] = pd.Timestamp("2031-05-06")
    return table


def on_scaled(feature_map):
    return make_pipeline(StandardScaler(), Kernelized(feature_map, LeastSquaresAUC()))


TABLES = {
    "card": lambda: Scorecard(interactions=3, categories=["code"], random_state=0),
    "columns + linear": lambda: make_pipeline(Columns(categories=["code"]), RankSVM()),
    "columns + logistic": lambda: make_pipeline(Columns(scale="rank"), LogisticRegression()),
    "calibrated": lambda: Calibrated(make_pipeline(Columns(scale=None), LeastSquaresAUC())),
    "classifier": lambda: AUCClassifier(methods=["LeastSquaresAUC", "Scorecard", "logistic"], random_state=0),
}
"""Models of tables with everything in them."""

ARRAYS = {
    "linear": LeastSquaresAUC,
    "standard": lambda: make_pipeline(StandardScaler(), RankSVM()),
    "min max": lambda: make_pipeline(MinMaxScaler(clip=True), LeastSquaresAUC()),
    "max abs": lambda: make_pipeline(MaxAbsScaler(), "passthrough", LogisticRegression()),
    "robust": lambda: make_pipeline(RobustScaler(), LeastSquaresAUC()),
    "stumps": lambda: RankBoost(30),
    "card": lambda: Scorecard(interactions=2, random_state=0),
    "nystroem": lambda: on_scaled(KMeansNystroem(20, random_state=0)),
    "fourier": lambda: on_scaled(RandomFourier(25, random_state=0)),
    "laplacian": lambda: on_scaled(KMeansNystroem(20, kernel="laplacian", random_state=0)),
    "kernel svm": lambda: make_pipeline(StandardScaler(), KernelRankSVM(alpha=1.0, subsample=0.2, random_state=0)),
    "linear svm": lambda: KernelRankSVM(kernel="linear", alpha=1.0, subsample=0.2, random_state=0),
}
"""Models of arrays."""


@pytest.fixture(scope="module")
def fitted(train):
    """Models by name, each fitted once."""
    table, y = train
    X = np.nan_to_num(table[NUMBERS].to_numpy(float), nan=-1.0)[:1_000]
    X[:, 0] = np.log(np.abs(X[:, 0]) + 1.0)
    made: dict = {}

    def fit(kind: str, name: str):
        if (kind, name) not in made:
            rows = (table, y) if kind == "table" else (X, y[:1_000])
            made[kind, name] = (TABLES if kind == "table" else ARRAYS)[name]().fit(*rows)
        return made[kind, name]

    return fit


def array_rows(test: pd.DataFrame) -> np.ndarray:
    X = np.nan_to_num(test[NUMBERS].to_numpy(float), nan=-1.0)
    X[:, 0] = np.log(np.abs(X[:, 0]) + 1.0)
    return X


def close(found, expected, tolerance: float = 1e-9) -> None:
    """All scores agree; calibrated log-odds, which lie on a grid, may be one step apart in one of a thousand rows."""
    found = np.asarray(found, dtype=float)
    steps = expected / LOG_ODDS_STEP
    if tolerance == 1e-9 and (steps == np.round(steps)).all():
        near = np.abs(found - expected) <= 1.1 * LOG_ODDS_STEP
        assert np.mean(near & (found != expected)) < 1e-3
        found = np.where(near, expected, found)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# --- SQL ---


def sqlite_scores(statement: str, table: pd.DataFrame) -> list[float]:
    database = sqlite3.connect(":memory:")
    plain = table.copy()
    for name in plain.select_dtypes("datetime"):
        plain[name] = plain[name].dt.strftime("%Y-%m-%d %H:%M:%S")
    plain.to_sql("t", database, index=False)
    return [row[-1] for row in database.execute(statement)]


def duckdb_scores(statement: str, table: pd.DataFrame) -> list[float]:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as database:
        database.register("frame", table)
        database.execute("CREATE TABLE t AS SELECT * FROM frame")
        return [row[-1] for row in database.execute(statement).fetchall()]


def spark_scores(statement: str, table: pd.DataFrame) -> list[float]:
    sql = pytest.importorskip("pyspark.sql", reason="pyspark, which needs Java, is not installed")
    settings = {"spark.sql.session.timeZone": "UTC", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}
    session = sql.SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        table.astype(dict.fromkeys(table.select_dtypes("datetime"), "datetime64[us]")).to_parquet(path)
        session.read.parquet(str(path)).createOrReplaceTempView("t")
        return [row[-1] for row in session.sql(statement).collect()]


ENGINES = {
    "spark": spark_scores,
    "sqlite": sqlite_scores,
    "duckdb": duckdb_scores,
    "ansi": duckdb_scores,
    "postgresql": duckdb_scores,
}
"""What runs a dialect: DuckDB understands what the dialects ansi and postgresql use."""

OTHERS = ["sqlite", "ansi", "postgresql", "spark"]


@pytest.mark.parametrize(
    ("name", "dialect"),
    [*((name, "duckdb") for name in TABLES), *product(["card", "columns + linear", "calibrated"], OTHERS)],
)
def test_sql_of_tables(fitted, test, name, dialect):
    model = fitted("table", name)
    close(ENGINES[dialect](auclid.export(model, dialect=dialect), test), model.decision_function(test))


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", ARRAYS)
def test_sql_of_arrays(fitted, test, name, dialect):
    model, X = fitted("array", name), array_rows(test)
    statement = auclid.export(model, dialect=dialect, columns=NUMBERS)
    close(ENGINES[dialect](statement, pd.DataFrame(X, columns=NUMBERS)), model.decision_function(X))


def test_sql_with_probabilities(fitted, test):
    model = fitted("table", "card")
    statement = auclid.export(model, dialect="sqlite", probability=True)
    database = sqlite3.connect(":memory:")
    test[:500].astype({"opened": str, "seen": str}).replace("NaT", None).to_sql("t", database, index=False)
    rows = database.execute(statement)
    assert [each[0] for each in rows.description][-2:] == ["probability", "score"]
    close([row[-2] for row in rows], model.predict_proba(test[:500])[:, 1])


# --- Python and JSON ---


@pytest.mark.parametrize(("kind", "name"), [("table", n) for n in TABLES] + [("array", n) for n in ARRAYS])
def test_python_and_json(fitted, test, tmp_path, kind, name):
    model = fitted(kind, name)
    rows = test if kind == "table" else pd.DataFrame(array_rows(test), columns=NUMBERS)
    if name in ("kernel svm", "laplacian", "nystroem", "fourier"):
        rows = rows[:300]  # a loop over landmarks in Python
    names = None if kind == "table" else NUMBERS
    plain = rows.astype(dict.fromkeys(rows.select_dtypes("datetime"), str)).replace("NaT", None)
    auclid.export(model, tmp_path / "model.py", to="python", columns=names)
    auclid.export(model, tmp_path / "model.json", to="json", columns=names)
    plain.to_json(tmp_path / "rows.json", orient="records", double_precision=15)
    script = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import model\n"
        "rows = json.load(open(sys.argv[1] + '/rows.json', encoding='utf-8'))\n"
        "kept = json.load(open(sys.argv[1] + '/model.json', encoding='utf-8'))\n"
        "scores = [[model.score(row), model.evaluate(kept['score'], row), model.predict(row)] for row in rows]\n"
        "json.dump(scores, sys.stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    found = np.array(json.loads(done.stdout))
    expected = model.decision_function(rows if kind == "table" else rows.to_numpy())
    close(found[:, 0], expected)
    close(found[:, 1], expected)
    assert np.mean(found[:, 2] == model.predict(rows if kind == "table" else rows.to_numpy())) > 0.999


# --- ONNX ---


def onnx_feed(session, rows, dtype) -> dict[str, np.ndarray]:
    if isinstance(rows, np.ndarray):
        return {"X": rows.astype(dtype)}
    feed = {}
    for each in session.get_inputs():
        cells = rows[each.name]
        if each.type == "tensor(string)":
            texts = [str(int(x)) if isinstance(x, float) else x for x in cells.where(cells.notna(), "")]
            feed[each.name] = np.array(texts, dtype=object)[:, None]
        elif cells.dtype.kind == "M":
            days = (cells.to_numpy("datetime64[us]") - np.datetime64(0, "us")) / np.timedelta64(1, "D")
            feed[each.name] = np.where(cells.isna(), np.nan, days)[:, None]
        else:
            feed[each.name] = cells.to_numpy(dtype)[:, None]
    return feed


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("kind", "name"), [("table", n) for n in TABLES] + [("array", n) for n in ARRAYS])
def test_onnx(fitted, test, kind, name, dtype):
    runtime = pytest.importorskip("onnxruntime")
    model = fitted(kind, name)
    session = runtime.InferenceSession(auclid.export(model, to="onnx", dtype=dtype))
    rows = test if kind == "table" else array_rows(test)
    if dtype == "float32":  # the numbers that the graph is given
        rows = rows.astype(dict.fromkeys(NUMBERS[:3], np.float32)) if kind == "table" else rows.astype(np.float32)
    feed = onnx_feed(session, rows, dtype)
    rows = rows.astype(dict.fromkeys(NUMBERS[:3], float)) if kind == "table" else rows.astype(float)
    scores = session.run(["score"], feed)[0]
    assert scores.dtype == dtype
    assert scores.shape == (len(rows),)
    close(scores, model.decision_function(rows), 1e-9 if dtype == "float64" else 1e-5)
    if hasattr(model, "predict_proba") and "probability" in [each.name for each in session.get_outputs()]:
        close(session.run(["probability"], feed)[0], model.predict_proba(rows)[:, 1], 1e-6)


@pytest.fixture(scope="module")
def blend(train):
    """A blend of linear, boosted, random and kernel members, of rows that no single one of them ranks best."""
    table, _ = train
    rng = np.random.default_rng(3)
    age, debt = (table["age"] - 49.0) / 18.0, np.nan_to_num(table["debt"], nan=2.0) / 3.0
    z = 1.5 * age * (debt - 0.8) + age + 2.0 * (table["city"] == "Bern") + np.cos(3.0 * age)
    y = (z + rng.logistic(size=len(z)) > 1.0).to_numpy()
    methods = ["LeastSquaresAUC", "boosting", "forest", "kernel"]
    return AUCClassifier(methods=methods, random_state=0).fit(table[:1_500], y[:1_500])


def test_onnx_of_trees_and_a_blend(blend, test):
    runtime = pytest.importorskip("onnxruntime")
    assert {"boosting", "kernel"} <= {member.name for member in blend.members_}
    session = runtime.InferenceSession(auclid.export(blend, to="onnx", dtype="float64"))
    scores = session.run(["score"], onnx_feed(session, test, "float64"))[0]
    close(scores, blend.decision_function(test), 1e-5)  # trees add up in float32


def test_python_of_a_blend(blend, test):
    module: dict = {}
    exec(auclid.export(blend, to="python"), module)
    close([module["score"](row) for row in test[:200].to_dict("records")], blend.decision_function(test[:200]))
    close([module["probability"](row) for row in test[:50].to_dict("records")], blend.predict_proba(test[:50])[:, 1])


@pytest.mark.parametrize(("dialect", "rows"), [("sqlite", 500), ("duckdb", N_TEST)])
def test_trees_in_sql(train, test, dialect, rows):
    pytest.importorskip("lightgbm")
    table, y = train
    model = AUCClassifier(methods=["boosting"], random_state=0).fit(table[:600], y[:600])
    close(ENGINES[dialect](auclid.export(model, dialect=dialect), test[:rows]), model.decision_function(test[:rows]))


# --- PMML ---


def pmml_rows(rows: pd.DataFrame) -> list[dict]:
    """Rows as PMML takes them: dates are days, levels are texts, None is missing."""
    cells = rows.copy()
    for name in rows.select_dtypes("datetime"):
        cells[name] = (rows[name].to_numpy("datetime64[us]") - np.datetime64(0, "us")) / np.timedelta64(1, "D")
    if "code" in cells:
        cells["code"] = [str(int(x)) for x in rows["code"]]
    return [{k: None if v is None or v != v else v for k, v in row.items()} for row in cells.to_dict("records")]


def test_the_card_has_pairs_of_every_kind(fitted):
    """So that all targets are tested with them: text and text, number and text, number and number."""
    assert {*fitted("table", "card").interactions_} == {("city", "code"), ("age", "city"), ("income", "age")}


def test_pmml_of_a_card(fitted, test):
    """Scores, probabilities and the first reason, by an evaluator of its own; attributes never overlap."""
    model = fitted("table", "card")
    document = ScorecardDocument(auclid.export(model, to="pmml"))
    rows = test[:2_000]
    found = [document.evaluate(row) for row in pmml_rows(rows)]
    close([each["score"] for each in found], model.decision_function(rows))
    close([each["probability"] for each in found], model.predict_proba(rows)[:, 1])
    for each, reasons in zip(found, model.reasons(rows, n=1, toward=1), strict=True):
        if reasons:
            assert str(reasons[0]).startswith(each["reason_1"])


def test_pmml_in_pmml4s(fitted, test, tmp_path):
    pypmml = pytest.importorskip("pypmml", reason="pypmml, which needs Java, is not installed")
    model = fitted("table", "card")
    auclid.export(model, tmp_path / "card.pmml", to="pmml")
    document = pypmml.Model.fromFile(str(tmp_path / "card.pmml"))
    found = [document.predict(row) for row in pmml_rows(test)]
    close([each["score"] for each in found], model.decision_function(test))
    close([each["probability"] for each in found], model.predict_proba(test)[:, 1])


@pytest.mark.parametrize("name", ["linear", "stumps", "card"])
def test_pmml_of_arrays(fitted, test, name):
    model, X = fitted("array", name), array_rows(test)[:1_000]
    document = ScorecardDocument(auclid.export(model, to="pmml", columns=NUMBERS))
    found = [document.evaluate(row)["score"] for row in pmml_rows(pd.DataFrame(X, columns=NUMBERS))]
    close(found, model.decision_function(X))


def test_pmml_of_an_edited_card(fitted, test):
    model = copy.deepcopy(fitted("table", "card"))
    model.edit("income", "set", low=1000, high=2000, value=0.75, reason="a test")
    model.edit("age", "monotone", direction=-1)
    document = ScorecardDocument(auclid.export(model, to="pmml"))
    close([document.evaluate(row)["score"] for row in pmml_rows(test[:500])], model.decision_function(test[:500]))


@pytest.mark.parametrize("name", ["columns + logistic", "calibrated", "classifier"])
def test_pmml_says_what_it_cannot_hold(fitted, name):
    with pytest.raises(ValueError, match=r"to PMML, whose Scorecard element holds sums .*: fit a Scorecard, or use"):
        auclid.export(fitted("table", name), to="pmml")


def test_pmml_has_no_control_characters():
    X = pd.DataFrame({"a": np.arange(60.0), "b": ["x<&>\"'\n\t", "bell\a"] * 30})
    card = Scorecard(interactions=0).fit(X, X["a"] > 40)
    with pytest.raises(ValueError, match=r"no control characters in the names of columns and levels; got 'bell\\x07'"):
        auclid.export(card, to="pmml")
    X["b"] = X["b"].str.replace("\a", " ")
    card = Scorecard(interactions=0).fit(X, X["a"] > 40)
    document = ScorecardDocument(auclid.export(card, to="pmml"))
    close([document.evaluate(row)["score"] for row in pmml_rows(X)], card.decision_function(X))


# --- What is said, and what cannot be ---


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_models_of_ordered_rows(train, test, dialect):
    """Their scores are written down; they have no probability."""
    X, y = train
    time = np.where(y == y.max(), 1.0, 2.0) + np.arange(len(y)) / len(y)
    target = np.array(list(zip(np.arange(len(y)) % 3 > 0, time, strict=True)), dtype=[("event", bool), ("time", float)])
    line = make_pipeline(Columns(), SurvivalRanker(alpha=0.1)).fit(X[NUMBERS], target)
    card = Scorecard(OrderedRanker(alpha=0.1), interactions=1, n_knots=5).fit(X[NUMBERS], -time)
    scores = sqlite_scores if dialect == "sqlite" else duckdb_scores
    for model in (line, card):
        close(scores(auclid.export(model, dialect=dialect), test), model.predict(test[NUMBERS]))
        assert json.loads(auclid.export(model, to="json"))["classes"] == ["lower", "higher"]


def test_a_step_is_where_floating_point_has_it():
    rng = np.random.default_rng(0)
    for a, b in [(0.1, 0.2), (-1.0, 1.0), (1.0, 2.0), *np.sort(rng.normal(size=(200, 2)), axis=1).tolist()]:
        cut = step_boundary(a, b)
        near = a + (b - a) * (0.5 + np.arange(-20, 21) * 1e-16)
        assert [(x - a) / (b - a) >= 0.5 for x in near] == [x >= cut for x in near]


def test_file_and_answer_are_the_same(fitted, tmp_path):
    model = fitted("array", "linear")
    for to in ("sql", "pmml", "json", "python"):
        text = auclid.export(model, tmp_path / "out", to=to)
        assert (tmp_path / "out").read_text(encoding="utf-8") == text


def test_every_column_is_named_in_json(fitted):
    told = json.loads(auclid.export(fitted("table", "card"), to="json"))
    assert told["format"] == "auclid-score"
    kinds = {each["name"]: each["kind"] for each in told["columns"]}
    assert kinds["city"] == kinds["code"] == "text"
    assert kinds["opened"] == "date"
    assert told["classes"] == [0, 1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"to": "excel"}, "'to' parameter of export must be one of sql, onnx, pmml, json, python. Got 'excel'"),
        ({"dialect": "duckdbb"}, "Did you mean duckdb"),
        ({"dtype": "float16"}, "'dtype' parameter of export must be one of float32, float64"),
        ({"columns": ["a"]}, "'columns' parameter of export must be 4 different names"),
    ],
)
def test_wrong_parameters(fitted, given, said):
    with pytest.raises(ValueError, match=said):
        auclid.export(fitted("array", "linear"), **given)


def test_what_cannot_be_exported_says_why(train):
    X, y = np.random.default_rng(0).normal(size=(300, 3)), np.arange(300) % 3
    with pytest.raises(TypeError, match=r"written down\. Got MulticlassAUC"):
        auclid.export(MulticlassAUC().fit(X, y))
    with pytest.raises(TypeError, match=r"Got FactorizationRanker instead\. Exported are linear rankers"):
        auclid.export(auclid.FactorizationRanker(rank=2).fit(X, y > 0))
    with pytest.raises(ValueError, match="step KMeansNystroem has no expression"):
        auclid.export(make_pipeline(KMeansNystroem(5), LeastSquaresAUC()).fit(X, y > 0))
    poly = KernelRankSVM(kernel="poly", alpha=1.0).fit(X, y > 0)
    with pytest.raises(ValueError, match="kernel 'poly' has no expression"):
        auclid.export(poly)
    big = make_pipeline(Columns(), KernelRankSVM(alpha=1.0)).fit(X, y > 0)
    assert len(auclid.export(big, to="python")) > 10_000


def test_a_statement_that_is_too_long_is_refused(fitted, monkeypatch):
    monkeypatch.setattr("auclid.exporters._sql.MAX_LENGTH", 1_000)
    for name in ("card", "kernel svm"):
        with pytest.raises(ValueError, match="at most 1,000 characters of SQL; this model needs some"):
            auclid.export(fitted("array", name))


def test_export_works_whichever_import_comes_first():
    script = "import auclid.exporters.models, auclid; assert callable(auclid.export)"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parent)


# --- The command ---


@pytest.fixture
def model_file(fitted, tmp_path):
    auclid.save(tmp_path / "m.auclid", fitted("array", "card"))
    return tmp_path / "m.auclid"


def run(*words):
    runner = pytest.importorskip("typer.testing").CliRunner()
    from auclid.cli._app import app

    return runner.invoke(app, ["export", *map(str, words)])


def test_the_command_writes_what_the_ending_says(model_file, fitted, tmp_path):
    for ending, to in ((".sql", "sql"), (".json", "json"), (".py", "python"), (".pmml", "pmml")):
        done = run(model_file, "--output", tmp_path / f"out{ending}")
        assert done.exit_code == 0, done.output
        assert (tmp_path / f"out{ending}").read_text(encoding="utf-8") == auclid.export(fitted("array", "card"), to=to)


def test_the_command_prints_sql(model_file, fitted):
    done = run(model_file, "--dialect", "sqlite", "--keep", "x0")
    assert done.stdout.strip() == auclid.export(fitted("array", "card"), dialect="sqlite", keep=["x0"]).strip()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--output", "out.xlsx"], "--output must end in .sql, .onnx, .pmml, .json or .py"),
        (["--to", "onnx"], "--output must name a file for ONNX"),
        (["--to", "pmml", "--keep", "x0", "--probability"], "--keep, --probability must be used with SQL; got pmml"),
        (["--dialect", "oracle"], "must be one of ansi, sqlite, duckdb, postgresql, spark"),
    ],
)
def test_the_command_refuses(model_file, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    done = run(model_file, *words)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())
