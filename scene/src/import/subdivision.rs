//! Loop subdivision surfaces.

use std::f64::consts::{PI, TAU};

use glam::{DVec3, Vec3};

use crate::{memory::vec_with_capacity, model::ModelMesh};

/// Returns points of the surface to which a control mesh converges, as a mesh with normals, and the number of
/// subdivisions (C. Loop, Smooth Subdivision Surfaces Based on Triangles, 1987).
///
/// There are `levels` subdivisions, or fewer if the mesh would have more than `max_triangles`. Each makes four
/// triangles of one, and 0 moves the control vertices to the surface. The positions must be finite and the indices
/// valid. Vertices around which the triangles are not one fan with a single orientation stay where they are. Fails if
/// memory does not suffice.
pub(crate) fn loop_limit_mesh(
    positions: &[Vec3],
    triangles: Vec<[u32; 3]>,
    levels: u32,
    max_triangles: usize,
) -> Result<(ModelMesh, u32), String> {
    let mut vertices: Vec<DVec3> = vec_with_capacity(positions.len())?;
    vertices.extend(positions.iter().map(|position| position.as_dvec3()));
    let mut mesh = ModelMesh {
        triangles,
        ..ModelMesh::default()
    };
    let mut done = 0;
    while done < levels && (1..=max_triangles / 4).contains(&mesh.triangles.len()) {
        (vertices, mesh.triangles) = subdivided(&vertices, &mesh.triangles)?;
        done += 1;
    }
    let rings = OneRings::new(vertices.len(), &mesh.triangles)?;
    let mut limit: Vec<DVec3> = vec_with_capacity(vertices.len())?;
    limit.extend(
        (0..vertices.len()).map(|vertex| match rings.around(vertex) {
            // The weight of pbrt. The edge converges to a curve for which it would be 1/6.
            Some(ring) if ring.open => ring.edge_mean(vertex, &vertices, 0.2),
            Some(ring) => {
                let count = ring.neighbors.len();
                let weight = 1.0 / (count as f64 + 0.375 / inner_weight(count));
                ring.inner_mean(vertex, &vertices, weight)
            }
            None => vertices[vertex],
        }),
    );
    mesh.positions = vec_with_capacity(limit.len())?;
    mesh.positions
        .extend(limit.iter().map(|position| position.as_vec3()));
    let mut normals: Vec<Vec3> = vec_with_capacity(limit.len())?;
    normals.extend((0..limit.len()).map(|vertex| {
        let ring = rings.around(vertex);
        ring.map_or(Vec3::ZERO, |ring| {
            ring.limit_normal(vertex, &limit).as_vec3()
        })
    }));
    if normals.contains(&Vec3::ZERO) {
        mesh.smooth();
        for (normal, smooth) in normals.iter_mut().zip(mesh.normals.iter().flatten()) {
            if *normal == Vec3::ZERO {
                *normal = *smooth;
            }
        }
    }
    mesh.normals = Some(normals);
    Ok((mesh, done))
}

/// Returns the vertices and triangles after one subdivision. The first vertices are the ones from before.
fn subdivided(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
) -> Result<(Vec<DVec3>, Vec<[u32; 3]>), String> {
    let rings = OneRings::new(positions.len(), triangles)?;
    // The edges of all triangles by their smaller vertex. Each has the other vertex and its number in the triangles.
    let sides = (triangles
        .iter()
        .flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]))
    .zip(0_u32..);
    let edges = Grouped::new(
        positions.len(),
        sides.map(|((from, to), side)| (from.min(to), [from.max(to), side])),
    )?;
    let count: usize = (0..positions.len())
        .map(|vertex| edges.of(vertex).chunk_by(is_same_edge).count())
        .sum();
    let mut moved: Vec<DVec3> = vec_with_capacity(positions.len() + count)?;
    moved.extend(
        (0..positions.len()).map(|vertex| match rings.around(vertex) {
            Some(ring) if ring.open => ring.edge_mean(vertex, positions, 0.125),
            Some(ring) => ring.inner_mean(vertex, positions, inner_weight(ring.neighbors.len())),
            None => positions[vertex],
        }),
    );
    // The new vertex on each edge of each triangle.
    let mut middles: Vec<[u32; 3]> = vec_with_capacity(triangles.len())?;
    middles.resize(triangles.len(), [0; 3]);
    for (vertex, &from) in positions.iter().enumerate() {
        for shared in edges.of(vertex).chunk_by(is_same_edge) {
            let mut ends = DVec3::ZERO;
            let mut opposite = DVec3::ZERO;
            for &edge in shared {
                let [to, side] = pair(edge);
                let (triangle, side) = (side as usize / 3, side as usize % 3);
                middles[triangle][side] = moved.len() as u32;
                ends = from + positions[to as usize];
                opposite += positions[triangles[triangle][(side + 2) % 3] as usize];
            }
            moved.push(match shared.len() {
                2 => 0.375 * ends + 0.125 * opposite,
                // The edge of a surface, or one where several surfaces meet.
                _ => 0.5 * ends,
            });
        }
    }
    let mut parts = vec_with_capacity(4 * triangles.len())?;
    for (&[a, b, c], &[ab, bc, ca]) in triangles.iter().zip(&middles) {
        parts.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
    }
    Ok((moved, parts))
}

