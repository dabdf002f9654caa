"""Writes the scene files and models that are too long to write by hand.

These are depth_of_field.ron and many_lights.ron in this folder, ring.ply and vase.glb in ../assets/models/, and the models
and textures of sun_sky.ron in ../assets/models/court/. The script needs only Python 3, runs from any folder, and writes the
same bytes every time.
"""
import colorsys
import json
import math
import random
import struct
import zlib
from pathlib import Path

SCENES = Path(__file__).parent
MODELS = SCENES.parent / "assets" / "models"
COURT = MODELS / "court"


def number(value):
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def triple(values):
    return "(" + ", ".join(number(value) for value in values) + ")"


def linear(hue, saturation, value):
    return [channel**2.2 for channel in colorsys.hsv_to_rgb(hue, saturation, value)]


def depth_of_field():
    chance = random.Random(5)
    colours = [linear(hue, 0.75, 0.85) for hue in (0.0, 0.04, 0.1, 0.3, 0.5, 0.58, 0.72, 0.9)]
    materials = [f'"clay {index}": Diffuse(albedo: {triple(colour)}),' for index, colour in enumerate(colours)]
    lamps = [(1, 0.62, 0.3), (1, 0.8, 0.55), (0.55, 0.75, 1), (1, 0.45, 0.35), (0.6, 1, 0.75)]
    for index, lamp in enumerate(lamps):
        materials.append(f'"lamp {index}": Emissive(radiance: {triple([90 * channel for channel in lamp])}),')
    objects = []
    marbles = []
    while len(marbles) < 90:
        z = chance.uniform(-9, 2.6)
        x = chance.uniform(-1, 1) * (0.9 + 0.42 * (4 - z) / 2)
        radius = chance.choice((0.12, 0.16, 0.2, 0.26))
        if all(math.hypot(x - a, z - b) > radius + c + 0.02 for a, b, c in marbles):
            marbles.append((x, z, radius))
            kind = chance.random()
            material = "glass" if kind < 0.25 else "mirror" if kind < 0.35 else f"clay {chance.randrange(len(colours))}"
            objects.append(f'Sphere(center: {triple((x, radius, z))}, radius: {number(radius)}, material: "{material}"),')
    for _ in range(70):
        at = (chance.uniform(-8, 8), chance.uniform(0.3, 4.4), chance.uniform(-16, -11))
        objects.append(
            f'Sphere(center: {triple(at)}, radius: 0.045, material: "lamp {chance.randrange(len(lamps))}"),'
        )
    return f"""// Marbles on a table, seen through a lens with an aperture of six blades. Only a narrow strip of the table is in focus. Each
// lamp behind it shows the shape of the aperture.
(
    size: (1024, 640),
    spp: 256,
    max_bounces: 8,
    exposure: 0.3,
    tone: AgX,
    camera: (
        origin: (0, 1.05, 4.6),
        target: (0, 0.35, 0),
        fov: 38,
        lens: (radius: 0.09, focus_point: (0, 0.2, 0.9), blades: 6, rotation: 12),
        filter: BlackmanHarris(radius: 1.5),
    ),
    sky: (0.02, 0.03, 0.06),
    materials: {{
        "table": Diffuse(albedo: (0.25, 0.17, 0.11)),
        "glass": Dielectric(ior: 1.5),
        "mirror": Mirror(reflectance: (0.92, 0.9, 0.86)),
        "softbox": Emissive(radiance: (5, 4.6, 4)),
        {(chr(10) + "        ").join(materials)}
    }},
    objects: [
        Quad(corner: (-30, 0, 6), edge_u: (60, 0, 0), edge_v: (0, 0, -40), material: "table"),
        Quad(corner: (-2.5, 5, 3.5), edge_u: (0, 0, -4), edge_v: (5, 0, 0), material: "softbox"),
        {(chr(10) + "        ").join(objects)}
    ],
)
"""


