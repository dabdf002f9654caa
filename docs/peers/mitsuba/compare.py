"""Compares Raysieve with Mitsuba 3 on a CPU: speed, noise, and the time to equal quality.

Both render the same six scenes with a box filter and without `clamp_indirect`. Times exclude the tracing and
compilation of Mitsuba's kernels, the loading of scenes and the construction of trees.

    pip install mitsuba==3.9.1 numpy       and LLVM, such as Debian's libllvm19
    cargo build && python docs/peers/mitsuba/compare.py

If several versions of LLVM are installed, `DRJIT_LIBLLVM_PATH` names the library to use.
`cargo test` replaces the program by a slower one that checks for overflows, so build it again before a comparison.
The error of an image is estimated from the differences between the rounds, so that no reference is needed.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import drjit as dr
import mitsuba as mi
import numpy as np

import materials
import scene

REPOSITORY = Path(__file__).resolve().parents[3]
SCENES = ("cornell", "mesh", "gltf_model", "many_lights", "sun_sky", "meadow")
# Columns of the table. The ratios are above 1 where Raysieve is better.
COLUMNS = (
    "scene",
    "Raysieve, Mpaths/s",
    "Mitsuba, Mpaths/s",
    "speed",
    "speed by processor time",
    "Raysieve's error",
    "Mitsuba's error",
    "error",
    "error × seconds",
    "error × processor seconds",
    "luminance",
    "Mitsuba's integrator",
    "load",
)


def scene_copy(name, folder):
    """Writes a copy of a scene with a box filter and without `clamp_indirect`, and returns its path."""
    text = (REPOSITORY / "scenes" / f"{name}.ron").read_text()
    text = re.sub(r",?\s*filter: \w+\([^)]*\)", "", text)
    text = re.sub(r"\n\s*clamp_indirect: [^\n]*", "", text)
    text = text.replace('file: "../', f'file: "{REPOSITORY}/')
    path = Path(folder) / f"{name}.ron"
    path.write_text(text)
    return path


class Raysieve:
    """Renders a scene with the program `raysieve` on the CPU."""

    def __init__(self, options, name, folder):
        self.scene, self.folder = scene_copy(name, folder), Path(folder)
        self.command = [options.raysieve, self.scene, "--headless", "--backend", "cpu", "--threads", options.threads]
        self.command += ["--size", f"{options.size}x{options.size}", "--max-bounces", options.bounces]

    def render(self, samples, seed):
        """Returns an image, and the wall and processor seconds of its render. `samples` is 2 or more."""
        start = children_seconds()
        self.run(1, seed)
        middle = children_seconds()
        image, seconds = self.run(samples, seed)
        # The difference of the runs is without loading the scene, building its trees and writing the image.
        more = (children_seconds() - middle) - (middle - start)
        return image, seconds, more * samples / (samples - 1)

    def run(self, samples, seed):
        image, stats = self.folder / "image.exr", self.folder / "stats.json"
        more = ["--spp", samples, "--seed", seed, "-o", image, "--stats", stats]
        subprocess.run([str(word) for word in self.command + more], check=True, capture_output=True)
        return np.array(mi.Bitmap(str(image)))[:, :, :3].astype(float), json.loads(stats.read_text())["seconds"]


class Mitsuba:
    """Renders a scene with Mitsuba in this process."""

    def __init__(self, options, name, folder):
        path, size = REPOSITORY / "scenes" / f"{name}.ron", options.size
        self.variant = scene.variant(path)
        mi.set_variant(self.variant)
        materials.register()
        made = scene.load(path, folder, size, size, options.bounces, options.sampler, options.integrator)
        self.scene, self.integrator = made

    def render(self, samples, seed):
        """Returns an image, and the wall and processor seconds of its render. `samples` is 2 or more."""
        one, all_samples = self.run(1, seed), self.run(samples, seed)
        # The difference of the runs is without the tracing of the kernel, which takes up to a second per render.
        seconds, processor = ((many - few) * samples / (samples - 1) for few, many in zip(one[1:], all_samples[1:]))
        return all_samples[0], seconds, processor

    def run(self, samples, seed):
        begun, before = time.monotonic(), time.process_time()
        image = mi.render(self.scene, spp=samples, seed=seed)
        dr.eval(image)
        dr.sync_thread()
        seconds, processor = time.monotonic() - begun, time.process_time() - before
        return np.array(image)[:, :, :3].astype(float), seconds, processor


def children_seconds():
    """Returns the processor time of all finished child processes in seconds, user and system."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def squared_error(images, power):
    """Returns the relative mean squared error of one of several independent images, estimated from their differences.

    It is the mean over the pixels of the variance divided by `power`, the squared value of each pixel plus a little
    against division by 0. The thousandth of the pixels with the largest errors is left out, because otherwise a few
    pixels with caustics decide.
    """
    variance = np.var(images, axis=0, ddof=1).sum(-1)
    errors = np.sort((variance / power).ravel())
    return float(errors[: round(len(errors) * 0.999)].mean())