/// Pairs of numbers that belong to the vertices of a mesh.
struct Grouped {
    /// Pairs of all vertices, one vertex after another, as the upper and lower bits of a number. Those of a vertex are
    /// in ascending order.
    pairs: Vec<u64>,
    /// Index in `pairs` at which each vertex begins, and the length of `pairs`.
    starts: Vec<usize>,
}

impl Grouped {
    /// Groups pairs by the vertex to which they belong, below `vertices`. Fails if memory does not suffice.
    fn new(
        vertices: usize,
        list: impl Iterator<Item = (u32, [u32; 2])> + Clone,
    ) -> Result<Grouped, String> {
        let mut starts: Vec<usize> = vec_with_capacity(vertices + 2)?;
        starts.resize(vertices + 2, 0);
        for (vertex, _) in list.clone() {
            starts[vertex as usize + 2] += 1;
        }
        let mut total = 0;
        for start in &mut starts {
            total += *start;
            *start = total;
        }
        let mut pairs = vec_with_capacity(total)?;
        pairs.resize(total, 0);
        for (vertex, [upper, lower]) in list {
            // This becomes the start of the next vertex.
            let next = &mut starts[vertex as usize + 1];
            pairs[*next] = u64::from(upper) << 32 | u64::from(lower);
            *next += 1;
        }
        for vertex in 0..vertices {
            pairs[starts[vertex]..starts[vertex + 1]].sort_unstable();
        }
        Ok(Grouped { pairs, starts })
    }

    /// Returns the pairs of a vertex in ascending order, each as one number; [`pair`] separates it.
    fn of(&self, vertex: usize) -> &[u64] {
        &self.pairs[self.starts[vertex]..self.starts[vertex + 1]]
    }
}

/// Returns both parts of a pair.
fn pair(pair: u64) -> [u32; 2] {
    [(pair >> 32) as u32, pair as u32]
}

/// Returns whether two edges that begin at the same vertex end at the same one.
fn is_same_edge(a: &u64, b: &u64) -> bool {
    pair(*a)[0] == pair(*b)[0]
}

/// The neighbours of each vertex of a mesh.
struct OneRings {
    /// Neighbours of all vertices, one vertex after another.
    neighbors: Vec<u32>,
    /// Range of each vertex in `neighbors`, and whether its ring is open. The range is empty if there is no ring.
    ranges: Vec<([u32; 2], bool)>,
}

/// The neighbours of a vertex, in the order in which its triangles follow one another.
struct OneRing<'r> {
    /// Indices of the neighbours, at least 1, counter-clockwise seen from the front.
    neighbors: &'r [u32],
    /// Whether the vertex is at the edge of the surface. The first and the last neighbour are then at the edge too.
    open: bool,
}

impl OneRings {
    /// Collects the neighbours of all vertices. Fails if memory does not suffice.
    fn new(vertices: usize, triangles: &[[u32; 3]]) -> Result<OneRings, String> {
        // Each triangle of a vertex is a step from one neighbour to the next.
        let steps = triangles
            .iter()
            .flat_map(|&[a, b, c]| [(a, [b, c]), (b, [c, a]), (c, [a, b])]);
        let steps = Grouped::new(vertices, steps)?;
        let mut rings = OneRings {
            neighbors: vec_with_capacity(steps.pairs.len() + vertices)?,
            ranges: vec_with_capacity(vertices)?,
        };
        let mut ends = Vec::new();
        for vertex in 0..vertices {
            let start = rings.neighbors.len();
            let open = push_ring(&mut rings.neighbors, steps.of(vertex), &mut ends);
            if open.is_none() {
                rings.neighbors.truncate(start);
            }
            let range = [start as u32, rings.neighbors.len() as u32];
            rings.ranges.push((range, open.unwrap_or(false)));
        }
        Ok(rings)
    }

