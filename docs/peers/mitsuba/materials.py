"""Translates the materials and textures of a Raysieve scene into BSDFs of Mitsuba."""

import re

import drjit as dr
import mitsuba as mi
import numpy as np


def rgb(value):
    """Returns a colour of Mitsuba from three numbers in linear sRGB."""
    return {"type": "rgb", "value": [float(channel) for channel in value]}


def register():
    """Registers the plugins that Mitsuba lacks, for the present variant."""

    class Cutoff(mi.Texture):
        """A texture that is 1 where another is at least `cutoff`, and 0 elsewhere."""

        def __init__(self, props):
            mi.Texture.__init__(self, props)
            self.inner, self.cutoff = props["inner"], props["cutoff"]

        def eval_1(self, si, active=True):
            return dr.select(self.inner.eval_1(si, active) >= self.cutoff, mi.Float(1), mi.Float(0))

        def to_string(self):
            return "Cutoff[]"

    class AbsorbingDielectric(mi.BSDF):
        """A smooth dielectric that absorbs light along rays that arrive at its back, by the Beer-Lambert law.

        The absorption coefficients `red`, `green` and `blue` are in 1/m.
        """

        def __init__(self, props):
            mi.BSDF.__init__(self, props)
            self.inner = mi.load_dict({"type": "dielectric", "int_ior": props["ior"], "ext_ior": 1.0})
            self.density = mi.Color3f([props["red"], props["green"], props["blue"]])
            self.m_components = [self.inner.flags(0), self.inner.flags(1)]
            self.m_flags = self.inner.flags()

        def sample(self, ctx, si, sample1, sample2, active=True):
            sample, weight = self.inner.sample(ctx, si, sample1, sample2, active)
            inside = mi.Frame3f.cos_theta(si.wi) < 0
            return sample, weight * dr.select(inside, dr.exp(-self.density * si.t), mi.Color3f(1))

        def eval(self, ctx, si, wo, active=True):
            return mi.Color3f(0)

        def pdf(self, ctx, si, wo, active=True):
            return mi.Float(0)

        def eval_pdf(self, ctx, si, wo, active=True):
            return mi.Color3f(0), mi.Float(0)

        def to_string(self):
            return "AbsorbingDielectric[]"

    mi.register_texture("cutoff", Cutoff)
    mi.register_bsdf("absorbing_dielectric", AbsorbingDielectric)


def texture(folder, value, channel=None):
    """Returns a bitmap texture of a scene in `folder`.

    `channel` (0 red, 1 green, 2 blue) selects one channel, whose values are not sRGB-encoded. Raises `ValueError` for a
    field that is not supported.
    """
    bitmap = mi.Bitmap(str(folder / value["file"]))
    scale = value.get("scale", 1)
    across, down = scale if isinstance(scale, tuple) else (scale, scale)
    made = {
        "type": "bitmap",
        "wrap_mode": {"Repeat": "repeat", "Mirror": "mirror", "Clamp": "clamp"}[value.get("wrap", "Repeat")],
        "to_uv": mi.ScalarTransform3f().scale([float(across), float(down)]),
    }
    unknown = value.keys() - {"type", "file", "scale", "wrap", "channel"}
    if unknown:
        raise ValueError(f"unsupported fields of a texture: {unknown}")
    if channel is None:
        return {**made, "bitmap": bitmap}
    return {**made, "bitmap": one_channel(bitmap, channel), "raw": True}


def one_channel(bitmap, channel):
    """Returns a channel of an 8-bit image as values from 0 to 1, without decoding sRGB."""
    values = np.array(bitmap)
    if values.ndim == 3:
        values = values[:, :, channel]
    return mi.Bitmap((values.astype(np.float32) / 255)[:, :, None])


def color(folder, value):
    """Returns a texture if `value` is one, otherwise a colour."""
    return texture(folder, value) if isinstance(value, dict) else rgb(value)


def metal(repository, name):
    """Returns the complex refractive index of a metal as entries `eta` and `k`, from `scene/src/ron/metals.rs`."""
    source = (repository / "scene/src/ron/metals.rs").read_text()
    number = r"Vec3::new\(([\d.]+), ([\d.]+), ([\d.]+)\)"
    found = re.search(rf'"{name}",\s*{number},\s*{number}', source)
    values = [float(value) for value in found.groups()]
    return {"eta": rgb(values[:3]), "k": rgb(values[3:])}


def coating(reflectance, ior, alpha):
    """Returns a BSDF with a diffuse base below a rough dielectric boundary of GGX roughness `alpha`."""
    return {
        "type": "roughplastic",
        "distribution": "ggx",
        "diffuse_reflectance": reflectance,
        "int_ior": float(ior),
        "ext_ior": 1.0,
        "alpha": float(alpha),
        "nonlinear": False,
    }


def mean_albedo(bsdf):
    """Returns the fraction of uniform light from a hemisphere that a BSDF reflects, in the red channel."""
    sampler = mi.load_dict({"type": "independent"})
    sampler.seed(0, 1 << 20)
    at = dr.zeros(mi.SurfaceInteraction3f)
    at.wi, at.t = mi.warp.square_to_cosine_hemisphere(sampler.next_2d()), mi.Float(1)
    _, weight = mi.load_dict(bsdf).sample(mi.BSDFContext(), at, sampler.next_1d(), sampler.next_2d())
    return float(np.array(dr.mean(weight[0])).ravel()[0])


