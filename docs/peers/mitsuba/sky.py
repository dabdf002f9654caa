"""Computes the sun and sky of a scene, a port of `scene/src/ron/sun_sky.rs`, which explains the models."""

import datetime

import numpy as np

WIDTH, HEIGHT = 1024, 512
SUN_DEGREES = 0.533
XYZ_TO_RGB = np.array([[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]])


def sun_direction(light):
    """Returns the unit direction to the sun (x east, y up, z south) and its elevation in degrees."""
    if "elevation" in light:
        elevation, azimuth = np.radians(light["elevation"]), np.radians(light.get("azimuth", 180))
        east, north = np.sin(azimuth) * np.cos(elevation), np.cos(azimuth) * np.cos(elevation)
        return np.array([east, np.sin(elevation), -north]), light["elevation"]
    days = (datetime.date(*light["date"]) - datetime.date(2000, 1, 1)).days - 0.5 + light["time"] / 24
    anomaly = np.radians(357.528 + 0.9856003 * days)
    longitude = np.radians(280.460 + 0.9856474 * days + 1.915 * np.sin(anomaly) + 0.020 * np.sin(2 * anomaly))
    tilt = np.radians(23.439 - 0.0000004 * days)
    ascension = np.arctan2(np.cos(tilt) * np.sin(longitude), np.cos(longitude))
    declination = np.arcsin(np.sin(tilt) * np.sin(longitude))
    hour = np.radians(15 * (18.697375 + 24.065709824279 * days) + light["longitude"]) - ascension
    latitude = np.radians(light["latitude"])
    up = np.sin(latitude) * np.sin(declination) + np.cos(latitude) * np.cos(declination) * np.cos(hour)
    north = np.cos(latitude) * np.sin(declination) - np.sin(latitude) * np.cos(declination) * np.cos(hour)
    east = -np.cos(declination) * np.sin(hour)
    return np.array([east, up, -north]), np.degrees(np.arcsin(up))


def gaussian(at, middle, before, behind):
    """Returns a Gaussian that is 1 at `middle`, with standard deviations below and above it."""
    return np.exp(-0.5 * ((at - middle) / np.where(at < middle, before, behind)) ** 2)


def sun_irradiance(elevation, turbidity):
    """Returns the sun's irradiance at normal incidence in linear sRGB, W/m² weighted by the eye."""
    zenith = 90 - elevation
    mass = 1 / (np.cos(np.radians(zenith)) + 0.50572 * (96.07995 - zenith) ** -1.6364)
    nanometres = 380 + 5 * (np.arange(90) + 0.5)
    air = 0.008735 * (nanometres * 1e-3) ** -4.08
    aerosol = (0.04608 * turbidity - 0.04586) * (nanometres * 1e-3) ** -1.3
    ozone = 0.35 * 0.137 * gaussian(nanometres, 603, 60, 60)
    passed = np.exp(-mass * (air + aerosol + ozone))
    planck, light, boltzmann, metres = 6.62607015e-34, 299792458.0, 1.380649e-23, nanometres * 1e-9
    exponent = planck * light / (metres * boltzmann * 5772)
    black_body = 2e-9 * planck * light**2 / metres**5 / (np.exp(exponent) - 1)
    lobes = (
        ((1.056, 599.8, 37.9, 31.0), (0.362, 442.0, 16.0, 26.7), (-0.065, 501.1, 20.4, 26.2)),
        ((0.821, 568.8, 46.9, 40.5), (0.286, 530.9, 16.3, 31.1)),
        ((1.217, 437.0, 11.8, 36.0), (0.681, 459.0, 26.0, 13.8)),
    )
    matching = [sum(factor * gaussian(nanometres, *lobe) for factor, *lobe in channel) for channel in lobes]
    seen = np.pi * np.sin(np.radians(SUN_DEGREES) / 2) ** 2
    xyz = (np.array(matching) * black_body * seen * passed * 5).sum(-1)
    return np.maximum(XYZ_TO_RGB @ xyz, 0)


def sky_channel(folder, name, elevation, turbidity, albedo):
    """Returns the nine coefficients and the mean radiance of a colour channel (`r`, `g` or `b`) of the sky model."""
    lower = min(max(int(turbidity), 1), 10)
    part, upper = turbidity - lower, min(lower + 1, 10)
    t = np.cbrt(elevation / 90)
    basis = np.array([1, 5, 10, 10, 5, 1]) * t ** np.arange(6) * (1 - t) ** np.arange(5, -1, -1)

    def at(kind, numbers):
        data = np.fromfile(folder / f"{kind}-{name}.f32", "<f4").astype(float).reshape(2, 10, 6, numbers)
        curve = np.einsum("wtkn,k->wtn", data, basis)
        mixed = (1 - part) * curve[:, lower - 1] + part * curve[:, upper - 1]
        return (1 - albedo) * mixed[0] + albedo * mixed[1]

    return at("params", 9), at("radiances", 1)[0]


def sun_and_sky(light, folder):
    """Returns the direction to the sun, its irradiance, and the environment map of a `SunSky`.

    Irradiance and map are in linear sRGB, multiplied by the light's `scale`. The map has `HEIGHT` rows of `WIDTH`
    texels. `folder` holds the coefficients of the sky model.
    """
    to_sun, elevation = sun_direction(light)
    turbidity, scale = light.get("turbidity", 3), light.get("scale", 0.02)
    ground = np.array(light.get("ground", (0.3, 0.3, 0.3)))
    irradiance = sun_irradiance(elevation, turbidity)
    polar = np.pi * (np.arange(HEIGHT // 2)[:, None] + 0.5) / HEIGHT
    turn = 2 * np.pi * (np.arange(WIDTH)[None] + 0.5) / WIDTH
    zenith = np.cos(polar) + 0 * turn
    apart = np.sin(polar) * (np.sin(turn) * to_sun[0] - np.cos(turn) * to_sun[2]) + zenith * to_sun[1]
    apart = np.clip(apart, -1, 1)
    gamma = np.arccos(apart)
    image = np.zeros((HEIGHT, WIDTH, 3))
    for channel, name in enumerate("rgb"):
        (a, b, c, d, e, f, g, h, i), radiance = sky_channel(folder, name, elevation, turbidity, ground[channel])
        mie = (1 + apart**2) / (1 + i * i - 2 * i * apart) ** 1.5
        scattered = c + d * np.exp(e * gamma) + f * apart**2 + g * mie + h * np.sqrt(zenith)
        above = radiance * (1 + a * np.exp(b / (zenith + 0.01))) * scattered
        image[: HEIGHT // 2, :, channel] = np.maximum(above, 0)
    solid_angle = 2 * np.pi / WIDTH * np.pi / HEIGHT
    lit = (image[: HEIGHT // 2] * (np.cos(polar) * np.sin(polar) * solid_angle)[..., None]).sum((0, 1))
    image[HEIGHT // 2 :] = ground * (lit + irradiance * to_sun[1]) / np.pi
    return to_sun, irradiance * scale, (image * scale).astype(np.float32)