def many_lights():
    side, gap = 32, 0.5
    hues = 16
    materials = []
    for hue in range(hues):
        colour = linear(hue / hues, 0.8, 1)
        materials.append(f'"lamp {hue}": Emissive(radiance: {triple([26 * channel for channel in colour])}),')
    objects = []
    for row in range(side):
        for column in range(side):
            x, z = (column - side / 2 + 0.5) * gap, -row * gap
            # The sum of two waves across the field.
            swell = math.sin(0.9 * x + 0.5 * z) + 0.7 * math.sin(0.4 * x - 0.8 * z)
            y = 0.62 + 0.26 * swell
            hue = int(hues * (0.5 + 0.23 * swell + row / side / 3)) % hues
            objects.append(f'Sphere(center: {triple((x, y, z))}, radius: 0.04, material: "lamp {hue}"),')
    return f"""// {side * side} lamps of {hues} colours above a dark floor with mirrors. The noise depends on which lamp each light sample chooses.
(
    size: (1024, 640),
    spp: 256,
    max_bounces: 8,
    exposure: 1,
    tone: AgX,
    camera: (origin: (-1.2, 2.4, 3.2), target: (0.3, 0.2, -4), fov: 55),
    sky: (0.004, 0.006, 0.012),
    materials: {{
        "floor": Diffuse(albedo: (0.4, 0.4, 0.42)),
        "clay": Diffuse(albedo: (0.8, 0.78, 0.75)),
        "mirror": Mirror(reflectance: (0.93, 0.93, 0.95)),
        {(chr(10) + "        ").join(materials)}
    }},
    objects: [
        Quad(corner: (-40, 0, 8), edge_u: (80, 0, 0), edge_v: (0, 0, -60), material: "floor"),
        Sphere(center: (-2.1, 0.7, -1.6), radius: 0.7, material: "clay"),
        Sphere(center: (1.4, 0.55, -0.4), radius: 0.55, material: "mirror"),
        Sphere(center: (3.6, 1.2, -5), radius: 1.2, material: "clay"),
        Sphere(center: (-0.9, 1, -6), radius: 1, material: "mirror"),
        {(chr(10) + "        ").join(objects)}
    ],
)
"""


