"""Generic functions: one body a struct, the same in Python and in kernels, and a clear sentence otherwise."""

import gc
import pickle
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from auclid import SPAM
from auclid._compilation import _only_own_structs
from auclid._generic import as_floats, generic, kernel, missing_implementation
from auclid.penalties import L2, prox
from auclid.schedules import Constant
from auclid.validation import implements


class Circle(NamedTuple):
    radius: float


class Box(NamedTuple):
    width: float
    height: float = 1.0


class Line(NamedTuple):
    length: float


@generic
def area(shape, scale):
    """scale^2 times the area."""


@area.implement(Circle)
def _(shape, scale):
    return 3.0 * (scale * shape.radius) ** 2


@area.implement(Box)
def _(shape, scale):
    return scale**2 * shape.width * shape.height


@generic
def edge(shape):
    """The length of its edge."""


@edge.implement(Line)
def _(shape):
    return shape.length


@kernel
def twice_area(shape, scale):
    return 2.0 * area(shape, scale)


@kernel
def total_area(shape, scales):
    total = 0.0
    for scale in scales:
        total += area(shape, scale)
    return total


@pytest.mark.parametrize("shape", [Circle(2.0), Box(3.0), Box(3.0, 0.5)])
def test_the_struct_chooses_the_body_in_python_and_in_a_kernel(shape):
    scales = np.array([1.0, 2.0])
    expected = 5.0 * (12.0 if isinstance(shape, Circle) else shape.width * shape.height)
    assert sum(area(shape, scale) for scale in scales) == expected
    assert total_area(shape, scales) == expected


def test_a_generic_function_keeps_its_name_and_words():
    assert area.__name__ == "area" and area.__doc__ == "scale^2 times the area." and area.__module__ == __name__


def test_a_struct_without_a_body_gets_one_sentence_and_a_hint():
    with pytest.raises(TypeError) as raised:
        area(Line(1.0), 1.0)
    assert str(raised.value) == missing_implementation(area, Line(1.0))
    assert "'area' must have an implementation for Line; it has one for Box, Circle." in str(raised.value)
    assert "@area.implement(Line)" in str(raised.value)


def test_a_struct_that_has_all_that_is_asked_of_it_is_returned_with_floats():
    made = implements("nobody", "shape", Box(1), [area])
    assert made == Box(1.0) and type(made.width) is float


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        ([area], "must have area implemented. Got Line without area instead: add @area.implement(Line)."),
        ([area, prox], "must have area and prox implemented. Got Line without area and prox instead: add @area"),
        ([edge, area], "must have edge and area implemented. Got Line without area instead: add @area.implement"),
    ],
)
def test_one_sentence_names_each_function_that_a_struct_lacks(needs, said):
    with pytest.raises(TypeError) as raised:
        implements(SPAM(), "penalty", Line(1.0), needs)
    assert str(raised.value).startswith("The 'penalty' parameter of SPAM " + said)


def test_a_subclass_is_another_struct():
    class Round(Circle):
        pass

    with pytest.raises(TypeError, match="Got Round without area"):
        implements("nobody", "shape", Round(1.0), [area])


def test_as_floats_makes_numbers_floats_and_leaves_arrays():
    class Mixed(NamedTuple):
        a: float
        b: float
        c: float
        d: np.ndarray

    array = np.arange(3)
    made = as_floats(Mixed(1, np.int64(2), np.float32(0.5), array))
    assert [type(x) for x in made[:3]] == [float] * 3 and made[:3] == (1.0, 2.0, 0.5)
    assert made.d is array and isinstance(made, Mixed)


@pytest.mark.parametrize("penalty", [Line(1.0), (1.0, 2.0)])
def test_an_unknown_penalty_is_refused_before_any_compiling(penalty):
    X, y = np.random.default_rng(0).standard_normal((10, 2)), np.arange(10) % 2
    with pytest.raises(
        TypeError, match=r"^The 'penalty' parameter of SPAM must have prox implemented. Got (Line|tuple) without"
    ):
        SPAM(penalty=penalty).fit(X, y)
    with pytest.raises(
        TypeError, match=r"^The 'schedule' parameter of SPAM must have rate implemented. Got (Line|tuple) without"
    ):
        SPAM(schedule=penalty).fit(X, y)


@kernel
def doubled_area(shape, scales):
    """Twice `total_area`."""
    return 2.0 * total_area(shape, scales)


def test_a_kernel_calls_a_kernel_keeps_its_words_and_is_found_by_its_name():
    assert doubled_area(Circle(2.0), scales=np.array([1.0, 2.0])) == 120.0
    assert doubled_area.__doc__ == "Twice `total_area`." and doubled_area.__name__ == "doubled_area"
    assert pickle.loads(pickle.dumps(doubled_area)) is doubled_area


@pytest.mark.jit
def test_only_signatures_of_our_own_structs_are_kept_on_disk():
    from numba import typeof, types

    assert _only_own_structs([types.float64, typeof(L2(1.0)), typeof((Constant(1.0), 2.0))])
    assert not _only_own_structs([types.float64, typeof(Box(1.0))])
    assert not _only_own_structs([typeof((1.0, (2, Box(1.0))))])
    assert not _only_own_structs([typeof((Box(1.0), Box(2.0)))])


@pytest.mark.jit
@pytest.mark.parametrize("collects", [True, False])
def test_compiling_leaves_the_garbage_collector_as_it_was(collects):
    scales = np.ones(3, dtype=np.float32 if collects else np.int32)  # a signature that is compiled here
    (gc.enable if collects else gc.disable)()
    try:
        assert total_area(Circle(1.0), scales) == 9.0
        assert gc.isenabled() == collects
        with pytest.raises(Exception, match="area"):
            total_area(Line(2.0), scales)
        assert gc.isenabled() == collects
    finally:
        gc.enable()


@pytest.mark.jit
def test_llvm_optimizes_a_kernel_but_not_what_is_inlined_into_it(monkeypatch):
    from numba.core.codegen import CPUCodeLibrary

    optimize, names = CPUCodeLibrary._optimize_final_module, []
    monkeypatch.setattr(
        CPUCodeLibrary, "_optimize_final_module", lambda library: names.append(library.name) or optimize(library)
    )
    assert twice_area(Box(2.0), 3.0) == 36.0
    assert "twice_area" in names and "_" not in names  # a body registered by `implement` is called _


def test_a_compilation_that_finds_the_garbage_collector_off_leaves_it_alone(monkeypatch):
    from auclid import _compilation

    calls = []  # another thread, which switched it off, may switch it on right after this one has looked
    collector = SimpleNamespace(
        isenabled=lambda: False, disable=lambda: calls.append("off"), enable=lambda: calls.append("on")
    )
    monkeypatch.setattr(_compilation, "gc", collector)
    assert _compilation._without_collections(abs)(-1) == 1
    assert calls == []
