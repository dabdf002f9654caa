"""Translates a Raysieve scene file into a scene of Mitsuba."""

from pathlib import Path

import mitsuba as mi
import numpy as np

import materials
import ron
import shapes
import sky

# Distance in metres of the disk that stands for the sun.
SUN_DISTANCE = 1e5
# Number of instances above which the LLVM variant takes minutes to compile, because it traces each instance.
MAX_LLVM_INSTANCES = 500
# Width of the film in metres that relates `f_stop` and `fov`.
FILM_WIDTH = 0.036


class Builder:
    """A dictionary for `mi.load_dict` that grows by the objects of a scene."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        self.repository = path.resolve().parents[1]
        self.source = ron.parse(path.read_text())
        self.made = {"type": "scene"}
        # Quads and boxes by material, which become one mesh each.
        self.flat = {}
        self.models = {}
        self.masked = any("opacity" in material for material in self.source["materials"].values())
        for name, material in self.source["materials"].items():
            self.made[self.id_of(name)] = materials.bsdf(self.repository, path.parent, material)

    def id_of(self, material):
        """Returns the identifier of a material in Mitsuba's scene."""
        return "material_" + material.replace(" ", "_")

    def surface(self, material):
        """Returns the entries of a shape that give it a material and, if that emits light, an emitter."""
        entries = {"bsdf": {"type": "ref", "id": self.id_of(material)}}
        if "radiance" in self.source["materials"][material]:
            radiance = materials.rgb(self.source["materials"][material]["radiance"])
            entries["emitter"] = {"type": "area", "radiance": radiance}
        return entries

    def add(self, kind, value):
        """Adds an object under a new identifier, which is returned."""
        name = f"{kind}_{len(self.made)}"
        self.made[name] = value
        return name

    def ply(self, mesh):
        """Writes a mesh as a PLY file and returns its shape, without a material."""
        path = self.folder / f"{len(list(self.folder.iterdir()))}.ply"
        shapes.write_ply(mesh, path)
        return {"type": "ply", "filename": str(path), "face_normals": mesh.normals is None}

    def mesh(self, thing):
        """Returns the mesh of a `Mesh` or `DisplacedSphere`."""
        if thing["type"] == "DisplacedSphere":
            return shapes.displaced_sphere(**thing)
        mesh = shapes.read_ply(self.path.parent / thing["file"], thing.get("smooth", False))
        return shapes.transformed(mesh, shapes.transform(**thing))

    def object(self, thing):
        """Adds an object. Quads and boxes are collected by material. Raises `ValueError` for an unsupported one."""
        kind = thing["type"]
        if kind in ("Quad", "Box"):
            mesh = shapes.quad(**thing) if kind == "Quad" else shapes.box(**thing)
            self.flat.setdefault(thing["material"], []).append(mesh)
        elif kind == "Sphere":
            size = {"center": [float(x) for x in thing["center"]], "radius": float(thing["radius"])}
            self.add("sphere", {"type": "sphere", **size, **self.surface(thing["material"])})
        elif kind in ("DisplacedSphere", "Mesh"):
            self.add("mesh", {**self.ply(self.mesh(thing)), **self.surface(thing["material"])})
        elif kind == "Instances":
            self.instances(thing)
        elif kind == "Model":
            self.model(thing)
        else:
            raise ValueError(f"unsupported object {kind}")

    def instances(self, thing):
        """Adds a mesh and its instances."""
        of = thing["of"]
        shape = {**self.ply(self.mesh(of)), **self.surface(of["material"])}
        group = self.add("group", {"type": "shapegroup", "shape": shape})
        if "scatter" in thing:
            matrices = shapes.scattered(**thing["scatter"])
        else:
            matrices = [shapes.transform(**place) for place in thing["at"]]
        for matrix in matrices:
            of = {"type": "ref", "id": group}
            self.add("instance", {"type": "instance", "to_world": mi.ScalarTransform4f(matrix), "of": of})

    def model(self, thing):
        """Adds a glTF model. Its triangles are copied, because Mitsuba's instances cannot emit light."""
        file = self.path.parent / thing["file"]
        if file not in self.models:
            mesh, material, images = shapes.read_glb(file)
            bsdf, radiance = materials.gltf_bsdf(material, images)
            self.models[file] = mesh, {"type": "ref", "id": self.add("bsdf", bsdf)}, radiance
        mesh, bsdf, radiance = self.models[file]
        shape = self.ply(shapes.transformed(mesh, shapes.transform(**thing)))
        self.add("model", {**shape, "bsdf": bsdf, "emitter": {"type": "area", "radiance": radiance}})

    def lights(self):
        """Adds the sky and the lights that are not objects. Raises `ValueError` for an unsupported one."""
        if "sky" in self.source:
            self.made["sky"] = {"type": "constant", "radiance": materials.rgb(self.source["sky"])}
        for light in self.source.get("lights", []):
            if light["type"] == "Environment":
                self.made["sky"] = {"type": "envmap", "filename": str(self.path.parent / light["file"])}
            elif light["type"] == "SunSky":
                self.sun(light)
            else:
                raise ValueError(f"unsupported light {light['type']}")

    def sun(self, light):
        """Adds the sky as an environment map, and the sun as a far disk of the right angular size."""
        to_sun, irradiance, image = sky.sun_and_sky(light, self.repository / "scene/assets/hosek_wilkie")
        self.made["sky"] = {"type": "envmap", "bitmap": mi.Bitmap(image)}
        radius = np.radians(sky.SUN_DEGREES) / 2
        look = mi.ScalarTransform4f().look_at(list(to_sun * SUN_DISTANCE), [0, 0, 0], [0, 1, 0])
        self.made["sun"] = {
            "type": "disk",
            "to_world": look @ mi.ScalarTransform4f().scale(float(SUN_DISTANCE * np.tan(radius))),
            "bsdf": {"type": "diffuse", "reflectance": materials.rgb((0, 0, 0))},
            "emitter": {"type": "area", "radiance": materials.rgb(irradiance / (np.pi * np.sin(radius) ** 2))},
        }

    def camera(self, width, height, sampler):
        """Adds the camera, for a film of `width` by `height` pixels with a box filter."""
        camera = self.source["camera"]
        origin, target = (np.array(camera[name], float) for name in ("origin", "target"))
        up = [float(x) for x in camera.get("up", (0, 1, 0))]
        made = {
            "type": "perspective",
            "fov": float(camera["fov"]),
            "fov_axis": "x",
            "to_world": mi.ScalarTransform4f().look_at(list(origin), list(target), up),
            "film": {"type": "hdrfilm", "width": width, "height": height, "rfilter": {"type": "box"}},
            "sampler": {"type": sampler},
        }
        if "lens" in camera:
            lens = camera["lens"]
            view = (target - origin) / np.linalg.norm(target - origin)
            focal_length = FILM_WIDTH / 2 / np.tan(np.radians(camera["fov"]) / 2)
            made["type"] = "thinlens"
            made["aperture_radius"] = float(lens.get("radius") or focal_length / lens["f_stop"] / 2)
            made["focus_distance"] = float((np.array(lens["focus_point"]) - origin) @ view)
        self.made["sensor"] = made


