"""Expressions as an ONNX graph: inputs in float32 or float64, arithmetic in float64."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from auclid._version import __version__
from auclid.exporters import expression as ex

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
"""Versions of the operators and of the format: those of onnxruntime 1.12 and later."""

MATRIX = "X"
"""The name of the only input where columns have no names."""


def import_onnx() -> Any:
    """The package onnx, or a sentence that says how to install it."""
    try:
        import onnx
    except ImportError:
        raise ImportError("to='onnx' needs the package onnx: pip install 'auclid[onnx]'.") from None
    return onnx


def onnx_bytes(score: ex.Score, dtype: str) -> bytes:
    """A serialised ONNX model with the outputs ``score`` and, where the model has one, ``probability``."""
    graph = _Graph(score, dtype)
    graph.output("score", score.expression)
    if score.probability is not None:
        graph.output("probability", score.probability)
    return graph.serialize()


class _Graph:
    """Nodes, constants and inputs of a graph; every expression is a float64 tensor of shape (n, 1)."""

    def __init__(self, score: ex.Score, dtype: str) -> None:
        self.onnx, self.score = import_onnx(), score
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []
        self.type = getattr(self.onnx.TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}[dtype])
        self.inputs: list[Any] = []
        self.done: dict[ex.Expression, str] = {}
        self.count = 0
        self.is_matrix = not score.named and all(column.kind == "number" for column in score.columns)
        self._declare_inputs()

    def _declare_inputs(self) -> None:
        helper, proto = self.onnx.helper, self.onnx.TensorProto
        if self.is_matrix:
            shape = [None, len(self.score.columns)]
            self.inputs.append(helper.make_tensor_value_info(MATRIX, self.type, shape))
            self.matrix = self.cast(MATRIX)
            return
        types = {"number": self.type, "date": proto.DOUBLE, "text": proto.STRING}
        for column in self.score.columns:
            self.inputs.append(helper.make_tensor_value_info(column.name, types[column.kind], [None, 1]))

    # Building

    def add(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node; returns the name of its output."""
        self.count += 1
        name = f"auclid_{self.count}"
        self.nodes.append(self.onnx.helper.make_node(op, list(inputs), [name], domain=domain, **attributes))
        return name

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """A constant tensor."""
        self.count += 1
        name = f"auclid_c{self.count}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def cast(self, name: str, kind: str = "DOUBLE") -> str:
        """A tensor of another type."""
        return self.add("Cast", name, to=getattr(self.onnx.TensorProto, kind))

    def output(self, name: str, expression: ex.Expression) -> None:
        """Declare an output."""
        flat = self.add("Reshape", self.write(expression), self.constant([-1], np.int64))
        self.nodes.append(self.onnx.helper.make_node("Cast", [flat], [name], to=self.type))
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, self.type, [None]))

    def serialize(self) -> bytes:
        """The whole model."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "auclid", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        how = {"producer_name": "auclid", "producer_version": __version__, "ir_version": IR_VERSION}
        model = helper.make_model(graph, opset_imports=opsets, **how)
        helper.set_model_props(model, {"model": self.score.model, "classes": repr(list(self.score.classes))})
        self.onnx.checker.check_model(model)
        return model.SerializeToString()

    # Expressions

    def write(self, e: ex.Expression) -> str:
        """The tensor of an expression; the same column is read once."""
        if e not in self.done:
            self.done[e] = getattr(self, f"write_{e.op}")(e)
        return self.done[e]

    def write_column(self, e: ex.ColumnRef) -> str:
        if e.kind == "text":
            return e.name
        return self.vector((e,)) if self.is_matrix else self.cast(e.name)

    def vector(self, inputs: Sequence[ex.Expression]) -> str:
        """Expressions side by side, of shape (n, k)."""
        if self.is_matrix and all(isinstance(x, ex.ColumnRef) for x in inputs):
            names = [column.name for column in self.score.columns]
            places = [names.index(x.name) for x in inputs if isinstance(x, ex.ColumnRef)]
            if places == list(range(len(names))):
                return self.matrix
            return self.add("Gather", self.matrix, self.constant(places, np.int64), axis=1)
        parts = [self.broadcast(x) for x in inputs]
        return self.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]

    def broadcast(self, e: ex.Expression) -> str:
        """An expression with a row for each row of the table, a constant too."""
        if not isinstance(e, ex.Number):
            return self.write(e)
        first = self.write(self.score.columns[0]) if self.score.columns[0].kind != "text" else None
        shape = self.add("Shape", first or self.score.columns[0].name, start=0, end=1)
        size = self.add("Concat", shape, self.constant([1], np.int64), axis=0)
        return self.add("Expand", self.write(e), size)

    def write_constant(self, e: ex.Number) -> str:
        return self.constant([[e.value]])

    def write_sum(self, e: ex.Sum) -> str:
        return self.add("Sum", *(self.write(term) for term in e.terms))

    def write_weighted(self, e: ex.Weighted) -> str:
        return self.add("MatMul", self.vector(e.inputs), self.constant(np.array(e.weights)[:, None]))

    def write_piecewise(self, e: ex.Piecewise) -> str:
        x, pieces = self.write(e.x), np.array(e.pieces)
        if len(pieces) == 1:
            at, value, slope = (self.constant([[each]]) for each in pieces[0])
        else:
            place = self.cell_number(x, e.cuts)
            at, value, slope = (self.add("Gather", self.constant(pieces[:, k]), place) for k in range(3))
        line = self.add("Add", value, self.add("Mul", slope, self.add("Sub", x, at)))
        return self.add("Where", self.add("IsNaN", x), self.constant([[e.missing]]), line)

    def cell_number(self, x: str, cuts: Sequence[float]) -> str:
        """How many cuts are at or below x."""
        above = self.cast(self.add("GreaterOrEqual", x, self.constant([list(cuts)])), "INT64")
        return self.add("ReduceSum", above, self.constant([1], np.int64), keepdims=1)

    def codes(self, column: ex.ColumnRef, levels: Sequence[str]) -> str:
        """The number of a text in levels; one more for other texts, two more where it is missing (an empty text)."""
        numbers = [*range(len(levels)), len(levels) + 1]
        return self.add(
            "LabelEncoder", column.name, domain="ai.onnx.ml", keys_strings=[*levels, ""], values_int64s=numbers,
            default_int64=len(levels),
        )  # fmt: skip

    def write_lookup(self, e: ex.Lookup) -> str:
        levels = [(level, value) for level, value in e.levels if level]
        values = [*(value for _, value in levels), e.other, e.missing]
        return self.add("Gather", self.constant(values), self.codes(e.x, [level for level, _ in levels]))

    def write_grid(self, e: ex.Grid) -> str:
        """Four corners, each with the product of two shares."""
        values = np.array(e.values)
        padded = np.pad(values, ((0, 1), (0, 1)))  # the corner beyond the last node has the share 0
        (i, s), (j, t) = self.place(e.a), self.place(e.b)
        there = self.add("And", *(self.add("GreaterOrEqual", each, self.constant([[0]], np.int64)) for each in (i, j)))
        zero, width = self.constant([[0]], np.int64), self.constant([[padded.shape[1]]], np.int64)
        start = self.add("Add", self.add("Mul", self.add("Max", i, zero), width), self.add("Max", j, zero))
        flat, one, corners = self.constant(padded.ravel()), self.constant([[1.0]]), []
        for down in (0, 1):
            for right in (0, 1):
                shift = self.constant([[down * padded.shape[1] + right]], np.int64)
                shares = [share if side else self.add("Sub", one, share) for side, share in ((down, s), (right, t))]
                corner = self.add("Gather", flat, self.add("Add", start, shift))
                corners.append(self.add("Mul", corner, self.add("Mul", *shares)))
        return self.add("Where", there, self.add("Sum", *corners), self.constant([[0.0]]))

    def place(self, axis: ex.Axis) -> tuple[str, str]:
        """The node of an axis at or before a cell, -1 where it is missing, and the share of the next node."""
        if not axis.is_numeric:
            assert isinstance(axis.x, ex.ColumnRef)
            groups = [(level, group) for level, group in axis.groups if level]
            numbers = self.constant([*(group for _, group in groups), axis.other, -1], np.int64)
            return self.add("Gather", numbers, self.codes(axis.x, [level for level, _ in groups])), self.constant(
                [[0.0]]
            )
        x, knots = self.write(axis.x), np.array(axis.knots)
        missing, zero = self.add("IsNaN", x), self.constant([[0]], np.int64)
        nowhere = self.constant([[-1]], np.int64)
        if len(knots) < 2:
            return self.add("Where", missing, nowhere, zero), self.constant([[0.0]])
        k = (
            self.cell_number(x, knots[1:-1].tolist())
            if len(knots) > 2
            else self.add("Mul", self.cast(missing, "INT64"), zero)
        )
        low, size = (self.add("Gather", self.constant(each), k) for each in (knots[:-1], np.diff(knots)))
        share = self.add("Div", self.add("Sub", x, low), size)
        share = self.add("Where", missing, self.constant([[0.0]]), share)
        share = self.add("Min", self.add("Max", share, self.constant([[0.0]])), self.constant([[1.0]]))
        return self.add("Where", missing, nowhere, k), share

    def write_wave(self, e: ex.Wave) -> str:
        x = self.write(e.x)
        turns = self.add("Div", x, self.constant([[e.period]]))
        part = self.add("Sub", turns, self.add("Floor", turns))
        angle = self.add("Mul", part, self.constant([[2.0 * np.pi]]))
        if e.cosine:
            angle = self.add("Add", angle, self.constant([[0.5 * np.pi]]))
        steps = self.constant([[ex.WAVE_STEPS]])
        wave = self.add("Div", self.add("Round", self.add("Mul", self.add("Sin", angle), steps)), steps)
        return self.add("Where", self.add("IsNaN", x), self.constant([[0.0]]), wave)

    def write_trees(self, e: ex.TreeSum) -> str:
        """A tree ensemble, whose sets of categories are further columns: 1 where a category is not in the set."""
        sets = _distinct_sets(e)
        parts = [self.vector(e.inputs)]
        for feature, members in sets:
            parts.append(self.outside(self.write(e.inputs[feature]), members))
        rows = self.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        numbers = {key: len(e.inputs) + k for k, key in enumerate(sets)}
        attributes = self.tree_attributes(e, numbers)
        sums = self.add("TreeEnsembleRegressor", rows, domain="ai.onnx.ml", **attributes)  # in float32
        return self.cast(sums)

    def outside(self, codes: str, members: tuple[int, ...]) -> str:
        """1 where a category is not in a set, 0 where it is, NaN where it is missing."""
        inside = self.add("Equal", codes, self.constant([list(members)]))
        count = self.add("ReduceSum", self.cast(inside), self.constant([1], np.int64), keepdims=1)
        outside = self.add("Sub", self.constant([[1.0]]), count)
        return self.add("Where", self.add("IsNaN", codes), self.constant([[np.nan]]), outside)

    def tree_attributes(self, e: ex.TreeSum, numbers: dict[tuple[int, tuple[int, ...]], int]) -> dict[str, Any]:
        """The attributes of a TreeEnsembleRegressor, of all nodes of all trees."""
        arrays = e.arrays
        n, is_leaf = len(arrays.feature), arrays.feature < 0
        tree = np.searchsorted(arrays.roots, np.arange(n), side="right") - 1
        first = arrays.roots[tree]
        feature, threshold = np.maximum(arrays.feature, 0).copy(), arrays.threshold.astype(np.float64).copy()
        for k in np.flatnonzero(arrays.is_set & ~is_leaf).tolist():
            feature[k] = numbers[int(arrays.feature[k]), tuple(e.members(k))]
            threshold[k] = 0.5
        leaves = np.flatnonzero(is_leaf)
        tensor = self.onnx.numpy_helper.from_array
        return {
            "n_targets": 1,
            "nodes_treeids": tree.tolist(),
            "nodes_nodeids": (np.arange(n) - first).tolist(),
            "nodes_featureids": feature.tolist(),
            "nodes_modes": ["LEAF" if leaf else "BRANCH_LEQ" for leaf in is_leaf.tolist()],
            "nodes_values_as_tensor": tensor(np.where(is_leaf, 0.0, threshold), "nodes_values"),
            "nodes_truenodeids": np.where(is_leaf, 0, arrays.left - first).tolist(),
            "nodes_falsenodeids": np.where(is_leaf, 0, arrays.right - first).tolist(),
            "nodes_missing_value_tracks_true": (~arrays.missing_right).astype(int).tolist(),
            "target_treeids": tree[leaves].tolist(),
            "target_nodeids": (leaves - first[leaves]).tolist(),
            "target_ids": [0] * len(leaves),
            "target_weights_as_tensor": tensor(arrays.value[leaves].astype(np.float64), "target_weights"),
        }

    def write_kernel(self, e: ex.KernelSum) -> str:
        x, weights = self.vector(e.inputs), self.constant(e.weights[:, None])
        if e.kind == "cosine":
            assert e.phases is not None
            angle = self.add(
                "Add", self.add("MatMul", x, self.constant(e.centres.T)), self.constant([e.phases + 0.5 * np.pi])
            )
            return self.add("MatMul", self.add("Sin", angle), weights)
        distance = self.squares(x, e.centres) if e.kind == "rbf" else self.absolutes(x, e.centres)
        return self.add("MatMul", self.add("Exp", self.add("Mul", distance, self.constant(-e.gamma))), weights)

    def squares(self, x: str, centres: np.ndarray) -> str:
        """|x − c|² from products, seen from the middle of the centres lest digits be lost."""
        middle, one = centres.mean(axis=0), self.constant([1], np.int64)
        seen, own = self.add("Sub", x, self.constant([middle])), centres - middle
        length = self.add("ReduceSum", self.add("Mul", seen, seen), one, keepdims=1)
        products = self.add("MatMul", seen, self.constant(-2.0 * own.T))
        total = self.add("Sum", length, products, self.constant([np.square(own).sum(axis=1)]))
        return self.add("Max", total, self.constant([[0.0]]))

    def absolutes(self, x: str, centres: np.ndarray) -> str:
        """|x − c|₁."""
        wide = self.add("Unsqueeze", x, self.constant([1], np.int64))
        gaps = self.add("Abs", self.add("Sub", wide, self.constant(centres[None])))
        return self.add("ReduceSum", gaps, self.constant([2], np.int64), keepdims=0)

    def write_log_odds(self, e: ex.LogOdds) -> str:
        x = self.write(e.x)
        size = self.add("Abs", x)
        is_far = self.add("Greater", size, self.constant([[e.linear]]))
        safe = self.add("Max", size, self.constant([[e.linear]]))
        beyond = self.add(
            "Sub", self.constant([[2.0 * e.linear]]), self.add("Div", self.constant([[e.linear**2]]), safe)
        )
        bounded = self.add("Where", is_far, self.add("Mul", self.add("Sign", x), beyond), x)
        steps = self.add("Round", self.add("Div", bounded, self.constant([[e.step]])))
        return self.add("Mul", steps, self.constant([[e.step]]))

    def write_sigmoid(self, e: ex.Sigmoid) -> str:
        return self.add("Sigmoid", self.write(e.x))


def _distinct_sets(e: ex.TreeSum) -> list[tuple[int, tuple[int, ...]]]:
    """(column, categories that go left) of all nodes that have a set, each once."""
    nodes = np.flatnonzero(e.arrays.is_set & (e.arrays.feature >= 0)).tolist()
    return list(dict.fromkeys((int(e.arrays.feature[k]), tuple(e.members(k))) for k in nodes))
