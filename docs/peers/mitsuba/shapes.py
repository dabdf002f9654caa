"""Builds and reads the triangles of scene objects, in the same way as the crate `raysieve-scene`."""

import json
import struct
from dataclasses import dataclass, replace

import numpy as np


@dataclass
class Mesh:
    """Triangles with shared vertices, positions in metres. The texture coordinates (0, 0) are the upper left corner."""

    positions: np.ndarray
    triangles: np.ndarray
    normals: np.ndarray | None = None
    uvs: np.ndarray | None = None


def transform(scale=1, rotate=(0, 0, 0), translate=(0, 0, 0), **_):
    """Returns the 4 × 4 matrix of a scale, then rotations about x, y and z in degrees, then a translation."""
    x, y, z = np.radians(np.asarray(rotate, float))

    def turn(first, second, angle):
        matrix = np.eye(3)
        matrix[first, first] = matrix[second, second] = np.cos(angle)
        matrix[second, first], matrix[first, second] = np.sin(angle), -np.sin(angle)
        return matrix

    matrix = np.eye(4)
    matrix[:3, :3] = turn(0, 1, z) @ turn(2, 0, y) @ turn(1, 2, x) @ np.diag(np.broadcast_to(scale, 3))
    matrix[:3, 3] = translate
    return matrix


def transformed(mesh, matrix):
    """Returns a mesh transformed by a 4 × 4 matrix. A mirroring matrix reverses the triangles."""
    linear = matrix[:3, :3]
    normals = mesh.normals
    if normals is not None:
        normals = normals @ np.linalg.inv(linear)
        normals = normals / np.linalg.norm(normals, axis=-1, keepdims=True)
    triangles = mesh.triangles if np.linalg.det(linear) > 0 else mesh.triangles[:, [0, 2, 1]]
    return replace(mesh, positions=mesh.positions @ linear.T + matrix[:3, 3], triangles=triangles, normals=normals)


def merged(meshes):
    """Returns one mesh of the triangles of all meshes, which must have the same attributes."""
    offsets = np.cumsum([0] + [len(mesh.positions) for mesh in meshes])

    def joined(name):
        parts = [getattr(mesh, name) for mesh in meshes]
        return None if parts[0] is None else np.concatenate(parts)

    triangles = [mesh.triangles + offset for mesh, offset in zip(meshes, offsets)]
    return Mesh(joined("positions"), np.concatenate(triangles), joined("normals"), joined("uvs"))


def parallelograms(corners):
    """Returns a mesh of parallelograms, given by four corners each, that each show a whole texture."""
    count = len(corners)
    first = 4 * np.arange(count)[:, None]
    triangles = np.stack([first + [0, 1, 2], first + [0, 2, 3]], 1).reshape(-1, 3)
    uvs = np.tile([[0, 1], [1, 1], [1, 0], [0, 0]], (count, 1)).astype(float)
    return Mesh(np.asarray(corners, float).reshape(-1, 3), triangles, uvs=uvs)


def quad(corner, edge_u, edge_v, **_):
    """Returns the mesh of a `Quad`."""
    a, u, v = (np.asarray(value, float) for value in (corner, edge_u, edge_v))
    return parallelograms([[a, a + u, a + u + v, a + v]])


def box(center, half_size, rotate_y=0, **_):
    """Returns the mesh of a `Box`, turned about y by degrees."""
    front = [(-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)]
    signs = np.array(front + [(x, y, -z) for x, y, z in front])
    matrix = transform(rotate=(0, rotate_y, 0), translate=center)
    corners = signs * np.asarray(half_size, float) @ matrix[:3, :3].T + matrix[:3, 3]
    faces = [(0, 1, 2, 3), (5, 4, 7, 6), (1, 5, 6, 2), (4, 0, 3, 7), (3, 2, 6, 7), (4, 5, 1, 0)]
    return parallelograms(corners[np.array(faces)])


def displaced_sphere(rings, segments, amplitudes=(0.08, 0.03), center=(0, 0, 0), radius=1, smooth=False, **_):
    """Returns the mesh of a `DisplacedSphere`."""
    u = np.pi * np.arange(rings + 1)[:, None] / rings
    v = 2 * np.pi * np.arange(segments)[None] / segments
    coarse, fine = amplitudes
    r = 1 + coarse * np.sin(9 * u) * np.cos(7 * v) + fine * np.sin(31 * u + 1) * np.sin(29 * v)
    unit = np.stack([np.sin(u) * np.cos(v), np.cos(u) + 0 * v, np.sin(u) * np.sin(v)], -1)
    points = (np.asarray(center) + radius * r[..., None] * unit).reshape(-1, 3)
    ring, segment = np.arange(rings)[:, None] * segments, np.arange(segments)[None]
    beside = (segment + 1) % segments
    a, b, c, d = ring + segment, ring + beside, ring + segments + beside, ring + segments + segment
    triangles = np.concatenate([np.stack(three, -1).reshape(-1, 3) for three in ((a, b, c), (a, c, d))])
    return finished(Mesh(points, triangles), smooth)


def finished(mesh, smooth):
    """Removes triangles without area and, if `smooth`, adds missing normals."""
    a, b, c = np.moveaxis(mesh.positions.astype(np.float32)[mesh.triangles], 1, 0)
    mesh = replace(mesh, triangles=mesh.triangles[np.linalg.norm(np.cross(b - a, c - a), axis=-1) > 1e-19])
    return replace(mesh, normals=smooth_normals(mesh)) if smooth and mesh.normals is None else mesh


