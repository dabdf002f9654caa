"""Traces paths with Mitsuba 3, and keeps exactly the rays that hit at each bounce with compaction.

On a GPU, Mitsuba traces rays with OptiX, and its arrays stay on the device. Per bounce, the program intersects all rays,
selects the indices of the hits, gathers the state of these paths, and scatters them at diffuse surfaces. It prints the
number of rays and hits of each bounce, the time of the selection next to that of Dr.Jit's own ``dr.compress``, whether
both selected the same indices, and the time of whole renders::

    pip install mitsuba numpy
    cargo build --release -p compaction-capi
    export COMPACTION_LIBRARY=target/release/libcompaction_capi.so PYTHONPATH=capi/python
    python capi/examples/mitsuba_hits.py --scene cornell
    python capi/examples/mitsuba_hits.py --scene sphere --backend llvm --size 128   # on the CPU; needs LLVM
"""

import argparse
import ctypes
import os
import statistics
import sys
import time

import compaction
import drjit as dr
import mitsuba as mi
import numpy as np


def parse_arguments():
    parser = argparse.ArgumentParser(description="Mitsuba's rays, compacted at each bounce")
    parser.add_argument("--backend", choices=["cuda", "llvm"], default="cuda")
    parser.add_argument("--scene", choices=["cornell", "sphere"], default="cornell")
    parser.add_argument("--size", type=int, default=1024, help="width and height of the image in pixels")
    parser.add_argument("--samples", type=int, default=16, help="paths per pixel, traced at once")
    parser.add_argument("--bounces", type=int, default=8, help="rays of a path at most")
    parser.add_argument("--repeat", type=int, default=9, help="measurements, of which the median is printed")
    parser.add_argument("--image", help="writes the image to this file")
    return parser.parse_args()


# ----------------------------------------------------------------------------------------------------------- scenes


def film(size):
    return {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}


def cornell(size):
    """Returns the Cornell box with diffuse surfaces. Few rays leave it, through the open front."""
    scene = mi.cornell_box()
    scene["sensor"]["film"] = film(size)
    return mi.load_dict(scene)


