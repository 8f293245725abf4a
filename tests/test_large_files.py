"""The command on files of any size: the same model by blocks, and a stream that goes on after a kill."""

import re
import warnings

import numpy as np
import pandas
import pytest

import auclid
from auclid.datasets import load_mammography

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
testing = pytest.importorskip("typer.testing")

from auclid.cli import checkpoint  # noqa: E402
from auclid.cli._app import app  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of two Parquet files, and the same rows as one csv file."""
    path = tmp_path_factory.mktemp("rows")
    X, y = load_mammography(return_X_y=True)
    kept = np.flatnonzero((np.arange(len(y)) % 4 == 0) | (y == 1))
    columns = {**{f"a{k}": X[kept, k] for k in range(6)}, "y": np.where(y[kept] == 1, "sick", "fine")}
    table = pa.table(columns)
    (path / "parts").mkdir()
    for k in range(2):
        parquet.write_table(table.slice(k * 1500, 1500 if k == 0 else None), path / "parts" / f"{k}.parquet")
    import pyarrow.csv

    pyarrow.csv.write_csv(table, path / "rows.csv")
    return path


BLOCKS = ("--memory", "10kB")
"""Too little for all rows, which are read by blocks then."""


def run(*words, code=0):
    done = testing.CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.parametrize("method", ["auto", "RankSVM", "SPAM-L2"])
def test_fit_predict_and_evaluate_by_blocks(folder, tmp_path, method):
    model = tmp_path / "model.auclid"
    said = run("fit", folder / "parts", "--target", "y", "--positive", "sick", "--method", method, "--model", model,
               *BLOCKS)  # fmt: skip
    assert "read by blocks" in said and "6 columns" in said
    said = run("evaluate", model, folder / "rows.csv", "--memory", "10kB")
    assert float(said.split("AUC ")[1][:6]) > 0.85
    assert said == run("evaluate", model, folder / "rows.csv")
    run("predict", model, folder / "parts", "--output", tmp_path / "s.csv")
    run("predict", model, folder / "parts", "--output", tmp_path / "s.parquet")
    lines = (tmp_path / "s.csv").read_text().splitlines()
    table = parquet.read_table(tmp_path / "s.parquet")
    assert len(lines) == 1 + table.num_rows and lines[0] == "score,probability,label"
    for k, name in enumerate(("score", "probability")):
        assert [float(line.split(",")[k]) for line in lines[1:]] == table[name].to_pylist()
    share = np.mean(["sick" in line for line in (folder / "rows.csv").read_text().splitlines()[1:]])
    assert np.mean(table["probability"].to_pylist()) == pytest.approx(share, abs=0.01)
    assert set(table["label"].to_pylist()) == {"sick", "fine"}


@pytest.mark.parametrize("method", ["LeastSquaresAUC", "LeastSquaresAUCCV", "RankSVM"])
def test_blocks_or_not_the_model_is_the_same(folder, tmp_path, method):
    models, chances = [], []
    X = np.loadtxt(folder / "rows.csv", delimiter=",", skiprows=1, usecols=range(6))
    X = pandas.DataFrame(X, columns=[f"a{k}" for k in range(6)])
    for name, more in (("a", ["--memory", "100kB"]), ("b", ["--memory", "20kB"]), ("c", [])):
        path = tmp_path / name
        said = run("fit", folder / "rows.csv", "--target", "y", "--method", method, "--model", path, *more)
        assert ("read by blocks" in said) == bool(more)
        model = auclid.load(path)
        models.append(model.ranker_)
        chances.append(model.predict_proba(X)[:, 1])
    assert [type(model[0]) for model in models] == [auclid.Columns] * 3
    prepared = [model[0].transform(X) for model in models]
    rtol = 1e-9 if method != "RankSVM" else 2e-2  # to its tol
    for k in (1, 2):
        np.testing.assert_allclose(chances[k], chances[0], atol=2e-3)  # the sigmoid is fitted to its own tol
        np.testing.assert_allclose(prepared[k], prepared[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(models[k][-1].coef_, models[0][-1].coef_, rtol=rtol, atol=1e-9)
        if method == "LeastSquaresAUCCV":
            np.testing.assert_allclose(models[k][-1].intercept_, models[0][-1].intercept_, rtol=1e-9)


def test_a_libsvm_file_is_prepared_alike_by_blocks_and_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    for share in (0.2, 0.9):
        X = np.where(rng.random((200, 5)) < share, rng.normal(size=(200, 5)), 0.0)
        y = np.arange(200) % 2
        lines = [
            f"{label} " + " ".join(f"{k + 1}:{v!r}" for k, v in enumerate(row.tolist()) if v)
            for row, label in zip(X + 0.0, y, strict=True)
        ]
        (tmp_path / "a.libsvm").write_text("\n".join(lines) + "\n")
        found = []
        for more in (["--memory", "10kB"], []):
            run("fit", tmp_path / "a.libsvm", "--method", "LeastSquaresAUC", "--model", tmp_path / "m", *more)
            model = auclid.load(tmp_path / "m")
            found.append(model.ranker_[-1].coef_)
        np.testing.assert_allclose(*found, rtol=1e-9)


def test_compare_takes_a_sample_that_fits_and_says_so(folder, tmp_path):
    said = run(
        "compare", folder / "parts", "--target", "y", "--methods", "LeastSquaresAUC", "--against", "ridge",
        "--memory", "60kB", "--output", tmp_path / "r.html",
    )  # fmt: skip
    assert "Compared on 1,250 of" in said


def test_a_killed_stream_goes_on_to_the_same_bits(folder, tmp_path, monkeypatch):
    def fit(name, *more):
        run("fit", folder / "parts", "--target", "y", "--method", "SPAM-L2", "--model", tmp_path / name,
            "--checkpoint", tmp_path / f"{name}.check", "--every", 400, *more)  # fmt: skip
        model = auclid.load(tmp_path / name)
        some = pa.table(dict(zip(model.feature_names_in_, np.eye(model.n_features_in_), strict=True)))
        return model.ranker_[-1].coef_.tobytes(), model.predict_proba(some).tobytes()

    whole = fit("whole")
    write, left = checkpoint.Checkpoint.write, [3]

    def killed(self, pipeline, rows):
        write(self, pipeline, rows)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint.Checkpoint, "write", killed)
        testing.CliRunner().invoke(
            app,
            [str(word) for word in ("fit", folder / "parts", "--target", "y", "--method", "SPAM-L2", "--model",
             tmp_path / "cut", "--checkpoint", tmp_path / "cut.check", "--every", 400)],
        )  # fmt: skip
    assert not (tmp_path / "cut").exists() and (tmp_path / "cut.check").exists()
    assert fit("cut") == whole
    said = run("fit", folder / "parts", "--target", "y", "--method", "SOLAM", "--model", tmp_path / "other",
               "--checkpoint", tmp_path / "cut.check", code=2)  # fmt: skip
    assert "must be a file that the same command wrote" in " ".join(said.split())


def test_a_scorecard_streams_with_a_checkpoint_and_goes_on_to_the_same_bits(folder, tmp_path):
    def fit(name, *more):
        run("fit", folder / "parts", "--target", "y", "--positive", "sick", "--method", "Scorecard", "--model",
            tmp_path / name, "--checkpoint", tmp_path / "card.check", "--every", 400, *more)  # fmt: skip
        return auclid.load(tmp_path / name)

    whole, again = fit("whole"), fit("again")  # the second starts at the checkpoint after the last 400 rows
    assert whole._card.values.tobytes() == again._card.values.tobytes()
    rows = auclid.scan(folder / "parts", target="y")
    (X, y), every = rows.head(rows.shape[0]), whole._seen[0].n + whole._seen[1].n
    is_pos = y == "sick"
    assert every == rows.shape[0] and whole.score(X, is_pos.astype(int)) > 0.5
    cut = min(400, len(next(rows.blocks())[0]))  # the rows that fix the knots
    one_pass = auclid.Scorecard(random_state=0).partial_fit(X[:cut], is_pos[:cut], classes=[False, True])
    one_pass.partial_fit(X[cut:], is_pos[cut:])
    np.testing.assert_allclose(whole._card.values, one_pass._card.values, atol=1e-9)


def test_a_scorecard_by_blocks_knows_gaps(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    y = a + rng.normal(size=300) > 0
    cells = ["" if k % 5 == 0 else str(x) for k, x in enumerate(a)]
    lines = [f"{cell},{x * x},{'yes' if t else 'no'}" for cell, x, t in zip(cells, a, y, strict=True)]
    (tmp_path / "gaps.csv").write_text("\n".join(["a,b,y", *lines]))
    words = [tmp_path / "gaps.csv", "--target", "y", *BLOCKS[:1], "1kB", "--model", tmp_path / "m.auclid"]
    assert "read by blocks" in run("fit", *words, "--method", "Scorecard")
    said = run("evaluate", tmp_path / "m.auclid", tmp_path / "gaps.csv", "--target", "y", "--memory", "1MB")
    assert float(said.split("AUC ")[1][:6]) > 0.7
    run("fit", *words, "--method", "RankSVM")  # behind `Columns`, which knows gaps too
    said = run("evaluate", tmp_path / "m.auclid", tmp_path / "gaps.csv", "--target", "y", "--memory", "1MB")
    assert float(said.split("AUC ")[1][:6]) > 0.6


def test_a_scorecard_by_blocks_knows_texts_and_dates_and_leaves_its_page(tmp_path):
    rng = np.random.default_rng(0)
    a, day, colour = rng.normal(size=600), rng.integers(1, 29, 600), rng.choice(["red", "blue", "green"], 600)
    y = a + (colour == "red") + day / 14 + rng.normal(size=600) > 1.5
    gone = rng.random((600, 2)) < 0.1
    lines = [
        f"{'' if g[0] else x},{'' if g[1] else c},2024-02-{d:02d},{x > 1},{'yes' if t else 'no'}"
        for x, c, d, t, g in zip(a, colour, day, y, gone, strict=True)
    ]
    data = tmp_path / "all.csv"
    data.write_text("\n".join(["a,colour,day,high,y", *lines]))
    said, scores = {}, {}
    for name, more in (("whole", []), ("blocks", BLOCKS)):
        words = [data, "--target", "y", "--method", "Scorecard", "--model", tmp_path / f"{name}.auclid"]
        said[name] = " ".join(run("fit", *words, *more).split())
        assert ("read by blocks" in said[name]) == bool(more)
        page, points = ((tmp_path / f"{name}.{end}").read_text() for end in ("html", "points.csv"))
        assert "colour" in page and "600 rows of" in page and "The points cost" in page
        assert "<li>Row " not in page
        assert re.search(r'\ncolour,"?red', points) and "\nday,below 2024-" in points
        for again in ([], BLOCKS):
            run("predict", tmp_path / f"{name}.auclid", data, "--output", tmp_path / "s.csv", *again)
            scores[name, bool(again)] = np.loadtxt(tmp_path / "s.csv", delimiter=",", skiprows=1, usecols=(0, 1))
        told = run("evaluate", tmp_path / f"{name}.auclid", data, "--target", "y", "--memory", "1MB")
        assert float(told.split("AUC ")[1][:6]) > 0.75
    for found in scores.values():
        np.testing.assert_allclose(found, scores["whole", False], rtol=1e-9)
    assert (tmp_path / "whole.points.csv").read_text() == (tmp_path / "blocks.points.csv").read_text()
    run("fit", data, "--target", "y", *BLOCKS, "--model", tmp_path / "m")  # behind `Columns`, linear too
    told = run("evaluate", tmp_path / "m", data, *BLOCKS)
    assert float(told.split("AUC ")[1][:6]) > 0.75


@pytest.mark.parametrize("more", [[], BLOCKS], ids=["in memory", "by blocks"])
def test_rows_without_a_label_are_left_out_of_a_fit(folder, tmp_path, more):
    lines = (folder / "rows.csv").read_text().splitlines()
    gone = [line.rpartition(",")[0] + "," if k % 7 == 0 else line for k, line in enumerate(lines[1:])]
    (tmp_path / "gaps.csv").write_text("\n".join([lines[0], *gone]))
    (tmp_path / "left.csv").write_text("\n".join([lines[0], *(line for line in gone if not line.endswith(","))]))
    coefficients = []
    for name in ("gaps", "left"):
        words = ["fit", tmp_path / f"{name}.csv", "--target", "y", "--method", "LeastSquaresAUC", *more]
        said = run(*words, "--model", tmp_path / name)
        assert ("428 rows have no value in 'y' and are left out." in said) == (name == "gaps")
        assert ("read by blocks" in said) == bool(more) and "2,563 rows" in said
        coefficients.append(auclid.load(tmp_path / name).ranker_[-1].coef_)
    np.testing.assert_allclose(*coefficients, rtol=1e-9)
    said = run("compare", tmp_path / "gaps.csv", "--target", "y", "--methods", "LeastSquaresAUC", "--against", "ridge",
               "--output", tmp_path / "r.html", *more)  # fmt: skip
    assert "are left out." in said


def test_bad_large_input_gets_one_sentence(folder, tmp_path):
    for words, expected in [
        (["--target", "Y"], "must name a column"),
        ([], "name their column with --target"),
        (["--target", "y", "--drop", "zz"], "; got 'zz'. There are: 'a0', 'a1'"),
        (["--target", "a0", "--drop", "y"], "different values"),
        (["--target", "a0"], "different values"),
        (["--target", "y", "--memory", "lots"], "must be a number of bytes"),
        (["--target", "y", "--memory", "5"], "--memory must be a size of at least 1kB, with its unit, such as 500MB"),
        (["--target", "y", "--checkpoint", tmp_path / "c", "--method", "RankSVM"], "learn from a stream; RankSVM"),
    ]:
        said = run("fit", folder / "parts", *words, "--model", tmp_path / "m", code=2)
        assert expected in " ".join(said.split()), said
    assert list(tmp_path.iterdir()) == []


# ---- texts and identifiers by blocks ----


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A table with texts, dates, gaps and identifiers: as csv, and as two Parquet files."""
    rng, n, path = np.random.default_rng(0), 900, tmp_path_factory.mktemp("mixed")
    town, amount = rng.choice(["Rome", "Oslo", "Bonn"], n), rng.standard_normal(n)
    y = np.where((town == "Oslo") + amount + 0.5 * rng.standard_normal(n) > 0.6, "yes", "no")
    day = np.datetime64("2024-01-01") + rng.integers(0, 500, n).astype("timedelta64[D]")
    gap = rng.random(n) < 0.1
    table = pa.table({
        "key": [f"c{k}" for k in range(n)], "number": 2**53 + 1 + np.arange(n), "town": town,
        "amount": pa.array(amount, mask=gap), "day": day, "group": rng.integers(0, 200, n), "y": y,
    })  # fmt: skip
    (path / "parts").mkdir()
    for k in range(2):
        parquet.write_table(table.slice(k * 450, 450), path / "parts" / f"{k}.parquet")
    import pyarrow.csv

    pyarrow.csv.write_csv(table, path / "rows.csv")
    parquet.write_table(table, path / "rows.parquet")
    return path


