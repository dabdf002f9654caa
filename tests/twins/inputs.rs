//! Arguments for the functions under test: random values, edge cases, and values from real paths.

use std::sync::{Arc, OnceLock};

use compaction::select::Strategy;
use glam::Vec3;
use raysieve::{
    accel::{
        bvh::Node,
        instance::{Instance, NO_INSTANCE, instanced_triangle},
        primitive::{Primitive, SPHERE, Shear, Surface, TRIANGLE, shear, surface_at},
    },
    camera::Camera,
    device::render_scene::RenderScene,
    film::Film,
    lights::light::LightParams,
    math::{cross, normalize},
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay, Span},
    sampler::Sampler,
    scene::{self, Focus, Lens, PixelFilter, Projection},
    shading::{material::Material, texture::Texel},
    stages::wave::{CpuWave, Wave},
    stages::{Keep, compact, generate, intersect, shade, shadow},
};

use crate::common::{Random, alpha_tested_garden, garden};

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

/// Values collected from paths through a scene, and the scenes.
pub(crate) struct Harvest {
    /// The scene without instances.
    pub(crate) world: RenderScene,
    /// Perspective and orthographic cameras with all kinds of lenses and filters.
    pub(crate) cameras: Vec<Camera>,
    /// The scene with instances and opacity.
    pub(crate) instanced: RenderScene,
    /// Rays with their hits.
    pub(crate) hits: Vec<(Ray, Hit)>,
    /// Shadow rays.
    pub(crate) shadow_rays: Vec<ShadowRay>,
    /// Vectors that occurred: origins, directions, throughputs and radiances.
    vectors: Vec<Vec3>,
    /// Numbers that occurred: pdfs, distances and barycentric weights.
    numbers: Vec<f32>,
}

impl Harvest {
    /// Returns the values collected from the garden, which is traced once per process.
    pub(crate) fn get() -> &'static Harvest {
        static HARVEST: OnceLock<Harvest> = OnceLock::new();
        HARVEST.get_or_init(Harvest::gather)
    }

    /// Traces the garden on the CPU and collects what its paths meet.
    fn gather() -> Harvest {
        let scene = garden();
        let (width, height) = (64, 48);
        let camera = Camera::new(&scene.camera, width, height);
        let span = Span {
            width,
            pixel_count: width * height,
            path_count: 4 * width * height,
            seed: 3,
            ..Span::default()
        };
        let mut wave = Wave::Cpu(Box::new(CpuWave::new(
            Arc::new(RenderScene::new(&scene).unwrap()),
            camera,
            Arc::new(Film::new(span.pixel_count)),
            scene.max_bounces,
            span.path_count,
            Strategy::default(),
        )));
        let mut harvest = Harvest {
            world: RenderScene::new(&scene).unwrap(),
            cameras: cameras(&scene.camera, width, height),
            instanced: RenderScene::new(&alpha_tested_garden()).unwrap(),
            hits: Vec::new(),
            shadow_rays: Vec::new(),
            vectors: Vec::new(),
            numbers: Vec::new(),
        };
        wave.begin(span).unwrap();
        generate(&mut wave).unwrap();
        for bounce in 0..=scene.max_bounces {
            intersect(&mut wave, bounce).unwrap();
            compact(&mut wave, bounce, Keep::Hits).unwrap();
            harvest.rays_of(&wave, bounce);
            shade(&mut wave, bounce).unwrap();
            harvest.shadow_rays_of(&wave, bounce);
            shadow(&mut wave, bounce).unwrap();
            compact(&mut wave, bounce, Keep::Survivors).unwrap();
        }
        assert!(harvest.hits.len() > 20_000 && harvest.shadow_rays.len() > 2000);
        harvest
    }

    /// Collects the rays that hit at a bounce.
    fn rays_of(&mut self, wave: &Wave, bounce: u32) {
        let Wave::Cpu(wave) = wave else {
            unreachable!("a wave on the CPU")
        };
        let hits = raysieve::stages::wave::counts::hits(bounce);
        for &path in &wave.queue[..wave.counts[hits] as usize] {
            let path = path as usize;
            let (ray, hit) = (wave.rays[path], wave.hits[path]);
            self.hits.push((ray, hit));
            self.vectors.extend([
                ray.origin,
                ray.direction,
                wave.throughputs[path].rgb,
                wave.radiances[path].rgb,
            ]);
            self.numbers.extend([ray.pdf, hit.distance, hit.u, hit.v]);
        }
    }

    /// Collects the shadow rays of a bounce.
    fn shadow_rays_of(&mut self, wave: &Wave, bounce: u32) {
        let Wave::Cpu(wave) = wave else {
            unreachable!("a wave on the CPU")
        };
        let hits = raysieve::stages::wave::counts::hits(bounce);
        let cast = wave.shadow_rays[..wave.counts[hits] as usize].iter();
        for ray in cast.filter(|ray| ray.distance > 0.0) {
            self.shadow_rays.push(*ray);
            self.vectors.extend([ray.direction, ray.light]);
            self.numbers.push(ray.distance);
        }
    }
}

