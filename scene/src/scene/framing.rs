//! The rule that adapts the camera of a model to the image size.

use std::{array, sync::Arc};

use glam::{DVec2, DVec3, Vec3};

use super::{Camera, PixelFilter, Projection, camera::fov_degrees};

/// Tangent of half the default angle of view along the shorter side of the image; that half is 14°.
const TAN_HALF_FOV: f64 = 0.2493;
/// Width of the visible region divided by that of the model: above 1, so that a margin is left.
const MARGIN: f64 = 1.06;

/// Rule that gives a model's camera for any image size, so that the same part of the model stays visible.
#[derive(Clone, Debug, PartialEq)]
pub enum Framing {
    /// Shows the whole model from a fixed direction, as large as the image allows.
    Whole(WholeView),
    /// Shows the view of the model's own camera.
    Camera {
        /// The camera for a square image. Other aspect ratios change only the width of its view, or only the height if
        /// `keeps_width` is set.
        camera: Camera,
        /// Whether the width of the view is independent of the image size; otherwise the height is.
        keeps_width: bool,
    },
}

/// A camera of a model's file.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedCamera {
    /// Name of the camera in the file, or else that of its node; empty if both have none.
    pub name: String,
    /// Rule that gives the camera for any image size.
    pub framing: Framing,
}

/// A view of a whole model from a fixed direction.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeView {
    /// Coordinate system of the view.
    axes: ViewAxes,
    /// Points of the model on the convex hull of their coordinates along `right` and `back`, in metres. No other point
    /// can touch the left or right edge of the image.
    across: Arc<[DVec2]>,
    /// Points of the model on the convex hull of their coordinates along `up` and `back`, in metres. No other point can
    /// touch the upper or lower edge of the image.
    upwards: Arc<[DVec2]>,
    /// Center of the model's bounding box in meters. Like the points, before `origin` is subtracted.
    center: DVec3,
    /// The [`Scene::origin`](super::Scene::origin) to which cameras are relative.
    origin: DVec3,
    /// Extent of the view.
    lens: WholeLens,
}

/// The projection and the distance of a [`WholeView`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WholeLens {
    /// Whether the projection is orthographic; then the angle of view is ignored.
    pub orthographic: bool,
    /// Horizontal angle of view in degrees, 0.001 to 179.999; `None` for 28° along the shorter side of the image.
    pub fov_degrees: Option<f32>,
    /// Distance in metres from the camera to the center of the model's bounding box; `None` for the distance at which
    /// the model fills the image.
    pub distance: Option<f64>,
    /// Whether the camera's target is on the vertical axis through the center of the box, about which the camera turns.
    pub turntable: bool,
}

/// The right-handed coordinate system of a view, without an origin: three perpendicular unit vectors in world space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewAxes {
    /// Direction to the right in the image.
    pub right: DVec3,
    /// Direction upwards in the image.
    pub up: DVec3,
    /// Direction from the model to the camera.
    pub back: DVec3,
}

impl ViewAxes {
    /// Returns the axes of a camera at this azimuth and elevation from its target, both in degrees.
    ///
    /// The azimuth is 0 in the direction +z and grows towards +x. The elevation is -90 to 90 above the horizontal
    /// plane. Straight above or below, the top of the image is the direction that it approaches when the camera tilts
    /// there.
    pub fn new(azimuth_degrees: f64, elevation_degrees: f64) -> ViewAxes {
        let (sin, cos) = libm::sincos(azimuth_degrees.to_radians());
        let level = DVec3::new(sin, 0.0, cos);
        let (rise, along) = libm::sincos(elevation_degrees.to_radians());
        ViewAxes {
            right: DVec3::new(cos, 0.0, -sin),
            up: DVec3::Y * along - level * rise,
            back: level * along + DVec3::Y * rise,
        }
    }

    /// Returns the up vector for a camera with these axes: +y, unless the view is almost vertical.
    pub(crate) fn camera_up(&self) -> Vec3 {
        if self.back.y.abs() < 0.9999 {
            Vec3::Y
        } else {
            self.up.as_vec3()
        }
    }
}

/// The outline of a model in a view: those of its points that can touch the edges of the image.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    axes: ViewAxes,
    across: Hull,
    upwards: Hull,
}

impl Outline {
    /// Creates an outline without points.
    pub(crate) fn new(axes: ViewAxes) -> Outline {
        Outline {
            axes,
            across: Hull::default(),
            upwards: Hull::default(),
        }
    }

    /// Adds a point of the scene in meters, before the scene's origin is subtracted. A model is upright by then.
    pub(crate) fn push(&mut self, point: DVec3) {
        let back = point.dot(self.axes.back);
        self.across
            .push(DVec2::new(point.dot(self.axes.right), back));
        self.upwards.push(DVec2::new(point.dot(self.axes.up), back));
    }

