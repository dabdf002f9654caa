//! Hashes everything in a scene that determines its image, so that two renders can be known to show the same scene.

use glam::Vec3;
use xxhash_rust::xxh3::Xxh3;

use super::{
    Camera, DirectLight, Environment, Focus, Instance, Lens, Light, Masking, MaterialTextures,
    Mesh, Metal, Parameter, PixelFilter, Principled, Projection, Roughness, Scene, Sphere, Surface,
    Texture, Triangle,
};

impl Scene {
    /// Returns a hash of the camera, lights, geometry, materials and textures: 128-bit XXH3 as 32 hexadecimal digits.
    ///
    /// The order of objects matters. Names, comments, file paths, unused materials and the render settings (size,
    /// samples, bounces, seed, clamping, exposure and tone) do not.
    pub fn hash(&self) -> String {
        scene_hash(self.surfaces_hash(), &self.camera)
    }

    /// Returns the part of [`Scene::hash`] that does not depend on the camera.
    pub fn surfaces_hash(&self) -> u128 {
        let mut materials: Vec<[u8; 16]> = self.materials.iter().map(material_hash).collect();
        self.add_maps(&mut materials);
        let mut hash = Hasher::default();
        hash.vector(self.sky);
        match self.direct_light {
            // Adds nothing, so that hashes made before this setting existed stay valid.
            DirectLight::Both => {}
            DirectLight::Lights => hash.number(1),
            DirectLight::Bsdf => hash.number(2),
        }
        hash.number(self.triangles.len() as u64);
        for &Triangle { vertices, material } in self.triangles.iter() {
            let [a, b, c] = vertices;
            hash.floats([a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z]);
            hash.0.update(&materials[material as usize]);
        }
        hash.number(self.spheres.len() as u64);
        for &Sphere {
            center,
            radius,
            material,
        } in self.spheres.iter()
        {
            hash.floats([center.x, center.y, center.z, radius]);
            hash.0.update(&materials[material as usize]);
        }
        for light in &self.lights {
            light_hash(light, &mut hash);
        }
        self.instances_hash(&materials, &mut hash);
        hash.0.digest128()
    }

    /// Replaces the hash of each textured material by one that includes its textures.
    fn add_maps(&self, materials: &mut [[u8; 16]]) {
        if self.maps.is_empty() {
            return;
        }
        let images: Vec<u128> = self.images.iter().map(|image| image.hash()).collect();
        let textures: Vec<[u8; 16]> = self
            .textures
            .iter()
            .map(|texture| texture_hash(texture, images[texture.image as usize]))
            .collect();
        for (&material, maps) in &self.maps {
            let hashed = &mut materials[material as usize];
            *hashed = maps_hash(*hashed, maps, &textures);
        }
    }

    /// Adds the instances to `hash`, each with its mesh. `materials` are the hashes of all materials by index.
    fn instances_hash(&self, materials: &[[u8; 16]], hash: &mut Hasher) {
        if self.instances.is_empty() {
            return;
        }
        let meshes: Vec<[u8; 16]> = self
            .meshes
            .iter()
            .map(|mesh| mesh_hash(mesh, materials))
            .collect();
        hash.number(self.instances.len() as u64);
        for &Instance {
            mesh,
            axes,
            position,
            material,
        } in self.instances.iter()
        {
            hash.0.update(&meshes[mesh as usize]);
            axes.into_iter().for_each(|axis| hash.vector(axis));
            hash.vector(position);
            hash.0.update(&[material.is_some().into()]);
            if let Some(material) = material {
                hash.0.update(&materials[material as usize]);
            }
        }
    }
}

/// Hashes a mesh with its vertex attributes and its materials, given the hashes of all materials by index.
fn mesh_hash(mesh: &Mesh, by_index: &[[u8; 16]]) -> [u8; 16] {
    let Mesh {
        positions,
        triangles,
        materials,
        normals,
        uvs,
        second_uvs,
        tangents,
    } = mesh;
    let mut hash = Hasher::default();
    for vectors in [positions, normals] {
        hash.number(vectors.len() as u64);
        vectors.iter().for_each(|vector| hash.vector(*vector));
    }
    hash.number(uvs.len() as u64);
    uvs.iter().for_each(|uv| hash.floats(*uv));
    second_uvs.iter().for_each(|uv| hash.floats(*uv));
    hash.number(tangents.len() as u64);
    tangents.iter().for_each(|tangent| hash.floats(*tangent));
    hash.number(triangles.len() as u64);
    for corners in triangles {
        let bytes = corners.map(u32::to_le_bytes);
        hash.0.update(bytes.as_flattened());
    }
    hash.number(materials.len() as u64);
    for &material in materials {
        hash.0.update(&by_index[material as usize]);
    }
    hash.0.digest128().to_le_bytes()
}