/// Returns perspective and orthographic cameras at the place of a pinhole camera, with all kinds of lenses and filters.
fn cameras(pinhole: &scene::Camera, width: u32, height: u32) -> Vec<Camera> {
    let lens = |blades| {
        Some(Lens {
            radius: 0.2,
            focus: Focus::Point(pinhole.target),
            blades,
            rotation_degrees: 11.0,
        })
    };
    let filters = [
        PixelFilter::default(),
        PixelFilter::Box { radius: 1.25 },
        PixelFilter::Gaussian {
            radius: 1.5,
            sigma: 0.5,
        },
        PixelFilter::BlackmanHarris { radius: 2.0 },
    ];
    let orthographic = Projection::Orthographic { width: 3.0 };
    let lenses = [None, lens(0), lens(5), lens(16)];
    [pinhole.projection, orthographic]
        .into_iter()
        .flat_map(|projection| {
            lenses.iter().zip(filters).map(move |(&lens, filter)| {
                let camera = scene::Camera {
                    projection,
                    lens,
                    filter,
                    ..*pinhole
                };
                Camera::new(&camera, width, height)
            })
        })
        .collect()
}

/// A source of random arguments.
pub(crate) struct Inputs {
    pub(crate) random: Random,
    pub(crate) harvest: &'static Harvest,
    last_number: f32,
    last_vector: Vec3,
}

impl Inputs {
    /// Creates a source with this seed.
    pub(crate) fn new(seed: u64) -> Inputs {
        Inputs {
            random: Random(seed),
            harvest: Harvest::get(),
            last_number: 0.5,
            last_vector: Vec3::Z,
        }
    }

    /// Returns a random value of a type.
    pub(crate) fn draw<T: Draw>(&mut self) -> T {
        T::draw(self)
    }

