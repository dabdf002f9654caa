"""Tests of the module `raysieve` through its public functions."""

import inspect
import os
import pathlib
import re
import signal
import threading

import numpy
import pytest
import raysieve

SCENES = pathlib.Path(os.environ["RAYSIEVE_SCENES"])
FURNACE = """(
    size: (8, 8), spp: 4, sky: (1, 1, 1),
    camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 60),
    materials: { "clay": Diffuse(albedo: (1, 1, 1)) },
    objects: [Sphere(center: (0, 0, 0), radius: 1, material: "clay")],
)"""


def cornell(**settings):
    scene = raysieve.Scene.load(SCENES / "cornell.ron")
    return raysieve.render(scene, **{"size": (32, 24), "samples": 8, "backend": "cpu", **settings})


def test_results_have_the_shape_and_type_that_they_promise():
    result = cornell(layers=["albedo", "normal", "depth", "samples", "denoised"])
    assert result.film.shape == (24, 32, 3) and result.film.dtype == numpy.float32
    assert result.image().shape == (24, 32, 3) and result.image().dtype == numpy.uint8
    shapes = {name: layer.shape for name, layer in result.layers.items()}
    color, number = (24, 32, 3), (24, 32)
    assert shapes == {"albedo": color, "normal": color, "depth": number, "samples": number, "denoised": color}
    assert (result.layers["samples"] == 8).all()
    assert result.layers["depth"].max() > 0 and 0 < result.layers["albedo"].max() <= 1
    assert result.stats["paths"] == 32 * 24 * 8 and result.stats["film_hash"] == result.film_hash
    result.film[0, 0] = 0


def test_films_depend_on_the_seed_and_not_on_strategy_or_threads():
    first = cornell()
    again = cornell(strategy="scan-scatter", threads=1)
    assert first.film_hash == again.film_hash and (first.film == again.film).all()
    assert cornell(seed=1).film_hash != first.film_hash


def test_a_white_furnace_is_one_everywhere():
    scene = raysieve.Scene.parse(FURNACE)
    film = raysieve.render(scene, backend="cpu", max_bounces=1000).film
    assert numpy.abs(film - 1).max() < 1e-5


def test_a_scene_keeps_its_settings_and_renders_do_not_change_it():
    scene = raysieve.Scene.parse(FURNACE)
    assert (scene.size, scene.samples, scene.max_bounces, scene.seed) == ((8, 8), 4, 8, 0)
    assert (scene.materials, scene.notes, scene.exposure, scene.tone) == (["clay"], [], 0.0, "srgb")
    result = raysieve.render(scene, size=(4, 2), samples=2, seed=3, backend="cpu")
    assert result.film.shape == (2, 4, 3) and scene.size == (8, 8)
    scene.size, scene.samples = (6, 5), 3
    assert raysieve.render(scene, backend="cpu").stats["paths"] == 6 * 5 * 3


def test_added_triangles_cover_the_sky():
    scene = raysieve.Scene.parse(FURNACE)
    copy = scene.copy()
    corners = [(-9, -9, 2), (9, -9, 2), (0, 9, 2)]
    assert scene.add_triangles(corners, [(0, 1, 2), (1, 1, 2)], "clay") == 1
    depth = raysieve.render(scene, backend="cpu", layers=["depth"]).layers["depth"]
    assert numpy.allclose(depth[2:6, 2:6], 2)
    assert numpy.isinf(raysieve.render(copy, backend="cpu", layers=["depth"]).layers["depth"]).any()


@pytest.mark.parametrize(
    "positions, triangles, material, problem",
    [
        ([(0, 0, 0)], [(0, 0, 1)], "clay", "indices from 0 to 0"),
        ([(0, 0, 0)], [(0, 0, -1)], "clay", "indices from 0 to 0"),
        ([(0, 0)], [(0, 0, 0)], "clay", r"shape \(n, 3\)"),
        ([(0, 0, float("nan"))], [(0, 0, 0)], "clay", r"positions\[0\] is"),
        ([(0, 0, 2e8)], [(0, 0, 0)], "clay", "-1e8 to 1e8"),
        ([(0, 0, 0)], [(0, 0, 0)], "gold", 'no material "gold"'),
    ],
)
def test_wrong_triangles_are_refused(positions, triangles, material, problem):
    scene = raysieve.Scene.parse(FURNACE)
    with pytest.raises((ValueError, raysieve.RaysieveError), match=problem):
        scene.add_triangles(positions, triangles, material)


