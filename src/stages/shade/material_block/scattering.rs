//! The BSDFs of a block of paths, and the directions in which the paths continue.

use glam::Vec3;

use super::MaterialBlock;
use crate::{
    accel::arrays::{F32Array, PATHS, Vec3Array},
    accel::instance::{consistent_normal, ray_origin},
    device::render_scene::RenderScene,
    math::dot,
    sampler::unit,
    shading::{
        bsdf::{
            Bsdf, layered,
            layered::{BoundaryEnergy, opaque_value, sample_layers},
            sample_diffuse, unresolved_bsdf,
        },
        energy::{GRAZING, LOST, hemispherical},
        material::{Material, reflect, sample_cosine},
        microfacet::sample_visible_normal,
    },
};

/// The lobes of the layered BSDF of each path of a block: see the fields of [`Bsdf`].
#[derive(Default)]
pub(super) struct Lobes {
    f0: Vec3Array,
    f90: F32Array,
    multiple_scattering: Vec3Array,
    diffuse: Vec3Array,
    boundary_f0: F32Array,
    boundary_f90: F32Array,
    facets_cumulative: F32Array,
    diffuse_cumulative: F32Array,
    /// Hemispherical means of [`LOST`], 0..=1.
    mean_lost: F32Array,
    /// Hemispherical means of [`GRAZING`], 0..=1.
    mean_grazing: F32Array,
}

impl MaterialBlock {
    /// Turns both normals of each surface to the side that was hit, and bends shading normals that would reflect into
    /// the surface. Computes the origins of rays there, and whether they lie above the triangle
    /// (`is_ray_origin_lifted`). Records which side was hit, and whether that side scatters light.
    #[inline(always)]
    pub(super) fn turn_to_eye(&mut self, material: &Material) {
        let is_two_sided = material.one_sided != 1;
        for at in 0..PATHS {
            let mut surface = self.surfaces.get(at);
            let direction = self.ray_directions.get(at);
            let front = -dot(direction, surface.normal) > 0.0;
            let side = if front { 1.0 } else { -1.0 };
            let normal = surface.normal * side;
            let shading = consistent_normal(surface.shading * side, normal, -direction);
            (surface.normal, surface.shading) = (normal, shading);
            let (origin, is_lifted) = ray_origin(&surface, 1.0);
            self.is_front[at] = front;
            self.side_scatters[at] = front | is_two_sided;
            self.surfaces.normals.set(at, normal);
            self.surfaces.shading.set(at, shading);
            self.ray_origins.set(at, origin);
            self.is_ray_origin_lifted[at] = is_lifted;
        }
    }

    /// Computes the lobes of a layered material for the directions to the eye.
    #[inline(always)]
    pub(super) fn find_lobes(&mut self, scene: &RenderScene, material: &Material) {
        let mut cosines = [0.0; PATHS];
        for at in 0..PATHS {
            cosines[at] = -dot(self.ray_directions.get(at), self.surfaces.shading.get(at));
        }
        let (tables, table) = (&scene.energy[..], material.mirrors);
        self.energies
            .look_up(tables, table, &self.materials.alphas, &cosines, self.count);
        for at in 0..self.count {
            let alpha = self.materials.alphas[at];
            self.lobes.mean_lost[at] = hemispherical(tables, table, LOST, alpha);
            self.lobes.mean_grazing[at] = hemispherical(tables, table, GRAZING, alpha);
        }
        for at in 0..PATHS {
            let material = self.materials.get(at, material);
            // The side matters for glass only.
            let mut bsdf = unresolved_bsdf(&material, true);
            let (lost, at_grazing) = self.energies.get(at);
            let energy = BoundaryEnergy {
                lost,
                at_grazing,
                mean_lost: self.lobes.mean_lost[at],
                mean_grazing: self.lobes.mean_grazing[at],
            };
            let mean_entered = layered::resolve_base(&mut bsdf, &material, &energy);
            bsdf.coat_transmittance = 1.0;
            layered::choose_lobes(&mut bsdf, &energy, mean_entered);
            self.lobes.f0.set(at, bsdf.f0);
            self.lobes.f90[at] = bsdf.f90;
            self.lobes
                .multiple_scattering
                .set(at, bsdf.multiple_scattering);
            self.lobes.diffuse.set(at, bsdf.diffuse);
            self.lobes.boundary_f0[at] = bsdf.boundary_f0;
            self.lobes.boundary_f90[at] = bsdf.boundary_f90;
            self.lobes.facets_cumulative[at] = bsdf.facets_cumulative;
            self.lobes.diffuse_cumulative[at] = bsdf.diffuse_cumulative;
        }
    }