BUT = ("--drop", "key", "--drop", "number", "--drop", "group")


@pytest.mark.parametrize("method", ["LeastSquaresAUC", "auto"])
def test_texts_dates_and_gaps_are_learnt_by_blocks(mixed, tmp_path, method):
    words = ("--target", "y", "--method", method, *BUT)
    blocks, whole = tmp_path / "blocks", tmp_path / "whole"
    assert "read by blocks" in run("fit", mixed / "parts", *words, "--model", blocks, *BLOCKS)
    run("fit", mixed / "rows.parquet", *words[:2], "--method", method, *BUT, "--model", whole)
    model = auclid.load(blocks)
    assert list(model.feature_names_in_) == ["town", "amount", "day"]
    frame = parquet.read_table(mixed / "rows.parquet").select(["town", "amount", "day"])
    if method != "auto":
        np.testing.assert_allclose(model.predict_proba(frame), auclid.load(whole).predict_proba(frame), atol=2e-3)
    with pytest.raises(ValueError, match="feature names"):
        model.predict_proba(frame.select(["day", "town", "amount"]))
    said = run("evaluate", blocks, mixed / "parts", *BLOCKS)
    assert float(said.split("AUC ")[1][:6]) > 0.85
    assert "77 values are missing, in 'amount'." in said
    assert said == run("evaluate", blocks, mixed / "rows.parquet")