def test_errors_are_one_line_that_names_the_object(tmp_path):
    (tmp_path / "image.png").touch()
    for path, problem in [("missing.ron", "does not exist"), ("image.png", "expected a scene")]:
        with pytest.raises(raysieve.RaysieveError, match=problem) as caught:
            raysieve.Scene.load(tmp_path / path)
        assert "\n" not in str(caught.value)
    with pytest.raises(raysieve.RaysieveError, match=r"text.ron:1:\d+"):
        raysieve.Scene.parse("(camera: 3)")
    scene = raysieve.Scene.parse(FURNACE)
    for argument, value in [("backend", "gpu"), ("strategy", "fast"), ("layers", ["light"])]:
        with pytest.raises(ValueError, match=value if isinstance(value, str) else value[0]):
            raysieve.render(scene, **{argument: value})
    with pytest.raises(ValueError, match="expected one of srgb"):
        raysieve.render(scene, backend="cpu").image(tone="film")


@pytest.mark.parametrize(
    "setting, value, problem",
    [
        ("samples", -1, r"^samples -1: expected 1 to 4294967295$"),
        ("samples", 0, r"^samples 0: expected 1 to"),
        ("samples", 2**32, r"^samples 4294967296: expected 1 to"),
        ("max_bounces", -1, r"^max_bounces -1: expected 0 to 4096$"),
        ("max_bounces", 4097, r"^max_bounces 4097: expected 0 to"),
        ("seed", -1, r"^seed -1: expected 0 to 4294967295$"),
        ("seed", 2**64, r"^seed 18446744073709551616: expected 0 to"),
        ("size", (0, 1), r"^the width in size 0: expected 1 to 65536$"),
        ("size", (1, -1), r"^the height in size -1: expected 1 to"),
        ("size", (60_000, 60_000), r"^size 60000x60000: expected at most 268435456 pixels$"),
        ("threads", 0, r"^threads 0: expected 1 to 1024$"),
        ("threads", -1, r"^threads -1: expected"),
    ],
)
def test_a_setting_out_of_range_is_named_with_its_range(setting, value, problem):
    scene = raysieve.Scene.parse(FURNACE)
    with pytest.raises(ValueError, match=problem):
        raysieve.render(scene, **{setting: value})
    if setting != "threads":
        with pytest.raises(ValueError, match=problem):
            setattr(scene, setting, value)
        assert (scene.size, scene.samples, scene.max_bounces, scene.seed) == ((8, 8), 4, 8, 0)


@pytest.mark.parametrize(
    "setting, value",
    [("samples", 1.5), ("seed", "1"), ("size", 8), ("size", (1, 2, 3)), ("size", (8, 8.0)), ("threads", "all")],
)
def test_a_setting_that_is_no_whole_number_is_named(setting, value):
    with pytest.raises(TypeError, match=setting):
        raysieve.render(raysieve.Scene.parse(FURNACE), **{setting: value})


def test_a_callback_sees_progress_and_can_stop():
    seen = []

    def callback(progress):
        seen.append((progress.fraction, progress.film().shape, progress.image().shape))
        return len(seen) < 3

    result = cornell(size=(64, 64), samples=100_000, callback=callback)
    assert len(seen) == 3
    assert all(film == image == (64, 64, 3) for _, film, image in seen)
    fractions = [fraction for fraction, _, _ in seen]
    assert fractions == sorted(fractions) and 0 < fractions[-1] < 1
    assert 0 < result.stats["paths"] < 64 * 64 * 100_000


def test_control_c_interrupts_a_render():
    # Python leaves the signal ignored where the test was started in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        cornell(size=(256, 256), samples=10_000_000)


def test_saved_images_have_their_format(tmp_path):
    result = cornell(layers=["albedo"])
    result.save(tmp_path / "image.png")
    result.save(tmp_path / "image.exr")
    assert (tmp_path / "image.png").read_bytes().startswith(b"\x89PNG")
    content = (tmp_path / "image.exr").read_bytes()
    assert content.startswith(b"\x76\x2f\x31\x01") and b"albedo.R" in content
    with pytest.raises(raysieve.RaysieveError, match="image.gif"):
        result.save(tmp_path / "image.gif")


def test_stubs_have_the_same_functions_and_arguments():
    stubs = pathlib.Path(raysieve.__file__).with_suffix(".pyi").read_text()
    for name in raysieve.__all__:
        assert re.search(rf"^(class|def) {name}\b", stubs, re.MULTILINE), name
        assert getattr(raysieve, name).__doc__, name
    in_stub = re.search(r"^def render\((.*?)\) ->", stubs, re.MULTILINE | re.DOTALL).group(1)
    arguments = re.findall(r"^ +(\w+):", in_stub, re.MULTILINE)
    assert arguments == list(inspect.signature(raysieve.render).parameters)
    for type in (raysieve.Scene, raysieve.Progress, raysieve.Result, raysieve.Renderer, raysieve.Camera):
        in_stub = stubs.split(f"class {type.__name__}:")[1].split("\nclass ")[0].split("\ndef ")[0]
        for name in vars(type):
            if not name.startswith("_"):
                assert re.search(rf"\b{name}\b", in_stub), f"{type.__name__}.{name}"
