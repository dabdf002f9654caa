"""Scenes: loading, building and changing."""

import os
import tempfile

import numpy

from . import _checks as checks
from . import _raysieve
from ._camera import Camera

# Fields of materials and lights whose texts are quoted in scene files; those of others are words such as `Smooth`.
_QUOTED = {"file", "preset"}


class Scene:
    """A scene: camera, lights, materials and geometry, with the settings of its render.

    `Scene()` is empty: add materials, then meshes, spheres or models, and lights. `Scene.load` and `Scene.parse` read
    scenes. An attribute set to a value out of range raises `ValueError`, and to one of the wrong type `TypeError`. It
    then keeps its value.
    """

    __slots__ = ("_inner",)

    def __init__(self):
        self._inner = _raysieve.Scene.empty()

    @classmethod
    def _of(cls, inner):
        scene = cls.__new__(cls)
        scene._inner = inner
        return scene

    @classmethod
    def load(
        cls,
        path,
        *,
        variant=None,
        camera=None,
        animation=None,
        time=None,
        up=None,
        camera_from=None,
        fov=None,
        orthographic=False,
        environment=None,
        rotation=0,
        strength=1,
    ):
        """Loads a scene (.ron, Mitsuba's .xml or .pbrt) or a model (.glb, .gltf, .obj or .ply).

        ``variant`` is the name of a material variant of a glTF file; by default, the scene has the default materials.
        ``camera`` is the name or the number, as text from "1" on, of a camera of a glTF file or a Mitsuba scene. By
        default, it is the file's first camera, or a view of the whole model. ``time`` is the time in seconds at which
        the animations of glTF files are shown, or only ``animation``, a name or number; by default, models are in their
        rest pose.

        ``up`` is the axis of a model that points up, "x", "y" or "z". ``camera_from`` is the direction from which the
        camera looks, (azimuth, elevation) in degrees, where (0, 0) is in front, at +z, and (90, 0) at +x; a third
        number is the distance in metres. ``fov`` is the horizontal angle of view in degrees. ``orthographic`` makes
        rays parallel. ``environment`` is the path of an .hdr or .exr that lights the scene, in latitude-longitude format,
        turned about +y by ``rotation`` degrees and multiplied by ``strength``.

        Raises `RaysieveError` if the file cannot be read or is invalid.
        """
        variant = None if variant is None else checks.text("variant", variant)
        camera = None if camera is None else checks.text("camera", camera)
        animation = None if animation is None else checks.text("animation", animation)
        time = None if time is None else checks.number("time", time, 0, 1e9)
        up = None if up is None else checks.text("up", up)
        fov = None if fov is None else checks.number("fov", fov, 0.001, 179.999)
        if not isinstance(orthographic, bool):
            raise TypeError(f"orthographic: expected True or False, got {orthographic!r}")
        if camera_from is not None:
            camera_from = _camera_from(camera_from)
        if environment is not None:
            rotation = checks.number("rotation", rotation, -1e6, 1e6)
            strength = checks.number("strength", strength, 0, 1e6)
            environment = (os.fspath(environment), rotation, strength)
        names = [variant, camera, animation]
        inner = _raysieve.Scene.load(
            os.fspath(path), names, time, up, camera_from, fov, orthographic, environment
        )
        return cls._of(inner)

    @classmethod
    def from_trimesh(cls, geometry, **options):
        """Returns the scene of a ``trimesh.Trimesh`` or ``trimesh.Scene``, with its materials, images and vertex colors.

        It has the default camera and light of a model. ``options`` are those of `Scene.load`.
        """
        if not hasattr(geometry, "export"):
            raise TypeError(f"geometry: expected a trimesh.Trimesh or trimesh.Scene, got {type(geometry).__name__}")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "geometry.glb")
            with open(path, "wb") as file:
                file.write(geometry.export(file_type="glb"))
            return cls.load(path, **options)

    @classmethod
    def parse(cls, text, *, folder="."):
        """Reads a scene from the text of a scene file in RON. Paths in the text are relative to ``folder``.

        Raises `RaysieveError` if the text is invalid.
        """
        return cls._of(_raysieve.Scene.parse(checks.text("text", text), os.path.join(os.fspath(folder), "text.ron")))

    def copy(self):
        """Returns an independent copy. Both share the memory of their geometry until one of them gets more."""
        return Scene._of(self._inner.copy())

    __copy__ = copy

    def __deepcopy__(self, _):
        return self.copy()

    def __reduce__(self):
        raise TypeError("a Scene cannot be pickled; load or build it in each process")

    def add_material(self, name, kind="Diffuse", *, folder=".", **fields):
        """Adds a material, or replaces the one that has this name. Returns it as a `Part`.

        ``kind`` and ``fields`` are those of scene files, such as ``"Diffuse", albedo=(0.7, 0.5, 0.3)`` or
        ``"RoughConductor", preset="gold", alpha=0.2``. A dictionary is a texture: ``albedo={"file": "wood.png"}``, with
        paths relative to ``folder``. ``kind="Blend"`` takes the names ``first`` and ``second``, and ``weight``.
        """
        checks.text("name", name)
        if kind == "Blend":
            unknown = set(fields) - {"first", "second", "weight"}
            if unknown or len(fields) != 3:
                raise ValueError("Blend: expected first, second and weight")
            weight = checks.number("weight", fields["weight"], 0, 1)
            names = (checks.text(field, fields[field]) for field in ("first", "second"))
            self._inner.add_blend(name, *names, weight)
        else:
            self._inner.add_material(name, _call(kind, fields), os.fspath(folder))
        return self.material(name)

    def material(self, name):
        """Returns the material with this name, to read and change its values. Raises `ValueError` if there is none."""
        checks.text("name", name)
        if name not in self.materials:
            raise ValueError(f"material {name!r}: the scene has {', '.join(map(repr, self.materials)) or 'none'}")
        return Part(self, "material", self.materials.index(name), name)

    def add_light(self, kind, *, folder=".", **fields):
        """Adds a light. Returns it as a `Part`.

        ``kind`` and ``fields`` are those of scene files, such as ``"Point", position=(0, 3, 0), intensity=(50, 50,
        50)``, ``"Directional"``, ``"Spot"``, ``"SunSky", elevation=30``, or ``"Environment", file="sky.hdr"``.
        """
        index = self._inner.add_light(_call(kind, fields), os.fspath(folder))
        return self.lights[index]

    @property
    def lights(self):
        """The lights that are not objects, as a tuple of `Part`."""
        kinds = map(self._inner.light_kind, range(self._inner.light_count))
        return tuple(Part(self, "light", index, kind) for index, kind in enumerate(kinds))

    def clear_lights(self):
        """Removes all lights that are not objects, also the default lighting of a model. The sky stays."""
        self._inner.clear_lights()

    def set_environment(self, radiance, *, rotation=0):
        """Lights the scene by an environment map, which replaces an earlier one.

        ``radiance`` has the shape (height, width, 3): linear sRGB in W·sr⁻¹·m⁻², in latitude-longitude format with +y
        at the top and +z at the center. ``rotation`` turns it about +y, in degrees, counter-clockwise seen from above.
        """
        rotation = checks.number("rotation", rotation, -1e6, 1e6)
        radiance = numpy.asarray(radiance)
        if radiance.ndim != 3 or radiance.shape[2] != 3 or radiance.size == 0:
            raise ValueError(f"radiance: expected the shape (height, width, 3), got {radiance.shape}")
        texels = checks.array("radiance", radiance.reshape(-1, 3), 3)
        if (texels < 0).any():
            raise ValueError("radiance: expected numbers of 0 or more")
        turns = numpy.float32(rotation / 360 % 1)
        self._inner.set_environment(radiance.shape[1], texels.tobytes(), float(turns) if turns < 1 else 0.0)

    def set_color_image(self, material, image):
        """Multiplies the color of a material by an image, on meshes with texture coordinates.

        ``image`` has the shape (height, width, 3) or (height, width, 4): uint8 in sRGB, or floats in linear light.
        """
        checks.text("material", material)
        image = numpy.asarray(image)
        if image.ndim != 3 or image.shape[2] not in (3, 4) or image.size == 0:
            raise ValueError(f"image: expected the shape (height, width, 3 or 4), got {image.shape}")
        if image.dtype != numpy.uint8 and image.dtype.kind != "f":
            raise TypeError(f"image: expected uint8 or floats, got the type {image.dtype}")
        is_bytes = image.dtype == numpy.uint8
        texels = numpy.full((*image.shape[:2], 4), 255 if is_bytes else 1, numpy.uint8 if is_bytes else numpy.float32)
        texels[..., : image.shape[2]] = image
        if not is_bytes:
            checks.array("image", texels.reshape(-1, 4), 4)
        size = (image.shape[1], image.shape[0])
        self._inner.set_color_image(material, size, texels.tobytes(), not is_bytes)

    def add_mesh(
        self, positions, triangles, *, material, normals=None, uvs=None, colors=None, transform=None
    ):
        """Adds a mesh, and an instance that places it by ``transform``. Returns its index, for `add_instance`.

        ``positions`` has the shape (n, 3): vertices in metres. ``triangles`` has the shape (m, 3): indices into
        ``positions``, counter-clockwise seen from the front. ``material`` is a name in `Scene.materials`. ``normals``
        (n, 3) make the mesh smooth, and ``uvs`` (n, 2) place images, whose upper left corner is (0, 0). ``colors`` (n,
        3) in linear sRGB multiply the color of the material. ``transform`` is a 4 × 4 matrix that multiplies columns.

        Triangles without an area are left out, and those behind them move up.
        """
        checks.text("material", material)
        positions = checks.array("positions", positions, 3)
        triangles = checks.indices("triangles", triangles, 3, len(positions))
        lists = []
        for name, values, columns in [("normals", normals, 3), ("uvs", uvs, 2), ("colors", colors, 3)]:
            if values is not None:
                values = checks.array(name, values, columns)
                if len(values) != len(positions):
                    raise ValueError(f"{name}: expected {len(positions)} rows, one per position, got {len(values)}")
            lists.append(b"" if values is None else values.tobytes())
        transform = checks.transform("transform", transform)
        return self._inner.add_mesh(positions.tobytes(), triangles.tobytes(), *lists, material, transform)

    def add_instance(self, mesh, *, transform=None, material=None):
        """Adds another instance of a mesh, by its index. ``material`` replaces that of the mesh. Returns its index."""
        mesh = checks.whole_number("mesh", mesh, 0, 2**32 - 1)
        material = None if material is None else checks.text("material", material)
        return self._inner.add_instance(mesh, checks.transform("transform", transform), material)

    def add_sphere(self, center, radius, *, material):
        """Adds an exact sphere with its center and its radius in metres."""
        center = checks.numbers("center", center, 3, -1e8, 1e8)
        radius = checks.number("radius", radius, 1e-15, 1e8)
        self._inner.add_sphere(center, radius, checks.text("material", material))

    def add_model(self, path, *, transform=None):
        """Adds the objects of a model or scene file with their materials. Lights and cameras of the file are left out.

        Raises `RaysieveError` if the file cannot be read or is invalid.
        """
        self._inner.add_model(os.fspath(path), checks.transform("transform", transform))

    def add_triangles(self, positions, triangles, material):
        """Adds triangles with flat normals, and returns how many were left out because they have no area.

        Arguments are those of `add_mesh`. The triangles belong to no instance, and their positions are in world space,
        within ±10⁸ metres.
        """
        checks.text("material", material)
        positions = checks.array("positions", positions, 3)
        triangles = checks.indices("triangles", triangles, 3, len(positions))
        return self._inner.add_triangles(positions.tobytes(), triangles.tobytes(), material)

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
        self._inner.size = checks.image_size(size)

    @property
    def samples(self):
        """Samples per pixel, 1 to 2³²−1."""
        return self._inner.samples

    @samples.setter
    def samples(self, samples):
        self._inner.samples = checks.whole_number("samples", samples, 1, 2**32 - 1)

    @property
    def max_bounces(self):
        """Maximum number of times that a path may scatter, 0 to 4096."""
        return self._inner.max_bounces

    @max_bounces.setter
    def max_bounces(self, max_bounces):
        self._inner.max_bounces = checks.whole_number("max_bounces", max_bounces, 0, 4096)

    @property
    def seed(self):
        """Seed of all random numbers, 0 to 2³²−1."""
        return self._inner.seed

    @seed.setter
    def seed(self, seed):
        self._inner.seed = checks.whole_number("seed", seed, 0, 2**32 - 1)

    @property
    def camera(self):
        """A copy of the camera, a `Camera`. Assign a changed one. It is then the same for all sizes of the image."""
        return Camera._of_json(self._inner.camera)

    @camera.setter
    def camera(self, camera):
        if not isinstance(camera, Camera):
            raise TypeError(f"camera: expected a raysieve.Camera, got {type(camera).__name__}")
        self._inner.camera = camera._json()

    @property
    def sky(self):
        """Constant radiance from all directions, (r, g, b) in W·sr⁻¹·m⁻²."""
        return tuple(self._inner.sky)

    @sky.setter
    def sky(self, sky):
        self._inner.sky = checks.numbers("sky", sky, 3, 0, 16_777_215)

    @property
    def background(self):
        """What camera rays see that hit nothing: "environment", "transparent", or a radiance (r, g, b)."""
        color, word = self._inner.background
        return word if color is None else tuple(color)

    @background.setter
    def background(self, background):
        if isinstance(background, str):
            self._inner.set_background(None, background)
        else:
            self._inner.set_background(checks.numbers("background", background, 3, 0, 16_777_215), "")

    @property
    def exposure(self):
        """Exposure of the displayed image in stops, -32 to 32. It does not affect the film."""
        return self._inner.exposure

    @exposure.setter
    def exposure(self, exposure):
        self._inner.exposure = checks.number("exposure", exposure, -32, 32)

    @property
    def tone(self):
        """Tone curve of the displayed image: "srgb", "agx", "aces" or "neutral". It does not affect the film."""
        return self._inner.tone

    @tone.setter
    def tone(self, tone):
        self._inner.tone = checks.text("tone", tone)

    @property
    def materials(self):
        """Names of the materials. A material without a name has an empty string."""
        return self._inner.materials

    @property
    def notes(self):
        """Warnings of loading the scene, one line each: for example, about features of a model that are not shown."""
        return self._inner.notes