    /// Returns the ring of a vertex. Returns `None` if its triangles are not one fan with a single orientation.
    fn around(&self, vertex: usize) -> Option<OneRing<'_>> {
        let ([start, end], open) = self.ranges[vertex];
        (start < end).then(|| OneRing {
            neighbors: &self.neighbors[start as usize..end as usize],
            open,
        })
    }
}

/// Appends the neighbours of a vertex to a list and returns whether the ring is open. Returns `None` if the triangles
/// are not one fan with a single orientation. `steps` are those of this vertex in [`OneRings::new`], and `ends` is
/// scratch memory.
fn push_ring(neighbors: &mut Vec<u32>, steps: &[u64], ends: &mut Vec<u32>) -> Option<bool> {
    ends.clear();
    ends.extend(steps.iter().map(|&step| pair(step)[1]));
    ends.sort_unstable();
    // In a fan, each neighbour begins at most one step and ends at most one.
    if steps
        .windows(2)
        .any(|steps| is_same_edge(&steps[0], &steps[1]))
        || ends.windows(2).any(|ends| ends[0] == ends[1])
    {
        return None;
    }
    let start = neighbors.len();
    let is_gap = |step: &&u64| ends.binary_search(&pair(**step)[0]).is_err();
    let gap = steps.iter().find(is_gap);
    let first = pair(*gap.or(steps.first())?)[0];
    let mut at = first;
    neighbors.push(first);
    while let Ok(step) = steps.binary_search_by_key(&at, |&step| pair(step)[0]) {
        at = pair(steps[step])[1];
        if at == first {
            break;
        }
        neighbors.push(at);
    }
    let open = gap.is_some();
    (neighbors.len() - start == steps.len() + usize::from(open)).then_some(open)
}

/// Returns the weight of each neighbour when a vertex inside the surface moves.
fn inner_weight(neighbors: usize) -> f64 {
    match neighbors {
        3 => 0.1875,
        _ => 0.375 / neighbors as f64,
    }
}

impl OneRing<'_> {
    /// Returns the mean of the vertex and its neighbours, each of which has this weight.
    fn inner_mean(&self, vertex: usize, positions: &[DVec3], weight: f64) -> DVec3 {
        let sum: DVec3 = self.positions(positions).sum();
        (1.0 - weight * self.neighbors.len() as f64) * positions[vertex] + weight * sum
    }

    /// Returns the mean of a vertex at the edge and its two neighbours there, each of which has this weight.
    fn edge_mean(&self, vertex: usize, positions: &[DVec3], weight: f64) -> DVec3 {
        let [first, last] = self.ends(positions);
        (1.0 - 2.0 * weight) * positions[vertex] + weight * (first + last)
    }

    /// Returns the unit normal of the limit surface at the vertex. Returns zero if its neighbours do not determine it.
    /// `limit` are the positions of all vertices on that surface.
    fn limit_normal(&self, vertex: usize, limit: &[DVec3]) -> DVec3 {
        let count = self.neighbors.len();
        let sum = |weight: &dyn Fn(f64) -> f64| -> DVec3 {
            let neighbors = self.positions(limit).enumerate();
            neighbors
                .map(|(index, position)| weight(index as f64) * position)
                .sum()
        };
        let (along, across) = match (self.open, count) {
            (false, 0..3) => return DVec3::ZERO,
            (false, _) => {
                let turn = TAU / count as f64;
                (
                    sum(&|index| libm::cos(turn * index)),
                    sum(&|index| libm::sin(turn * index)),
                )
            }
            (true, _) => {
                let [first, last] = self.ends(limit);
                let at = limit[vertex];
                let across = match count {
                    2 => first + last - 2.0 * at,
                    3 => limit[self.neighbors[1] as usize] - at,
                    4 => 2.0 * sum(&|_| 1.0) - 3.0 * (first + last) - 2.0 * at,
                    _ => {
                        let angle = PI / (count - 1) as f64;
                        let bend = 2.0 - 2.0 * libm::cos(angle);
                        let inner = sum(&|index| libm::sin(angle * index));
                        bend * inner - libm::sin(angle) * (first + last)
                    }
                };
                (first - last, across)
            }
        };
        along.cross(across).normalize_or_zero()
    }

    /// Returns the positions of the neighbours.
    fn positions(&self, positions: &[DVec3]) -> impl Iterator<Item = DVec3> {
        self.neighbors
            .iter()
            .map(|&vertex| positions[vertex as usize])
    }

    /// Returns the positions of the first and the last neighbour.
    fn ends(&self, positions: &[DVec3]) -> [DVec3; 2] {
        let last = self.neighbors.len() - 1;
        [0, last].map(|index| positions[self.neighbors[index] as usize])
    }
}