def displaced_sphere(columns=1024, rows=512):
    """Returns a displaced sphere of 2 * columns * rows triangles, 1.05 million by default."""
    longitude, latitude = np.meshgrid(
        np.linspace(0, 2 * np.pi, columns + 1), np.linspace(1e-3, np.pi - 1e-3, rows + 1)
    )
    radius = 1 + 0.03 * np.sin(24 * longitude) * np.sin(24 * latitude) * np.sin(latitude)
    points = radius * np.array(
        [np.sin(latitude) * np.cos(longitude), np.cos(latitude), np.sin(latitude) * np.sin(longitude)]
    )
    corner = np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)
    faces = np.stack(
        [corner, corner + 1, corner + columns + 2, corner, corner + columns + 2, corner + columns + 1], axis=-1
    )
    material = mi.Properties()
    material["bsdf"] = mi.load_dict({"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.7, 0.6, 0.5]}})
    mesh = mi.Mesh("sphere", points[0].size, faces.size // 3, props=material)
    parameters = mi.traverse(mesh)
    parameters["vertex_positions"] = mi.Float(points.reshape(3, -1).T.ravel())
    parameters["faces"] = mi.UInt32(faces.ravel().astype(np.uint32))
    parameters.update()
    return mesh


def sphere(size):
    """Returns the displaced sphere on a plane under an open sky, which most rays reach after one or two bounces."""
    look_at = mi.ScalarTransform4f().look_at(origin=[0, 1.5, 4.5], target=[0, 0, 0], up=[0, 1, 0])
    flat = mi.ScalarTransform4f().translate([0, -1, 0]).rotate([1, 0, 0], -90).scale(6)
    return mi.load_dict(
        {
            "type": "scene",
            "integrator": {"type": "path"},
            "sensor": {"type": "perspective", "fov": 40, "to_world": look_at, "film": film(size)},
            "sphere": displaced_sphere(),
            "ground": {"type": "rectangle", "to_world": flat, "bsdf": {"type": "diffuse"}},
            "sky": {"type": "constant", "radiance": {"type": "rgb", "value": [0.6, 0.8, 1.0]}},
        }
    )


# -------------------------------------------------------------------------------------------------------- selection


def stream():
    """Returns the CUDA stream on which Dr.Jit runs this thread's work, or 0 on the CPU."""
    if not mi.variant().startswith("cuda"):
        return 0
    core = ctypes.CDLL(os.path.join(os.path.dirname(dr.__file__), "libdrjit-core.so"))
    current = core._Z15jit_cuda_streamv  # void *jit_cuda_stream()
    current.restype = ctypes.c_void_p
    return current()


class Selection:
    """The indices of the nonzero flags of up to `capacity` rays, by compaction."""

    def __init__(self, capacity):
        self.indices = dr.empty(mi.UInt32, capacity)
        self.count = dr.empty(mi.UInt32, 1)
        self.stream = stream()
        self.on_gpu = mi.variant().startswith("cuda")

    def enqueue(self, flags):
        """Selects on Dr.Jit's stream, and does not wait. The indices and their number stay on the device."""
        if not self.on_gpu:
            dr.sync_thread()
        compaction.select(dr.detach(flags), self.indices, self.count, stream=self.stream)

    def __call__(self, flags):
        """Returns the selected indices as an array, whose width Dr.Jit must know on the host."""
        self.enqueue(flags)
        return dr.gather(mi.UInt32, self.indices, dr.arange(mi.UInt32, self.count[0]))


# ------------------------------------------------------------------------------------------------------------ paths


def camera_rays(scene, size, samples):
    """Returns rays, and random numbers and a pixel for each, of `samples` paths per pixel."""
    path = dr.arange(mi.UInt32, size * size * samples)
    pixel = path // samples
    random = mi.PCG32(size=dr.width(path))
    x = (mi.Float(pixel % size) + random.next_float32()) / size
    y = (mi.Float(pixel // size) + random.next_float32()) / size
    ray, _ = scene.sensors()[0].sample_ray(0, 0.5, mi.Point2f(x, y), mi.Point2f(0.5))
    return mi.Ray3f(ray.o, ray.d), random, pixel


def scatter(scene, ray, hit, throughput, random, active):
    """Returns the light that surfaces emit to their rays, and the next rays with their throughput."""
    surface = hit.compute_surface_interaction(ray, mi.RayFlags.All, active)
    light = throughput * surface.emitter(scene).eval(surface, active)
    numbers = mi.Point2f(random.next_float32(), random.next_float32())
    sample, weight = surface.bsdf().sample(mi.BSDFContext(), surface, 0.5, numbers, active)
    return light, surface.spawn_ray(surface.to_world(sample.wo)), throughput * weight


def render(scene, size, samples, bounces, select, observe=None):
    """Returns the image. `select` turns the flags of the hits into indices; without it all lanes stay to the end.

    `observe`, if given, receives the flags of each bounce.
    """
    image = dr.zeros(mi.Float, 3 * size * size)
    ray, random, pixel = camera_rays(scene, size, samples)
    throughput = mi.Color3f(1) + dr.zeros(mi.Float, dr.width(pixel))
    active = dr.full(mi.Bool, True, dr.width(pixel))
    sky = scene.environment()

    def add(light, pixel, active=True):
        for channel in range(3):
            dr.scatter_add(image, light[channel] / samples, 3 * pixel + channel, active)

    for bounce in range(bounces):
        hit = scene.ray_intersect_preliminary(ray, False, active=active)
        is_hit = hit.is_valid() & active
        if sky is not None:
            missed = dr.zeros(mi.SurfaceInteraction3f, dr.width(pixel))
            missed.wi = -ray.d
            add(throughput * sky.eval(missed), pixel, active & ~is_hit)
        dr.eval(hit, is_hit, ray, throughput, random, pixel, image)
        if observe is not None:
            observe(bounce, is_hit)
        if select is None:
            active = is_hit
        else:
            index = select(is_hit)
            if dr.width(index) == 0:
                break
            ray, throughput, pixel = (dr.gather(type(state), state, index) for state in (ray, throughput, pixel))
            hit, random = (dr.gather(type(state), state, index) for state in (hit, random))
            active = dr.full(mi.Bool, True, dr.width(index))
        light, ray, throughput = scatter(scene, ray, hit, throughput, random, active)
        add(light, pixel, active)
        active &= dr.max(throughput) > 0
        dr.eval(ray, throughput, random, pixel, image, active)
    return image


# ----------------------------------------------------------------------------------------------------- measurements


def milliseconds(work, repeat):
    """Returns the median time of `work`, of which the result exists at the end."""
    times = []
    for _ in range(repeat):
        dr.sync_thread()
        start = time.perf_counter()
        result = work()
        dr.eval(result)
        dr.sync_thread()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def main():
    arguments = parse_arguments()
    mi.set_variant(f"{arguments.backend}_ad_rgb")
    scene = {"cornell": cornell, "sphere": sphere}[arguments.scene](arguments.size)
    rays = arguments.size**2 * arguments.samples
    select = Selection(rays)
    rows, failures = [], 0

    def observe(bounce, flags):
        nonlocal failures
        ours, theirs = select(flags), dr.compress(flags)
        is_equal = dr.width(ours) == dr.width(theirs) and bool(dr.all(ours == theirs))
        failures += not is_equal
        back_to_back = 20

        def enqueue_many():
            for _ in range(back_to_back):
                select.enqueue(flags)

        rows.append(
            (
                bounce,
                dr.width(flags),
                dr.width(theirs),
                1000 * milliseconds(enqueue_many, arguments.repeat) / back_to_back,
                1000 * milliseconds(lambda: (select.enqueue(flags), select.count[0])[0], arguments.repeat),
                1000 * milliseconds(lambda: dr.compress(flags), arguments.repeat),
                is_equal,
            )
        )

    def image_with(selection, observer=None):
        return render(scene, arguments.size, arguments.samples, arguments.bounces, selection, observer)

    image_with(select)  # compiles the kernels
    images = {"compaction": image_with(select, observe)}
    print(f"{arguments.scene}, {arguments.size} x {arguments.size}, {arguments.samples} paths per pixel, {mi.variant()}")
    print("times in microseconds: a call among others, a call with its count read on the host, dr.compress")
    print("bounce       rays       hits  share    queued  with count  dr.compress  same indices")
    for bounce, all_rays, hits, queued, read, compress, is_equal in rows:
        print(
            f"{bounce:6} {all_rays:10} {hits:10} {hits / all_rays:6.1%} {queued:9.1f} {read:11.1f} {compress:12.1f}"
            f"  {'yes' if is_equal else 'NO'}"
        )
    print("whole renders, milliseconds:")
    for name, selection in (("compaction", select), ("dr.compress", dr.compress), ("no compaction", None)):
        images[name] = image_with(selection)
        print(f"  {name:14} {milliseconds(lambda: image_with(selection), arguments.repeat):9.2f}")
    means = {name: float(np.mean(np.array(image))) for name, image in images.items()}
    reference = means["dr.compress"]
    if any(abs(mean - reference) > 1e-4 * reference for mean in means.values()):
        failures += 1
        print(f"the images differ: {means}")
    if arguments.image:
        pixels = np.array(images["compaction"]).reshape(arguments.size, arguments.size, 3)
        mi.util.write_bitmap(arguments.image, mi.TensorXf(pixels))
    compaction.clear()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
