"""Writes the references of tests/imported.rs: make.py [NAME...].

Renders the scenes tests/imported/mitsuba/NAME.xml, or all of them, by Mitsuba 3.9.1 (llvm_ad_rgb), with 64 seeds of 64
samples per pixel each. A reference NAME.exr contains two images of the same size, one above the other: the means over
blocks of 8 x 8 pixels, and their standard errors. Needs the packages mitsuba and numpy, and the library LLVM.
"""
import sys
from pathlib import Path

import mitsuba as mi
import numpy as np

mi.set_variant("llvm_ad_rgb")
BLOCK = 8
SEEDS = 64
SAMPLES = 64


def blocks(scene, seed):
    pixels = np.array(mi.render(scene, seed=seed, spp=SAMPLES), dtype=np.float64)[..., :3]
    height, width, _ = pixels.shape
    return pixels.reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3).mean((1, 3))


folder = Path(__file__).parent / "mitsuba"
names = sys.argv[1:] or sorted(path.stem for path in folder.glob("*.xml") if "<sensor" in path.read_text())
for name in names:
    scene = mi.load_file(str(folder / f"{name}.xml"))
    batches = np.array([blocks(scene, seed) for seed in range(SEEDS)])
    error = batches.std(0, ddof=1) / np.sqrt(SEEDS)
    both = np.concatenate([batches.mean(0), error]).astype(np.float32)
    mi.Bitmap(both).write(str(folder / f"{name}.exr"))
    print(name, both.shape, flush=True)
