"""Writes the references of tests/imported.rs: make.py [NAME...].

Renders the scenes tests/imported/mitsuba/NAME.xml, or all of them, by Mitsuba 3.9.1 (llvm_ad_rgb), with 64 seeds of 64
samples per pixel each. A reference NAME.exr contains two images of the same size, one above the other: the means over
blocks of 8 x 8 pixels, and their standard errors. Needs the packages mitsuba and numpy, and the library LLVM.

Scenes of pbrt whose materials Mitsuba does not have are described by tests/imported/pbrt/NAME.xml, with the BSDFs below.
"""
import sys
from pathlib import Path

import mitsuba as mi
import numpy as np

mi.set_variant("llvm_ad_rgb")
import drjit as dr

BLOCK = 8
SEEDS = 64
SAMPLES = 64


def blocks(scene, seed):
    pixels = np.array(mi.render(scene, seed=seed, spp=SAMPLES), dtype=np.float64)[..., :3]
    height, width, _ = pixels.shape
    return pixels.reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3).mean((1, 3))


class DiffuseTransmission(mi.BSDF):
    """pbrt's diffusetransmission, which reflects and transmits light diffusely."""

    def __init__(self, props):
        super().__init__(props)
        self.reflectance = mi.Color3f(props["reflectance"])
        self.transmittance = mi.Color3f(props["transmittance"])
        sides = mi.BSDFFlags.FrontSide | mi.BSDFFlags.BackSide
        self.m_components = [mi.BSDFFlags.DiffuseReflection | mi.BSDFFlags.DiffuseTransmission | sides]
        self.m_flags = self.m_components[0]

    def sample(self, ctx, si, sample1, sample2, active):
        wo = mi.warp.square_to_cosine_hemisphere(sample2)
        side = dr.select(sample1 < 0.5, 1.0, -1.0) * dr.sign(si.wi.z)
        sampled = mi.BSDFSample3f(mi.Vector3f(wo.x, wo.y, wo.z * side))
        sampled.pdf = self.pdf(ctx, si, sampled.wo, active)
        sampled.eta = 1.0
        sampled.sampled_type = mi.UInt32(+self.m_flags)
        sampled.sampled_component = 0
        return sampled, dr.select(sampled.pdf > 0, self.eval(ctx, si, sampled.wo, active) / sampled.pdf, 0.0)

    def eval(self, ctx, si, wo, active):
        reflects = si.wi.z * wo.z > 0
        color = dr.select(reflects, self.reflectance, self.transmittance)
        return color * dr.abs(wo.z) / dr.pi & active

    def pdf(self, ctx, si, wo, active):
        return dr.select(active, dr.abs(wo.z) / (2 * dr.pi), 0.0)

    def eval_pdf(self, ctx, si, wo, active):
        return self.eval(ctx, si, wo, active), self.pdf(ctx, si, wo, active)


mi.register_bsdf("diffusetransmission", DiffuseTransmission)

folder = Path(__file__).parent / "mitsuba"
scenes = {path.stem: path for of in (folder, folder.parent / "pbrt") for path in of.glob("*.xml")}
names = sys.argv[1:] or sorted(name for name, path in scenes.items() if "<sensor" in path.read_text())
for name in names:
    scene = mi.load_file(str(scenes[name]))
    batches = np.array([blocks(scene, seed) for seed in range(SEEDS)])
    error = batches.std(0, ddof=1) / np.sqrt(SEEDS)
    both = np.concatenate([batches.mean(0), error]).astype(np.float32)
    mi.Bitmap(both).write(str(folder / f"{name}.exr"))
    print(name, both.shape, flush=True)