    /// Removes points that are no corners of the outline.
    pub(crate) fn reduce(&mut self) {
        self.across.reduce();
        self.upwards.reduce();
    }

    /// Adds all points of another outline in the same view.
    pub(crate) fn extend(&mut self, other: &Outline) {
        let pairs = [
            (&mut self.across, &other.across),
            (&mut self.upwards, &other.upwards),
        ];
        for (hull, other) in pairs {
            other.points.iter().for_each(|&point| hull.push(point));
        }
    }

    /// Returns the view that shows everything. `center` is the center of the bounding box in metres, and `origin` is the
    /// [`Scene::origin`](super::Scene::origin) of the scene.
    pub(crate) fn view(self, center: DVec3, lens: WholeLens, origin: DVec3) -> WholeView {
        WholeView {
            axes: self.axes,
            across: self.across.finish(),
            upwards: self.upwards.finish(),
            center,
            origin,
            lens,
        }
    }
}

/// A builder of the convex hull of points, which keeps few of the others.
#[derive(Clone, Debug, Default)]
struct Hull {
    /// All corners of the hull so far, and other points that were added since the last call of [`Hull::reduce`].
    points: Vec<DVec2>,
    /// Number of corners at the last call of [`Hull::reduce`].
    corners: usize,
    /// Half-planes whose intersection is a polygon within the hull. A point in all of them is not a corner. Until there
    /// are three corners, they are empty.
    inside: [HalfPlane; Hull::SIDES],
}

/// The points whose dot product with `normal` is larger than `offset`: one side of a line. It is empty by default.
#[derive(Clone, Copy, Debug, Default)]
struct HalfPlane {
    normal: DVec2,
    offset: f64,
}

impl HalfPlane {
    /// All points.
    const PLANE: HalfPlane = HalfPlane {
        normal: DVec2::ZERO,
        offset: -1.0,
    };
}

impl Hull {
    /// Number of points, in addition to twice the corners of the last reduction, at which the hull is reduced.
    const STEP: usize = 4096;
    /// Number of sides of the polygon inside the hull.
    const SIDES: usize = 8;
    /// Directions, counter-clockwise, in which the corners of that polygon are the farthest points.
    const DIRECTIONS: [(f64, f64); Self::SIDES] = [
        (1.0, 0.0),
        (1.0, 1.0),
        (0.0, 1.0),
        (-1.0, 1.0),
        (-1.0, 0.0),
        (-1.0, -1.0),
        (0.0, -1.0),
        (1.0, -1.0),
    ];

    #[inline(always)]
    fn push(&mut self, point: DVec2) {
        let is_inside = |side: &HalfPlane| side.normal.dot(point) > side.offset;
        if !self.inside.iter().all(is_inside) {
            self.push_candidate(point);
        }
    }

    /// Adds a point that may be a corner.
    fn push_candidate(&mut self, point: DVec2) {
        self.points.push(point);
        if self.points.len() >= 2 * self.corners + Self::STEP {
            self.reduce();
        }
    }

    /// Returns the corners, counter-clockwise.
    fn finish(mut self) -> Arc<[DVec2]> {
        self.reduce();
        self.points.into()
    }

    /// Removes all points but the corners, by A. M. Andrew's monotone chain (1979).
    fn reduce(&mut self) {
        let by_x = |a: &DVec2, b: &DVec2| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y));
        self.points.sort_unstable_by(by_x);
        self.points.dedup();
        let mut corners: Vec<DVec2> = Vec::new();
        let forward = self.points.iter();
        let backward = self.points.iter().rev().skip(1);
        let mut turned = 0;
        for (number, &point) in forward.chain(backward).enumerate() {
            if number == self.points.len() {
                turned = corners.len() - 1;
            }
            while let [.., a, b] = corners[turned..]
                && (b - a).perp_dot(point - a) <= 0.0
            {
                corners.pop();
            }
            corners.push(point);
        }
        // The chain ends where it began.
        if corners.len() > 1 {
            corners.pop();
        }
        self.points = corners;
        self.corners = self.points.len();
        if self.corners >= 3 {
            self.inside = self.polygon_of_extremes();
        }
    }

    /// Returns the half-planes of the polygon between the corners that are farthest in eight directions. There must be
    /// three corners or more.
    fn polygon_of_extremes(&self) -> [HalfPlane; Hull::SIDES] {
        let extremes = Self::DIRECTIONS.map(|(x, y)| {
            let along = |corner: &&DVec2| corner.dot(DVec2::new(x, y));
            let corners = self.points.iter();
            corners.max_by(|a, b| along(a).total_cmp(&along(b)))
        });
        array::from_fn(|number| {
            let next = extremes[(number + 1) % Self::SIDES];
            let (Some(&from), Some(&to)) = (extremes[number], next) else {
                return HalfPlane::default();
            };
            if from == to {
                return HalfPlane::PLANE;
            }
            let normal = (to - from).perp();
            HalfPlane {
                normal,
                offset: normal.dot(from),
            }
        })
    }
}

