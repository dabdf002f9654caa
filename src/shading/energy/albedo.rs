//! Albedos of GGX facets that scatter light once, by quadrature in double precision. They need no twins, because only the
//! host builds tables.

use glam::{DVec2, DVec3};

/// Number of points of the quadrature over the cap of visible normals.
const POINTS: u32 = 1024;

/// Quadrature point on the cap of visible normals, independent of the viewing direction.
pub(super) struct Point {
    /// Height below the cap's top, as a fraction of the cap's height.
    drop: f64,
    /// Direction around the cap's axis, of length 1.
    round: DVec2,
    /// Quadrature weight, not normalised.
    pub(super) weight: f64,
}

/// Returns quadrature points of half the cap; the other half is its mirror image.
///
/// The points form a lattice by the golden ratio. Total reflection ends at an edge among the facets, which would cross
/// whole rows of a regular grid at once.
pub(super) fn points() -> Vec<Point> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let point = |index: u32| {
        // Denser towards the rim, where the few facets lie that lose energy on nearly smooth surfaces.
        let rest = 1.0 - (f64::from(index) + 0.5) / f64::from(POINTS);
        let angle = std::f64::consts::PI * (0.5 + GOLDEN * f64::from(index)).fract();
        Point {
            drop: 1.0 - rest * rest * rest,
            round: DVec2::new(libm::cos(angle), libm::sin(angle)),
            weight: 3.0 * rest * rest / f64::from(POINTS),
        }
    };
    (0..POINTS).map(point).collect()
}

/// The cap of visible normals of a viewing direction, stretched to a hemisphere's part.
pub(super) struct Cap {
    /// Unit direction to the eye, in a frame whose z axis is the surface normal.
    pub(super) eye: DVec3,
    /// Viewing direction relative to facets of roughness 1.
    stretched: DVec3,
    /// Height of the cap.
    height: f64,
    /// GGX roughness of the facets.
    alpha: f64,
}

impl Cap {
    pub(super) fn new(cosine: f64, alpha: f64) -> Cap {
        let eye = DVec3::new((1.0 - cosine * cosine).max(0.0).sqrt(), 0.0, cosine);
        let stretched = DVec3::new(eye.x * alpha, 0.0, eye.z).normalize();
        Cap {
            eye,
            stretched,
            height: 1.0 + stretched.z,
            alpha,
        }
    }

    /// Returns the facet normal of a quadrature point.
    pub(super) fn facet(&self, point: &Point) -> DVec3 {
        let drop = point.drop * self.height;
        let round = point.round * (drop * (2.0 - drop)).max(0.0).sqrt();
        let facet = DVec3::new(
            (round.x + self.stretched.x) * self.alpha,
            round.y * self.alpha,
            1.0 - drop + self.stretched.z,
        );
        facet.normalize()
    }
}

/// Returns the means of two functions over the visible normals of a viewing direction. `values` receives facet normal
/// and viewing direction.
fn over_facets(
    cosine: f64,
    alpha: f64,
    points: &[Point],
    values: impl Fn(DVec3, DVec3) -> (f64, f64),
) -> (f64, f64) {
    let cap = Cap::new(cosine, alpha);
    let (mut first, mut second, mut whole) = (0.0, 0.0, 0.0);
    for point in points {
        let values = values(cap.facet(point), cap.eye);
        first += point.weight * values.0;
        second += point.weight * values.1;
        whole += point.weight;
    }
    (first / whole, second / whole)
}

/// Returns √(cos² + α² sin²), as [`smith_root`](crate::shading::microfacet::smith_root).
fn root(cosine: f64, alpha: f64) -> f64 {
    (cosine * cosine + alpha * alpha * (1.0 - cosine * cosine)).sqrt()
}

/// Returns [`microfacet::shadowing`](crate::shading::microfacet::shadowing) in double precision, and 0 below the
/// horizon.
pub(super) fn shadowing(cos_eye: f64, cos_light: f64, alpha: f64, correlated: bool) -> f64 {
    if cos_light <= 0.0 {
        return 0.0;
    }
    let root_light = root(cos_light, alpha);
    if correlated {
        let root_eye = root(cos_eye, alpha);
        cos_light * (cos_eye + root_eye) / (cos_eye * root_light + cos_light * root_eye)
    } else {
        2.0 * cos_light / (cos_light + root_light)
    }
}

/// Returns the fraction of energy that single scattering by perfectly reflecting facets loses, and their
/// Schlick-weighted albedo. See [`glass`] for the parameters.
pub(super) fn mirrors(cosine: f64, alpha: f64, correlated: bool, points: &[Point]) -> (f64, f64) {
    let (all, grazing) = over_facets(cosine, alpha, points, |facet, eye| {
        let cos_facet = eye.dot(facet);
        let light = facet.z * 2.0 * cos_facet - eye.z;
        let seen = shadowing(cosine, light, alpha, correlated);
        (seen, seen * (1.0 - cos_facet).clamp(0.0, 1.0).powi(5))
    });
    ((1.0 - all).max(0.0), grazing)
}

/// Returns the fractions of energy, 0..=1, that single scattering by rough glass loses if it is seen from the front and
/// from the back.
///
/// `cosine` is that of the viewing direction to the normal, `alpha` the GGX roughness, and `ior` the refractive index
/// behind the front over that before it. `correlated` selects height-correlated masking. `points` are those of
/// [`points`].
pub(super) fn glass(
    cosine: f64,
    alpha: f64,
    ior: f64,
    correlated: bool,
    points: &[Point],
) -> (f64, f64) {
    let leaves = |facet: DVec3, eye: DVec3, eta: f64| {
        let cos_in = eye.dot(facet);
        let (reflected, cos_out) = fresnel(cos_in, eta);
        let up = facet.z * 2.0 * cos_in - eye.z;
        let down = eye.z * eta - facet.z * (eta * cos_in - cos_out);
        reflected * shadowing(cosine, up, alpha, correlated)
            + (1.0 - reflected) * shadowing(cosine, down, alpha, correlated)
    };
    let (front, back) = over_facets(cosine, alpha, points, |facet, eye| {
        (leaves(facet, eye, 1.0 / ior), leaves(facet, eye, ior))
    });
    ((1.0 - front).max(0.0), (1.0 - back).max(0.0))
}

/// Returns [`material::fresnel`](crate::shading::material::fresnel) in double precision; `eta` is the index on the
/// eye's side over the other.
pub(super) fn fresnel(cos_in: f64, eta: f64) -> (f64, f64) {
    let sin2_out = eta * eta * (1.0 - cos_in * cos_in).max(0.0);
    if sin2_out >= 1.0 {
        return (1.0, 0.0);
    }
    let cos_out = (1.0 - sin2_out).sqrt();
    let parallel = (cos_in - eta * cos_out) / (cos_in + eta * cos_out);
    let perpendicular = (eta * cos_in - cos_out) / (eta * cos_in + cos_out);
    (
        0.5 * (parallel * parallel + perpendicular * perpendicular),
        cos_out,
    )
}

/// Returns the transmittance of a smooth boundary for diffuse light; `eta` is the index on the light's side over the
/// other.
pub(super) fn mean_transmitted(eta: f64) -> f64 {
    const STEPS: u32 = 1024;
    let steps = (0..STEPS).map(|step| {
        let cosine = (f64::from(step) + 0.5) / f64::from(STEPS);
        (1.0 - fresnel(cosine, eta).0) * 2.0 * cosine
    });
    steps.sum::<f64>() / f64::from(STEPS)
}
