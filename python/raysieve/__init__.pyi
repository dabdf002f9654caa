from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, Literal

import numpy
import numpy.typing

__all__ = ["Progress", "RaysieveError", "Result", "Scene", "render"]

Floats = numpy.typing.NDArray[numpy.float32]
Bytes = numpy.typing.NDArray[numpy.uint8]
Tone = Literal["srgb", "agx", "aces", "neutral"]
Layer = Literal["albedo", "normal", "depth", "samples", "denoised"]

class RaysieveError(RuntimeError): ...

class Scene:
    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        variant: str | None = None,
        camera: str | None = None,
        time: float | None = None,
    ) -> Scene: ...
    @classmethod
    def parse(cls, text: str, *, folder: str | PathLike[str] = ".") -> Scene: ...
    def copy(self) -> Scene: ...
    def add_triangles(
        self, positions: numpy.typing.ArrayLike, triangles: numpy.typing.ArrayLike, material: str
    ) -> int: ...
    size: tuple[int, int]
    samples: int
    max_bounces: int
    seed: int
    @property
    def path(self) -> str: ...
    @property
    def exposure(self) -> float: ...
    @property
    def tone(self) -> Tone: ...
    @property
    def materials(self) -> list[str]: ...
    @property
    def notes(self) -> list[str]: ...

class Progress:
    @property
    def fraction(self) -> float: ...
    @property
    def samples(self) -> int: ...
    def film(self) -> Floats: ...
    def image(self, *, exposure: float | None = None, tone: Tone | None = None) -> Bytes: ...

class Result:
    film: Floats
    layers: dict[str, Floats]
    stats: dict[str, Any]
    film_hash: str
    notes: list[str]
    def image(self, *, exposure: float | None = None, tone: Tone | None = None) -> Bytes: ...
    def save(self, path: str | PathLike[str]) -> None: ...

def render(
    scene: Scene,
    *,
    size: tuple[int, int] | None = None,
    samples: int | None = None,
    max_bounces: int | None = None,
    seed: int | None = None,
    backend: str = "auto",
    threads: int | None = None,
    strategy: str = "look-back",
    layers: Iterable[Layer] = (),
    callback: Callable[[Progress], bool | None] | None = None,
) -> Result: ...
