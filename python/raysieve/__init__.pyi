from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal

import numpy
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[numpy.float32]
Bytes = NDArray[numpy.uint8]
Color = tuple[float, float, float]
Layer = Literal[
    "albedo", "normal", "depth", "samples", "denoised", "position", "uv", "instance", "material", "triangle"
]
Tone = Literal["srgb", "agx", "aces", "neutral"]
Path = str | PathLike[str]

__version__: str

class RaysieveError(RuntimeError): ...

def devices() -> list[str]: ...

class Camera:
    origin: Sequence[float]
    target: Sequence[float]
    up: Sequence[float]
    fov: float | None
    width: float | None
    shift: Sequence[float]
    pixel_aspect: float
    lens_radius: float
    focus_distance: float | None
    def __init__(
        self,
        origin: Sequence[float],
        target: Sequence[float],
        *,
        up: Sequence[float] = (0, 1, 0),
        fov: float | None = None,
        width: float | None = None,
        shift: Sequence[float] = (0, 0),
        pixel_aspect: float = 1,
        lens_radius: float = 0,
        focus_distance: float | None = None,
    ) -> None: ...
    @classmethod
    def look_at(
        cls,
        origin: Sequence[float],
        target: Sequence[float],
        *,
        up: Sequence[float] = (0, 1, 0),
        fov: float | None = None,
        width: float | None = None,
    ) -> Camera: ...
    @classmethod
    def from_matrix(
        cls, camera_to_world: ArrayLike, *, fov: float | None = None, width: float | None = None
    ) -> Camera: ...
    @classmethod
    def from_opencv(cls, K: ArrayLike, R: ArrayLike, t: ArrayLike, size: tuple[int, int]) -> Camera: ...

class Part:
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...

class Scene:
    size: tuple[int, int]
    samples: int
    max_bounces: int
    seed: int
    camera: Camera
    sky: Color
    background: Color | Literal["environment", "transparent"]
    exposure: float
    tone: Tone
    def __init__(self) -> None: ...
    @classmethod
    def load(
        cls,
        path: Path,
        *,
        variant: str | None = None,
        camera: str | None = None,
        animation: str | None = None,
        time: float | None = None,
        up: Literal["x", "y", "z"] | None = None,
        camera_from: Sequence[float] | None = None,
        fov: float | None = None,
        orthographic: bool = False,
        environment: Path | None = None,
        rotation: float = 0,
        strength: float = 1,
    ) -> Scene: ...
    @classmethod
    def from_trimesh(cls, geometry: Any, **options: Any) -> Scene: ...
    @classmethod
    def parse(cls, text: str, *, folder: Path = ".") -> Scene: ...
    def copy(self) -> Scene: ...
    def add_material(self, name: str, kind: str = "Diffuse", *, folder: Path = ".", **fields: Any) -> Part: ...
    def material(self, name: str) -> Part: ...
    def add_light(self, kind: str, *, folder: Path = ".", **fields: Any) -> Part: ...
    @property
    def lights(self) -> tuple[Part, ...]: ...
    def clear_lights(self) -> None: ...
    def set_environment(self, radiance: ArrayLike, *, rotation: float = 0) -> None: ...
    def set_color_image(self, material: str, image: ArrayLike) -> None: ...
    def add_mesh(
        self,
        positions: ArrayLike,
        triangles: ArrayLike,
        *,
        material: str,
        normals: ArrayLike | None = None,
        uvs: ArrayLike | None = None,
        colors: ArrayLike | None = None,
        transform: ArrayLike | None = None,
    ) -> int: ...
    def add_instance(
        self, mesh: int, *, transform: ArrayLike | None = None, material: str | None = None
    ) -> int: ...
    def add_sphere(self, center: Sequence[float], radius: float, *, material: str) -> None: ...
    def add_model(self, path: Path, *, transform: ArrayLike | None = None) -> None: ...
    def add_triangles(self, positions: ArrayLike, triangles: ArrayLike, material: str) -> int: ...
    @property
    def path(self) -> str: ...
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
    layers: dict[str, NDArray[Any]]
    stats: dict[str, Any]
    film_hash: str
    notes: list[str]
    def image(
        self, *, exposure: float | None = None, tone: Tone | None = None, alpha: bool = False
    ) -> Bytes: ...
    def save(self, path: Path) -> None: ...

class Renderer:
    scene: Scene
    def __init__(
        self, scene: Scene, *, backend: str = "auto", threads: int | None = None, strategy: str = "look-back"
    ) -> None: ...
    def render(
        self,
        *,
        camera: Camera | None = None,
        samples: int | None = None,
        noise: float | None = None,
        region: tuple[int, int, int, int] | None = None,
        checkpoint: Path | None = None,
        layers: Iterable[Layer] = (),
        callback: Callable[[Progress], bool | None] | None = None,
        progress: bool = False,
    ) -> Result: ...
    def render_views(self, cameras: Iterable[Camera], *, samples: int | None = None) -> Floats: ...

def render(
    scene: Scene,
    *,
    size: tuple[int, int] | None = None,
    samples: int | None = None,
    max_bounces: int | None = None,
    seed: int | None = None,
    noise: float | None = None,
    region: tuple[int, int, int, int] | None = None,
    checkpoint: Path | None = None,
    backend: str = "auto",
    threads: int | None = None,
    strategy: str = "look-back",
    layers: Iterable[Layer] = (),
    callback: Callable[[Progress], bool | None] | None = None,
    progress: bool = False,
) -> Result: ...
