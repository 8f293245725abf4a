"""The papers' pseudo-code, line by line: what ``make(name, published=True)`` is held against.

Nothing here is shared with the package or with the other reference modules; labels are +1 and -1, rows are taken in the
given order, and whatever an algorithm draws at random is handed to it.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

# --- Natole, Ying & Lyu 2018, algorithm 1 (SPAM)


def spam(X, y, order, beta, beta1, theorem):
    """The last iterate; p and the class means are known beforehand."""
    p, mean_pos, mean_neg = np.mean(y == 1), X[y == 1].mean(axis=0), X[y == -1].mean(axis=0)
    M = max(np.linalg.norm(x) for x in X)
    w = np.zeros(X.shape[1])
    for t, i in enumerate(order, start=1):
        if theorem == "thm2":
            eta = beta / (128 * M**4) / t**0.5
        else:
            eta = 1 / (beta / (1 + beta**2 / (128 * M**4)) ** 2 * (t + 1))
        a, b = w @ mean_pos, w @ mean_neg
        alpha = w @ (mean_neg - mean_pos)
        x = X[i]
        gradient = np.zeros_like(w)
        if y[i] == 1:
            gradient += 2 * (1 - p) * (w @ x - a) * x
            gradient -= 2 * (1 + alpha) * (1 - p) * x
        else:
            gradient += 2 * p * (w @ x - b) * x
            gradient += 2 * (1 + alpha) * p * x
        u = (w - eta * gradient) / (eta * beta + 1)
        w = np.sign(u) * np.maximum(np.abs(u) - eta * beta1 / (eta * beta + 1), 0)
    return w


# --- Ying, Wen & Lyu 2016, table 1 (SOLAM); Natole et al. 2018 replace the ball by a penalty


def solam(X, y, order, zeta, R=np.inf, alpha_l2=0.0):
    """(w, a, b, alpha), each the average weighted by the steps."""
    d = X.shape[1]
    v, alpha = np.zeros(d + 2), 0.0
    p, gamma_sum, v_mean, alpha_mean, kappa = 0.0, 0.0, np.zeros(d + 2), 0.0, 0.0
    for t, i in enumerate(order, start=1):
        x = X[i]
        kappa = max(kappa, np.linalg.norm(x))
        p = ((t - 1) * p + (y[i] == 1)) / t
        gamma = zeta / np.sqrt(t)
        w, a, b = v[:d], v[d], v[d + 1]
        dv, dalpha = np.zeros(d + 2), -2 * p * (1 - p) * alpha
        if y[i] == 1:
            dv[:d] = 2 * (1 - p) * (w @ x - a) * x - 2 * (1 + alpha) * (1 - p) * x
            dv[d] = -2 * (1 - p) * (w @ x - a)
            dalpha -= 2 * (1 - p) * (w @ x)
        else:
            dv[:d] = 2 * p * (w @ x - b) * x + 2 * (1 + alpha) * p * x
            dv[d + 1] = -2 * p * (w @ x - b)
            dalpha += 2 * p * (w @ x)
        gamma_sum += gamma
        v_mean += gamma / gamma_sum * (v - v_mean)
        alpha_mean += gamma / gamma_sum * (alpha - alpha_mean)
        v = v - gamma * dv
        alpha = alpha + gamma * dalpha
        v[:d] /= 1 + gamma * p * (1 - p) * alpha_l2
        if np.linalg.norm(v[:d]) > R:
            v[:d] *= R / np.linalg.norm(v[:d])
        v[d:] = np.clip(v[d:], -R * kappa, R * kappa)
        alpha = np.clip(alpha, -2 * R * kappa, 2 * R * kappa)
    return v_mean[:d], v_mean[d], v_mean[d + 1], alpha_mean


# --- Liu et al. 2018 (FSAUC), as the specification has it


def onto_l1_ball(w, radius):
    """Duchi et al. 2008: sort, and subtract the one threshold."""
    size = np.sort(np.abs(w))[::-1]
    if size.sum() <= radius:
        return w
    excess = (np.cumsum(size) - radius) / np.arange(1, len(w) + 1)
    threshold = excess[np.flatnonzero(size > excess)[-1]]
    return np.sign(w) * np.maximum(np.abs(w) - threshold, 0)


def fsauc_stages(n):
    """The length of each of the m = floor(log2(2n / log2 n) / 2) - 1 stages, n / m."""
    m = max(1, int(np.log2(2 * n / np.log2(n)) // 2) - 1)
    return [n // m] * m


def fsauc(X, y, stages, step, R):
    """The average of the last stage."""
    d, kappa = X.shape[1], max(np.linalg.norm(x) for x in X)
    v, alpha, R_k = np.zeros(d + 2), 0.0, 2 * np.sqrt(1 + 2 * kappa**2) * R
    seen = []
    for order in stages:
        start, alpha_start, iterates = v.copy(), alpha, []
        for i in order:
            x = X[i]
            seen.append(i)
            p = np.mean(y[seen] == 1)
            iterates.append(v.copy())
            w, a, b = v[:d], v[d], v[d + 1]
            dv, dalpha = np.zeros(d + 2), -2 * p * (1 - p) * alpha
            if y[i] == 1:
                dv[:d] = 2 * (1 - p) * (w @ x - a - 1 - alpha) * x
                dv[d] = -2 * (1 - p) * (w @ x - a)
                dalpha -= 2 * (1 - p) * (w @ x)
            else:
                dv[:d] = 2 * p * (w @ x - b + 1 + alpha) * x
                dv[d + 1] = -2 * p * (w @ x - b)
                dalpha += 2 * p * (w @ x)
            v, alpha = v - step * dv, alpha + step * dalpha
            v[:d] = onto_l1_ball(v[:d], R)
            v[d:] = np.clip(v[d:], -R * kappa, R * kappa)
            alpha = np.clip(alpha, -2 * R * kappa, 2 * R * kappa)
            if np.linalg.norm(v - start) > R_k:
                v = start + (v - start) * R_k / np.linalg.norm(v - start)
            D_k = 2 * np.sqrt(2) * kappa * R_k
            alpha = np.clip(alpha, alpha_start - D_k, alpha_start + D_k)
        v = np.mean(iterates, axis=0)
        rows, labels = X[seen], y[seen]
        alpha = v[:d] @ (rows[labels == -1].mean(axis=0) - rows[labels == 1].mean(axis=0))
        R_k, step = R_k / 2, step / 2
    return v[:d]


# --- Gao et al. 2013 (OPAUC, OPAUCr), Ding et al. 2015 (AdaOAM)


def opauc(X, y, order, eta, lam, sketch=None, delta=None):
    """The last iterate; ``sketch`` holds a random vector for each step (OPAUCr), ``delta`` scales as AdaOAM."""
    d = X.shape[1]
    w, squares, past = np.zeros(d), np.zeros(d), {1: [], -1: []}
    for step, i in enumerate(order):
        x, label = X[i], y[i]
        past[label].append(step)
        others = past[-label]
        if not others:
            continue
        rows = X[[order[k] for k in others]]
        mean = rows.mean(axis=0)
        if sketch is None:
            covariance = rows.T @ rows / len(rows) - np.outer(mean, mean)
        else:
            Z = rows.T @ sketch[others]
            covariance = Z @ Z.T / len(rows) - np.outer(mean, mean)
        gradient = lam * w - label * (x - mean) + (x - mean) * ((x - mean) @ w) + covariance @ w
        if delta is None:
            w = w - eta * gradient
        else:
            squares = squares + gradient**2
            w = w - eta * gradient / (delta + np.sqrt(squares))
    return w


# --- Khalid 2019, algorithms 10 and 11 (SAM, ASAM, PSAM)


def sam(pairs, lam, t0, rskip, askip, proximal=False, average=True):
    """ASAM on the differences of these pairs; PSAM if ``proximal``, SAM without the average."""
    w, mean, q, rcount, acount = np.zeros(pairs.shape[1]), np.zeros(pairs.shape[1]), 0, rskip, askip
    for t, x in enumerate(pairs, start=1):
        size = 1 / (lam * (t + t0))
        if proximal:
            w = w + min(size, max(0.0, 1 - w @ x) / (x @ x)) * x
        elif w @ x < 1:
            w = w + size * x
        rcount -= 1
        if rcount <= 0:
            w = w - rskip / (t + t0) * w
            rcount = rskip
        acount -= 1
        if acount <= 0:
            mean = (q * mean + w) / (q + 1)
            q += 1
            acount = askip
    return mean if average else w


# --- Zhao et al. 2011 (OAM) and Khalid 2019, algorithms 4 to 6, 8 and 9 (CBR, FCBR)


def met(X, y, order, size, reservoir, draws):
    """For each step: its row, its label, the rows in the opposite buffer, and how many of that class came so far."""
    buffers, count = {1: [], -1: []}, {1: 0, -1: 0}
    for step, i in enumerate(order):
        label = y[i]
        own = buffers[label]
        count[label] += 1
        if len(own) < size:
            own.append(X[i])
        elif reservoir:
            slot = int(draws[step] * count[label])  # below ``size`` with probability size / count, then uniform
            if slot < size:
                own[slot] = X[i]
        else:
            own[(count[label] - 1) % size] = X[i]
        yield X[i], label, list(buffers[-label]), count[-label]


def oam(X, y, order, C, size, draws, sequential):
    """The last iterate."""
    w = np.zeros(X.shape[1])
    for x, label, others, n in met(X, y, order, size, True, draws):
        C_t = C * max(1, n / size)
        if sequential:
            for other in others:
                z = label * (x - other)
                tau = min(C_t, max(0, 1 - w @ z) / (z @ z))
                w = w + tau * z
        else:
            inside = [other for other in others if label * (w @ (x - other)) <= 1]
            for other in inside:
                w = w + C_t / 2 * label * (x - other)
    return w


def cbr(X, y, order, C, eta, size, draws=None, diagonal=False, halved=False):
    """The mean after all rows, by proposition 1 (2: ``diagonal``; 3: ``halved``), as printed."""
    d = X.shape[1]
    phi = norm.ppf(eta)
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    mu, Sigma, G = np.zeros(d), np.eye(d), np.ones(d)
    for x, label, others, _ in met(X, y, order, size, draws is not None, draws):
        for other in others:
            z = x - other
            m = label * (mu @ z)
            v = np.sum(z**2 / (G + C)) if diagonal else z @ Sigma @ z
            if v <= 0:
                continue
            alpha = min(C, max(0, (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta)))
            u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2 / 4
            beta = alpha * phi / np.sqrt(u + v * alpha * phi)
            step = alpha / 2 if halved else alpha
            if diagonal:
                mu = mu + step * label * z / G
                G = G + beta * z**2
            else:
                mu = mu + step * label * (Sigma @ z)
                Sigma = Sigma - beta * np.outer(Sigma @ z, Sigma @ z)
    return mu


# --- Kotłowski et al. 2011 (Uni-Exp)


def uni_exp(X, y, order, step, lam):
    """The average of the iterates."""
    w, total, seen = np.zeros(X.shape[1]), np.zeros(X.shape[1]), []
    for t, i in enumerate(order, start=1):
        seen.append(y[i])
        share = np.mean(np.array(seen) == y[i])
        loss_gradient = -y[i] * np.exp(-y[i] * (w @ X[i])) / (2 * share) * X[i]
        w = w - step / np.sqrt(t) * (loss_gradient + lam * w)
        total += w
    return total / len(order)


# --- feature maps: Khalid 2019, algorithm 2, equations 3.2 and 5.2


def gaussian(A, B, gamma):
    """exp(-gamma |a - b|^2) of all pairs."""
    return np.exp(-gamma * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def nystroem(X, landmarks, gamma):
    """U S^(-1/2) E of algorithm 2, small eigenvalues left out."""
    values, U = np.linalg.eigh(gaussian(landmarks, landmarks, gamma))
    kept = values > 1e-10 * values[-1]
    return gaussian(X, landmarks, gamma) @ U[:, kept] / np.sqrt(values[kept])


def phase_waves(X, theta, b):
    """Equation 3.2."""
    return np.sqrt(2 / theta.shape[1]) * np.cos(X @ theta + b)


def paired_waves(X, theta):
    """Equation 5.2, the cosines before the sines."""
    return np.sqrt(2 / theta.shape[1]) * np.hstack([np.cos(X @ theta), np.sin(X @ theta)])


# --- all pairs: the square loss, hinges, the top; Chapelle & Keerthi 2010, Kuo et al. 2014


def differences(X, y):
    """x+ - x- of every pair."""
    return (X[y == 1][:, None, :] - X[y == -1][None, :, :]).reshape(-1, X.shape[1])


def least_squares(X, y, alpha):
    """The minimiser of the mean of (1 - w.z)^2 + alpha/2 |w|^2."""
    Z = differences(X, y)
    return np.linalg.solve(2 * Z.T @ Z / len(Z) + alpha * np.eye(X.shape[1]), 2 * Z.mean(axis=0))


def squared_hinge_gradient(w, X, y, alpha):
    """The gradient of the mean of max(0, 1 - w.z)^2 + alpha/2 |w|^2."""
    Z = differences(X, y)
    return -2 * Z.T @ np.maximum(0, 1 - Z @ w) / len(Z) + alpha * w


def kernel_rank_svm_dual(f, y, alpha):
    """The coefficients that f = K b must have: mean of max(0, 1 - f(x+) + f(x-))^2 + alpha/2 b.K b has no gradient."""
    losses = 2 * np.maximum(0, 1 - f[y == 1][:, None] + f[y == -1][None, :])
    b = np.empty(len(f))
    b[y == 1], b[y == -1] = losses.sum(axis=1), -losses.sum(axis=0)
    return b / (alpha * losses.size)


# --- Joachims 2005 (B-SVM-OR), Narasimhan & Agarwal 2013 (SVMpAUC), Li, Jin & Zhou 2014 (TopPush)


def hinge_risk(w, X, y):
    """(value, subgradient) of the mean of max(0, 1 - w.z) over all pairs."""
    Z = differences(X, y)
    active = Z @ w < 1
    return np.maximum(0, 1 - Z @ w).mean(), -(Z * active[:, None]).mean(axis=0)


def losses_of_negatives(w, X, y, loss, slope):
    """The mean loss over positives of each negative, and its gradient by w."""
    Z = X[y == 1][:, None, :] - X[y == -1][None, :, :]
    m = Z @ w
    return loss(m).mean(axis=0), (Z * slope(m)[..., None]).mean(axis=0)


def partial_hinge_risk(w, X, y, max_fpr):
    """(value, subgradient) of the mean hinge over the negatives that lose most, max_fpr of all, the last in part."""
    L, G = losses_of_negatives(w, X, y, lambda m: np.maximum(0, 1 - m), lambda m: -(m < 1).astype(float))
    k, order = max_fpr * len(L), np.argsort(-L)
    q = np.clip(k - np.arange(len(L)), 0, 1) / k
    return q @ L[order], q @ G[order]


def top_risk(w, X, y):
    """(value, subgradient) of the mean squared hinge over positives of the negative that loses most."""
    L, G = losses_of_negatives(w, X, y, lambda m: np.maximum(0, 1 - m) ** 2, lambda m: -2 * np.maximum(0, 1 - m))
    return L.max(), G[L.argmax()]


def cutting_planes(risk, d, alpha, gap=1e-12, most=300):
    """The minimum of risk(w) + alpha/2 |w|^2: add the plane that touches it at w, minimise the planes' maximum."""
    w, planes, best = np.zeros(d), [], np.inf
    for _ in range(most):
        value, g = risk(w)
        best = min(best, value + alpha / 2 * w @ w)
        planes.append([*g, value - g @ w])
        G, c = np.array(planes)[:, :-1], np.array(planes)[:, -1]
        above = {
            "type": "ineq",
            "fun": lambda v, G=G, c=c: v[-1] - G @ v[:-1] - c,
            "jac": lambda v, G=G: np.column_stack([-G, np.ones(len(G))]),
        }
        found = minimize(
            lambda v: alpha / 2 * v[:-1] @ v[:-1] + v[-1],
            [*w, np.max(G @ w + c)],
            jac=lambda v: np.array([*alpha * v[:-1], 1.0]),
            constraints=[above],
            method="SLSQP",
            options={"ftol": 1e-16, "maxiter": 500},
        )
        w = found.x[:-1]
        if best - (alpha / 2 * w @ w + np.max(G @ w + c)) < gap:
            return best
    raise ArithmeticError("The planes do not meet the risk.")


