"""Wrong arguments: each raises a typed error that names the argument, and leaves the scene as it is."""

import numpy
import pytest
import raysieve

NAN, INF = float("nan"), float("inf")
SQUARE = [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]
HALVES = [(0, 1, 2), (0, 2, 3)]


@pytest.fixture
def scene():
    scene = raysieve.Scene()
    scene.size, scene.samples, scene.sky = (8, 8), 1, (1, 1, 1)
    scene.add_material("clay", albedo=(0.5, 0.5, 0.5))
    scene.add_mesh(SQUARE, HALVES, material="clay")
    scene.add_light("Point", position=(0, 3, 3), intensity=(1, 1, 1))
    return scene


def mesh(scene, positions=SQUARE, triangles=HALVES, material="clay", **lists):
    scene.add_mesh(positions, triangles, material=material, **lists)


def image(scene, **look):
    raysieve.render(scene, backend="cpu").image(**look)


def camera(**changes):
    raysieve.Camera(**{"origin": (0, 0, 5), "target": (0, 0, 0), **changes})


def opencv(**changes):
    known = {"K": [[8, 0, 3.5], [0, 8, 3.5], [0, 0, 1]], "R": numpy.eye(3), "t": (0, 0, 5), "size": (8, 8)}
    raysieve.Camera.from_opencv(**{**known, **changes})


def with_value(name, value):
    def change(scene):
        setattr(scene, name, value)

    return change


