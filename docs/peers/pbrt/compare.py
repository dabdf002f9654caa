"""Compares renders of the scenes tests/imported/pbrt/*.pbrt with those of pbrt-v4 itself.

    compare.py PBRT RAYSIEVE [NAME...]

PBRT and RAYSIEVE are the programs. Each scene is rendered twice: as it is, and with each colour replaced by the grey of
the mean of its channels, because pbrt multiplies spectra where Raysieve multiplies RGB. Prints one line for each of
these: the part of the blocks of 8 x 8 pixels whose difference is less than four standard errors, with a tolerance of
0.1 % of the block, and the difference of the means of red, green and blue in percent. Needs the packages numpy and
OpenEXR, and the program `convert` of ImageMagick.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import OpenEXR

BLOCK = 8
SEEDS = range(1, 5)
SAMPLES = {"pbrt": 512, "raysieve": 2048}
TOLERANCE = 0.001
SCENES = Path(__file__).resolve().parents[3] / "tests/imported/pbrt"
COLOUR = re.compile(r'("rgb \w+"\s*)\[\s*(\S+\s+\S+\s+\S+)\s*\]')


def grey(match):
    mean = np.mean([float(channel) for channel in match[2].split()])
    return f"{match[1]}[ {mean:.6g} {mean:.6g} {mean:.6g} ]"


def write_scenes(folder, is_grey):
    """Copies the scenes to a folder, with independent samples and images of 32 bits per channel."""
    for path in SCENES.iterdir():
        if path.suffix != ".pbrt":
            shutil.copy(path, folder)
            if is_grey and path.suffix == ".png" and path.stem.startswith("tiles"):
                image = str(folder / path.name)
                subprocess.run(["convert", image, "-colorspace", "Gray", "-type", "TrueColor", image], check=True)
            continue
        text = path.read_text().replace('"zsobol"', '"independent"')
        text = text.replace('Integrator "path"', 'Integrator "path" "string lightsampler" "power"')
        text = text.replace('Film "rgb"', 'Film "rgb" "bool savefp16" false')
        (folder / path.name).write_text(COLOUR.sub(grey, text) if is_grey else text)


def blocks(path):
    """Returns the means of the blocks of an image, as rows x columns x channels."""
    channels = OpenEXR.File(str(path)).channels()
    packed = channels.get("RGB") or channels.get("RGBA")
    pixels = packed.pixels[..., :3] if packed else np.stack([channels[name].pixels for name in "RGB"], -1)
    height, width, _ = pixels.shape
    tiled = pixels.astype(np.float64).reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3)
    return tiled.mean((1, 3))


def smoothed(variance):
    """Returns the means over each block and its eight neighbours, as few seeds give coarse variances."""
    rows, columns, _ = variance.shape
    padded = np.pad(variance, ((1, 1), (1, 1), (0, 0)), mode="edge")
    return sum(padded[y : y + rows, x : x + columns] for y in range(3) for x in range(3)) / 9


def estimate(command, folder):
    """Renders with each seed, and returns mean and variance of the mean of each block."""
    images = []
    for seed in SEEDS:
        path = folder / "image.exr"
        subprocess.run([*command(seed, str(path))], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        images.append(blocks(path))
    return np.mean(images, 0), smoothed(np.var(images, 0, ddof=1) / len(images))


def main(pbrt, raysieve, names):
    for is_grey in (True, False):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            write_scenes(folder, is_grey)
            for path in sorted(folder.glob("*.pbrt")):
                if "WorldBegin" not in path.read_text() or (names and path.stem not in names):
                    continue
                scene = str(path)
                by_pbrt = lambda seed, image: (
                    [pbrt, "--quiet", "--seed", str(seed), "--spp", str(SAMPLES["pbrt"]), "--outfile", image, scene]
                )
                by_us = lambda seed, image: (
                    [raysieve, scene, "--headless", "--seed", str(seed), "--spp", str(SAMPLES["raysieve"]), "-o", image]
                )
                (theirs, their_variance), (ours, our_variance) = estimate(by_pbrt, folder), estimate(by_us, folder)
                error = np.sqrt(their_variance + our_variance + (TOLERANCE * theirs) ** 2)
                within = np.mean(np.abs(ours - theirs) <= 4 * error)
                means = theirs.mean((0, 1))
                ratio = (ours.mean((0, 1)) - means) / np.maximum(means, 1e-9) * 100
                kind = "grey" if is_grey else "colour"
                print(f"{kind:7}{path.stem:22}{within:8.2%}", "".join(f"{part:+8.2f}" for part in ratio), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
