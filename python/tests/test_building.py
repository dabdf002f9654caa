"""Tests of scenes built in Python, of cameras, of the renderer that keeps its trees, and of layers for vision."""

import copy
import os
import pathlib
import re

import numpy
import pytest
import raysieve

SQUARE = [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]
HALVES = [(0, 1, 2), (0, 2, 3)]


def furnace():
    """Returns a scene of 8 × 8 pixels under a white sky, without objects, whose camera sees ±1 at z = 0."""
    scene = raysieve.Scene()
    scene.size, scene.samples, scene.sky = (8, 8), 4, (1, 1, 1)
    scene.camera = raysieve.Camera.look_at((0, 0, 1), (0, 0, 0), fov=90)
    return scene


def render(scene, **settings):
    return raysieve.render(scene, backend="cpu", **settings)


def test_a_built_scene_has_the_film_of_its_scene_file():
    text = """(
        size: (16, 12), spp: 4, sky: (0.1, 0.2, 0.3),
        camera: (origin: (2, 1.5, 4), target: (0, 0, 0), fov: 40),
        lights: [Point(position: (1, 2, 3), intensity: (30, 30, 30))],
        materials: { "clay": Diffuse(albedo: (0.7, 0.5, 0.3)), "gold": RoughConductor(preset: "gold", alpha: 0.2) },
        objects: [Sphere(center: (0, 0, 0), radius: 0.5, material: "clay"),
                  Sphere(center: (1, 0, 0), radius: 0.25, material: "gold")],
    )"""
    scene = raysieve.Scene()
    scene.size, scene.samples, scene.sky = (16, 12), 4, (0.1, 0.2, 0.3)
    scene.camera = raysieve.Camera((2, 1.5, 4), (0, 0, 0), fov=40)
    scene.add_material("clay", albedo=(0.7, 0.5, 0.3))
    scene.add_material("gold", "RoughConductor", preset="gold", alpha=0.2)
    scene.add_sphere((0, 0, 0), 0.5, material="clay")
    scene.add_sphere((1, 0, 0), 0.25, material="gold")
    scene.add_light("Point", position=(1, 2, 3), intensity=(30, 30, 30))
    assert render(scene).film_hash == render(raysieve.Scene.parse(text)).film_hash


def test_meshes_have_colors_images_and_places():
    scene = furnace()
    scene.sky = (0, 0, 0)
    scene.add_material("lamp", "Emissive", radiance=(2, 2, 2))
    scene.add_mesh(SQUARE, HALVES, material="lamp", colors=[(0.5, 0.25, 1)] * 4)
    assert numpy.allclose(render(scene).film, (1, 0.5, 2), atol=1e-5)
    scene = furnace()
    scene.add_material("paper", albedo=(1, 1, 1))
    half = numpy.diag((0.5, 0.5, 1, 1))
    mesh = scene.add_mesh(SQUARE, HALVES, material="paper", uvs=[(0, 0)] * 4, transform=half)
    scene.set_color_image("paper", numpy.full((1, 1, 3), 0.5, numpy.float32))
    film = render(scene, samples=64).film
    assert numpy.allclose(film[3:5, 3:5], 0.5, atol=1e-3) and numpy.allclose(film[0], 1, atol=1e-5)
    scene.add_material("mirror", "Mirror", reflectance=(0.25, 0.25, 0.25))
    scene.add_instance(mesh, transform=[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.1]], material="mirror")
    assert numpy.allclose(render(scene).film[0], 0.25, atol=1e-3)