def ring():
    """Returns a binary PLY file of a ring around the y axis: 1,024 segments, radius 1, height 0.7, thickness 0.08, rounded rim."""
    segments, inner, outer, height = 1024, 0.96, 1.04, 0.7
    rim = (outer - inner) / 2
    # The profile runs up the inside, over the rim and down the outside.
    profile = [(inner, 0.0), (inner, height - rim)]
    for step in range(1, 16):
        angle = math.pi * (1 - step / 16)
        profile.append((1 + rim * math.cos(angle), height - rim + rim * math.sin(angle)))
    profile += [(outer, height - rim), (outer, 0.0)]
    vertices, faces = [], []
    for segment in range(segments):
        angle = 2 * math.pi * segment / segments
        vertices += [(r * math.cos(angle), y, r * math.sin(angle)) for r, y in profile]
        here, there = segment * len(profile), (segment + 1) % segments * len(profile)
        for place in range(len(profile) - 1):
            a, b, c, d = here + place, here + place + 1, there + place + 1, there + place
            faces += [(a, b, c), (a, c, d)]
    header = (
        "ply\nformat binary_little_endian 1.0\n"
        f"element vertex {len(vertices)}\nproperty float x\nproperty float y\nproperty float z\n"
        f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    body = b"".join(struct.pack("<3f", *vertex) for vertex in vertices)
    body += b"".join(struct.pack("<B3i", 3, *face) for face in faces)
    return header.encode() + body


def smooth(low, high, value):
    part = min(max((value - low) / (high - low), 0), 1)
    return part * part * (3 - 2 * part)


def png(side, pixel):
    """Returns a square 8-bit RGB PNG file; `pixel(u, v)` returns three values from 0 to 1."""
    rows = bytearray()
    for row in range(side):
        line = bytearray()
        for column in range(side):
            colour = pixel((column + 0.5) / side, (row + 0.5) / side)
            line += bytes(round(255 * min(max(channel, 0), 1)) for channel in colour)
        # The PNG filter "Sub" stores differences between neighbouring pixels, which compress better in smooth images.
        rows.append(1)
        rows += bytes((line[at] - (line[at - 3] if at >= 3 else 0)) & 255 for at in range(len(line)))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


# The ornament of the vase: u runs around it, and v runs from the foot (0) to the lip (1).
LEAVES, BANDS = 12, (0.16, 0.74)


def leaf(u, v):
    """Returns 1 inside a leaf and 0 outside, with a smooth edge; the leaves are side by side between the bands."""
    across = abs((u * LEAVES) % 1 - 0.5)
    along = (v - 0.2) / 0.5
    if not 0 < along < 1:
        return 0
    width = 0.44 * math.sin(math.pi * along**0.75)
    return smooth(0, 0.06, width - across)


def vein(u, v):
    """Returns 1 along the middle vein of a leaf, up to 0.7 along its side veins, and 0 elsewhere."""
    across = abs((u * LEAVES) % 1 - 0.5)
    side = abs(((v - 0.5 * across) * 22) % 1 - 0.5)
    return leaf(u, v) * max(smooth(0.03, 0.015, across), 0.7 * smooth(0.1, 0.05, side))


def band(v):
    return max(smooth(0.025, 0.018, abs(v - at)) for at in BANDS)


def height(u, v):
    beads = 0.5 + 0.5 * math.cos(2 * math.pi * 48 * u)
    return 0.5 * leaf(u, v) - 0.3 * vein(u, v) + band(v) * (0.6 + 0.4 * beads)


def vase():
    """Returns a GLB file of a vase with all core glTF textures: base colour, metallic and roughness, normal, occlusion, emission."""
    around, along = 160, 120
    profile = []
    for step in range(along + 1):
        v = step / along
        radius = 0.3 + 0.42 * math.sin(math.pi * min(v * 1.06, 1) ** 0.8) ** 1.4 - 0.08 * v + 0.14 * smooth(0.86, 1, v)
        profile.append((radius, 1.9 * v))
    positions, normals, tangents, texcoords, indices = [], [], [], [], []
    for row, (radius, y) in enumerate(profile):
        (r0, y0), (r1, y1) = profile[max(row - 1, 0)], profile[min(row + 1, along)]
        length = math.hypot(r1 - r0, y1 - y0)
        outwards, upwards = (y1 - y0) / length, -(r1 - r0) / length
        for column in range(around + 1):
            angle = 2 * math.pi * column / around
            cosine, sine = math.cos(angle), math.sin(angle)
            positions.append((radius * sine, y, radius * cosine))
            normals.append((outwards * sine, upwards, outwards * cosine))
            tangents.append((cosine, 0.0, -sine, 1.0))
            texcoords.append((column / around, 1 - row / along))
    for row in range(along):
        for column in range(around):
            a = row * (around + 1) + column
            b, c, d = a + 1, a + around + 2, a + around + 1
            indices += [a, b, c, a, c, d]

    def base_colour(u, v):
        v = 1 - v
        glaze, gold = (0.08, 0.2, 0.34), (0.95, 0.72, 0.34)
        ivory = (0.86, 0.8, 0.68)
        part, line = leaf(u, v), max(band(v), vein(u, v))
        return [(g * (1 - part) + i * part) * (1 - line) + metal * line for g, i, metal in zip(glaze, ivory, gold)]

    def metallic_roughness(u, v):
        v = 1 - v
        metal = max(band(v), vein(u, v))
        roughness = (0.18 + 0.4 * leaf(u, v)) * (1 - metal) + 0.22 * metal
        return (0, roughness, metal)

    def normal(u, v):
        step = 1 / 1024
        du = height(u + step, 1 - v) - height(u - step, 1 - v)
        dv = height(u, 1 - v + step) - height(u, 1 - v - step)
        x, y, z = -du * 6, -dv * 4, 1
        length = math.sqrt(x * x + y * y + z * z)
        return [0.5 + 0.5 * value / length for value in (x, y, z)]

    def occlusion(u, v):
        return (1 - 0.5 * vein(u, 1 - v),) * 3

    def emission(u, v):
        v = 1 - v
        across = abs((u * LEAVES + 0.5) % 1 - 0.5)
        spot = math.hypot(across * 0.42, (v - 0.63) * 1.6)
        glow = smooth(0.05, 0.035, spot)
        return (glow, 0.55 * glow, 0.16 * glow)

    images = [png(512, texture) for texture in (base_colour, metallic_roughness, normal)]
    images += [png(256, texture) for texture in (occlusion, emission)]
    blob, views = bytearray(), []

    def view(body, **more):
        blob.extend(bytes(-len(blob) % 4))
        views.append({"buffer": 0, "byteOffset": len(blob), "byteLength": len(body), **more})
        blob.extend(body)
        return len(views) - 1

    def floats(rows):
        return view(b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows))

    kinds = {2: "VEC2", 3: "VEC3", 4: "VEC4"}
    accessors = []
    for rows in (positions, normals, tangents, texcoords):
        accessor = {"bufferView": floats(rows), "componentType": 5126, "count": len(rows), "type": kinds[len(rows[0])]}
        if rows is positions:
            accessor |= {"min": [min(axis) for axis in zip(*rows)], "max": [max(axis) for axis in zip(*rows)]}
            # The bounds must equal the positions after rounding to 32-bit floats.
            for bound in ("min", "max"):
                accessor[bound] = list(struct.unpack("<3f", struct.pack("<3f", *accessor[bound])))
        accessors.append(accessor)
    packed = view(struct.pack(f"<{len(indices)}I", *indices))
    accessors.append({"bufferView": packed, "componentType": 5125, "count": len(indices), "type": "SCALAR"})
    pictures = [{"bufferView": view(image), "mimeType": "image/png"} for image in images]
    document = {
        "asset": {"version": "2.0", "generator": "scenes/make.py"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": "vase"}],
        "meshes": [
            {
                "primitives": [
                    {
                        "attributes": {"POSITION": 0, "NORMAL": 1, "TANGENT": 2, "TEXCOORD_0": 3},
                        "indices": 4,
                        "material": 0,
                    }
                ]
            }
        ],
        "materials": [
            {
                "name": "glaze and gold",
                "pbrMetallicRoughness": {
                    "baseColorTexture": {"index": 0},
                    "metallicRoughnessTexture": {"index": 1},
                },
                "normalTexture": {"index": 2},
                "occlusionTexture": {"index": 3},
                "emissiveTexture": {"index": 4},
                "emissiveFactor": [1, 1, 1],
                "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 6}},
            }
        ],
        "extensionsUsed": ["KHR_materials_emissive_strength"],
        "textures": [{"source": number, "sampler": 0} for number in range(len(pictures))],
        "samplers": [{"wrapS": 10497, "wrapT": 33071, "magFilter": 9729, "minFilter": 9729}],
        "images": pictures,
        "accessors": accessors,
        "bufferViews": views,
    }
    blob.extend(bytes(-len(blob) % 4))
    document["buffers"] = [{"byteLength": len(blob)}]
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    total = 12 + 8 + len(text) + 8 + len(blob)
    head = struct.pack("<4s2I", b"glTF", 2, total)
    return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(blob), b"BIN\0") + bytes(blob)


