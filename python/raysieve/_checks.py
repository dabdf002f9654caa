"""Checks of arguments. Each raises `TypeError` or `ValueError` with the name of the argument."""

import operator

import numpy


def whole_number(name, value, low, high):
    """Returns `value` as an `int` from `low` to `high`, inclusive."""
    try:
        if isinstance(value, (bool, numpy.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {_short(value)}") from None
    if not low <= number <= high:
        raise ValueError(f"{name} {number}: expected {low} to {high}")
    return number


def number(name, value, low=-3e38, high=3e38):
    """Returns `value` as a `float` from `low` to `high`, inclusive. NaN is refused."""
    try:
        if isinstance(value, (str, bytes, bool, numpy.bool_)):
            raise TypeError
        result = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a number, got {_short(value)}") from None
    except OverflowError:
        raise ValueError(f"{name}: the number is too large") from None
    if not low <= result <= high:
        expected = "a finite number" if (low, high) == (-3e38, 3e38) else f"{low:g} to {high:g}"
        raise ValueError(f"{name} {result:g}: expected {expected}")
    return result


def numbers(name, values, count, low=-3e38, high=3e38):
    """Returns `count` numbers from `low` to `high`, inclusive, as a tuple of `float`."""
    try:
        if isinstance(values, (str, bytes, dict)):
            raise TypeError
        values = list(values)
    except TypeError:
        raise TypeError(f"{name}: expected {count} numbers, got {_short(values)}") from None
    if len(values) != count:
        raise ValueError(f"{name}: expected {count} numbers, got {len(values)}")
    return tuple(number(name, value, low, high) for value in values)


def text(name, value):
    """Returns `value`, which must be a `str`."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a text, got {_short(value)}")
    return value


def image_size(size):
    """Returns (width, height) of an image in pixels."""
    try:
        if isinstance(size, (str, bytes)):
            raise TypeError
        width, height = size
    except (TypeError, ValueError):
        raise TypeError(f"size {_short(size)}: expected (width, height)") from None
    width = whole_number("the width in size", width, 1, 65_536)
    height = whole_number("the height in size", height, 1, 65_536)
    if width * height > 2**28:
        raise ValueError(f"size {width}x{height}: expected at most {2**28} pixels")
    return width, height


def region(name, values, size):
    """Returns (x, y, width, height) of a region inside an image of this size."""
    try:
        if isinstance(values, (str, bytes)):
            raise TypeError
        x, y, width, height = values
    except (TypeError, ValueError):
        raise TypeError(f"{name} {_short(values)}: expected (x, y, width, height)") from None
    x = whole_number(f"x in {name}", x, 0, size[0] - 1)
    y = whole_number(f"y in {name}", y, 0, size[1] - 1)
    width = whole_number(f"the width in {name}", width, 1, size[0] - x)
    height = whole_number(f"the height in {name}", height, 1, size[1] - y)
    return x, y, width, height


def array(name, values, columns):
    """Returns finite float32 numbers of the shape (n, columns)."""
    values = _shaped(name, values, columns)
    if values.dtype.kind not in "fiu":
        raise TypeError(f"{name}: expected numbers, got the type {values.dtype}")
    wide = numpy.ascontiguousarray(values, numpy.float64)
    wrong = ~(numpy.abs(wide) <= 3e38)
    if wrong.any():
        row = int(numpy.argmax(wrong.any(axis=1)))
        raise ValueError(f"{name}[{row}] is {wide[row].tolist()}, expected finite numbers")
    return wide.astype(numpy.float32)


def indices(name, values, columns, count):
    """Returns uint32 indices below `count`, of the shape (n, columns). Other types than whole numbers are refused."""
    values = _shaped(name, values, columns)
    if values.dtype.kind not in "iu" and values.size:
        raise TypeError(f"{name}: expected whole numbers, got the type {values.dtype}")
    if values.size and not (0 <= values.min() and values.max() < count):
        raise ValueError(f"{name}: expected indices from 0 to {count - 1}")
    return numpy.ascontiguousarray(values, numpy.uint32)


def transform(name, matrix):
    """Returns the 16 numbers of a 4 × 4 matrix, row by row, whose last row is (0, 0, 0, 1). None is the identity."""
    if matrix is None:
        matrix = numpy.eye(4)
    try:
        matrix = numpy.asarray(matrix, numpy.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a 4 x 4 matrix of numbers") from None
    if matrix.shape == (3, 4):
        matrix = numpy.vstack([matrix, (0, 0, 0, 1)])
    if matrix.shape != (4, 4):
        raise ValueError(f"{name}: expected the shape (4, 4) or (3, 4), got {matrix.shape}")
    if not (numpy.abs(matrix) <= 1e30).all():
        raise ValueError(f"{name}: expected finite numbers")
    if tuple(matrix[3]) != (0, 0, 0, 1):
        raise ValueError(f"{name}: expected the last row 0, 0, 0, 1, got {matrix[3].tolist()}")
    if not abs(numpy.linalg.det(matrix[:3, :3])) > 0:
        raise ValueError(f"{name}: the matrix cannot be inverted")
    return matrix.ravel().tolist()


def _shaped(name, values, columns):
    try:
        values = numpy.asarray(values)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected the shape (n, {columns})") from None
    if values.dtype.kind == "O":
        raise TypeError(f"{name}: expected numbers")
    if values.ndim != 2 or values.shape[1] != columns:
        raise ValueError(f"{name}: expected the shape (n, {columns}), got {values.shape}")
    return values


def _short(value):
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
