"""The camera of a scene."""

import json
import math

import numpy

from . import _checks as checks


class Camera:
    """A perspective or orthographic camera. Change its attributes, and assign it to `Scene.camera`.

    ``origin``, ``target`` and ``up`` are points and a direction in world space, in metres. ``fov`` is the horizontal
    angle of view in degrees; ``width`` is that of an orthographic view in metres. One of both is None. ``shift`` moves
    the view by (right, up) image widths and heights. ``pixel_aspect`` is the width of a pixel divided by its height.
    ``lens_radius`` is that of the aperture in metres, 0 for a pinhole, and ``focus_distance`` that of the plane of
    focus.
    """

    __slots__ = (
        "origin", "target", "up", "fov", "width", "shift", "pixel_aspect", "lens_radius", "focus_distance", "_others",
    )

    def __init__(
        self, origin, target, *, up=(0, 1, 0), fov=None, width=None, shift=(0, 0), pixel_aspect=1,
        lens_radius=0, focus_distance=None,
    ):
        if fov is not None and width is not None:
            raise ValueError("fov, width: a camera has one of them")
        self._others = {}
        self.origin, self.target, self.up = origin, target, up
        self.fov, self.width = (40 if fov is None and width is None else fov), width
        self.shift, self.pixel_aspect = shift, pixel_aspect
        self.lens_radius, self.focus_distance = lens_radius, focus_distance
        self._json()

    @classmethod
    def look_at(cls, origin, target, *, up=(0, 1, 0), fov=None, width=None):
        """Returns a camera at ``origin`` that looks at ``target``. ``fov`` is 40 degrees by default."""
        return cls(origin, target, up=up, fov=fov, width=width)

    @classmethod
    def from_matrix(cls, camera_to_world, *, fov=None, width=None):
        """Returns the camera of a 4 × 4 matrix from camera to world space, as in OpenGL, pyrender and Blender.

        The camera looks along its -z axis, and +y is up. ``fov`` is the horizontal angle of view in degrees.
        """
        matrix = numpy.reshape(checks.transform("camera_to_world", camera_to_world), (4, 4))
        origin, up, ahead = matrix[:3, 3], matrix[:3, 1], -matrix[:3, 2]
        return cls(origin, origin + _far(ahead, origin), up=up, fov=fov, width=width)

    @classmethod
    def from_opencv(cls, K, R, t, size):
        """Returns the camera of OpenCV's calibration, without lens distortion.

        ``K`` is the 3 × 3 camera matrix in pixels, whose skew must be 0. ``R`` and ``t`` take points from world to
        camera space, where +z is ahead and +y down. ``size`` is (width, height) in pixels. As in OpenCV, (0, 0) is the
        center of the first pixel.
        """
        width, height = checks.image_size(size)
        K, R = (_matrix(name, matrix) for name, matrix in [("K", K), ("R", R)])
        try:
            t = numpy.asarray(t, numpy.float64).ravel()
        except (TypeError, ValueError):
            raise TypeError("t: expected 3 numbers") from None
        t = numpy.array(checks.numbers("t", t, 3))
        if not (K[0, 0] > 0 and K[1, 1] > 0) or K[0, 1] != 0 or K[1, 0] != 0 or tuple(K[2]) != (0, 0, 1):
            raise ValueError("K: expected [[fx, 0, cx], [0, fy, cy], [0, 0, 1]] with fx and fy above 0")
        if not (numpy.abs(R @ R.T - numpy.eye(3)) < 1e-3).all() or numpy.linalg.det(R) < 0:
            raise ValueError("R: expected a rotation")
        origin = -R.T @ t
        fx, fy, cx, cy = K[0, 0], K[1, 1], K[0, 2], K[1, 2]
        return cls(
            origin,
            origin + _far(R[2], origin),
            up=-R[1],
            fov=math.degrees(2 * math.atan(width / 2 / fx)),
            shift=(((width - 1) / 2 - cx) / width, (cy - (height - 1) / 2) / height),
            pixel_aspect=fy / fx,
        )

    def __repr__(self):
        view = f"fov={self.fov}" if self.width is None else f"width={self.width}"
        return f"Camera(origin={self.origin}, target={self.target}, up={self.up}, {view})"

    def __eq__(self, other):
        return isinstance(other, Camera) and json.loads(self._json()) == json.loads(other._json())

    __hash__ = None

    @classmethod
    def _of_json(cls, text):
        fields = json.loads(text)
        camera = cls.__new__(cls)
        camera.origin, camera.target, camera.up = (tuple(fields.pop(name)) for name in ("origin", "target", "up"))
        projection = fields.pop("projection")
        camera.fov = projection.get("Perspective", {}).get("fov_degrees")
        camera.width = projection.get("Orthographic", {}).get("width")
        camera.shift, camera.pixel_aspect = tuple(fields.pop("shift")), fields.pop("pixel_aspect")
        lens = fields["lens"] or {}
        camera.lens_radius = lens.get("radius", 0)
        camera.focus_distance = lens.get("focus", {}).get("Distance")
        camera._others = fields
        return camera

    def _json(self):
        """Returns the camera as the module reads it, after a check of all attributes."""
        origin, target, up = (
            checks.numbers(name, getattr(self, name), 3, -1e8, 1e8) for name in ("origin", "target", "up")
        )
        if (self.fov is None) == (self.width is None):
            raise ValueError("fov, width: a camera has one of them, and None for the other")
        if self.fov is not None:
            projection = {"Perspective": {"fov_degrees": checks.number("fov", self.fov, 0.001, 179.999)}}
        else:
            projection = {"Orthographic": {"width": checks.number("width", self.width, 1e-15, 1e8)}}
        lens = None
        radius = checks.number("lens_radius", self.lens_radius, 0, 1e8)
        if radius > 0:
            lens = dict(self._others.get("lens") or {"blades": 0, "rotation_degrees": 0, "focus": {"Point": target}})
            lens["radius"] = radius
            if self.focus_distance is not None:
                lens["focus"] = {"Distance": checks.number("focus_distance", self.focus_distance, 1e-15, 1e8)}
        return json.dumps({
            "filter": {"Box": {"radius": 0.5}},
            **self._others,
            "origin": origin,
            "target": target,
            "up": up,
            "projection": projection,
            "shift": checks.numbers("shift", self.shift, 2, -1e6, 1e6),
            "pixel_aspect": checks.number("pixel_aspect", self.pixel_aspect, 0.001, 1000),
            "lens": lens,
        })


def _far(direction, origin):
    """Returns the direction, as long as the origin is far, so that rounding the target turns the view little."""
    length = numpy.linalg.norm(direction)
    return direction / length * max(1.0, float(numpy.abs(origin).max()))


def _matrix(name, matrix):
    try:
        matrix = numpy.asarray(matrix, numpy.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a 3 x 3 matrix of numbers") from None
    if matrix.shape != (3, 3):
        raise ValueError(f"{name}: expected the shape (3, 3), got {matrix.shape}")
    if not (numpy.abs(matrix) <= 1e30).all():
        raise ValueError(f"{name}: expected finite numbers")
    return matrix
