"""The theorems' rates, measured

Each paper of the square loss proves how fast its method converges. The script draws T rows independently, ten times
for each T, makes one pass, and sets the slope of the error on a log-log scale beside the theorem's: SPAM's squared
distance to the optimum falls as 1/T (theorem 3), or as T^-θ with steps that fall so (theorem 2, θ = ½). SOLAM's
duality gap falls as 1/√T and FSAUC's excess risk as 1/T, both up to logarithms, which make a fitted slope shallower by
about 0.1 here. The theorems are upper bounds, so a steeper slope agrees with them. Behind ± is the standard error over
the ten streams. SAGA, on the same objective as SPAM, is faster than all of them: its error falls by a constant factor
in each pass. The time of a step grows with the number of columns d: twice as many columns take SPAM and SOLAM at
most twice as long and OPAUC nearly four times.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np

from auclid import FSAUC, OPAUC, SOLAM, SPAM, LeastSquaresAUC
from auclid.schedules import Harmonic, Power

rng = np.random.default_rng(0)
n, d, alpha = 1000, 5, 1.0
y = (np.arange(n) % 4 == 0).astype(int)
X = rng.standard_normal((n, d)) / np.sqrt(d)
X[:, 0] += 0.5 * y
share = np.mean(y) * (1 - np.mean(y))
best = LeastSquaresAUC(alpha).fit(X, y).coef_[0]
free = LeastSquaresAUC(1e-9).fit(X, y).coef_[0]
radius = 2 * np.linalg.norm(free)
pos, neg = X[y == 1], X[y == 0]


def risk(w):
    """The mean square loss over all pairs."""
    a, b = pos @ w, neg @ w
    return (1 - a.mean() + b.mean()) ** 2 + a.var() + b.var()


def distance(model):
    return np.sum((model.coef_[0] - best) ** 2)


def spam(schedule):
    """SPAM's algorithm 1: the last iterate, with these steps."""
    return SPAM(alpha, schedule=schedule, guard=False, average=False, centre=False, n_epochs=1, shuffle=False)


METHODS = {
    "SPAM, steps 1/(βt): |w − w*|²": (spam(Harmonic(1 / (share * alpha), 20.0)), distance, -1.0),
    "SPAM, steps t^(−½): |w − w*|²": (spam(Power(1.0, 0.5)), distance, -0.5),
    "SOLAM: duality gap": (
        SOLAM(radius, zeta=1.0, centre=False, n_epochs=1, shuffle=False),
        lambda model: model.duality_gap(X, y),
        -0.5,
    ),
    "FSAUC: excess risk": (
        FSAUC(radius, step=0.5, centre=False, n_epochs=1, random_state=0),
        lambda model: max(risk(model.coef_[0]) - risk(free), 1e-12),
        -1.0,
    ),
}
STEPS = 500 * 2 ** np.arange(8)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for number, (name, (model, error, theory)) in enumerate(METHODS.items()):
    draws = [[np.random.default_rng([seed, T]).integers(n, size=T) for seed in range(10)] for T in STEPS]
    errors = np.array([[error(model.fit(X[i], y[i])) for i in some] for some in draws])
    means = errors.mean(axis=1)
    slope = np.polyfit(np.log(STEPS[2:]), np.log(means[2:]), 1)[0]
    spread = np.std(np.polyfit(np.log(STEPS[2:]), np.log(errors[2:]), 1)[0], ddof=1) / np.sqrt(errors.shape[1])
    print(f"{name}: slope {slope:.2f} ± {spread:.2f}, theorem {theory:.1f}")
    left.loglog(STEPS, means, "o-", color=f"C{number}", label=f"{name}: {slope:.2f} ({theory:.1f})")
left.set(xlabel="steps T", ylabel="mean of ten streams", title="fitted slope (the theorem's)")
left.legend(fontsize=7)

passes = np.arange(1, 31, 3)
for number, l1 in enumerate((0.0, 0.05)):
    exact = LeastSquaresAUC(alpha, l1=l1, tol=1e-13).fit(X, y).coef_[0]
    fits = [
        SPAM(alpha, l1=l1, variance_reduction="saga", n_epochs=int(e), random_state=0).fit(X, y) for e in passes
    ]
    errors = np.maximum([np.sum((model.coef_[0] - exact) ** 2) for model in fits], 1e-30)
    rate = np.exp(np.polyfit(passes[:6], np.log(errors[:6]), 1)[0])
    print(f"SAGA, l1 = {l1:g}: the squared error falls to {rate:.2g} of itself in each pass")
    middle.semilogy(passes, errors, "o-", color=f"C{number}", label=f"l1 = {l1:g}: × {rate:.2g} a pass")
middle.set(xlabel="passes", ylabel="|w − w*|²", title="SPAM with variance_reduction='saga'")
middle.legend()

few = y[:16]  # what a step reads stays in the processor's cache
for number, (name, cls, most) in enumerate((("SPAM", SPAM, 13), ("SOLAM", SOLAM, 13), ("OPAUC", OPAUC, 9))):
    widths, seconds = 2 ** np.arange(most - 8, most + 1), []
    for width in widths:
        wide = rng.standard_normal((len(few), width)) / np.sqrt(width)
        fits = [(process_time(), cls(n_epochs=60, random_state=0).fit(wide, few), process_time()) for _ in range(5)]
        seconds.append(min(end - start for start, _, end in fits) / (60 * len(few)))
    times = seconds[-1] / seconds[-2]
    print(f"{name}: from {widths[-2]:,} to {widths[-1]:,} columns a step takes {times:.1f} times as long")
    right.loglog(widths, seconds, "o-", color=f"C{number}", label=name)
right.set(xlabel="columns d", ylabel="seconds a step", title="cost of a step")
right.legend()
figure.savefig("convergence.png", dpi=110)
