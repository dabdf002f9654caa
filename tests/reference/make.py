"""Writes the references of tests/reference.rs from renders by Mitsuba: make.py FOLDER.

FOLDER contains renders of 256 x 256 pixels by Mitsuba 3.9.1 (llvm_ad_rgb). NAME.exr is the mean radiance over 8,192 or
16,384 samples per pixel, and NAME_se.exr the standard error of that mean. The references are the means over blocks of
8 x 8 pixels, and their standard errors. Needs the packages numpy and OpenEXR.
"""
import sys
from pathlib import Path

import numpy as np
import OpenEXR

# Names of the renders: the Cornell box with paths of at most 8 and of at most 2 edges, a thin lens, and the box with
# spheres of gold, glass and mirror; rough metal and rough glass under a constant sky, with single scattering only; spheres
# on a plane under a constant sky and under one from white to blue.
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