/// Returns the largest value of `distance_along` over the points.
fn max_of(points: &[DVec2], distance_along: impl Fn(DVec2) -> f64) -> f64 {
    let values = points.iter().map(|&point| distance_along(point));
    values.fold(f64::NEG_INFINITY, f64::max)
}

/// Returns the position along the edge direction and along `back` of the camera that sees all points within the tangent
/// `tan_half` of half its angle of view, as near as possible.
fn fit_perspective(points: &[DVec2], tan_half: f64) -> (f64, f64) {
    let tan_half = tan_half / MARGIN;
    let right = max_of(points, |point| point.x + tan_half * point.y);
    let left = max_of(points, |point| -point.x + tan_half * point.y);
    ((right - left) / 2.0, (right + left) / (2.0 * tan_half))
}

/// Returns the position along the edge direction from which a camera at the position `distance` along `back` sees as
/// much of the points on one side as on the other. It sees all within the tangent `tan_half`.
fn center_at(points: &[DVec2], tan_half: f64, distance: f64) -> f64 {
    // The smaller the angle, the farther away is the camera that fits the points into it.
    let (mut low, mut high) = (0.0, tan_half);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if fit_perspective(points, middle).1 > distance {
            low = middle;
        } else {
            high = middle;
        }
    }
    fit_perspective(points, high).0
}

/// Returns the middle and the width of the points along the edge direction.
fn fit_orthographic(points: &[DVec2]) -> (f64, f64) {
    let right = max_of(points, |point| point.x);
    let left = max_of(points, |point| -point.x);
    ((right - left) / 2.0, right + left)
}

impl WholeView {
    /// Returns the direction from the model to the camera, of length 1.
    pub fn to_camera(&self) -> DVec3 {
        self.axes.back
    }

    /// Returns the camera for an image whose width is `aspect_ratio` times its height.
    fn camera(&self, aspect_ratio: f64) -> Camera {
        let ViewAxes { right, up, back } = self.axes;
        let nearest = max_of(&self.across, |point| point.y);
        let depth = nearest + max_of(&self.across, |point| -point.y);
        let mut place = [right, up, back].map(|axis| self.center.dot(axis));
        let center_back = place[2];
        let projection = if self.lens.orthographic {
            let (x, width) = fit_orthographic(&self.across);
            let (y, height) = fit_orthographic(&self.upwards);
            let width = MARGIN * width.max(height * aspect_ratio);
            place = [x, y, nearest + depth.max(width)];
            Projection::Orthographic {
                width: width as f32,
            }
        } else {
            let tan_half_width = match self.lens.fov_degrees {
                Some(degrees) => libm::tan(f64::from(degrees).to_radians() / 2.0),
                None => TAN_HALF_FOV * aspect_ratio.max(1.0),
            };
            let tan_half_height = tan_half_width / aspect_ratio;
            if self.lens.distance.is_none() {
                let (_, by_width) = fit_perspective(&self.across, tan_half_width);
                let (_, by_height) = fit_perspective(&self.upwards, tan_half_height);
                // Rays must not start on a model that is seen edge-on.
                let distance = by_width.max(by_height).max(nearest + 1e-3 * depth);
                place = [
                    center_at(&self.across, tan_half_width, distance),
                    center_at(&self.upwards, tan_half_height, distance),
                    distance,
                ];
            }
            Projection::Perspective {
                fov_degrees: fov_degrees(tan_half_width),
            }
        };
        if let Some(distance) = self.lens.distance {
            place[2] = center_back + distance;
        }
        let at = |distance: f64| right * place[0] + up * place[1] + back * distance - self.origin;
        let mut target_back = center_back;
        let level = (1.0 - back.y * back.y).max(0.0).sqrt();
        if self.lens.turntable && level > 1e-3 {
            let rise = place[1] - self.center.dot(up);
            target_back += rise * back.y / level;
            if target_back >= place[2] {
                target_back = center_back;
            }
        }
        Camera {
            origin: at(place[2]).as_vec3(),
            target: at(target_back).as_vec3(),
            up: self.axes.camera_up(),
            projection,
            shift: [0.0; 2],
            pixel_aspect: 1.0,
            lens: None,
            filter: PixelFilter::default(),
        }
    }
}

impl Framing {
    /// Returns the camera for an image of this width and height in pixels.
    pub fn camera(&self, (width, height): (u32, u32)) -> Camera {
        let aspect_ratio = f64::from(width) / f64::from(height.max(1));
        match self {
            Framing::Whole(view) => view.camera(aspect_ratio),
            Framing::Camera {
                camera,
                keeps_width: true,
            } => *camera,
            Framing::Camera { camera, .. } => camera.with_width_scaled(aspect_ratio),
        }
    }
}