def test_parts_can_be_read_and_changed():
    scene = furnace()
    clay = scene.add_material("clay", albedo=(0.5, 0.25, 0.125))
    scene.add_mesh(SQUARE, HALVES, material="clay")
    assert clay.albedo == (0.5, 0.25, 0.125) and "opacity" in dir(clay)
    clay.albedo = (1, 1, 1)
    assert numpy.allclose(render(scene, samples=64).film, 1, atol=1e-3)
    scene.sky = (0, 0, 0)
    lamp = scene.add_light("Point", position=(0, 0, 1), intensity=(1, 1, 1))
    before = render(scene).film
    lamp.intensity = numpy.array((2, 2, 2))
    assert numpy.allclose(render(scene).film, 2 * before, rtol=1e-3)
    scene.set_environment(numpy.ones((2, 4, 3)), rotation=90)
    assert len(scene.lights) == 2
    scene.clear_lights()
    assert scene.lights == () and render(scene).film.max() == 0


def test_attributes_keep_what_they_are_set_to():
    scene = furnace()
    scene.exposure, scene.tone, scene.background = 2, "agx", (0.5, 0.25, 0)
    assert (scene.exposure, scene.tone, scene.background) == (2, "agx", (0.5, 0.25, 0))
    scene.background = "transparent"
    assert scene.background == "transparent"
    camera = raysieve.Camera((0, 0, 2), (0, 0, 0), width=3, shift=(0.5, 0), lens_radius=0.25, focus_distance=2)
    scene.camera = camera
    assert scene.camera == camera and copy.copy(scene).camera == camera
    scene.add_material("clay", albedo=(0, 0, 0))
    scene.add_sphere((0, 0, 0), 0.5, material="clay")
    image = render(scene).image(alpha=True)
    assert image.shape == (8, 8, 4)


def test_opencv_cameras_see_points_where_opencv_projects_them():
    generator = numpy.random.default_rng(1)
    size = (64, 48)
    K = numpy.array([[70.0, 0, 25], [0, 60, 30], [0, 0, 1]])
    R, _ = numpy.linalg.qr(generator.normal(size=(3, 3)))
    R *= numpy.sign(numpy.linalg.det(R))
    t = numpy.array((0.3, -0.2, 8))
    scene = furnace()
    scene.size, scene.camera = size, raysieve.Camera.from_opencv(K, R, t, size)
    scene.add_material("clay", albedo=(1, 1, 1))
    scene.add_sphere((0, 0, 0), 3, material="clay")
    layers = render(scene, samples=1, layers=["position", "depth"]).layers
    hit = numpy.isfinite(layers["depth"])
    assert 500 < hit.sum() < hit.size
    seen = layers["position"][hit] @ R.T + t
    assert numpy.allclose(seen[:, 2], layers["depth"][hit], atol=1e-4)
    projected = seen @ K.T
    rows, columns = numpy.nonzero(hit)
    assert numpy.allclose(projected[:, 0] / projected[:, 2], columns, atol=1e-2)
    assert numpy.allclose(projected[:, 1] / projected[:, 2], rows, atol=1e-2)


def test_a_matrix_is_the_camera_that_looks_along_minus_z():
    matrix = numpy.eye(4)
    matrix[:3, 3] = (1, 2, 3)
    scene = furnace()
    scene.add_material("clay", albedo=(0.5, 0.5, 0.5))
    scene.add_sphere((1, 2, 0), 1, material="clay")
    renderer = raysieve.Renderer(scene, backend="cpu")
    by_matrix = renderer.render(camera=raysieve.Camera.from_matrix(matrix, fov=60))
    by_points = renderer.render(camera=raysieve.Camera((1, 2, 3), (1, 2, 0), fov=60))
    assert by_matrix.film_hash == by_points.film_hash


