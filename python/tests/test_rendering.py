"""Tests of noise, regions, checkpoints and progress of renders, and of the options of loading."""

import os
import pickle
import sys

import numpy
import pytest
import raysieve

SCENES = os.environ["RAYSIEVE_SCENES"]


def cornell():
    scene = raysieve.Scene.load(os.path.join(SCENES, "cornell.ron"))
    scene.size, scene.samples = (24, 16), 8
    return scene


def render(scene, **settings):
    return raysieve.render(scene, backend="cpu", **settings)


def test_a_region_has_the_pixels_of_the_whole_image(tmp_path):
    whole = render(cornell(), layers=["depth", "samples"])
    part = render(cornell(), region=(5, 3, 10, 7), layers=["depth", "samples"])
    assert part.film.shape == (7, 10, 3) and part.image(alpha=True).shape == (7, 10, 4)
    assert (part.film == whole.film[3:10, 5:15]).all()
    assert (part.image() == whole.image()[3:10, 5:15]).all()
    for name, layer in part.layers.items():
        assert (layer == whole.layers[name][3:10, 5:15]).all(), name
    assert part.stats["paths"] == 10 * 7 * 8
    png = part._repr_png_()
    assert png[16:24] == (10).to_bytes(4, "big") + (7).to_bytes(4, "big")
    part.save(tmp_path / "part.png")
    assert (tmp_path / "part.png").read_bytes()[16:24] == png[16:24]


def test_noise_ends_a_render_early():
    renderer = raysieve.Renderer(cornell(), backend="cpu")
    result = renderer.render(samples=4096, noise=0.5, layers=["samples"])
    assert result.stats["noise"]["unconverged_pixels"] == 0
    assert 16 <= result.layers["samples"].min() and result.layers["samples"].max() < 4096
    # The next render has no such limit.
    assert (renderer.render(samples=20, layers=["samples"]).layers["samples"] == 20).all()


@pytest.mark.parametrize("settings", [{}, {"region": (5, 3, 10, 7)}, {"noise": 0.01}])
def test_a_render_continues_from_its_checkpoint(tmp_path, settings):
    path = tmp_path / "so_far.exr"
    at_once = render(cornell(), samples=300, **settings)
    render(cornell(), samples=100, checkpoint=path, **settings)
    seen = []
    result = render(cornell(), samples=300, checkpoint=path, callback=lambda p: seen.append(p.samples), **settings)
    assert result.film_hash == at_once.film_hash and (result.film == at_once.film).all()
    assert seen[0] >= 16
    # A checkpoint of another render is kept.
    content = path.read_bytes()
    with pytest.raises(raysieve.RaysieveError, match="so_far.exr.*seed"):
        render(cornell(), samples=300, seed=1, checkpoint=path, **settings)
    assert path.read_bytes() == content


def test_an_interrupted_render_is_saved(tmp_path):
    class Stop(Exception):
        pass

    def stop(progress):
        if progress.samples >= 1:
            raise Stop

    with pytest.raises(Stop):
        render(cornell(), samples=10_000_000, checkpoint=tmp_path / "so_far.exr", callback=stop)
    # Only the same command continues, and it would take long.
    with pytest.raises(raysieve.RaysieveError, match="not the first of"):
        render(cornell(), samples=1, checkpoint=tmp_path / "so_far.exr")


