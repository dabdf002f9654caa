"""Renderers and their results."""

import json
import os
import sys

import numpy

from . import _checks as checks
from . import _raysieve
from ._camera import Camera
from ._scene import Scene

_SCALARS = {"depth", "samples", "instance", "material", "triangle"}


class Progress:
    """The state of a render, for the callback of `render`. Use it only during the call: it changes with the render."""

    __slots__ = ("_renderer",)

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
        width, height = self._renderer.size
        return numpy.frombuffer(self._renderer.film(), numpy.float32).reshape(height, width, 3)

    def image(self, *, exposure=None, tone=None):
        """Returns the film so far as an image, with the arguments of `Result.image`."""
        width, height = self._renderer.size
        return numpy.frombuffer(self._renderer.image(*_look(exposure, tone)), numpy.uint8).reshape(height, width, 3)


class Result:
    """The results of a render.

    ``film`` is the radiance in linear sRGB, W·sr⁻¹·m⁻²: float32 of the shape (height, width, 3), rows from the top.
    ``layers`` is a dictionary of the requested layers by name; `render` describes them. "denoised" is missing if there
    are too few samples to estimate the noise, which takes at least two per pixel.

    After a render of a region, both have its size. ``stats`` is a dictionary of the statistics that the program writes
    with ``--stats``. ``film_hash`` is the hash of the film, which is equal for equal films. ``notes`` is a list of messages of the render, such as that a GPU failed.
    """

    __slots__ = ("_film", "film", "layers", "stats", "film_hash", "notes")

    def __init__(self, film, notes):
        self._film = film
        width, height = film.size
        self.film = _cut(numpy.frombuffer(film.film(), numpy.float32).reshape(height, width, 3), film.region)
        self.layers = {}
        for name, (is_whole, values) in film.layers().items():
            values = numpy.frombuffer(values, numpy.int32 if is_whole else numpy.float32)
            shape = (height, width) if name in _SCALARS else (height, width, -1)
            self.layers[name] = _cut(values.reshape(shape), film.region)
        self.stats = json.loads(film.stats())
        self.film_hash = self.stats["film_hash"]
        self.notes = notes

    def image(self, *, exposure=None, tone=None, alpha=False):
        """Returns the film in 8-bit sRGB, uint8 of the shape (height, width, 3), or (height, width, 4) with ``alpha``.

        ``exposure`` is in stops, -1000 to 1000, and ``tone`` is the name of a tone curve: see `Scene.tone`. By default
        both are those of the scene. Alpha is that of a transparent background, otherwise 255; colors are not
        premultiplied by it.
        """
        if not isinstance(alpha, bool):
            raise TypeError(f"alpha: expected True or False, got {alpha!r}")
        width, height = self._film.size
        image = self._film.image(*_look(exposure, tone), alpha)
        return _cut(numpy.frombuffer(image, numpy.uint8).reshape(height, width, -1), self._film.region)

    def save(self, path):
        """Writes a PNG with the scene's exposure and tone curve, or an EXR with the film and the layers.

        The extension of ``path`` selects the format, and an existing file is replaced. An EXR has the layers "albedo",
        "normal", "samples" and "denoised"; one of a region has no film. Raises `RaysieveError` if the file cannot be
        written, has another extension, or is one from which the scene was read.
        """
        self._film.save(os.fspath(path))

    def _repr_png_(self):
        """Returns the image as a PNG, which notebooks display."""
        return bytes(self._film.png())


class Renderer:
    """A renderer of a scene, which keeps what it prepared while camera, materials, lights and settings change.

    ``backend`` is "auto", "cpu", "cuda", "cuda:1", "cuda:0,2" or "cuda:all". ``threads`` is the number of threads that
    render on the CPU, 1 to 1024; by default, it is the number of hardware threads. ``strategy`` is the name of a
    compaction strategy, which affects only the speed.

    The scene is copied. After a change of it, assign it to `scene` again. Raises `ValueError` for a wrong scene, such
    as one without objects, and `RaysieveError` if the backend cannot be used.
    """

    __slots__ = ("_renderer", "_scene", "_notes")

    def __init__(self, scene, *, backend="auto", threads=None, strategy="look-back"):
        scene = _copy(scene)
        if threads is not None:
            threads = checks.whole_number("threads", threads, 1, 1024)
        backend, strategy = checks.text("backend", backend), checks.text("strategy", strategy)
        self._renderer = _raysieve.Renderer(scene._inner, backend, strategy, threads)
        self._scene, self._notes = scene, self._renderer.take_notes()

    @property
    def scene(self):
        """A copy of the scene that is rendered. Geometry that was not changed is not prepared again."""
        return self._scene.copy()

    @scene.setter
    def scene(self, scene):
        scene = _copy(scene)
        self._renderer.set_scene(scene._inner)
        self._scene = scene

    def render(
        self,
        *,
        camera=None,
        samples=None,
        noise=None,
        region=None,
        checkpoint=None,
        layers=(),
        callback=None,
        progress=False,
    ):
        """Renders the scene from the first sample on, and returns a `Result`.

        ``camera`` is a `Camera`; by default, it is that of the scene. The other arguments are those of
        `raysieve.render`.
        """
        camera = self._scene.camera if camera is None else camera
        if not isinstance(camera, Camera):
            raise TypeError(f"camera: expected a raysieve.Camera, got {type(camera).__name__}")
        samples = self._scene.samples if samples is None else samples
        samples = checks.whole_number("samples", samples, 1, 2**32 - 1)
        if isinstance(layers, str):
            raise TypeError(f"layers {layers!r}: expected a list of names")
        layers = [checks.text("layers", layer) for layer in layers]
        if callback is not None and not callable(callback):
            raise TypeError(f"callback: expected a function, got {callback!r}")
        if not isinstance(progress, bool):
            raise TypeError(f"progress: expected True or False, got {progress!r}")
        if noise is not None:
            noise = checks.number("noise", noise, 0.0001, 1)
        if region is not None:
            region = checks.region("region", region, self._renderer.size)
        if checkpoint is not None:
            if not isinstance(checkpoint, (str, os.PathLike)):
                raise TypeError(f"checkpoint: expected a path, got {type(checkpoint).__name__}")
            checkpoint = os.fspath(checkpoint)
            if not checkpoint.endswith(".exr"):
                raise ValueError(f"checkpoint {checkpoint!r}: expected the path of an .exr")
        self._renderer.set_camera(camera._json())
        self._renderer.begin(samples, layers, noise, region, checkpoint)
        notes, self._notes = self._notes, []
        bar = _Bar(self._renderer) if progress else None
        try:
            remain = True
            while remain:
                remain = self._renderer.advance()
                notes += self._renderer.take_notes()
                if bar is not None:
                    bar.update()
                if callback is not None and callback(Progress(self._renderer)) is False:
                    break
        finally:
            # Also after Ctrl-C or an error of the callback, so that the samples so far are not lost.
            self._renderer.save_checkpoint()
            if bar is not None:
                bar.close()
        return Result(self._renderer.result(layers), notes)

    def render_views(self, cameras, *, samples=None):
        """Renders the scene from several cameras. Returns their films, float32 of (number, height, width, 3)."""
        width, height = self._renderer.size
        films = [self.render(camera=camera, samples=samples).film for camera in cameras]
        return numpy.stack(films) if films else numpy.zeros((0, height, width, 3), numpy.float32)