# --- Xie & Li 2018, Sakai et al. 2018: a kernel on all rows


def pair_square(K, A, B, share):
    """(H, g, c) of the mean over pairs of (1 - f(a) + f(b))^2 = f.H f - 2 g.f + c, for f at all rows, times a share."""
    n = len(K)
    H, g = np.zeros((n, n)), np.zeros(n)
    pairs = [(i, j) for i in A for j in B if i != j]
    for i, j in pairs:
        e = np.zeros(n)
        e[i] += 1
        e[j] -= 1
        H += np.outer(e, e)
        g += e
    return share * H / len(pairs), share * g / len(pairs)


def kernel_minimiser(K, terms, alpha):
    """f at all rows for f = K b that minimises the sum of terms + alpha/2 b.K b."""
    H, g = sum(term[0] for term in terms), sum(term[1] for term in terms)
    return K @ np.linalg.solve(2 * H @ K + alpha * np.eye(len(K)), 2 * g)


def samult(K, P, N, U, gamma, alpha):
    """SAMULT's f at all rows; ``gamma`` is the weight of the labelled pairs."""
    terms = [pair_square(K, P, N, gamma), pair_square(K, P, U, 1 - gamma), pair_square(K, U, N, 1 - gamma)]
    return kernel_minimiser(K, terms, alpha)


