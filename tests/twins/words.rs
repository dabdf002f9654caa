//! Conversion of arguments and results to the 32-bit words of their memory representation.

use std::fmt::Debug;

use glam::Vec3;
use raysieve::{
    accel::{
        bvh::{BoxRay, Node},
        instance::{Instance, InstanceHit},
        primitive::{Primitive, Shear, Surface},
    },
    adaptive::{
        adaptive_window::{Window, WindowMean},
        pixel_noise::{ConvergenceTest, PixelNoise},
    },
    camera::Camera,
    lights::{
        environment::{Environment, EnvironmentRow, EnvironmentSample, EnvironmentTexel},
        light::{Lamp, Light, LightParams, LightSample},
        light_tree::{ChosenLight, LightNode, LightPair},
    },
    path::{Hit, Ray, ShadowRay, Span},
    sampler::Sampler,
    shading::{
        bsdf::{Bsdf, BsdfSample, BsdfValue},
        material::Material,
        material_textures::MaterialTextures,
        medium::Flight,
        texture::{Neighbours, Texel, Texture},
    },
};

/// A type with the same words in the same order in Rust and C++.
pub(crate) trait Words: Copy + Debug {
    /// Number of words.
    const COUNT: usize;
    /// Appends the words of the value.
    fn put(&self, words: &mut Vec<u32>);
    /// Reads a value and advances `words` past it.
    fn take(words: &mut &[u32]) -> Self;
}

impl Words for u32 {
    const COUNT: usize = 1;
    fn put(&self, words: &mut Vec<u32>) {
        words.push(*self);
    }
    fn take(words: &mut &[u32]) -> u32 {
        let (&word, rest) = words.split_first().expect("a word");
        *words = rest;
        word
    }
}

impl Words for bool {
    const COUNT: usize = 1;
    fn put(&self, words: &mut Vec<u32>) {
        words.push(u32::from(*self));
    }
    fn take(words: &mut &[u32]) -> bool {
        u32::take(words) != 0
    }
}

impl Words for u64 {
    const COUNT: usize = 2;
    fn put(&self, words: &mut Vec<u32>) {
        words.extend([*self as u32, (*self >> 32) as u32]);
    }
    fn take(words: &mut &[u32]) -> u64 {
        let low = u32::take(words);
        u64::from(low) | u64::from(u32::take(words)) << 32
    }
}

/// All NaNs become one bit pattern, because neither language specifies which one an operation returns.
impl Words for f32 {
    const COUNT: usize = 1;
    fn put(&self, words: &mut Vec<u32>) {
        let value = if self.is_nan() { f32::NAN } else { *self };
        words.push(value.to_bits());
    }
    fn take(words: &mut &[u32]) -> f32 {
        f32::from_bits(u32::take(words))
    }
}

impl Words for [u8; 8] {
    const COUNT: usize = 2;
    fn put(&self, words: &mut Vec<u32>) {
        u64::from_le_bytes(*self).put(words);
    }
    fn take(words: &mut &[u32]) -> [u8; 8] {
        u64::take(words).to_le_bytes()
    }
}

impl<T: Words + Default, const LEN: usize> Words for [T; LEN]
where
    [T; LEN]: Debug,
{
    const COUNT: usize = LEN * T::COUNT;
    fn put(&self, words: &mut Vec<u32>) {
        self.iter().for_each(|item| item.put(words));
    }
    fn take(words: &mut &[u32]) -> [T; LEN] {
        std::array::from_fn(|_| T::take(words))
    }
}

macro_rules! words_of {
    ($($name:ident { $($field:ident : $kind:ty),+ })+) => {$(
        impl Words for $name {
            const COUNT: usize = 0 $(+ <$kind>::COUNT)+;
            fn put(&self, words: &mut Vec<u32>) {
                $(self.$field.put(words);)+
            }
            fn take(words: &mut &[u32]) -> $name {
                // Fields are evaluated in the order in which they are written.
                $name { $($field: <$kind>::take(words)),+ }
            }
        }
    )+};
}