/// Adds the type and parameters of a light to `hash`.
fn light_hash(light: &Light, hash: &mut Hasher) {
    match light {
        &Light::Point {
            position,
            intensity,
        } => {
            hash.number(0);
            [position, intensity]
                .into_iter()
                .for_each(|vector| hash.vector(vector));
        }
        &Light::Spot {
            position,
            direction,
            intensity,
            inner_degrees,
            outer_degrees,
        } => {
            hash.number(1);
            [position, direction, intensity]
                .into_iter()
                .for_each(|vector| hash.vector(vector));
            hash.floats([inner_degrees, outer_degrees]);
        }
        &Light::Directional {
            direction,
            irradiance,
            angle_degrees,
        } => {
            hash.number(2);
            [direction, irradiance]
                .into_iter()
                .for_each(|vector| hash.vector(vector));
            hash.floats([angle_degrees]);
        }
        Light::Environment(Environment {
            width,
            radiances,
            turns,
        }) => {
            hash.number(3);
            hash.number(u64::from(*width));
            hash.number(radiances.len() as u64);
            hash.floats([*turns]);
            radiances.iter().for_each(|&texel| hash.vector(texel));
        }
    }
}

/// Combines [`Scene::surfaces_hash`] with a camera to the digits that [`Scene::hash`] returns.
pub fn scene_hash(surfaces: u128, camera: &Camera) -> String {
    let &Camera {
        origin,
        target,
        up,
        projection,
        lens,
        filter,
    } = camera;
    let mut hash = Hasher::default();
    hash.0.update(&surfaces.to_le_bytes());
    [origin, target, up]
        .into_iter()
        .for_each(|vector| hash.vector(vector));
    match projection {
        Projection::Perspective { fov_degrees } => hash.floats([fov_degrees]),
        Projection::Orthographic { width } => {
            hash.0.update(b"orthographic");
            hash.floats([width]);
        }
    }
    if let Some(lens) = &lens {
        hash.lens(lens);
    }
    if filter != PixelFilter::default() {
        hash.filter(&filter);
    }
    format!("{:032x}", hash.0.digest128())
}

/// Returns a hash of a material's type and parameters, without its textures.
fn material_hash(surface: &Surface) -> [u8; 16] {
    let mut hash = Hasher::default();
    match *surface {
        Surface::Diffuse { albedo, one_sided } => {
            hash.0.update(&[0, one_sided.into()]);
            hash.vector(albedo);
        }
        Surface::Mirror {
            reflectance,
            one_sided,
        } => {
            hash.0.update(&[1, one_sided.into()]);
            hash.vector(reflectance);
        }
        Surface::Dielectric { ior, absorption } => {
            hash.0.update(&[2]);
            hash.floats([ior]);
            hash.absorption(absorption);
        }
        Surface::Conductor { metal, one_sided } => {
            hash.0.update(&[4, one_sided.into()]);
            hash.metal(metal);
        }
        Surface::RoughConductor {
            metal,
            roughness,
            one_sided,
        } => {
            hash.0.update(&[5, one_sided.into()]);
            hash.metal(metal);
            hash.roughness(roughness);
        }
        Surface::RoughDielectric {
            ior,
            roughness,
            absorption,
        } => {
            hash.0.update(&[6]);
            hash.floats([ior]);
            hash.roughness(roughness);
            hash.absorption(absorption);
        }
        Surface::CoatedDiffuse {
            albedo,
            ior,
            alpha,
            one_sided,
        } => {
            hash.0.update(&[7, one_sided.into()]);
            hash.vector(albedo);
            hash.floats([ior, alpha]);
        }
        Surface::Principled(Principled {
            base_color,
            metallic,
            roughness,
            ior,
            specular,
            specular_color,
            transmission,
            thin,
            clearcoat,
            clearcoat_roughness,
            emission,
            both_sides,
            one_sided,
            absorption,
        }) => {
            hash.0.update(&[8, one_sided.into(), thin.into()]);
            hash.vector(base_color);
            hash.floats([metallic, roughness, ior, specular]);
            hash.vector(specular_color);
            hash.floats([transmission, clearcoat, clearcoat_roughness]);
            hash.vector(emission);
            hash.both_sides(both_sides);
            hash.absorption(absorption);
        }
        Surface::Emissive {
            radiance,
            albedo,
            one_sided,
            both_sides,
        } => {
            hash.0.update(&[3, one_sided.into()]);
            hash.vector(radiance);
            hash.vector(albedo);
            hash.both_sides(both_sides);
        }
    }
    hash.0.digest128().to_le_bytes()
}