    /// Returns the layered BSDF at this index, from `find_lobes`.
    #[inline(always)]
    pub(super) fn layered_bsdf(&self, at: usize, material: &Material) -> Bsdf {
        let material = self.materials.get(at, material);
        Bsdf {
            f0: self.lobes.f0.get(at),
            f90: self.lobes.f90[at],
            multiple_scattering: self.lobes.multiple_scattering.get(at),
            diffuse: self.lobes.diffuse.get(at),
            boundary_f0: self.lobes.boundary_f0[at],
            boundary_f90: self.lobes.boundary_f90[at],
            coat_transmittance: 1.0,
            facets_cumulative: self.lobes.facets_cumulative[at],
            diffuse_cumulative: self.lobes.diffuse_cumulative[at],
            ..unresolved_bsdf(&material, true)
        }
    }

    /// Samples the directions of the next rays, and computes their throughputs before Russian roulette.
    #[inline(always)]
    pub(super) fn scatter<const IS_LAYERED: bool>(
        &mut self,
        scene: &RenderScene,
        material: &Material,
    ) {
        if IS_LAYERED {
            self.scatter_layered(scene, material);
        } else {
            for at in 0..PATHS {
                let (normal, color) =
                    (self.surfaces.shading.get(at), self.materials.colors.get(at));
                let next = sample_diffuse(color, normal, self.bsdf_u[at], self.bsdf_v[at]);
                self.next_directions.set(at, next.direction);
                self.set_next(at, next.direction, next.weight, next.pdf);
            }
        }
    }

    /// Samples the directions of the next rays at a layered material, as `scatter`. `find_lobes` must be called before.
    #[inline(always)]
    fn scatter_layered(&mut self, scene: &RenderScene, material: &Material) {
        let mut sides = [1.0; PATHS];
        for at in 0..PATHS {
            let (normal, from_eye) = (self.surfaces.shading.get(at), self.ray_directions.get(at));
            let (u, v) = (self.bsdf_u[at], self.bsdf_v[at]);
            let (even, _) = sample_cosine(normal, u, v);
            let alpha = self.materials.alphas[at];
            let facet = sample_visible_normal(normal, -from_eye, alpha, u, v);
            let mirrored = reflect(from_eye, facet);
            let takes_base = unit(self.light_choices[at]) >= self.lobes.facets_cumulative[at];
            self.next_directions
                .set(at, if takes_base { even } else { mirrored });
        }
        // Rounding leaves a little of the probability to glass.
        for at in 0..self.count {
            let choice = unit(self.light_choices[at]);
            if choice >= self.lobes.diffuse_cumulative[at] {
                let bsdf = Bsdf {
                    eta: unresolved_bsdf(material, self.is_front[at]).eta,
                    ..self.layered_bsdf(at, material)
                };
                let (normal, to_eye) =
                    (self.surfaces.shading.get(at), -self.ray_directions.get(at));
                let (u, v) = (self.bsdf_u[at], self.bsdf_v[at]);
                let (direction, side) =
                    sample_layers(&scene.energy, &bsdf, normal, to_eye, choice, u, v);
                self.next_directions.set(at, direction);
                sides[at] = side;
            }
        }
        let mut cosines = [0.0; PATHS];
        for at in 0..PATHS {
            cosines[at] = dot(self.surfaces.shading.get(at), self.next_directions.get(at));
        }
        self.energies.look_up(
            &scene.energy,
            material.mirrors,
            &self.materials.alphas,
            &cosines,
            self.count,
        );
        // Two loops, because the compiler does not vectorise both as one.
        for at in 0..PATHS {
            let bsdf = self.layered_bsdf(at, material);
            let (normal, to_eye) = (self.surfaces.shading.get(at), -self.ray_directions.get(at));
            let direction = self.next_directions.get(at);
            let value = opaque_value(&bsdf, normal, to_eye, direction, self.energies.get(at));
            self.next_values.set(at, value.color);
            self.next_scales[at] = value.scale;
            self.next_pdfs[at] = value.pdf;
        }
        for at in 0..PATHS {
            let pdf = self.next_pdfs[at];
            // A direction on the wrong side would meet other facets first; it is rejected. Nothing is transmitted.
            let leaves = (cosines[at] * sides[at] > 0.0) & (pdf > 0.0);
            let weight = self.next_values.get(at) * (self.next_scales[at] / pdf);
            let weight = if leaves { weight } else { Vec3::ZERO };
            self.set_next(at, self.next_directions.get(at), weight, pdf);
        }
    }

    /// Stores the pdf of a sampled direction, and multiplies the throughput by `weight`: BSDF × cosine ÷ pdf.
    ///
    /// The throughput is 0 if the direction is behind the triangle and the ray's origin is not lifted off it. Then the
    /// path ends.
    #[inline(always)]
    fn set_next(&mut self, at: usize, direction: Vec3, weight: Vec3, pdf: f32) {
        let is_behind = dot(self.surfaces.normals.get(at), direction) < 0.0;
        let throughput = self.throughputs.get(at) * weight;
        let ends = is_behind & !self.is_ray_origin_lifted[at];
        self.next_pdfs[at] = pdf;
        self.next_throughputs
            .set(at, if ends { Vec3::ZERO } else { throughput });
    }
}