def coated(folder, value, ior, alpha, internal_scattering):
    """Returns a coated diffuse material, whose albedo is a colour or a texture.

    The base of `roughplastic` loses energy to the roughness of the boundary: at alpha 0.3, a white one reflects only
    two thirds. Raysieve's does not, so the base is brightened until a white one reflects everything. With
    `internal_scattering`, light that the boundary reflects back into the base is scattered again.
    """
    black, white = (mean_albedo(coating(rgb([level] * 3), ior, alpha)) for level in (0, 1))
    leaves = (1 - black) / ior**2

    def base(albedo):
        if internal_scattering:
            albedo = albedo * leaves / (1 - albedo * (1 - leaves))
        return albedo * (1 - black) / (white - black)

    if isinstance(value, dict):
        made = texture(folder, value)
        linear = np.array(made["bitmap"].convert(mi.Bitmap.PixelFormat.RGB, mi.Struct.Type.Float32, False))
    elif base(np.array(value)).max() <= 1:
        return coating(rgb(base(np.array(value))), ior, alpha)
    else:
        # Only a bitmap may exceed 1.
        made, linear = {"type": "bitmap"}, np.full((1, 1, 3), value)
    bitmap = mi.Bitmap(base(linear).astype(np.float32))
    return coating({**made, "bitmap": bitmap, "raw": True}, ior, alpha)


def reflecting(repository, folder, material):
    """Returns the BSDF of one side of an opaque material. Raises `ValueError` for one that is not supported."""
    kind = material["type"]
    if kind == "Diffuse":
        return {"type": "diffuse", "reflectance": color(folder, material["albedo"])}
    if kind == "Emissive":
        return {"type": "diffuse", "reflectance": rgb(material.get("albedo", (0, 0, 0)))}
    if kind == "Mirror":
        return {"type": "conductor", "material": "none", "specular_reflectance": rgb(material["reflectance"])}
    if kind == "Conductor":
        return {"type": "conductor", **metal(repository, material["preset"])}
    if kind == "CoatedDiffuse":
        alpha = max(material.get("alpha", 0), 0.001)
        return coated(folder, material["albedo"], material.get("ior", 1.5), alpha, True)
    if kind == "Principled":
        unknown = material.keys() - {"type", "base_color", "roughness", "ior", "opacity", "cutoff"}
        if unknown:
            raise ValueError(f"unsupported fields of Principled: {unknown}")
        base, alpha = material.get("base_color", (1, 1, 1)), material.get("roughness", 0.5) ** 2
        return coated(folder, base, material.get("ior", 1.5), alpha, False)
    raise ValueError(f"unsupported material {kind}")


def bsdf(repository, folder, material):
    """Returns the BSDF of a material of a scene in `folder`."""
    if material["type"] == "Dielectric":
        if "absorption" not in material:
            return {"type": "dielectric", "int_ior": float(material["ior"]), "ext_ior": 1.0}
        tint, distance = material["absorption"]
        density = dict(zip(("red", "green", "blue"), (-np.log(np.array(tint)) / distance).tolist()))
        return {"type": "absorbing_dielectric", "ior": float(material["ior"]), **density}
    made = reflecting(repository, folder, material)
    if not material.get("one_sided"):
        made = {"type": "twosided", "both": made}
    if "opacity" not in material:
        return made
    opacity = material["opacity"]
    channel = {"Red": 0, "Green": 1, "Blue": 2}[opacity["channel"]]
    inner = texture(folder, opacity, channel)
    return {"type": "mask", "opacity": {"type": "cutoff", "inner": inner, "cutoff": material["cutoff"]}, "of": made}


def gltf_bsdf(material, images):
    """Returns the BSDF of a glTF material and the texture of its emission, or `None` without emission."""

    def bitmap(place, name):
        stream = mi.MemoryStream()
        stream.write(images[place[name]["index"]])
        stream.seek(0)
        return mi.Bitmap(stream)

    parts = material["pbrMetallicRoughness"]
    packed = bitmap(parts, "metallicRoughnessTexture")
    made = {
        "type": "principled",
        "base_color": {"type": "bitmap", "bitmap": bitmap(parts, "baseColorTexture")},
        "roughness": {"type": "bitmap", "bitmap": one_channel(packed, 1), "raw": True},
        "metallic": {"type": "bitmap", "bitmap": one_channel(packed, 2), "raw": True},
        "eta": 1.5,
    }
    normals = {"type": "bitmap", "bitmap": bitmap(material, "normalTexture"), "raw": True}
    made = {"type": "twosided", "both": {"type": "normalmap", "normalmap": normals, "bsdf": made}}
    strength = material["extensions"]["KHR_materials_emissive_strength"]["emissiveStrength"]
    linear = bitmap(material, "emissiveTexture").convert(mi.Bitmap.PixelFormat.RGB, mi.Struct.Type.Float32, False)
    radiance = np.array(linear) * strength * np.array(material["emissiveFactor"], np.float32)
    return made, {"type": "bitmap", "bitmap": mi.Bitmap(radiance.astype(np.float32)), "raw": True}