class Part:
    """A material or a light of a scene. Its values are attributes with the names of scene files, such as ``albedo``.

    Numbers are `float`, and colors (r, g, b). `dir()` lists them. Setting one changes the scene.
    """

    __slots__ = ("_scene", "_kind", "_index", "_name")

    def __init__(self, scene, kind, index, name):
        for slot, value in zip(Part.__slots__, (scene, kind, index, name)):
            object.__setattr__(self, slot, value)

    def _fields(self):
        return dict(self._scene._inner.fields(self._kind, self._index))

    def __dir__(self):
        return sorted(self._fields())

    def __getattr__(self, name):
        values = self._fields().get(name)
        if values is None:
            raise AttributeError(f"{self._kind} {self._name!r} has no value {name}; it has {', '.join(dir(self))}")
        return values[0] if len(values) == 1 else tuple(values)

    def __setattr__(self, name, value):
        present = self._fields().get(name)
        if present is None:
            raise AttributeError(f"{self._kind} {self._name!r} has no value {name}; it has {', '.join(dir(self))}")
        values = [checks.number(name, value)] if len(present) == 1 else checks.numbers(name, value, 3)
        self._scene._inner.set_field(self._kind, self._index, name, list(values))

    def __repr__(self):
        values = ", ".join(f"{name}={getattr(self, name)}" for name in dir(self))
        return f"<{self._kind} {self._name!r}: {values}>"