def pnu(K, P, N, U, eta, prior, alpha):
    """PNU-AUC's f at all rows."""
    if eta >= 0:
        free = [pair_square(K, P, U, eta / (1 - prior)), pair_square(K, P, P, -eta * prior / (1 - prior))]
        return kernel_minimiser(K, [pair_square(K, P, N, 1 - eta), *free], alpha)
    free = [pair_square(K, U, N, -eta / prior), pair_square(K, N, N, eta * (1 - prior) / prior)]
    return kernel_minimiser(K, [pair_square(K, P, N, 1 + eta), *free], alpha)


# --- Shi et al. 2019, algorithms 1 and 2 (QSG-S2AUC)


def qsg(batches, omegas, gamma, lam, theta, slope):
    """f as a function of rows; ``slope`` is the derivative of the loss by the margin.

    ``batches`` holds the positives, negatives and unlabelled rows of each iteration, ``omegas`` its frequencies.
    """
    alphas = []

    def phi(x, i):
        return np.concatenate([np.cos(x @ omegas[i]), np.sin(x @ omegas[i])]) / np.sqrt(omegas[i].shape[1])

    def predict(x):
        return sum(alpha @ phi(x, i) for i, alpha in enumerate(alphas))

    for i, (P, N, U) in enumerate(batches):
        eta = theta / (i + 1)
        zeta = 0
        for share, above, below in ((gamma, P, N), (1 - gamma, P, U), (1 - gamma, U, N)):
            for u in above:
                for v in below:
                    by_margin = share * slope(predict(u) - predict(v)) / (len(above) * len(below))
                    zeta = zeta + by_margin * (phi(u, i) - phi(v, i))
        alphas[:] = [(1 - eta * lam) * alpha for alpha in alphas]
        alphas.append(-eta * zeta)
    return predict