def luminance(image):
    """Returns the mean luminance of an image in linear sRGB."""
    return float((image @ [0.2126, 0.7152, 0.0722]).mean())


def write_pictures(folder, name, images):
    """Writes the images of both renderers as PNG files.

    Both have the same exposure: white is five times the mean luminance of Raysieve's image.
    """
    folder.mkdir(parents=True, exist_ok=True)
    white = 5 * luminance(images[0])
    for image, renderer in zip(images, ("raysieve", "mitsuba")):
        shown = mi.Bitmap(np.clip(image / white, 0, 1).astype(np.float32))
        shown = shown.convert(mi.Bitmap.PixelFormat.RGB, mi.Struct.Type.UInt8, True)
        shown.write(str(folder / f"{name}-{renderer}.png"))


def measure(options, name):
    """Renders a scene in turn with both and prints its row of the table."""
    walls, processors, images = ([], []), ([], []), ([], [])
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        renderers = Raysieve(options, name, ours), Mitsuba(options, name, theirs)
        # Round 0 compiles the kernels and is not counted.
        for number in range(options.rounds + 1):
            for each, renderer in enumerate(renderers):
                image, wall, processor = renderer.render(options.spp, number)
                if number > 0:
                    walls[each].append(wall)
                    processors[each].append(processor)
                    images[each].append(image)
    means = [np.mean(each, axis=0) for each in images]
    power = (means[0] ** 2).sum(-1)
    error = [squared_error(each, power + 0.01 * power.mean()) for each in images]
    wall, processor = ([statistics.median(each) for each in both] for both in (walls, processors))
    if options.pictures:
        write_pictures(options.pictures, name, means)
    paths = options.size**2 * options.spp / 1e6
    speeds = [
        f"{paths / median:.2f} ({paths / max(each):.2f} to {paths / min(each):.2f})"
        for median, each in zip(wall, walls)
    ]
    speed, by_processor, quality = wall[1] / wall[0], processor[1] / processor[0], error[1] / error[0]
    print_row(
        f"`{name}`",
        *speeds,
        f"{speed:.2f}",
        f"{by_processor:.2f}",
        *(f"{each:.3g}" for each in error),
        f"{quality:.2f}",
        f"{quality * speed:.2f}",
        f"{quality * by_processor:.2f}",
        f"{luminance(means[0]) / luminance(means[1]):.3f}",
        f"{renderers[1].integrator}, {renderers[1].variant}",
        f"{os.getloadavg()[0]:.1f}",
    )


def print_row(*cells):
    print(f"| {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", default=SCENES, metavar="scene", help=f"of {', '.join(SCENES)}")
    parser.add_argument("--raysieve", type=Path, default=REPOSITORY / "target/debug/raysieve", help="the program")
    parser.add_argument("--size", type=int, default=512, help="width and height in pixels")
    parser.add_argument("--spp", type=int, default=8, help="samples per pixel of a measured render")
    parser.add_argument("--bounces", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sampler", default="multijitter", help="Mitsuba's sampler")
    parser.add_argument("--integrator", help="Mitsuba's integrator [default: the one that fits the scene]")
    parser.add_argument(
        "--pictures", type=Path, metavar="FOLDER", help="also write the means of the rounds as PNG files"
    )
    options = parser.parse_args()
    dr.set_thread_count(options.threads)
    print_row(*COLUMNS)
    print_row("---", *["---:"] * (len(COLUMNS) - 1))
    for name in options.scenes:
        measure(options, name)


if __name__ == "__main__":
    main()
