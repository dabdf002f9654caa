"""Renders scenes with a wavefront path tracer, on the CPU and on NVIDIA GPUs, with the same bits on both.

    import raysieve

    scene = raysieve.Scene.load("scenes/cornell.ron")
    result = raysieve.render(scene, samples=64)
    result.film          # float32 array of (height, width, 3): radiance in linear sRGB, rows from the top
    result.save("cornell.png")
"""

import json
import os

import numpy

from . import _raysieve
from ._raysieve import RaysieveError

__all__ = ["Progress", "RaysieveError", "Result", "Scene", "render"]


class Scene:
    """A scene: camera, lights, materials and geometry, with the settings of its render."""

    def __init__(self, inner):
        self._inner = inner

    @classmethod
    def load(cls, path, *, variant=None, camera=None, time=None):
        """Loads a scene (.ron, Mitsuba's .xml or .pbrt) or a model (.glb, .gltf, .obj or .ply).

        ``variant`` and ``camera`` name a material variant and a camera of a glTF file, and ``time`` is the time in
        seconds at which its animations are shown.
        """
        return cls(_raysieve.Scene.load(os.fspath(path), variant, camera, time))

    @classmethod
    def parse(cls, text, *, folder="."):
        """Reads a scene from the text of a scene file in RON. Paths in the text are relative to ``folder``."""
        return cls(_raysieve.Scene.parse(text, os.path.join(os.fspath(folder), "text.ron")))

    def copy(self):
        """Returns a copy that can be changed apart. Geometry is shared until one of both gets more of it."""
        return Scene(self._inner.copy())

    def add_triangles(self, positions, triangles, material):
        """Adds triangles with flat normals, and returns how many were left out because they have no area.

        ``positions`` has the shape (n, 3): vertices in metres. ``triangles`` has the shape (m, 3): indices of their
        vertices, counter-clockwise seen from the front. ``material`` is one of ``materials``.
        """
        positions = _array(positions, numpy.float32, "positions")
        indices = _array(triangles, numpy.int64, "triangles")
        if indices.size and not (0 <= indices.min() and indices.max() < len(positions)):
            raise ValueError(f"triangles: expected indices from 0 to {len(positions) - 1}")
        return self._inner.add_triangles(positions.tobytes(), indices.astype(numpy.uint32).tobytes(), material)

    @property
    def path(self):
        """Path of the scene's file as it was given."""
        return os.fspath(self._inner.path)

    @property
    def size(self):
        """Width and height of the image in pixels."""
        return self._inner.size

    @size.setter
    def size(self, size):
        self._inner.size = size

    @property
    def samples(self):
        """Samples per pixel, 1 or more."""
        return self._inner.samples

    @samples.setter
    def samples(self, samples):
        self._inner.samples = samples

    @property
    def max_bounces(self):
        """Maximum number of times that a path may scatter."""
        return self._inner.max_bounces

    @max_bounces.setter
    def max_bounces(self, max_bounces):
        self._inner.max_bounces = max_bounces

    @property
    def seed(self):
        """Seed of all random numbers, 0 to 2³²−1."""
        return self._inner.seed

    @seed.setter
    def seed(self, seed):
        self._inner.seed = seed

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
        """Names of the materials, an empty string for one without a name."""
        return self._inner.materials

    @property
    def notes(self):
        """Warnings of loading, one line each: for example, features of a model that are not shown."""
        return self._inner.notes


class Progress:
    """The state of a render, for the callback of `render`. It is valid only during the call."""

    def __init__(self, renderer):
        self._renderer = renderer

    @property
    def fraction(self):
        """Part of the samples that is done, 0 to 1."""
        return self._renderer.progress

    @property
    def samples(self):
        """Number of samples that every pixel has."""
        return self._renderer.samples

    def film(self):
        """Returns the film so far, like `Result.film`."""
        return _film(self._renderer)

    def image(self, *, exposure=None, tone=None):
        """Returns the film so far as an image, like `Result.image`."""
        return _image(self._renderer, exposure, tone)


class Result:
    """The results of a render.

    ``film`` is the radiance in linear sRGB, W·sr⁻¹·m⁻²: float32 of the shape (height, width, 3), rows from the top.
    ``layers`` has the requested layers by name, float32 of the shape (height, width, 3) or (height, width).
    ``stats`` has the statistics that the program writes with ``--stats``. ``film_hash`` is the hash of the film, which is
    equal for equal films. ``notes`` are messages of the render, such as that a GPU failed.
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

        ``exposure`` is in stops and ``tone`` the name of a tone curve. By default both are those of the scene.
        """
        return _image(self._renderer, exposure, tone)

    def save(self, path):
        """Writes a PNG, or an EXR with the film and the layers."""
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
    "auto", "cpu", "cuda", "cuda:1", "cuda:0,2" or "cuda:all". ``layers`` are any of "albedo", "normal", "depth",
    "samples" and "denoised".

    ``callback`` is called with a `Progress` about twenty times per second. If it returns False, the render stops, and
    the result has the samples so far. Ctrl-C raises KeyboardInterrupt.
    """
    scene = scene.copy()
    for name, value in [("size", size), ("samples", samples), ("max_bounces", max_bounces), ("seed", seed)]:
        if value is not None:
            setattr(scene, name, value)
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


def _array(values, dtype, name):
    array = numpy.asarray(values)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"{name}: expected the shape (n, 3), got {array.shape}")
    return numpy.ascontiguousarray(array, dtype)