def test_layers_tell_surfaces_apart_and_mark_misses():
    scene = furnace()
    for name in ("red", "green", "blue"):
        scene.add_material(name, albedo=(1, 1, 1))
    half = numpy.diag((0.5, 0.5, 1, 1))
    uvs = [(0, 1), (1, 1), (1, 0), (0, 0)]
    mesh = scene.add_mesh(SQUARE, HALVES, material="red", uvs=uvs, transform=half)
    behind = half.copy()
    behind[:3, 3] = (1, 0, -1)
    scene.add_instance(mesh, transform=behind, material="green")
    scene.add_sphere((-1.5, 0, -1), 0.5, material="blue")
    names = ["depth", "position", "uv", "instance", "material", "triangle", "normal"]
    layers = render(scene, layers=names).layers
    assert [layers[name].dtype.kind for name in names] == list("fffiiif")
    instance, material = layers["instance"], layers["material"]
    assert (instance[2:6, 2:6] == 0).all() and (material[2:6, 2:6] == 0).all()
    assert (instance[3:5, 6] == 1).all() and (material[3:5, 6] == 1).all()
    assert (layers["depth"][2:6, 2:6] == 1).all() and (layers["depth"][3:5, 6] == 2).all()
    assert set(layers["triangle"][2:6, 2:6].ravel()) == {0, 1}
    missed = layers["depth"] == numpy.inf
    assert missed[0].all() and (material[missed] == -1).all() and numpy.isnan(layers["position"][missed]).all()
    ball = material == 2
    assert ball.any() and (instance[ball] == -1).all() and (layers["triangle"][ball] == -1).all()
    # The upper left pixel of the square shows the upper left corner of an image.
    assert numpy.allclose(layers["uv"][2, 2], (0.125, 0.125), atol=1e-5)
    # No depth lies between the square and what is behind it.
    assert set(numpy.unique(layers["depth"][2:6, 2:].ravel())) <= {1.0, 2.0, numpy.inf}


def test_a_renderer_renders_views_and_changed_scenes_like_new_ones():
    scene = furnace()
    clay = scene.add_material("clay", albedo=(0.5, 0.5, 0.5))
    scene.add_sphere((0, 0, 0), 0.5, material="clay")
    renderer = raysieve.Renderer(scene, backend="cpu")
    cameras = [raysieve.Camera.look_at((x, 0, 2), (0, 0, 0)) for x in (-1, 0, 1)]
    films = renderer.render_views(cameras, samples=2)
    assert films.shape == (3, 8, 8, 3)
    for film, camera in zip(films, cameras):
        scene.camera = camera
        assert (film == render(scene, samples=2).film).all()
    clay.albedo = (1, 0, 0)
    renderer.scene = scene
    result, of_new = renderer.render(samples=5), render(scene, samples=5)
    assert result.film_hash == of_new.film_hash
    # A result does not change with later renders.
    film = result.film.copy()
    renderer.render(samples=1, camera=cameras[0])
    assert (result.film == film).all() and result.film_hash == of_new.film_hash
    assert renderer.scene.camera == scene.camera


def test_notebooks_show_a_png_and_the_version_is_there():
    scene = furnace()
    scene.add_material("clay", albedo=(0.5, 0.5, 0.5))
    scene.add_sphere((0, 0, 0), 0.5, material="clay")
    assert render(scene)._repr_png_().startswith(b"\x89PNG")
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", raysieve.__version__)
    assert raysieve.devices()[0].startswith("cpu")


def test_the_tasks_of_the_readme_run(tmp_path, monkeypatch):
    text = pathlib.Path(os.environ["RAYSIEVE_README"]).read_text()
    tasks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(tasks) >= 6
    scenes = os.environ["RAYSIEVE_SCENES"]
    monkeypatch.chdir(tmp_path)
    for task in tasks:
        exec(task.replace("../scenes", scenes), {})
    assert len(list(tmp_path.glob("*.png"))) >= 5


@pytest.mark.parametrize("tone", ["srgb", "agx", "aces", "neutral"])
def test_any_exposure_has_an_image(tone):
    scene = furnace()
    scene.add_material("clay", albedo=(0, 0, 0))
    scene.add_mesh(SQUARE, HALVES, material="clay", transform=numpy.diag((0.5, 0.5, 1, 1)))
    result = render(scene)
    for exposure in (-1000, -200, 128, 200, 1000):
        image = result.image(exposure=exposure, tone=tone)
        assert image[4, 4].max() == 0
        assert (image[0, 0].min() == 255) == (exposure > 0)