def mapped(vertices, faces):
    """Returns a binary PLY file of vertices (x, y, z, u, v) and triangles."""
    header = (
        "ply\nformat binary_little_endian 1.0\n"
        f"element vertex {len(vertices)}\n"
        + "".join(f"property float {name}\n" for name in ("x", "y", "z", "u", "v"))
        + f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    body = b"".join(struct.pack("<5f", *vertex) for vertex in vertices)
    body += b"".join(struct.pack("<B3i", 3, *face) for face in faces)
    return header.encode() + body


def turned(profile, segments):
    """Rotates a profile of (radius, y) points, ordered from bottom to top, around the y axis."""
    vertices, faces = [], []
    for segment in range(segments + 1):
        angle = 2 * math.pi * segment / segments
        cosine, sine = math.cos(angle), math.sin(angle)
        vertices += [(r * sine, y, r * cosine, segment / segments, y) for r, y in profile]
    for segment in range(segments):
        for place in range(len(profile) - 1):
            a = segment * len(profile) + place
            b, c, d = a + len(profile), a + len(profile) + 1, a + 1
            faces += [(a, b, c), (a, c, d)]
    return mapped(vertices, faces)


def bulge(radius, y, out, high, steps=6):
    """Returns the profile of half a round moulding, as (radius, y) points."""
    angles = [math.pi * step / steps for step in range(steps + 1)]
    return [(radius + out * math.sin(angle), y + high * (1 - math.cos(angle)) / 2) for angle in angles]


def column():
    """Returns a PLY file of a column, 2.2 high, with a round base and capital; the scene adds plinth and abacus as boxes."""
    shaft = [(0.15 - 0.02 * (step / 8) ** 1.6, 0.24 + 1.6 * step / 8) for step in range(9)]
    capital = [(0.13 + 0.1 * (step / 8) ** 2.2, 1.92 + 0.28 * step / 8) for step in range(9)]
    base = bulge(0.17, 0.0, 0.04, 0.1) + bulge(0.155, 0.14, 0.03, 0.07)
    return turned(base + shaft + bulge(0.132, 1.86, 0.022, 0.05) + capital, 40)


def pot():
    """Returns a PLY file of a pot that is open at the bottom and at the stem."""
    return turned([(0.19, 0), (0.27, 0.42), (0.31, 0.42), (0.31, 0.5), (0.27, 0.5), (0.26, 0.44), (0.02, 0.44)], 40)


def arch():
    """Returns a PLY file of a bay, 2.4 wide, 1.7 high and 0.36 deep, with a slightly pointed arch centerd at x = 0, z = 0."""
    half, top, deep, radius, steps = 1.2, 1.7, 0.18, 1.0, 40
    vertices, faces = [], []

    def quad(*corners):
        first = len(vertices)
        # The plaster texture is mapped by position and repeats every 2 units.
        vertices.extend((x, y, z, (x + z) / 2, (y + z) / 2) for x, y, z in corners)
        faces.extend([(first, first + 1, first + 2), (first, first + 2, first + 3)])

    curve = [(radius, 0.0)]
    for step in range(1, steps):
        angle = math.pi * step / steps
        curve.append((radius * math.cos(angle), radius * math.sin(angle) * (1 + 0.12 * math.sin(angle) ** 6)))
    curve.append((-radius, 0.0))
    for (x0, y0), (x1, y1) in zip(curve, curve[1:]):
        quad((x0, y0, deep), (x0, top, deep), (x1, top, deep), (x1, y1, deep))
        quad((x0, y0, -deep), (x1, y1, -deep), (x1, top, -deep), (x0, top, -deep))
        quad((x0, y0, deep), (x1, y1, deep), (x1, y1, -deep), (x0, y0, -deep))
    for x0, x1 in ((-half, -radius), (radius, half)):
        quad((x0, 0, deep), (x1, 0, deep), (x1, top, deep), (x0, top, deep))
        quad((x1, 0, -deep), (x0, 0, -deep), (x0, top, -deep), (x1, top, -deep))
        quad((x0, 0, -deep), (x1, 0, -deep), (x1, 0, deep), (x0, 0, deep))
    return mapped(vertices, faces)


def palm():
    """Returns a PLY file of a palm crown at the origin. Each frond is two strips, and frond.png cuts out the leaflets."""
    chance = random.Random(11)
    vertices, faces = [], []
    fronds, steps = 26, 12
    for frond in range(fronds):
        turn = 2 * math.pi * (frond * 0.618 + 0.03 * chance.random())
        rise = math.radians(78 - 95 * frond / fronds + chance.uniform(-6, 6))
        length, droop = chance.uniform(1.5, 1.9), math.radians(chance.uniform(75, 105))
        out, up, spine = 0.0, 0.0, []
        for step in range(steps + 1):
            spine.append((out, up))
            slope = rise - droop * (step / steps) ** 1.3
            out += length / steps * math.cos(slope)
            up += length / steps * math.sin(slope)
        cosine, sine = math.cos(turn), math.sin(turn)
        for side in (-1, 1):
            first = len(vertices)
            for step, (out, up) in enumerate(spine):
                v = step / steps
                for across in (0, 1):
                    # The two strips slope down from the spine like a roof.
                    aside, down = side * 0.34 * across, 0.16 * across
                    x, z = out * cosine - aside * sine, out * sine + aside * cosine
                    vertices.append((x, up - down, z, 0.5 + 0.5 * side * across, v))
            for step in range(steps):
                a = first + 2 * step
                faces += [(a, a + 1, a + 3), (a, a + 3, a + 2)]
    return mapped(vertices, faces)


def bush():
    """Returns a PLY file of a bush, about 0.55 in radius. Each leaf is a quad, and leaf.png cuts out its shape."""
    chance = random.Random(12)
    vertices, faces = [], []
    for _ in range(900):
        while True:
            at = [chance.uniform(-1, 1) for _ in range(3)]
            far = math.hypot(*at)
            if 0.5 < far < 1:
                break
        along = [chance.gauss(0, 0.6) + a for a in at]
        length = math.hypot(*along)
        along = [a / length for a in along]
        other = [chance.gauss(0, 1) for _ in range(3)]
        dot = sum(a * b for a, b in zip(along, other))
        other = [b - dot * a for a, b in zip(along, other)]
        length = math.hypot(*other)
        other = [b / length for b in other]
        size, first = chance.uniform(0.1, 0.16), len(vertices)
        for u, v in ((0, 0), (1, 0), (1, 1), (0, 1)):
            place = [0.5 * a + size * (v * b + 0.6 * (u - 0.5) * c) for a, b, c in zip(at, along, other)]
            vertices.append((*place, u, v))
        faces += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    return mapped(vertices, faces)


def noise(u, v, cells, seed):
    """Returns smooth value noise from 0 to 1 with period 1 in u and v."""
    x, y = u * cells, v * cells
    column, row = math.floor(x), math.floor(y)

    def at(column, row):
        number = (column % cells) * 374761393 + (row % cells) * 668265263 + seed * 2246822519
        number = (number ^ (number >> 13)) * 1274126177 & 0xFFFFFFFF
        return ((number ^ (number >> 16)) & 0xFFFF) / 0xFFFF

    a, b = smooth(0, 1, x - column), smooth(0, 1, y - row)
    below = at(column, row) * (1 - a) + at(column + 1, row) * a
    return below * (1 - b) + (at(column, row + 1) * (1 - a) + at(column + 1, row + 1) * a) * b


def rough(u, v, cells, seed):
    return sum(noise(u, v, cells << octave, seed + octave) / 2 ** (octave + 1) for octave in range(3)) / 0.875


def paving(u, v):
    """Returns the colour of a pavement of four rows of four slabs; neighbouring rows are offset by half a slab."""
    row = math.floor(v * 4)
    across = (u * 4 + 0.5 * (row % 2)) % 4
    slab = math.floor(across)
    edge = min(across - slab, slab + 1 - across, v * 4 - row, row + 1 - v * 4)
    tint, warm = 0.78 + 0.22 * noise(slab / 4, row / 4, 4, 31), 0.06 * noise(slab / 4, row / 4, 4, 37) - 0.03
    spots = 0.84 + 0.28 * rough(u, v, 12, 3)
    joint = smooth(0.012, 0.028, edge)
    return [(0.36 + joint * (tint * shade - 0.36)) * spots for shade in (0.83 + warm, 0.76, 0.66 - warm)]


def plaster(u, v):
    shade = 0.9 + 0.14 * rough(u, v, 4, 7) - 0.1 * smooth(0.55, 0.8, rough(u, v, 8, 17))
    return [shade * channel for channel in (0.93, 0.85, 0.72)]


def star(u, v):
    """Returns the size of the eight-pointed star through the point, centerd in its unit cell; the star is the union of two squares."""
    x, y = abs(u % 1 - 0.5), abs(v % 1 - 0.5)
    return min(max(x, y), (x + y) / math.sqrt(2))


def zellige(u, v):
    """Returns the colour of tiles with eight-pointed stars and crosses between them."""
    inner, outer = star(u, v), star(u + 0.5, v + 0.5)
    glaze = 0.85 + 0.25 * rough(u, v, 6, 23)
    if inner < 0.12:
        colour = (0.85, 0.62, 0.2)
    elif inner < 0.25:
        colour = (0.07, 0.22, 0.5)
    elif outer < 0.2:
        colour = (0.08, 0.42, 0.36)
    else:
        colour = (0.62, 0.3, 0.16)
    line = max(smooth(0.018, 0.01, abs(inner - at)) for at in (0.12, 0.265))
    line = max(line, smooth(0.018, 0.01, abs(outer - 0.21)))
    return [glaze * (c * (1 - line) + w * line) for c, w in zip(colour, (0.9, 0.87, 0.8))]


def lattice(u, v):
    """Returns white where there is wood and black in the openings."""
    x, y = abs(u % 1 - 0.5), abs(v % 1 - 0.5)
    inner = star(u, v)
    wood = abs(inner - 0.3) < 0.05 or abs(star(u + 0.5, v + 0.5) - 0.13) < 0.035
    wood = wood or (inner > 0.3 and min(x, y) < 0.035)
    return (float(wood),) * 3


def frond(u, v):
    """Returns white inside the frond and black outside; v runs from the tip (0) to the stem (1), like the rows of the file."""
    across, along = abs(2 * u - 1), 1 - v
    reach = min(1, 5 * along) * (1 - 0.85 * max(0, along - 0.45) / 0.55)
    place = (along * 15 - across * 2.4) % 1
    leaflet = across < reach and abs(place - 0.5) < 0.3 * (1 - 0.8 * across / max(reach, 0.01)) and along > 0.08
    return (float(leaflet or across < 0.04),) * 3


def leaf_outline(u, v):
    return (float(abs(u - 0.5) < 0.46 * math.sin(math.pi * (1 - v) ** 0.8) ** 0.9),) * 3


if __name__ == "__main__":
    COURT.mkdir(parents=True, exist_ok=True)
    (SCENES / "depth_of_field.ron").write_text(depth_of_field())
    (SCENES / "many_lights.ron").write_text(many_lights())
    (MODELS / "ring.ply").write_bytes(ring())
    (MODELS / "vase.glb").write_bytes(vase())
    for shape in (column, pot, arch, palm, bush):
        (COURT / f"{shape.__name__}.ply").write_bytes(shape())
    for side, picture in ((512, paving), (256, plaster), (256, zellige), (256, lattice), (256, frond)):
        (COURT / f"{picture.__name__}.png").write_bytes(png(side, picture))
    (COURT / "leaf.png").write_bytes(png(64, leaf_outline))