def smooth_normals(mesh):
    """Returns the normals of the triangles around each position, averaged with the angles as weights."""

    def unit(vectors):
        return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-30)

    positions = mesh.positions.astype(np.float32) + 0
    _, place = np.unique(positions, axis=0, return_inverse=True)
    place = place.reshape(-1)
    corners = positions.astype(float)[mesh.triangles]
    normals = unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    sums = np.zeros((place.max() + 1, 3))
    for corner in range(3):
        onwards = unit(corners[:, (corner + 1) % 3] - corners[:, corner])
        back = unit(corners[:, (corner + 2) % 3] - corners[:, corner])
        angles = np.arccos(np.clip((onwards * back).sum(-1), -1, 1))
        np.add.at(sums, place[mesh.triangles[:, corner]], normals * angles[:, None])
    return unit(sums)[place]


def scattered(count, to, seed=0, scale=(1, 1), turn=360, **box_start):
    """Returns the 4 × 4 matrices of the instances that `scatter` places at random between the corners `from` and `to`.

    The random numbers are those of Raysieve. `scale` is the range of sizes, and `turn` the largest turn about y in
    degrees.
    """

    def unit(dimension):
        with np.errstate(over="ignore"):
            key = ((np.uint64(seed) << np.uint64(32)) | np.arange(count, dtype=np.uint64)) * np.uint64(8)
            word = (key + np.uint64(dimension)) * np.uint64(0x9E3779B97F4A7C15)
            word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            return ((word ^ (word >> np.uint64(31))) >> np.uint64(11)).astype(float) / 2.0**53

    start, end = np.asarray(box_start["from"], float), np.asarray(to, float)
    sizes, angles = scale[0] + (scale[1] - scale[0]) * unit(3), np.radians(turn * unit(4))
    matrices = np.zeros((count, 4, 4))
    matrices[:, 0, 0] = matrices[:, 2, 2] = sizes * np.cos(angles)
    matrices[:, 0, 2], matrices[:, 2, 0] = sizes * np.sin(angles), -sizes * np.sin(angles)
    matrices[:, 1, 1], matrices[:, 3, 3] = sizes, 1
    matrices[:, :3, 3] = start + (end - start) * np.stack([unit(0), unit(1), unit(2)], -1)
    return matrices


def read_ply(path, smooth):
    """Reads a binary PLY file of positions, texture coordinates and triangles, as `scenes/make.py` writes it."""
    data = path.read_bytes()
    header, body = data.split(b"end_header\n", 1)
    lines = header.decode().split("\n")
    counts = [int(line.split()[2]) for line in lines if line.startswith("element")]
    names = [line.split()[2] for line in lines if line.startswith("property float")]
    vertices = np.frombuffer(body, "<f4", counts[0] * len(names)).reshape(counts[0], len(names)).astype(float)
    faces = np.frombuffer(body, [("corners", "u1"), ("indices", "<i4", 3)], counts[1], vertices.size * 4)
    assert (faces["corners"] == 3).all()
    uvs = np.stack([vertices[:, names.index("u")], 1 - vertices[:, names.index("v")]], -1) if "u" in names else None
    return finished(Mesh(vertices[:, :3], faces["indices"].astype(int), uvs=uvs), smooth)


def read_glb(path):
    """Reads a GLB file of one mesh and one material, with normals and texture coordinates.

    Returns the mesh, the material, and the file of each texture's image as bytes.
    """
    data = path.read_bytes()
    length = struct.unpack_from("<I", data, 12)[0]
    document = json.loads(data[20 : 20 + length])
    blob = data[28 + length :]

    def view(index):
        view = document["bufferViews"][index]
        start = view.get("byteOffset", 0)
        return blob[start : start + view["byteLength"]]

    def accessor(index):
        accessor = document["accessors"][index]
        width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        kind = {5126: "<f4", 5125: "<u4", 5123: "<u2"}[accessor["componentType"]]
        return np.frombuffer(view(accessor["bufferView"]), kind, accessor["count"] * width).reshape(-1, width)

    (primitive,) = document["meshes"][0]["primitives"]
    attributes = primitive["attributes"]
    mesh = Mesh(
        accessor(attributes["POSITION"]).astype(float),
        accessor(primitive["indices"]).reshape(-1, 3).astype(int),
        accessor(attributes["NORMAL"]).astype(float),
        accessor(attributes["TEXCOORD_0"]).astype(float),
    )
    images = [view(document["images"][texture["source"]]["bufferView"]) for texture in document["textures"]]
    return finished(mesh, True), document["materials"][primitive["material"]], images


def write_ply(mesh, path):
    """Writes a binary PLY file for Mitsuba, with texture coordinates from the upper left corner as in `mesh`."""
    columns = {"xyz": mesh.positions}
    if mesh.normals is not None:
        columns["nx ny nz"] = mesh.normals
    if mesh.uvs is not None:
        columns["uv"] = mesh.uvs
    names = [name for key in columns for name in (key.split() if " " in key else key)]
    faces = np.zeros(len(mesh.triangles), [("corners", "u1"), ("indices", "<i4", 3)])
    faces["corners"], faces["indices"] = 3, mesh.triangles
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(mesh.positions)}"]
    header += [f"property float {name}" for name in names]
    header += [f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header\n"]
    vertices = np.concatenate(list(columns.values()), -1).astype("<f4")
    path.write_bytes("\n".join(header).encode() + vertices.tobytes() + faces.tobytes())
