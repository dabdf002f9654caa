//! Random values by type.

use glam::Vec3;
use raysieve::{
    accel::{
        bvh::Node,
        primitive::{PAIRED, Primitive, SPHERE, Shear, Surface, TRIANGLE, shear, surface_at},
    },
    camera::Camera,
    lights::light::LightParams,
    math::{cross, normalize},
    path::{Hit, Ray, ShadowRay},
    sampler::Sampler,
    shading::{
        material::{BECKMANN_FACETS, EXTENDED, Material},
        texture::Texel,
    },
};

use super::Inputs;

/// A type of which random values can be drawn.
pub(crate) trait Draw {
    /// Returns a random value.
    fn draw(inputs: &mut Inputs) -> Self;
}

/// Numbers at which functions change their behaviour.
const EDGES: [f32; 30] = [
    0.0,
    -0.0,
    1e-45,
    -1e-45,
    1.175_494_2e-38, // the largest denormal
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    8.271_806e-25, // 2⁻⁸⁰
    f32::EPSILON,
    0.25,
    0.5,
    -0.5,
    0.707_106_77,
    std::f32::consts::FRAC_PI_4,
    -std::f32::consts::FRAC_PI_4,
    0.95,
    0.999_999_94,
    1.0,
    -1.0,
    1.000_000_1,
    1.5,
    2.0,
    16_777_215.0,
    16_777_216.0,
    1.844_674_3e19, // its square overflows
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

impl Draw for u32 {
    fn draw(inputs: &mut Inputs) -> u32 {
        let word = inputs.random.word() as u32;
        match inputs.below(4) {
            0 => word >> (word & 31),
            1 => inputs.one_of(&[0, 1, 2, 255, 0x8000_0000, u32::MAX - 1, u32::MAX]),
            _ => word,
        }
    }
}

impl Draw for u64 {
    fn draw(inputs: &mut Inputs) -> u64 {
        let word = inputs.random.word();
        word >> (inputs.random.word() & 63)
    }
}

impl Draw for bool {
    fn draw(inputs: &mut Inputs) -> bool {
        inputs.below(2) == 0
    }
}

impl Draw for f32 {
    fn draw(inputs: &mut Inputs) -> f32 {
        let last = inputs.last_number;
        let number = match inputs.below(16) {
            0 => f32::from_bits(inputs.random.word() as u32),
            1 | 2 => inputs.one_of(&EDGES),
            3 => inputs.one_of(&[last, -last, last.next_up(), last.next_down()]),
            4..=6 => inputs.unit(),
            7..=9 => inputs.sized(),
            _ => inputs.one_of(&inputs.harvest.numbers),
        };
        inputs.last_number = number;
        number
    }
}

impl Draw for Vec3 {
    fn draw(inputs: &mut Inputs) -> Vec3 {
        let last = inputs.last_vector;
        let vector = match inputs.below(16) {
            0 => Vec3::new(inputs.draw(), inputs.draw(), inputs.draw()),
            1 => Vec3::new(inputs.sized(), inputs.sized(), inputs.sized()),
            2 | 3 => {
                // Along an axis, or almost.
                let tilt = inputs.one_of(&[0.0, -0.0, 1e-45, 1e-30, 1e-7, -1e-4]);
                let v = Vec3::new(
                    inputs.one_of(&[1.0, -1.0]),
                    tilt,
                    inputs.one_of(&[0.0, -0.0]),
                );
                inputs.one_of(&[v, Vec3::new(v.z, v.x, v.y), Vec3::new(v.y, v.z, v.x)])
            }
            4 => inputs.one_of(&[last, -last]),
            5 | 6 => {
                // Grazing: all but perpendicular to the one before.
                let other = inputs.direction();
                let tilt = inputs.one_of(&[0.0, 1e-7, -1e-7, 1e-4, -1e-4, 1e-2]);
                normalize(normalize(cross(last, other)) + last * tilt)
            }
            7..=9 => inputs.direction(),
            _ => inputs.one_of(&inputs.harvest.vectors),
        };
        inputs.last_vector = vector;
        vector
    }
}

impl<const LEN: usize> Draw for [u8; LEN] {
    fn draw(inputs: &mut Inputs) -> [u8; LEN] {
        std::array::from_fn(|_| inputs.random.word() as u8)
    }
}

impl Draw for Ray {
    fn draw(inputs: &mut Inputs) -> Ray {
        let (ray, _) = inputs.one_of(&inputs.harvest.hits);
        match inputs.below(4) {
            0 => Ray {
                origin: inputs.draw(),
                pdf: inputs.draw(),
                direction: inputs.draw(),
                from_primitive: ray.from_primitive,
            },
            1 => {
                let primitive = inputs.one_of(&inputs.harvest.scene.primitives);
                let (origin, direction) = inputs.aimed(&primitive);
                Ray {
                    origin,
                    direction,
                    ..ray
                }
            }
            _ => ray,
        }
    }
}

impl Draw for ShadowRay {
    fn draw(inputs: &mut Inputs) -> ShadowRay {
        let ray = inputs.one_of(&inputs.harvest.shadow_rays);
        if inputs.below(2) == 0 {
            return ray;
        }
        let aimed: Ray = inputs.draw();
        ShadowRay {
            origin: aimed.origin,
            direction: aimed.direction,
            distance: inputs.draw(),
            ..ray
        }
    }
}

impl Draw for Hit {
    fn draw(inputs: &mut Inputs) -> Hit {
        let (_, hit) = inputs.one_of(&inputs.harvest.hits);
        if inputs.below(2) == 0 {
            return hit;
        }
        Hit {
            distance: inputs.draw(),
            u: inputs.draw(),
            v: inputs.draw(),
            ..hit
        }
    }
}

impl Draw for Primitive {
    fn draw(inputs: &mut Inputs) -> Primitive {
        let real = inputs.one_of(&inputs.harvest.scene.primitives);
        if inputs.below(2) == 0 {
            return real;
        }
        let kind_bits = inputs.one_of(&[TRIANGLE, TRIANGLE | PAIRED, SPHERE]);
        let a: Vec3 = inputs.draw();
        // Any size, or small and distant, or without area.
        let [mut b, c] = [0, 1].map(|_| match inputs.below(3) {
            0 => inputs.draw(),
            1 => a,
            _ => a + inputs.direction() * inputs.sized(),
        });
        if kind_bits == SPHERE {
            b.x = inputs.draw();
        }
        Primitive {
            a,
            b,
            c,
            kind_bits,
            material: 0,
            number: inputs.draw(),
        }
    }
}

impl Draw for Shear {
    fn draw(inputs: &mut Inputs) -> Shear {
        shear(inputs.draw())
    }
}

impl Draw for Camera {
    fn draw(inputs: &mut Inputs) -> Camera {
        let real = inputs.one_of(&inputs.harvest.cameras);
        if inputs.below(2) == 0 {
            return real;
        }
        Camera {
            origin: inputs.draw(),
            forward: inputs.draw(),
            right: inputs.draw(),
            up: inputs.draw(),
            width: inputs.draw(),
            height: inputs.draw(),
            focus_distance: inputs.draw(),
            lens_right: inputs.draw(),
            lens_up: inputs.draw(),
            filter_radius: inputs.draw(),
            ..real
        }
    }
}

impl Draw for Material {
    fn draw(inputs: &mut Inputs) -> Material {
        let real = inputs.one_of(&inputs.harvest.scene.materials);
        if inputs.below(2) == 0 {
            return real;
        }
        Material {
            color: inputs.draw(),
            emission: inputs.draw(),
            ior: inputs.draw(),
            eta: inputs.draw(),
            alpha: inputs.draw(),
            k: inputs.draw(),
            flags: inputs.below(256) as u32 + inputs.below(2) as u32 * BECKMANN_FACETS,
            alpha_across: inputs.draw(),
            specular: inputs.unit(),
            metallic: inputs.unit(),
            transmission: inputs.unit(),
            clearcoat: inputs.draw(),
            clearcoat_alpha: inputs.draw(),
            kind: inputs.one_of(&[real.kind, real.kind, EXTENDED]),
            sheen: inputs.one_of(&[Vec3::ZERO, Vec3::new(0.3, 0.8, 0.1)]),
            sheen_alpha: inputs.draw(),
            anisotropy: inputs.one_of(&[0.0, 0.3, 1.0]),
            dispersion: inputs.draw(),
            film: inputs.one_of(&[0.0, 0.3, 1.0]),
            film_ior: inputs.draw(),
            film_thickness: inputs.draw(),
            diffuse_transmission_color: inputs.draw(),
            diffuse_transmission: inputs.unit(),
            ..real
        }
    }
}

impl Draw for LightParams {
    fn draw(inputs: &mut Inputs) -> LightParams {
        let real = inputs.harvest.scene.light_params;
        if inputs.below(2) == 0 {
            return real;
        }
        LightParams {
            inverse_power: inputs.draw(),
            ..real
        }
    }
}

impl Draw for Sampler {
    fn draw(inputs: &mut Inputs) -> Sampler {
        Sampler {
            sample: inputs.draw(),
            key: inputs.draw(),
        }
    }
}

impl Draw for Surface {
    fn draw(inputs: &mut Inputs) -> Surface {
        let (ray, hit) = inputs.one_of(&inputs.harvest.hits);
        let primitive = &inputs.harvest.scene.primitives[hit.primitive as usize];
        Surface {
            coat: inputs.draw(),
            u: inputs.draw(),
            v: inputs.draw(),
            second_u: inputs.draw(),
            second_v: inputs.draw(),
            ..surface_at(primitive, &ray, &hit)
        }
    }
}

impl Draw for Texel {
    fn draw(inputs: &mut Inputs) -> Texel {
        Texel {
            rgb: inputs.draw(),
            alpha: inputs.draw(),
        }
    }
}

impl Draw for Node {
    fn draw(inputs: &mut Inputs) -> Node {
        inputs.one_of(&inputs.harvest.scene.nodes)
    }
}
