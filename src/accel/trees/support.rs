//! The support function of a mesh: how far the mesh reaches in a direction. It gives the tight bounding boxes of
//! instances.

use glam::{DVec3, Vec3};

use crate::accel::primitive::Primitive;

/// Number of triangles per box of the lowest level, and of boxes per box of the next level.
const GROUP: usize = 8;

/// The triangles of a mesh under a hierarchy of boxes, each around [`GROUP`] neighbours of the level below.
pub(crate) struct Support<'a> {
    /// The triangles. Neighbours should be near one another in space.
    triangles: &'a [Primitive],
    /// Minimum and maximum corners of the boxes of each level, the lowest level first. The last level has one box.
    levels: Vec<Vec<[Vec3; 2]>>,
}

impl Support<'_> {
    /// Builds the hierarchy over at least one triangle.
    pub(crate) fn new(triangles: &[Primitive]) -> Support<'_> {
        let around = |boxes: &[[Vec3; 2]]| {
            let low = boxes
                .iter()
                .fold(Vec3::INFINITY, |low, each| low.min(each[0]));
            let high = boxes
                .iter()
                .fold(Vec3::NEG_INFINITY, |high, each| high.max(each[1]));
            [low, high]
        };
        let of_triangle =
            |&Primitive { a, b, c, .. }: &Primitive| [a.min(b).min(c), a.max(b).max(c)];
        let lowest = triangles.chunks(GROUP).map(|group| {
            let boxes: Vec<[Vec3; 2]> = group.iter().map(of_triangle).collect();
            around(&boxes)
        });
        let mut levels = vec![lowest.collect::<Vec<_>>()];
        while let Some(last) = levels.last()
            && last.len() > 1
        {
            let next = last.chunks(GROUP).map(around).collect();
            levels.push(next);
        }
        Support { triangles, levels }
    }

    /// Returns the largest dot product of `direction` with any point of the mesh, in object space. If the direction has
    /// length 1, it is a distance from the origin.
    pub(crate) fn reach(&self, direction: DVec3) -> f64 {
        let mut reached = f64::NEG_INFINITY;
        self.extend(self.levels.len() - 1, 0, direction, &mut reached);
        reached
    }

    /// Raises `reached` to the largest dot product of `direction` with any vertex in the box `index` of a level. Boxes
    /// that cannot raise it are skipped.
    fn extend(&self, level: usize, index: usize, direction: DVec3, reached: &mut f64) {
        let first = index * GROUP;
        if level == 0 {
            for triangle in self.triangles.iter().skip(first).take(GROUP) {
                for vertex in [triangle.a, triangle.b, triangle.c] {
                    *reached = reached.max(direction.dot(vertex.as_dvec3()));
                }
            }
            return;
        }
        let below = &self.levels[level - 1];
        let mut furthest = [(f64::NEG_INFINITY, 0); GROUP];
        for (each, (index, [low, high])) in furthest
            .iter_mut()
            .zip((first..).zip(below.iter().skip(first)))
        {
            let corner = DVec3::select(
                direction.cmplt(DVec3::ZERO),
                low.as_dvec3(),
                high.as_dvec3(),
            );
            *each = (direction.dot(corner), index);
        }
        // The furthest first, because it excludes most of the others.
        while let Some(furthest) = furthest.iter_mut().max_by(|a, b| a.0.total_cmp(&b.0))
            && furthest.0 > *reached
        {
            furthest.0 = f64::NEG_INFINITY;
            self.extend(level - 1, furthest.1, direction, reached);
        }
    }
}