    /// Returns a random index below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (((self.random.word() >> 32) * end as u64) >> 32) as usize
    }

    /// Returns a random item.
    pub(crate) fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Returns a number in [0, 1), a multiple of 2⁻²⁴ as those of the sampler.
    pub(crate) fn unit(&mut self) -> f32 {
        self.random.unit()
    }

    /// Returns a finite number whose magnitude is between 2⁻³⁰ and 2³⁰ or smaller.
    fn sized(&mut self) -> f32 {
        let exponent = self.below(61) as i32 - 30;
        self.random.signed() * 2f32.powi(exponent)
    }

    /// Returns a direction of length 1.
    pub(crate) fn direction(&mut self) -> Vec3 {
        let random = &mut self.random;
        let v = Vec3::new(random.signed(), random.signed(), random.signed());
        normalize(v + Vec3::splat(1e-9))
    }

    /// Returns origin and direction of a ray aimed at a primitive: at its middle, an edge or a corner, or grazing.
    pub(crate) fn aimed(&mut self, primitive: &Primitive) -> (Vec3, Vec3) {
        let away = 2f32.powi(self.below(13) as i32 - 6);
        if primitive.kind == SPHERE {
            let (normal, other) = (self.direction(), self.direction());
            let point = primitive.a + normal * primitive.b.x;
            let tangent = normalize(cross(normal, other));
            let tilt = self.one_of(&[0.0, 1e-7, -1e-7, 1e-4, -1e-4, 0.1, -0.5, 3.0]);
            let direction = normalize(tangent + normal * tilt);
            let back = self.one_of(&[0.0, 1.0, 1.0, -1.0]);
            return (point - direction * (away * back), direction);
        }
        let [u, v] = [0, 1].map(|_| match self.below(4) {
            0 => 0.0,
            1 => 1.0,
            2 => 0.5,
            _ => self.random.unit(),
        });
        let (ab, ac) = (primitive.b - primitive.a, primitive.c - primitive.a);
        let target = primitive.a + ab * u + ac * if u + v > 1.0 { 1.0 - u } else { v };
        let direction = match self.below(4) {
            // Along an axis, or along the plane.
            0 => {
                let axis = self.one_of(&[Vec3::X, Vec3::Y, Vec3::Z]);
                axis * self.one_of(&[1.0, -1.0])
            }
            1 => {
                let normal = normalize(cross(ab, ac));
                let tilt = self.one_of(&[0.0, 1e-7, -1e-7, 1e-3]);
                normalize(normalize(ab) + normal * tilt)
            }
            _ => self.direction(),
        };
        (target - direction * away, direction)
    }

    /// Returns a primitive, real or random, and origin and direction of a ray that probably hits it.
    pub(crate) fn met(&mut self) -> (Primitive, Vec3, Vec3) {
        let primitive: Primitive = self.draw();
        let (origin, direction) = if self.below(8) == 0 {
            (self.draw(), self.draw())
        } else {
            self.aimed(&primitive)
        };
        (primitive, origin, direction)
    }

    /// Returns three primitives, of which two may differ in their number only, and a ray that probably hits the first.
    pub(crate) fn several(&mut self) -> ([Primitive; 3], Vec3, Vec3) {
        let (first, origin, direction) = self.met();
        let mut several = [first, self.draw(), self.draw()];
        if self.below(2) == 0 {
            several[1] = Primitive {
                number: several[1].number,
                ..first
            };
        }
        (several, origin, direction)
    }

    /// Returns an instance, real or with random numbers, with a triangle of its mesh and that triangle's index.
    pub(crate) fn instanced(&mut self) -> (Instance, Primitive, u32) {
        let world = &self.harvest.instanced;
        let meshes = &world.primitives[self.first_of_meshes()..];
        let place = self.below(meshes.len());
        let position = (self.first_of_meshes() + place) as u32;
        // Draws until the instance uses the mesh of the triangle.
        let real = loop {
            let instance = self.one_of(&world.instances);
            let next_root = world
                .instances
                .iter()
                .map(|other| other.root)
                .filter(|&root| root > instance.root)
                .min();
            let mesh = world.nodes[instance.root as usize].primitive_base;
            let end = next_root.map_or(world.primitives.len() as u32, |root| {
                world.nodes[root as usize].primitive_base
            });
            if (mesh..end).contains(&position) {
                break instance;
            }
        };
        let primitive = meshes[place];
        if self.below(3) > 0 {
            return (real, primitive, position);
        }
        let drawn = Instance {
            inverse_x: self.draw(),
            inverse_y: self.draw(),
            inverse_z: self.draw(),
            position: self.draw(),
            axis_x: self.draw(),
            axis_y: self.draw(),
            axis_z: self.draw(),
            error: self.draw(),
            error_per_unit: self.draw(),
            ..real
        };
        (drawn, primitive, position)
    }

    /// Returns the index of the first primitive that belongs to a mesh.
    fn first_of_meshes(&self) -> usize {
        let world = &self.harvest.instanced;
        let first = world
            .instances
            .iter()
            .map(|instance| world.nodes[instance.root as usize].primitive_base);
        first.min().unwrap() as usize
    }

    /// Returns a ray in the scene with instances that probably hits something, and the instance that it leaves.
    pub(crate) fn instanced_ray(&mut self) -> (Ray, u32) {
        let (instanced, triangle, position) = self.instanced();
        let world = &self.harvest.instanced;
        let from = self.below(world.instances.len()) as u32;
        let ray = match self.below(3) {
            0 => self.draw(),
            _ => {
                let (origin, direction) = self.aimed(&instanced_triangle(&instanced, &triangle));
                Ray {
                    origin,
                    direction,
                    from_primitive: self.one_of(&[NO_PRIMITIVE, position]),
                    ..Ray::default()
                }
            }
        };
        (ray, self.one_of(&[NO_INSTANCE, from]))
    }

    /// Returns an index into three primitives, or `NO_PRIMITIVE`.
    pub(crate) fn position_or_none(&mut self) -> u32 {
        self.one_of(&[0, 1, 2, NO_PRIMITIVE])
    }
}

/// A type of which random values can be drawn.
pub(crate) trait Draw {
    /// Returns a random value.
    fn draw(inputs: &mut Inputs) -> Self;
}

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
                let primitive = inputs.one_of(&inputs.harvest.world.primitives);
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
        let real = inputs.one_of(&inputs.harvest.world.primitives);
        if inputs.below(2) == 0 {
            return real;
        }
        let kind = inputs.one_of(&[TRIANGLE, SPHERE]);
        let a: Vec3 = inputs.draw();
        // Any size, or small and distant, or without area.
        let [mut b, c] = [0, 1].map(|_| match inputs.below(3) {
            0 => inputs.draw(),
            1 => a,
            _ => a + inputs.direction() * inputs.sized(),
        });
        if kind == SPHERE {
            b.x = inputs.draw();
        }
        Primitive {
            a,
            b,
            c,
            kind,
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
        let real = inputs.one_of(&inputs.harvest.world.materials);
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
            flags: inputs.below(64) as u32,
            specular: inputs.unit(),
            metallic: inputs.unit(),
            transmission: inputs.unit(),
            clearcoat: inputs.draw(),
            clearcoat_alpha: inputs.draw(),
            ..real
        }
    }
}

impl Draw for LightParams {
    fn draw(inputs: &mut Inputs) -> LightParams {
        let real = inputs.harvest.world.surroundings;
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
        let primitive = &inputs.harvest.world.primitives[hit.primitive as usize];
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
        inputs.one_of(&inputs.harvest.world.nodes)
    }
}