words_of! {
    Vec3 { x: f32, y: f32, z: f32 }
    Span {
        width: u32, pixel_count: u32, first_pixel: u32, first_sample: u32, path_count: u32, seed: u32, skipped_pixels: u32,
        pick_seed: u32, tiled: u32, log2_samples_together: u32, listed: u32
    }
    PixelNoise { variance: f32, error: f32, converged_rounds: u32 }
    ConvergenceTest { noise: f32, brightness_offset: f32, number: u32, before: u32, after: u32, limit: u32, width: u32, height: u32 }
    Ray { origin: Vec3, pdf: f32, direction: Vec3, from_primitive: u32 }
    Hit { distance: f32, primitive: u32, u: f32, v: f32 }
    ShadowRay { origin: Vec3, distance: f32, direction: Vec3, from_primitive: u32, light: Vec3, to_primitive: u32 }
    Camera {
        origin: Vec3, width: f32, forward: Vec3, height: f32, right: Vec3, blades: u32, up: Vec3, focus_distance: f32,
        lens_right: Vec3, filter_radius: f32, lens_up: Vec3, parallel: u32, corner: [f32; 2], turn: [f32; 2],
        filter_values: [f32; 33], filter_sums: [f32; 33], bodies: u32
    }
    Primitive { a: Vec3, material: u32, b: Vec3, kind_bits: u32, c: Vec3, number: u32 }
    Shear { axis: u32, x: f32, y: f32, z: f32 }
    Surface {
        point: Vec3, normal: Vec3, error: f32, lift: Vec3, shading: Vec3, coat: Vec3, tangent: Vec3, handedness: f32, u: f32, v: f32,
        second_u: f32, second_v: f32, material: u32
    }
    Instance {
        inverse_x: Vec3, root: u32, inverse_y: Vec3, extent: f32, inverse_z: Vec3, material: u32, position: Vec3, flags: u32,
        axis_x: Vec3, corners: u32, axis_y: Vec3, error: f32, axis_z: Vec3, error_per_unit: f32
    }
    InstanceHit { hit: Hit, instance: u32 }
    Node {
        corner: Vec3, exponents: u32, child_base: u32, primitive_base: u32, meta: [u8; 8], min_x: [u8; 8], max_x: [u8; 8],
        min_y: [u8; 8], max_y: [u8; 8], min_z: [u8; 8], max_z: [u8; 8]
    }
    BoxRay { origin: Vec3, slack: f32, inverse: Vec3, octant: u32 }
    Material {
        color: Vec3, kind: u32, emission: Vec3, ior: f32, eta: Vec3, alpha: f32, k: Vec3, flags: u32, one_sided: u32,
        table: u32, mirrors: u32, specular: f32, metallic: f32, transmission: f32, clearcoat: f32, clearcoat_alpha: f32,
        maps: u32, absorption: Vec3, sheen: Vec3, sheen_alpha: f32, anisotropy: f32, anisotropy_cosine: f32,
        anisotropy_sine: f32, dispersion: f32, film: f32, film_ior: f32, film_thickness: f32, film_thickness_min: f32,
        diffuse_transmission_color: Vec3, diffuse_transmission: f32, sheen_table: u32, anisotropic_table: u32,
        alpha_across: f32, weight: f32, first: u32, second: u32, red_table: u32, blue_table: u32
    }
    Bsdf {
        color: Vec3, kind: u32, index: Vec3, k: Vec3, eta: f32, alpha: f32, flags: u32, table: u32, back: u32, lost: f32,
        lost_ratio: f32, lost_ratio_behind: f32, transmitted_share: f32, mirrors: u32, f0: Vec3, f90: f32, multiple_scattering: Vec3, diffuse: Vec3,
        boundary_f0: f32, boundary_f90: f32, glass: f32, coat: f32, coat_alpha: f32, coat_normal: Vec3, coat_transmittance: f32, coat_factor: f32, coat_probability: f32,
        facets_cumulative: f32, diffuse_cumulative: f32, tangent: Vec3, alpha_along: f32, anisotropic_table: u32, metallic: f32, film: f32,
        film_ior: f32, film_thickness: f32, film_added: Vec3, film_again: Vec3, film_again_behind: Vec3,
        behind: Vec3, sheen: Vec3, sheen_strength: f32, sheen_alpha: f32,
        sheen_table: u32, sheen_transmittance: f32, sheen_factor: f32, behind_cumulative: f32, sheen_cumulative: f32
    }
    BsdfValue { color: Vec3, scale: f32, pdf: f32 }
    BsdfSample { direction: Vec3, weight: Vec3, pdf: f32, eta_scale: f32, side: f32 }
    Environment { width: u32, height: u32, turns: f32, chance: f32 }
    EnvironmentRow { cumulative: u32, density: f32, top: f32, bottom: f32 }
    EnvironmentTexel { radiance: Vec3, cumulative: u32 }
    EnvironmentSample { radiance: Vec3, pdf: f32 }
    LightPair {
        centers: [Vec3; 2], radii2: [f32; 2], intensities: [f32; 2], links: [u32; 2], cones: [[f32; 4]; 2], sin_spreads: [f32; 2],
        _pad0: [u32; 2]
    }
    LightNode { center: Vec3, radius2: f32, intensity: f32, link: u32, axis: Vec3, spread: f32, sin_spread: f32 }
    ChosenLight { light: u32, width: u32 }
    Light { index: u32, kind: u32, cumulative: f32, trail: u32 }
    Lamp {
        position: Vec3, kind: u32, direction: Vec3, chance: f32, radiance: Vec3, cos_inner: f32, cos_outer: f32, falloff_1: f32, falloff_2: f32, falloff_3: f32
    }
    LightParams {
        sky: Vec3, light_count: u32, inverse_power: f32, extent: f32, max_indirect: f32, roulette_start: u32, strategies: u32, far_lights: u32, sun_count: u32, tree_lights: u32, tree_share: u32,
        first_instanced: u32, instance_entries: u32, background: Vec3, has_background: u32,
        tracks_bodies: u32, fog_body: u32, has_boundaries: u32
    }
    LightSample { direction: Vec3, distance: f32, pdf: f32, radiance: Vec3, to_primitive: u32, is_delta: u32 }
    Sampler { sample: u32, key: u32 }
    Texture {
        start: u32, width: u32, height: u32, format: u32, u_by_u: f32, u_by_v: f32, u_at_zero: f32, wrap_u: u32, v_by_u: f32,
        v_by_v: f32, v_at_zero: f32, wrap_v: u32, filter: u32, second: u32, _pad0: u32, _pad1: u32
    }
    MaterialTextures {
        emission: Vec3, normal_scale: f32, textures: [u32; 24], used: u32, opacity: f32, cutoff: f32, coat_normal_scale: f32
    }
    Texel { rgb: Vec3, alpha: f32 }
    Flight { distance: f32, weight: Vec3 }
    Neighbours { first: u32, second: u32, share: f32 }
    WindowMean { light: Vec3, noise: f32, deviation: f32 }
    Window { left: u32, top: u32, right: u32, bottom: u32 }
}

macro_rules! words_of_tuples {
    ($(($($name:ident)*))+) => {$(
        impl<$($name: Words),*> Words for ($($name,)*) {
            const COUNT: usize = 0 $(+ $name::COUNT)*;
            #[allow(non_snake_case, unused_variables, reason = "a tuple's items are called as their types")]
            fn put(&self, words: &mut Vec<u32>) {
                let ($($name,)*) = self;
                $($name.put(words);)*
            }
            #[allow(unused_variables, clippy::unused_unit, reason = "an empty tuple has no words")]
            fn take(words: &mut &[u32]) -> Self {
                ($($name::take(words),)*)
            }
        }
    )+};
}

words_of_tuples! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H) (A B C D E F G H I)
    (A B C D E F G H I J) (A B C D E F G H I J K)
}
