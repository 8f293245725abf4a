"""Makes the kept model files of this folder. Run it for a new format number only, and keep the old files."""

from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from auclid import LeastSquaresAUC, save

HERE = Path(__file__).parent
FORMAT = 1


def keep():
    """Fit, save, and keep what the models say."""
    rng = np.random.default_rng(7)
    y = np.arange(30) % 3 == 0
    X = rng.normal(size=(30, 3)) + y[:, None]
    labels = np.where(y, "yes", "no")
    moments = LeastSquaresAUC(alpha=0.1).partial_fit(X[:20], labels[:20])
    pipeline = make_pipeline(StandardScaler(), LeastSquaresAUC(alpha=0.01)).fit(X, labels)
    save(HERE / f"moments-{FORMAT}.auclid", moments, about={"made": "for the tests"})
    save(HERE / f"pipeline-{FORMAT}.auclid", pipeline)
    scores = {"moments": moments.decision_function(X), "pipeline": pipeline.decision_function(X)}
    scores["resumed"] = moments.partial_fit(X, labels).decision_function(X)
    np.savez(HERE / "kept.npz", X=X, y=labels, **scores)


if __name__ == "__main__":
    keep()
