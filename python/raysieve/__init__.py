"""Renders scenes with a wavefront path tracer, on the CPU and on NVIDIA GPUs, with the same bits on both.

    import raysieve

    scene = raysieve.Scene.load("scenes/cornell.ron")
    result = raysieve.render(scene, samples=64)
    result.film          # float32 array of (height, width, 3): radiance in linear sRGB, rows from the top
    result.save("cornell.png")
"""

import json
import operator
import os

import numpy

from . import _raysieve
from ._raysieve import RaysieveError

__all__ = ["Progress", "RaysieveError", "Result", "Scene", "render"]


class Scene:
    """A scene: camera, lights, materials and geometry, with the settings of its render.

    Create one by `Scene.load` or `Scene.parse`. Setting `size`, `samples`, `max_bounces` or `seed` raises `ValueError`
    for a value out of range and `TypeError` for a value that is not a whole number. The setting then keeps its value.
    """

    def __init__(self, inner):
        self._inner = inner

    @classmethod
    def load(cls, path, *, variant=None, camera=None, time=None):
        """Loads a scene (.ron, Mitsuba's .xml or .pbrt) or a model (.glb, .gltf, .obj or .ply).

        ``variant`` is the name of a material variant of a glTF file; by default, the scene has the default materials.
        ``camera`` is the name or the number, as text from "1" on, of a camera of a glTF file or a Mitsuba scene. By
        default, it is the file's first camera, or a view of the whole model. ``time`` is the time in seconds at which
        the animations of glTF files are shown; by default, models are in their rest pose.

        Raises `RaysieveError` if the file cannot be read or is invalid.
        """
        return cls(_raysieve.Scene.load(os.fspath(path), variant, camera, time))

    @classmethod
    def parse(cls, text, *, folder="."):
        """Reads a scene from the text of a scene file in RON. Paths in the text are relative to ``folder``.

        Raises `RaysieveError` if the text is invalid.
        """
        return cls(_raysieve.Scene.parse(text, os.path.join(os.fspath(folder), "text.ron")))

    def copy(self):
        """Returns an independent copy. Both share the memory of their geometry until triangles are added to one."""
        return Scene(self._inner.copy())

    def add_triangles(self, positions, triangles, material):
        """Adds triangles with flat normals, and returns how many were left out because they have no area.

        ``positions`` has the shape (n, 3): vertices in world space in metres. ``triangles`` has the shape (m, 3):
        indices into ``positions``, counter-clockwise seen from the front. ``material`` is a name in `Scene.materials`.

        Raises `ValueError` for a wrong shape or an index out of range. Raises `RaysieveError` if the scene has no such
        material, if a position is not within ±10⁸, or if there are too many triangles. The scene is then unchanged.
        """
        positions = _array(positions, numpy.float32, "positions")
        indices = _array(triangles, numpy.int64, "triangles")
        if indices.size and not (0 <= indices.min() and indices.max() < len(positions)):
            raise ValueError(f"triangles: expected indices from 0 to {len(positions) - 1}")
        return self._inner.add_triangles(positions.tobytes(), indices.astype(numpy.uint32).tobytes(), material)

    @property
    def path(self):
        """Path of the scene's file as it was given; after `Scene.parse`, ``text.ron`` in its ``folder``."""
        return os.fspath(self._inner.path)

    @property
    def size(self):
        """Width and height of the image in pixels: 1 to 65,536 each, and at most 2²⁸ pixels in total."""
        return self._inner.size

    @size.setter
    def size(self, size):
        try:
            width, height = size
        except (TypeError, ValueError):
            raise TypeError(f"size {size!r}: expected (width, height)") from None
        width = _whole_number("the width in size", width, 1, 65_536)
        height = _whole_number("the height in size", height, 1, 65_536)
        if width * height > 2**28:
            raise ValueError(f"size {width}x{height}: expected at most {2**28} pixels")
        self._inner.size = width, height

    @property
    def samples(self):
        """Samples per pixel, 1 to 2³²−1."""
        return self._inner.samples

    @samples.setter
    def samples(self, samples):
        self._inner.samples = _whole_number("samples", samples, 1, 2**32 - 1)

    @property
    def max_bounces(self):
        """Maximum number of times that a path may scatter, 0 to 4096."""
        return self._inner.max_bounces

    @max_bounces.setter
    def max_bounces(self, max_bounces):
        self._inner.max_bounces = _whole_number("max_bounces", max_bounces, 0, 4096)

    @property
    def seed(self):
        """Seed of all random numbers, 0 to 2³²−1."""
        return self._inner.seed

    @seed.setter
    def seed(self, seed):
        self._inner.seed = _whole_number("seed", seed, 0, 2**32 - 1)

    @property
    def exposure(self):
        """Exposure of the displayed image in stops. It does not affect the film."""
        return self._inner.exposure

    @property
    def tone(self):
        """Tone curve of the displayed image: "srgb", "agx", "aces" or "neutral". It does not affect the film."""
        return self._inner.tone

    @property
    def materials(self):
        """Names of the materials. A material without a name has an empty string."""
        return self._inner.materials

    @property
    def notes(self):
        """Warnings of loading the scene, one line each: for example, about features of a model that are not shown."""
        return self._inner.notes


