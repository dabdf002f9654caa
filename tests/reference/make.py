"""make.py FOLDER: the references of tests/reference.rs, as small as the test needs them.

FOLDER holds renders by Mitsuba 3.9.1 (llvm_ad_rgb) of 256 x 256 pixels: NAME.exr, the mean radiance over 8,192 or 16,384
samples a pixel, and NAME_se.exr, the standard error of that mean. Of each, blocks of 8 x 8 pixels are kept: NAME.exr gets
a block's mean radiance, NAME_se.exr the standard error of that. Needs the packages numpy and OpenEXR.
"""
import sys
from pathlib import Path

import numpy as np
import OpenEXR

# The Cornell box with at most 8 edges a path, and with 2; a thin lens; the box with spheres of gold, glass and mirror; rough
# metal and rough glass under an even sky, without what they scatter more than once; spheres on a plane under an even sky, and
# under one from white to blue.
NAMES = [
    "a_cornell_d8",
    "a_cornell_d2",
    "g_dof",
    "b_cornell_spheres",
    "d_furnace_roughconductor",
    "d_furnace_roughdielectric",
    "e_env_const",
    "e_env_gradient",
]
BLOCK = 8


def read(path):
    with OpenEXR.File(str(path)) as file:
        channels = file.channels()
        return channels[next(name for name in ("RGB", "RGBA") if name in channels)].pixels[..., :3].astype(np.float64)


def block_sums(pixels):
    height, width, _ = pixels.shape
    return pixels.reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3).sum((1, 3))


def write(path, pixels):
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    with OpenEXR.File(header, {"RGB": pixels.astype(np.float32)}) as file:
        file.write(str(path))


source, target = Path(sys.argv[1]), Path(__file__).parent
for name in NAMES:
    write(target / f"{name}.exr", block_sums(read(source / f"{name}.exr")) / BLOCK**2)
    write(target / f"{name}_se.exr", np.sqrt(block_sums(read(source / f"{name}_se.exr") ** 2)) / BLOCK**2)