def test_progress_is_shown_with_and_without_tqdm(capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    render(cornell(), progress=True)
    assert "100 %" in capfd.readouterr().err
    monkeypatch.undo()
    pytest.importorskip("tqdm")
    render(cornell(), progress=True)
    assert "100%" in capfd.readouterr().err


def test_load_takes_the_options_of_the_program(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nv 0 2 0\nf 1 2 3 4\nf 1 2 5\n")
    load = lambda **options: raysieve.Scene.load(tmp_path / "a.obj", **options)
    camera = load(camera_from=(90, 0, 5), fov=30).camera
    ahead = numpy.subtract(camera.target, camera.origin)
    assert numpy.allclose(ahead, (-5, 0, 0), atol=1e-3) and abs(camera.fov - 30) < 1e-3
    assert load(orthographic=True).camera.width is not None
    # With z up, what was at +y is at -z.
    assert load(up="z", camera_from=(0, 0)).camera.target[2] < -0.5
    (tmp_path / "sky.hdr").write_bytes(b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 2\n" + bytes([128, 128, 128, 130] * 2))
    for strength in (1, 3):
        scene = load(environment=tmp_path / "sky.hdr", rotation=90, strength=strength)
        scene.size, scene.camera = (2, 2), raysieve.Camera((0, 50, 0), (0, 99, 1), fov=20)
        scene.exposure = 0
        film = render(scene, samples=1).film
        assert numpy.allclose(film, film[0, 0]) and film[0, 0, 0] > 0
        expected = film[0, 0] if strength == 1 else 3 * expected
    assert numpy.allclose(film[0, 0], expected)


@pytest.mark.parametrize(
    "options, error, name",
    [
        ({"up": "w"}, ValueError, "up"),
        ({"up": 2}, TypeError, "up"),
        ({"fov": 180}, ValueError, "fov"),
        ({"camera_from": 30}, TypeError, "camera_from"),
        ({"camera_from": (400, 0)}, ValueError, "azimuth"),
        ({"camera_from": (0, 0, 0)}, ValueError, "distance"),
        ({"camera_from": (1, 2, 3, 4)}, ValueError, "camera_from"),
        ({"orthographic": 1}, TypeError, "orthographic"),
        ({"environment": "sky.hdr", "strength": -1}, ValueError, "strength"),
        ({"environment": "sky.hdr", "rotation": float("nan")}, ValueError, "rotation"),
        ({"animation": 1}, TypeError, "animation"),
    ],
)
def test_wrong_options_of_loading_are_named(options, error, name):
    with pytest.raises(error, match=name):
        raysieve.Scene.load("a.obj", **options)


@pytest.mark.parametrize(
    "settings, error, name",
    [
        ({"noise": 0}, ValueError, "noise"),
        ({"noise": "low"}, TypeError, "noise"),
        ({"region": (20, 0, 5, 1)}, ValueError, "width in region"),
        ({"region": (0, 16, 1, 1)}, ValueError, "y in region"),
        ({"region": (0, 0, 0, 1)}, ValueError, "width in region"),
        ({"region": (0, 0, 1)}, TypeError, "region"),
        ({"region": (0.5, 0, 1, 1)}, TypeError, "x in region"),
        ({"progress": "yes"}, TypeError, "progress"),
        ({"checkpoint": 3}, TypeError, "checkpoint"),
        ({"checkpoint": "a.png"}, ValueError, "checkpoint .*exr"),
    ],
)
def test_wrong_settings_of_a_render_are_named(settings, error, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=name):
        render(cornell(), **settings)
    assert not list(tmp_path.iterdir())


def test_a_trimesh_becomes_a_scene():
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box((1, 1, 1))
    box.visual.vertex_colors = (255, 0, 0, 255)
    two = trimesh.Scene()
    two.add_geometry(box, transform=trimesh.transformations.translation_matrix((-1, 0, 0)))
    two.add_geometry(box, transform=trimesh.transformations.translation_matrix((1, 0, 0)))
    for geometry, columns in [(box, 1), (two, 2)]:
        scene = raysieve.Scene.from_trimesh(geometry, camera_from=(0, 0))
        scene.size = (40, 20)
        result = render(scene, samples=16, layers=["material", "albedo"])
        row = result.layers["material"][10] >= 0
        assert int(row[0]) + int((row[1:] & ~row[:-1]).sum()) == columns
        red, green, _ = result.layers["albedo"][10][row].mean(axis=0)
        assert red > 10 * green
    with pytest.raises(TypeError, match="geometry"):
        raysieve.Scene.from_trimesh([1, 2, 3])


def test_cameras_are_pickled_and_scenes_say_why_not():
    camera = raysieve.Camera((1, 2, 3), (0, 0, 0), fov=40)
    assert pickle.loads(pickle.dumps(camera)) == camera
    with pytest.raises(TypeError, match="load or build it in each process"):
        pickle.dumps(cornell())