# --- Freund et al. 2003, Amini et al. 2008 (RankBoost)


def rank_boost(P, N, rounds, D=None):
    """The score of each row of P and N after so many rounds of the best stump, for weights of pairs D."""
    D = np.ones((len(P), len(N))) / (len(P) * len(N)) if D is None else D / D.sum()
    scores_p, scores_n = np.zeros(len(P)), np.zeros(len(N))
    smooth = 1 / (2 * np.count_nonzero(D))
    for _ in range(rounds):
        best = None
        for k in range(P.shape[1]):
            values = np.unique(np.concatenate([P[:, k], N[:, k]]))
            for theta in (values[:-1] + values[1:]) / 2:
                for sign in (1, -1):
                    h_p, h_n = (sign * (P[:, k] - theta) > 0), (sign * (N[:, k] - theta) > 0)
                    right = D[np.ix_(h_p, ~h_n)].sum()
                    wrong = D[np.ix_(~h_p, h_n)].sum()
                    bound = D.sum() - (np.sqrt(right) - np.sqrt(wrong)) ** 2 if right > wrong else np.inf
                    if best is None or bound < best[0] - 1e-12:
                        best = bound, k, theta, sign, right, wrong
        _, k, theta, sign, right, wrong = best
        alpha = np.log((right + smooth) / (wrong + smooth)) / 2
        h_p, h_n = sign * (P[:, k] - theta) > 0, sign * (N[:, k] - theta) > 0
        scores_p, scores_n = scores_p + alpha * h_p, scores_n + alpha * h_n
        D = D * np.exp(-alpha * (h_p[:, None].astype(float) - h_n[None, :]))
        D = D / D.sum()
    return scores_p, scores_n


def neighbours(rows, U, count):
    """The nearest rows of U of each row, distances in units of the deviations of U."""
    scale = U.std(axis=0)
    near = [np.argsort(np.sum(((U - x) / scale) ** 2, axis=1))[:count] for x in rows]
    return U[np.concatenate(near)]


def ss_rank_boost(P, N, U, count, weight, rounds):
    """SSRankBoost: the mean over pairs of neighbours, which have the labels of their rows, counts with a weight."""
    P2, N2 = neighbours(P, U, count), neighbours(N, U, count)
    D = np.zeros((len(P) + len(P2), len(N) + len(N2)))
    D[: len(P), : len(N)] = 1 / (len(P) * len(N))
    D[len(P) :, len(N) :] = weight / (len(P2) * len(N2))
    scores_p, scores_n = rank_boost(np.vstack([P, P2]), np.vstack([N, N2]), rounds, D)
    return scores_p[: len(P)], scores_n[: len(N)]