class Progress:
    """The state of a render, for the callback of `render`. Use it only during the call: it changes with the render."""

    def __init__(self, renderer):
        self._renderer = renderer

    @property
    def fraction(self):
        """Fraction of the samples that are done, 0 to 1."""
        return self._renderer.progress

    @property
    def samples(self):
        """Number of samples that every pixel has at least."""
        return self._renderer.samples

    def film(self):
        """Returns the film so far, like `Result.film`."""
        return _film(self._renderer)

    def image(self, *, exposure=None, tone=None):
        """Returns the film so far as an image, with the arguments of `Result.image`."""
        return _image(self._renderer, exposure, tone)


class Result:
    """The results of a render.

    ``film`` is the radiance in linear sRGB, W·sr⁻¹·m⁻²: float32 of the shape (height, width, 3), rows from the top.
    ``layers`` is a dictionary of the requested layers by name, as float32. The shape of "albedo", "normal" and
    "denoised" is (height, width, 3), and that of "depth" and "samples" is (height, width). "denoised" is missing if
    there are too few samples to estimate the noise, which takes at least two per pixel.

    ``stats`` is a dictionary of the statistics that the program writes with ``--stats``. ``film_hash`` is the hash of
    the film, which is equal for equal films. ``notes`` is a list of messages of the render, such as that a GPU failed.
    """

    def __init__(self, renderer, notes):
        self._renderer = renderer
        width, height = renderer.size
        self.film = _film(renderer)
        self.layers = {}
        for name, values in renderer.layers().items():
            values = numpy.frombuffer(values, numpy.float32)
            shape = (height, width, -1) if values.size != width * height else (height, width)
            self.layers[name] = values.reshape(shape)
        self.stats = json.loads(renderer.stats())
        self.film_hash = self.stats["film_hash"]
        self.notes = notes

    def image(self, *, exposure=None, tone=None):
        """Returns the film in 8-bit sRGB, uint8 of the shape (height, width, 3).

        ``exposure`` is in stops, and ``tone`` is the name of a tone curve: see `Scene.tone`. By default both are those
        of the scene.
        """
        return _image(self._renderer, exposure, tone)

    def save(self, path):
        """Writes a PNG with the scene's exposure and tone curve, or an EXR with the film and the layers.

        The extension of ``path`` selects the format, and an existing file is replaced. Raises `RaysieveError` if the
        file cannot be written, has another extension, or is one from which the scene was read.
        """
        self._renderer.save(os.fspath(path))


def render(
    scene,
    *,
    size=None,
    samples=None,
    max_bounces=None,
    seed=None,
    backend="auto",
    threads=None,
    strategy="look-back",
    layers=(),
    callback=None,
):
    """Renders a scene and returns a `Result`. The film is the same on each backend and for each strategy.

    ``size``, ``samples``, ``max_bounces`` and ``seed`` replace those of the scene, which is not changed. ``backend`` is
    "auto", "cpu", "cuda", "cuda:1", "cuda:0,2" or "cuda:all". ``threads`` is the number of threads that render on the
    CPU, 1 to 1024; by default, it is the number of hardware threads. ``strategy`` is the name of a compaction strategy,
    which affects only the speed. ``layers`` are any of "albedo", "normal", "depth", "samples" and "denoised".

    ``callback`` is called with a `Progress`: about twenty times per second at first, and twice in long renders. If it
    returns False, the render stops, and the result has the samples so far. Ctrl-C raises `KeyboardInterrupt`.

    Raises `ValueError` for an unknown backend, strategy or layer, and for a setting or number of threads out of range.
    Raises `TypeError` if one of these numbers is not a whole number. Raises `RaysieveError` if the backend cannot be
    used or the render fails.
    """
    scene = scene.copy()
    for name, value in [("size", size), ("samples", samples), ("max_bounces", max_bounces), ("seed", seed)]:
        if value is not None:
            setattr(scene, name, value)
    if threads is not None:
        threads = _whole_number("threads", threads, 1, 1024)
    renderer = _raysieve.Renderer(scene._inner, backend, strategy, threads, list(layers))
    notes = renderer.take_notes()
    remain = True
    while remain:
        remain = renderer.advance()
        notes += renderer.take_notes()
        if callback is not None and callback(Progress(renderer)) is False:
            break
    return Result(renderer, notes)


def _film(renderer):
    width, height = renderer.size
    return numpy.frombuffer(renderer.film(), numpy.float32).reshape(height, width, 3)


def _image(renderer, exposure, tone):
    width, height = renderer.size
    return numpy.frombuffer(renderer.image(exposure, tone), numpy.uint8).reshape(height, width, 3)


def _whole_number(name, value, low, high):
    """Returns `value` as an `int` from `low` to `high`, inclusive.

    Raises `TypeError` or `ValueError` with `name` if it is not a whole number or out of range.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {value!r}") from None
    if not low <= number <= high:
        raise ValueError(f"{name} {number}: expected {low} to {high}")
    return number


def _array(values, dtype, name):
    array = numpy.asarray(values)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"{name}: expected the shape (n, 3), got {array.shape}")
    return numpy.ascontiguousarray(array, dtype)