CASES = [
    # Numbers that leave Python.
    (lambda s: image(s, exposure=1e5), ValueError, "exposure"),
    (lambda s: image(s, exposure=INF), ValueError, "exposure"),
    (lambda s: image(s, exposure=NAN), ValueError, "exposure"),
    (lambda s: image(s, exposure="bright"), TypeError, "exposure"),
    (lambda s: image(s, exposure=10**400), ValueError, "exposure"),
    (lambda s: image(s, tone="film"), ValueError, "tone"),
    (lambda s: image(s, tone=3), TypeError, "tone"),
    (lambda s: image(s, alpha=1), TypeError, "alpha"),
    # Attributes.
    (with_value("camera", None), TypeError, "camera"),
    (with_value("camera", "front"), TypeError, "camera"),
    (with_value("exposure", 33), ValueError, "exposure"),
    (with_value("exposure", NAN), ValueError, "exposure"),
    (with_value("exposure", None), TypeError, "exposure"),
    (with_value("tone", "film"), ValueError, "tone"),
    (with_value("sky", (1, 1)), ValueError, "sky"),
    (with_value("sky", (1, 1, NAN)), ValueError, "sky"),
    (with_value("sky", (1, 1, -1)), ValueError, "sky"),
    (with_value("sky", 1), TypeError, "sky"),
    (with_value("background", "black"), ValueError, "background"),
    (with_value("background", (INF, 0, 0)), ValueError, "background"),
    (with_value("size", "ab"), TypeError, "size"),
    (with_value("samples", True), TypeError, "samples"),
    (with_value("seed", 1.0), TypeError, "seed"),
    (with_value("materials", []), AttributeError, "materials"),
    (with_value("spp", 3), AttributeError, "spp"),
    # Meshes and objects.
    (lambda s: mesh(s, triangles=[(0.0, 1.0, 2.0)]), TypeError, "triangles"),
    (lambda s: mesh(s, triangles=[(0, 1, NAN)]), TypeError, "triangles"),
    (lambda s: mesh(s, triangles=[(0, 1, 4)]), ValueError, "triangles"),
    (lambda s: mesh(s, triangles=[(0, 1, -1)]), ValueError, "triangles"),
    (lambda s: mesh(s, triangles=[(0, 1)]), ValueError, "triangles"),
    (lambda s: mesh(s, triangles=[]), ValueError, "triangles"),
    (lambda s: mesh(s, triangles=[(0, 0, 1)]), ValueError, "no triangle"),
    (lambda s: mesh(s, positions=[(0, 0, NAN)] * 4), ValueError, "positions"),
    (lambda s: mesh(s, positions=[(0, 0, 1e300)] * 4), ValueError, "positions"),
    (lambda s: mesh(s, positions=[("a", "b", "c")] * 4), TypeError, "positions"),
    (lambda s: mesh(s, positions=None), (TypeError, ValueError), "positions"),
    (lambda s: mesh(s, positions=[(0, 0), (0, 0, 0)]), (TypeError, ValueError), "positions"),
    (lambda s: mesh(s, normals=[(0, 0, 1)]), ValueError, "normals"),
    (lambda s: mesh(s, normals=[(0, 0, 0)] * 4), ValueError, "normals"),
    (lambda s: mesh(s, uvs=[(0, 0, 0)] * 4), ValueError, "uvs"),
    (lambda s: mesh(s, colors=[(-1, 0, 0)] * 4), ValueError, "colors"),
    (lambda s: mesh(s, colors=[(1, 1, 1)] * 4, uvs=[(0, 0)] * 4), ValueError, "colors and uvs"),
    (lambda s: mesh(s, material="gold"), ValueError, 'no material "gold"'),
    (lambda s: mesh(s, material=0), TypeError, "material"),
    (lambda s: mesh(s, transform=numpy.zeros((4, 4))), ValueError, "transform"),
    (lambda s: mesh(s, transform=numpy.eye(3)), ValueError, "transform"),
    (lambda s: mesh(s, transform=numpy.full((4, 4), NAN)), ValueError, "transform"),
    (lambda s: mesh(s, transform="up"), TypeError, "transform"),
    (lambda s: s.add_instance(7), ValueError, "mesh 7"),
    (lambda s: s.add_instance(0.0), TypeError, "mesh"),
    (lambda s: s.add_sphere((0, 0, 0), -1, material="clay"), ValueError, "radius"),
    (lambda s: s.add_sphere((0, 0, 1e9), 1, material="clay"), ValueError, "center"),
    (lambda s: s.add_sphere((0, 0), 1, material="clay"), ValueError, "center"),
    (lambda s: s.add_model(3), TypeError, ""),
    # Materials, lights and images.
    (lambda s: s.add_material(3), TypeError, "name"),
    (lambda s: s.add_material("new", albedo=(2, 0, 0)), ValueError, "albedo"),
    (lambda s: s.add_material("new", albedo=(NAN, 0, 0)), ValueError, "albedo"),
    (lambda s: s.add_material("new", color=(1, 0, 0)), ValueError, "color"),
    (lambda s: s.add_material("new", "Clay"), ValueError, "Clay"),
    (lambda s: s.add_material("new", "Clay()"), ValueError, "kind"),
    (lambda s: s.add_material("new", "Dielectric", ior=0), ValueError, "ior"),
    (lambda s: s.add_material("new", "Blend", first="clay"), ValueError, "Blend"),
    (lambda s: s.add_material("new", "Blend", first="clay", second="gold", weight=0.5), ValueError, "gold"),
    (lambda s: s.material("gold"), ValueError, "gold"),
    (lambda s: setattr(s.material("clay"), "albedo", (2, 0, 0)), ValueError, "albedo"),
    (lambda s: setattr(s.material("clay"), "albedo", 1), TypeError, "albedo"),
    (lambda s: setattr(s.material("clay"), "opacity", NAN), ValueError, "opacity"),
    (lambda s: setattr(s.material("clay"), "shine", 1), AttributeError, "shine"),
    (lambda s: s.add_light("Point", position=(0, 0, 0)), ValueError, "intensity"),
    (lambda s: s.add_light("Lamp"), ValueError, "Lamp"),
    (lambda s: setattr(s.lights[0], "intensity", (-1, 0, 0)), ValueError, "intensity"),
    (lambda s: s.set_environment(numpy.ones((2, 3))), ValueError, "radiance"),
    (lambda s: s.set_environment(numpy.full((2, 2, 3), -1.0)), ValueError, "radiance"),
    (lambda s: s.set_environment(numpy.ones((2, 2, 3)), rotation=NAN), ValueError, "rotation"),
    (lambda s: s.set_color_image("clay", numpy.zeros((2, 2))), ValueError, "image"),
    (lambda s: s.set_color_image("clay", numpy.zeros((2, 2, 3), int)), TypeError, "image"),
    (lambda s: s.set_color_image("clay", numpy.full((2, 2, 3), NAN)), ValueError, "image"),
    # Cameras.
    (lambda s: camera(fov=180), ValueError, "fov"),
    (lambda s: camera(fov=40, width=1), ValueError, "fov, width"),
    (lambda s: camera(origin=(0, 0, NAN)), ValueError, "origin"),
    (lambda s: camera(up=(0, 0)), ValueError, "up"),
    (lambda s: camera(shift=(0, INF)), ValueError, "shift"),
    (lambda s: setattr(s, "camera", raysieve.Camera((0, 0, 0), (0, 0, 0))), ValueError, "target"),
    (lambda s: setattr(s, "camera", raysieve.Camera((0, 5, 0), (0, 0, 0))), ValueError, "up"),
    (lambda s: raysieve.Camera.from_matrix(numpy.ones((4, 4))), ValueError, "camera_to_world"),
    (lambda s: opencv(K=numpy.zeros((3, 3))), ValueError, "K"),
    (lambda s: opencv(R=numpy.ones((3, 3))), ValueError, "R"),
    (lambda s: opencv(t=(0, 0)), ValueError, "t"),
    (lambda s: opencv(size=8), TypeError, "size"),
    # Renders.
    (lambda s: raysieve.render("scene.ron"), TypeError, "scene"),
    (lambda s: raysieve.render(s, layers="depth"), TypeError, "layers"),
    (lambda s: raysieve.render(s, layers=["light"]), ValueError, "light"),
    (lambda s: raysieve.render(s, layers=[1]), TypeError, "layers"),
    (lambda s: raysieve.render(s, callback=3), TypeError, "callback"),
    (lambda s: raysieve.render(s, backend=3), TypeError, "backend"),
    (lambda s: raysieve.render(s, samples=2**31, backend="cpu"), ValueError, "spp"),
    (lambda s: raysieve.Renderer(s, threads=1.5), TypeError, "threads"),
    (lambda s: raysieve.Renderer(s, backend="cpu").render(camera=3), TypeError, "camera"),
    (lambda s: raysieve.Renderer(s, backend="cpu").render_views([None, 3]), TypeError, "camera"),
    (lambda s: raysieve.Renderer(raysieve.Scene(), backend="cpu"), ValueError, "no objects"),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_wrong_argument_raises_a_typed_error(scene, number):
    call, error, problem = CASES[number]
    if "spp" in problem:
        # Light that the film could not hold with so many samples.
        scene.sky = (100, 100, 100)
    before = raysieve.render(scene, backend="cpu").film_hash
    with pytest.raises(error) as caught:
        call(scene)
    text = str(caught.value)
    assert problem in text and "\n" not in text and "panic" not in text, text
    assert raysieve.render(scene, backend="cpu").film_hash == before