def _camera_from(values):
    """Returns azimuth, elevation and distance, which may be missing."""
    try:
        count = 2 if len(values) == 2 else 3
    except TypeError:
        count = 2
    numbers = checks.numbers("camera_from", values, count)
    azimuth = checks.number("the azimuth in camera_from", numbers[0], -360, 360)
    elevation = checks.number("the elevation in camera_from", numbers[1], -90, 90)
    distance = checks.number("the distance in camera_from", numbers[2], 1e-15, 1e8) if count == 3 else None
    return azimuth, elevation, distance


def _call(kind, fields):
    """Returns the text of a material, a light or a texture in a scene file."""
    checks.text("kind", kind)
    if not kind.isidentifier():
        raise ValueError(f"kind {kind!r}: expected a word, such as Diffuse or Point")
    return f"{kind}({', '.join(f'{name}: {_ron(name, value)}' for name, value in fields.items())})"


def _ron(name, value):
    """Returns a value in the text of a scene file."""
    if isinstance(value, (bool, numpy.bool_)):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        value = os.fspath(value)
        if name in _QUOTED:
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        if not value.isidentifier():
            raise ValueError(f"{name} {value!r}: expected a word")
        return value
    if isinstance(value, dict):
        return _call("Texture", value)
    if isinstance(value, (tuple, list, numpy.ndarray)):
        return "(" + ", ".join(_ron(name, part) for part in value) + ")"
    if isinstance(value, (int, numpy.integer)):
        return str(int(value))
    return repr(checks.number(name, value))
