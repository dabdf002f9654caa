"""Times whole paths of Mitsuba 3 on a CPU.

The work equals `raysieve SCENE --headless --backend cpu --threads 2 --size 1024x1024 --spp 16 --max-bounces 8`. Times
exclude Mitsuba's compilation and the construction of its trees.

    pip install mitsuba==3.9.1       and LLVM, such as Debian's libllvm19
    python docs/peers/mitsuba_paths.py cornell        or mesh
"""

import argparse
import os
import tempfile
import time

import drjit as dr
import mitsuba as mi
import numpy as np

PIXELS = 1024
RINGS, SECTORS = 512, 1024
# `max_depth` counts path segments, which are one more than the scatterings that `--max-bounces` counts.
INTEGRATOR = {"type": "path", "max_depth": 9, "rr_depth": 5}


def film():
    return {"type": "hdrfilm", "width": PIXELS, "height": PIXELS, "rfilter": {"type": "box"}}


def cornell():
    """Returns the scene of `scenes/cornell.ron`."""
    scene = mi.cornell_box()
    scene["sensor"]["film"].update(film())
    scene["integrator"] = INTEGRATOR
    return mi.load_dict(scene)


def bumpy_sphere():
    """Returns vertices and triangle indices of the sphere in `scenes/mesh.ron`: 1.05 million triangles."""
    u = np.pi * np.arange(RINGS + 1)[:, None] / RINGS
    v = 2 * np.pi * np.arange(SECTORS)[None] / SECTORS
    r = 1 + 0.08 * np.sin(9 * u) * np.cos(7 * v) + 0.03 * np.sin(31 * u + 1) * np.sin(29 * v)
    points = np.stack([r * np.sin(u) * np.cos(v), r * np.cos(u), r * np.sin(u) * np.sin(v)], -1)
    ring, sector = np.arange(RINGS)[:, None] * SECTORS, np.arange(SECTORS)[None]
    beside = (sector + 1) % SECTORS
    a, b, c, d = ring + sector, ring + beside, ring + SECTORS + beside, ring + SECTORS + sector
    triangles = [np.stack(corners, -1).reshape(-1, 3) for corners in ((a, b, c), (a, c, d))]
    return points.reshape(-1, 3).astype(np.float32), np.concatenate(triangles).astype(np.uint32)


def mesh():
    """Returns the scene of `scenes/mesh.ron`."""
    points, triangles = bumpy_sphere()
    made = mi.Mesh("sphere", len(points), len(triangles))
    parameters = mi.traverse(made)
    parameters["vertex_positions"] = points.ravel()
    parameters["faces"] = triangles.ravel()
    parameters.update()
    transform = mi.ScalarTransform4f
    look = transform().look_at([0, 2, 5], [0, 0, 0], [0, 1, 0])
    ground = transform().translate([0, -1.1, 0]).rotate([1, 0, 0], -90).scale([4, 4, 1])

    def diffuse(*albedo):
        return {"type": "diffuse", "reflectance": {"type": "rgb", "value": list(albedo)}}

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "sphere.ply")
        made.write_ply(path)
        return mi.load_dict({
            "type": "scene",
            "integrator": INTEGRATOR,
            "sensor": {
                "type": "perspective",
                "fov": 40,
                "to_world": look,
                "film": film(),
                "sampler": {"type": "independent"},
            },
            "sky": {"type": "constant", "radiance": {"type": "rgb", "value": [0.8, 0.9, 1.0]}},
            "sphere": {
                "type": "ply",
                "filename": path,
                "face_normals": True,
                "bsdf": {"type": "twosided", "both": diffuse(0.7, 0.5, 0.3)},
            },
            "ground": {"type": "rectangle", "to_world": ground, "bsdf": diffuse(0.5, 0.5, 0.5)},
        })


def main():
    scenes = {"cornell": cornell, "mesh": mesh}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene", choices=scenes)
    parser.add_argument("--spp", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    dr.set_thread_count(options.threads)
    scene = scenes[options.scene]()
    for number in range(options.rounds):
        begun = time.monotonic()
        image = mi.render(scene, spp=options.spp, seed=number)
        dr.eval(image)
        dr.sync_thread()
        seconds = time.monotonic() - begun
        speed = PIXELS * PIXELS * options.spp / seconds / 1e6
        mean = np.array(image).mean(axis=(0, 1))
        compiles = ", compilation included" if number == 0 else ""
        print(f"{options.scene}: {speed:.3f} Mpaths/s, mean {mean}{compiles}", flush=True)


if __name__ == "__main__":
    mi.set_variant("llvm_ad_rgb")
    main()