def render(
    scene,
    *,
    size=None,
    samples=None,
    max_bounces=None,
    seed=None,
    noise=None,
    region=None,
    checkpoint=None,
    backend="auto",
    threads=None,
    strategy="look-back",
    layers=(),
    callback=None,
    progress=False,
):
    """Renders a scene and returns a `Result`. The film is the same on each backend and for each strategy.

    ``size``, ``samples``, ``max_bounces`` and ``seed`` replace those of the scene, which is not changed. ``noise``, 0.0001
    to 1, is a relative error at which a pixel gets no more samples. ``region`` is (x, y, width, height) in pixels from
    the upper left corner: only it is rendered, with the bits that it has in the whole image. ``checkpoint`` is the path
    of an .exr: the film is saved there every minute and at the end, also after Ctrl-C, and continues from there when it
    exists. ``backend``,
    ``threads`` and ``strategy`` are those of `Renderer`. ``layers`` are any of these names. The first four are averages
    over a pixel, and the others are those of the surface at the pixel's center, without filter and lens.

    - "albedo", "denoised": (height, width, 3), linear sRGB; 0 where nothing is hit
    - "normal": (height, width, 3), in world space and towards the camera; 0 where nothing is hit
    - "samples": (height, width), the number of samples
    - "depth": (height, width), metres along the viewing direction, not along the ray; infinite where nothing is hit
    - "position": (height, width, 3), metres in world space; NaN where nothing is hit
    - "uv": (height, width, 2), texture coordinates from the upper left corner of an image; NaN where nothing is hit
    - "instance", "material", "triangle": (height, width), int32. They are indices of the instance, of the material and
      of the triangle in its mesh. -1 stands for nothing hit, for an object that is no instance, and for a sphere.

    ``callback`` is called with a `Progress`: about twenty times per second at first, and twice in long renders. If it
    returns False, the render stops, and the result has the samples so far. Ctrl-C raises `KeyboardInterrupt`.
    ``progress=True`` shows a progress bar, by ``tqdm`` if it is installed.

    Raises `ValueError` for an unknown backend, strategy or layer, and for a value out of range. Raises `TypeError` for
    one of the wrong type. Raises `RaysieveError` if the backend cannot be used or the render fails.
    """
    scene = _copy(scene)
    for name, value in [("size", size), ("samples", samples), ("max_bounces", max_bounces), ("seed", seed)]:
        if value is not None:
            setattr(scene, name, value)
    renderer = Renderer(scene, backend=backend, threads=threads, strategy=strategy)
    return renderer.render(
        noise=noise, region=region, checkpoint=checkpoint, layers=layers, callback=callback, progress=progress
    )


class _Bar:
    """A progress bar: that of tqdm if it is installed, otherwise a line on the standard error that is rewritten."""

    def __init__(self, renderer):
        self._renderer = renderer
        try:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed}<{remaining}")
        except ImportError:
            self._bar = None

    def update(self):
        percent = 100 * self._renderer.progress
        if self._bar is not None:
            self._bar.update(max(percent - self._bar.n, 0))
        else:
            print(f"\rraysieve: {percent:3.0f} %", end="", file=sys.stderr, flush=True)

    def close(self):
        if self._bar is not None:
            self._bar.close()
        else:
            print(file=sys.stderr)


def _cut(values, region):
    """Returns the part of an image that was rendered."""
    if region is None:
        return values
    x, y, width, height = region
    return values[y : y + height, x : x + width]


def _copy(scene):
    if not isinstance(scene, Scene):
        raise TypeError(f"scene: expected a raysieve.Scene, got {type(scene).__name__}")
    return scene.copy()


def _look(exposure, tone):
    if exposure is not None:
        exposure = checks.number("exposure", exposure, -1000, 1000)
    if tone is not None:
        checks.text("tone", tone)
    return exposure, tone