/// Hashes how a texture samples its image, given the image's hash.
fn texture_hash(texture: &Texture, image: u128) -> [u8; 16] {
    let &Texture {
        image: _,
        encoding,
        wrap: [across, down],
        filter,
        transform,
        uses_second_uvs,
    } = texture;
    let mut hash = Hasher::default();
    hash.0.update(&image.to_le_bytes());
    hash.0
        .update(&[encoding as u8, across as u8, down as u8, filter as u8]);
    hash.floats(transform.to_cols_array());
    if uses_second_uvs {
        hash.0.update(b"second");
    }
    hash.0.digest128().to_le_bytes()
}

/// Combines the hash of a material with its textures, given the hashes of all textures by index.
fn maps_hash(material: [u8; 16], maps: &MaterialTextures, textures: &[[u8; 16]]) -> [u8; 16] {
    let mut hash = Hasher::default();
    let MaterialTextures {
        textures: by_parameter,
        normal_scale,
        coat_normal_scale,
        opacity,
        cutoff,
    } = maps;
    hash.0.update(&material);
    hash.floats([*normal_scale]);
    if by_parameter.contains_key(&Parameter::ClearcoatNormal) {
        hash.floats([*coat_normal_scale]);
    }
    if (*opacity, *cutoff) != (1.0, 0.0) {
        hash.0.update(b"opacity");
        hash.floats([*opacity, *cutoff]);
    }
    for (&parameter, map) in by_parameter {
        hash.0.update(&[parameter as u8, map.channel as u8]);
        hash.0.update(&textures[map.texture as usize]);
    }
    hash.0.digest128().to_le_bytes()
}

/// A hasher of numbers and vectors as little-endian bytes, so that hashes agree on every machine.
#[derive(Default)]
struct Hasher(Xxh3);

impl Hasher {
    /// Adds an integer as 8 little-endian bytes.
    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    /// Adds the bits of each float as 4 bytes, so that 0 and −0 differ.
    fn floats<const COUNT: usize>(&mut self, floats: [f32; COUNT]) {
        let bytes = floats.map(|float| float.to_bits().to_le_bytes());
        self.0.update(bytes.as_flattened());
    }

    /// Adds the parameters of a lens. Callers skip this for a pinhole camera, which has no lens.
    fn lens(&mut self, lens: &Lens) {
        let &Lens {
            radius,
            focus,
            blades,
            rotation_degrees,
        } = lens;
        self.0.update(b"lens");
        match focus {
            Focus::Distance(distance) => self.floats([0.0, distance]),
            Focus::Point(Vec3 { x, y, z }) => self.floats([1.0, x, y, z]),
        }
        self.number(blades.into());
        self.floats([radius, rotation_degrees]);
    }

    /// Adds a pixel filter. Callers leave out the default filter.
    fn filter(&mut self, filter: &PixelFilter) {
        self.0.update(b"filter");
        match *filter {
            PixelFilter::Box { radius } => self.floats([0.0, radius]),
            PixelFilter::Gaussian { radius, sigma } => self.floats([1.0, radius, sigma]),
            PixelFilter::BlackmanHarris { radius } => self.floats([2.0, radius]),
        }
    }

    /// Adds the refractive index or colour of a metal.
    fn metal(&mut self, metal: Metal) {
        match metal {
            Metal::Index { eta, k } => {
                self.0.update(&[0]);
                self.vector(eta);
                self.vector(k);
            }
            Metal::Color(color) => {
                self.0.update(&[1]);
                self.vector(color);
            }
        }
    }

    /// Adds the flag if it is set, so that materials without it keep the hash they had before the flag existed.
    fn both_sides(&mut self, both_sides: bool) {
        if both_sides {
            self.0.update(b"both sides");
        }
    }

    /// Adds an absorption coefficient unless it is 0, so that clear materials keep their earlier hash.
    fn absorption(&mut self, absorption: Vec3) {
        if absorption != Vec3::ZERO {
            self.0.update(b"absorption");
            self.vector(absorption);
        }
    }

    /// Adds the parameters of a microfacet distribution.
    fn roughness(&mut self, roughness: Roughness) {
        let Roughness {
            alpha,
            masking,
            energy_compensation,
        } = roughness;
        self.floats([alpha]);
        let correlated = masking == Masking::HeightCorrelated;
        self.0
            .update(&[correlated.into(), energy_compensation.into()]);
    }

    /// Adds the bits of the three components of a vector.
    fn vector(&mut self, vector: Vec3) {
        self.floats(vector.to_array());
    }
}