@pytest.mark.parametrize("method", ["SPAM-L2"])
def test_a_stream_with_texts_goes_on_where_it_was(mixed, tmp_path, method):
    words = ("fit", mixed / "parts", "--target", "y", "--method", method, *BUT)
    for name in ("a", "b"):
        run(*words, "--model", tmp_path / name, "--checkpoint", tmp_path / "c", "--every", "400")
    frame = parquet.read_table(mixed / "rows.parquet").select(["town", "amount", "day"])
    models = [auclid.load(tmp_path / name) for name in ("a", "b")]
    np.testing.assert_array_equal(*(model.predict_proba(frame) for model in models))
    y = parquet.read_table(mixed / "rows.parquet")["y"].to_numpy()
    assert models[0].predict_proba(frame)[:, 1].mean() == pytest.approx(np.mean(y == max(y)), abs=0.03)
    run("predict", tmp_path / "a", mixed / "parts", "--output", tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text().startswith("score,probability,label\n")


@pytest.mark.parametrize("source", ["parts", "rows.csv"])
def test_identifiers_are_copied_by_blocks_as_in_memory(mixed, tmp_path, source, monkeypatch):
    from auclid.cli import predicting
    from auclid.data.readers import reader

    monkeypatch.setattr(reader, "READ_BYTES", 8 * 3 * 70)
    monkeypatch.setattr(predicting, "COPIED_ROWS", 64)
    model = tmp_path / "m"
    run("fit", mixed / "rows.parquet", "--target", "y", "--method", "LeastSquaresAUC", *BUT, "--model", model)
    ids = ("--id", "key", "--id", "number", "--id", "day", "--id", "amount")
    whole = "rows.parquet" if source == "parts" else source
    for ending in ("csv", "parquet"):
        a, b = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
        run("predict", model, mixed / source, *ids, "--memory", "10kB", "--output", a)
        run("predict", model, mixed / whole, *ids, "--output", b)
        if ending == "csv":
            assert a.read_text().splitlines()[0] == "key,number,day,amount,score,probability,label"
            table, other = (pa.csv.read_csv(path) for path in (a, b))
        else:
            table, other = parquet.read_table(a), parquet.read_table(b)
        for name in ("key", "number", "day", "amount", "label"):
            assert table[name].to_pylist() == other[name].to_pylist(), name
        np.testing.assert_allclose(table["score"], other["score"], rtol=1e-9)
    assert "--id must be a column of DATA; got 'nix'" in run(
        "predict", model, mixed / "parts", "--id", "nix", code=2
    )


def test_identifiers_whose_type_changes_between_files_are_copied(tmp_path):
    rng = np.random.default_rng(0)
    kinds = {"a": pa.array(range(20), pa.int32()), "b": pa.array([f"{k:03}" for k in range(20)]),
             "c": pa.array([None, *range(1, 20)], pa.float64()), "d": pa.nulls(20)}  # fmt: skip
    (tmp_path / "parts").mkdir()
    for name, ids in kinds.items():
        x = rng.normal(size=20)
        wide = pa.array(range(20), pa.int64() if name == "c" else pa.int16())
        table = pa.table({"id": ids, "wide": wide, "x": x, "y": (x > 0).astype(int)})
        parquet.write_table(table, tmp_path / "parts" / f"{name}.parquet")
    words = ("--drop", "id", "--drop", "wide", "--method", "LeastSquaresAUC")
    run("fit", tmp_path / "parts", "--target", "y", *words, "--model", tmp_path / "m")
    for ending in ("csv", "parquet"):
        out = tmp_path / f"s.{ending}"
        run("predict", tmp_path / "m", tmp_path / "parts", "--id", "id", "--id", "wide", "--output", out)
    found = parquet.read_table(tmp_path / "s.parquet")
    assert found["wide"].to_pylist() == [*range(20)] * 4
    whole = [str(k) for k in range(20)]
    assert found["id"].to_pylist() == [*whole, *(f"{k:03}" for k in range(20)), None, *whole[1:], *[None] * 20]
    assert (tmp_path / "s.csv").read_text().splitlines()[1].startswith("0,0,")


def test_groups_are_read_by_blocks(mixed, tmp_path):
    model = tmp_path / "m"
    run("fit", mixed / "parts", "--target", "y", "--method", "LeastSquaresAUC", *BUT, "--model", model)
    said = run("evaluate", model, mixed / "parts", "--groups", "group")
    assert said == run("evaluate", model, mixed / "rows.parquet", "--groups", "group", *BLOCKS)
    assert "--groups must name a column" in run("evaluate", model, mixed / "parts", "--groups", "nix", code=2)
    assert "--target must name a column" in run("fit", mixed / "parts", "--target", "nix", code=2)
    assert "DATA must be a file, folder or glob that exists" in run("evaluate", model, mixed / "*.nix", code=2)


@pytest.mark.parametrize("how", [[], ["--memory", "1GB"]])
def test_identifiers_of_text_files_are_copied_as_they_came(tmp_path, how):
    rng = np.random.default_rng(0)
    lines = [f"{k:05d},{x:.3f},{int(x > 0)}" for k, x in enumerate(rng.normal(size=60))]
    (tmp_path / "rows.csv").write_text("\n".join(["id,x,y", *lines]))
    run("fit", tmp_path / "rows.csv", "--target", "y", "--drop", "id", "--model", tmp_path / "m", "--method", "SPAM-L2")
    run("predict", tmp_path / "m", tmp_path / "rows.csv", "--id", "id", "--output", tmp_path / "s.csv", *how)
    found = (tmp_path / "s.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in found] == ["id", *(f"{k:05d}" for k in range(60))]


def test_what_a_fit_by_blocks_warns_of_is_a_note_once(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    table = pa.table({"id": [f"k{k}" for k in range(200)], "x": x, "y": (x > 0).astype(int)})
    parquet.write_table(table, tmp_path / "rows.parquet")
    words = ["fit", tmp_path / "rows.parquet", "--target", "y", "--model", tmp_path / "m", "--memory", "2kB"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in ("LeastSquaresAUC", "AUCClassifier"):
            said = run(*words, "--method", method)
            assert "read by blocks" in said and said.count("--drop NAME") == 1
    assert "AUCClassifier" in said