def variant(path):
    """Returns the variant of Mitsuba for a scene file.

    It is `llvm_ad_rgb`, or `scalar_rgb` if more than `MAX_LLVM_INSTANCES` instances are scattered.
    """
    objects = ron.parse(path.read_text())["objects"]
    count = sum(thing["scatter"]["count"] for thing in objects if "scatter" in thing)
    return "scalar_rgb" if count > MAX_LLVM_INSTANCES else "llvm_ad_rgb"


def load(path, folder, width, height, bounces, sampler, integrator=None):
    """Returns a Mitsuba scene and the name of its integrator.

    The scene is that of the file `path` with a box filter and without `clamp_indirect`. Meshes are written to `folder`,
    which must exist while Mitsuba loads. The default integrator is `volpath` where opacity textures cut out shapes,
    because the shadow rays of `path` do not pass their holes.
    """
    folder = Path(folder)
    builder = Builder(Path(path), folder)
    for thing in builder.source["objects"]:
        builder.object(thing)
    for material, meshes in builder.flat.items():
        builder.add("flat", {**builder.ply(shapes.merged(meshes)), **builder.surface(material)})
    builder.lights()
    builder.camera(width, height, sampler)
    kind = integrator or ("volpath" if builder.masked else "path")
    # `max_depth` counts path segments, which are one more than the scatterings that `--max-bounces` counts.
    builder.made["integrator"] = {"type": kind, "max_depth": bounces + 1, "rr_depth": 5}
    return mi.load_dict(builder.made), kind
