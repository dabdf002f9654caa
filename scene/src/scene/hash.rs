//! Hashes everything in a scene that determines its image, so that two renders can be known to show the same scene.

use glam::{DVec3, Vec3};

use super::{
    Background, Camera, DirectLight, Focus, Instance, Lens, Light, MaterialTextures, Mesh,
    Parameter, PixelFilter, Projection, Scene, Sphere, SpotFalloff, Surface, Texture, Triangle,
    hasher::Hasher,
};
use crate::limits::MAX_BLENDS;

impl Scene {
    /// Returns a hash of everything that determines the image: 128-bit XXH3 as 32 hexadecimal digits. It covers camera,
    /// lights, sky, background, fog, `direct_light`, geometry, materials and textures.
    ///
    /// The order of objects matters. Names, comments, file paths, unused materials and the render settings (size,
    /// samples, bounces, seed, clamping, exposure and tone) do not.
    pub fn hash(&self) -> String {
        scene_hash(self.surfaces_hash(), &self.camera)
    }

    /// Returns a 128-bit hash of everything in [`Scene::hash`] except the camera: lights, sky, background,
    /// `direct_light`, geometry, materials and textures. [`scene_hash`] adds the camera.
    pub fn surfaces_hash(&self) -> u128 {
        let mut materials: Vec<[u8; 16]> = self.materials.iter().map(Surface::hash).collect();
        self.add_maps(&mut materials);
        self.add_media(&mut materials);
        self.add_priorities(&mut materials);
        self.add_blended(&mut materials);
        let mut hash = Hasher::default();
        hash.vector(self.sky);
        if self.origin != DVec3::ZERO {
            hash.bytes(b"origin");
            let [x, y, z] = self.origin.to_array().map(f64::to_le_bytes);
            hash.bytes([x, y, z].as_flattened());
        }
        match self.background {
            // Adds nothing, for the same reason as below.
            Background::Environment => {}
            Background::Color(radiance) => {
                hash.bytes(b"background");
                hash.vector(radiance);
            }
            Background::Transparent => hash.bytes(b"transparent"),
        }
        if let (Background::Transparent, Some(height)) = (self.background, self.shadow_catcher) {
            hash.bytes(b"shadow catcher");
            hash.floats([height]);
        }
        if let Some(fog) = &self.fog {
            fog.add_to(&mut hash);
        }
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
            hash.bytes(&at(&materials, material));
        }
        hash.number(self.spheres.len() as u64);
        for &Sphere {
            center,
            radius,
            material,
        } in self.spheres.iter()
        {
            hash.floats([center.x, center.y, center.z, radius]);
            hash.bytes(&at(&materials, material));
        }
        for light in &self.lights {
            light_hash(light, &mut hash);
        }
        self.instances_hash(&materials, &mut hash);
        hash.finish()
    }

    /// Replaces, in `materials` (the hashes of all materials by index), the hash of each textured material by one that
    /// includes its textures.
    fn add_maps(&self, materials: &mut [[u8; 16]]) {
        if self.maps.is_empty() {
            return;
        }
        let images: Vec<u128> = self.images.iter().map(|image| image.hash()).collect();
        let textures: Vec<[u8; 16]> = self
            .textures
            .iter()
            .map(|texture| texture_hash(texture, at(&images, texture.image)))
            .collect();
        for (&material, maps) in &self.maps {
            let Some(hashed) = materials.get_mut(material as usize) else {
                continue;
            };
            *hashed = maps_hash(*hashed, maps, &textures);
        }
    }

    /// Replaces, in `materials` (the hashes of all materials by index), the hashes of bodies with a medium by ones that
    /// include it.
    fn add_media(&self, materials: &mut [[u8; 16]]) {
        for (&material, medium) in &self.media {
            let Some(hashed) = materials.get_mut(material as usize) else {
                continue;
            };
            let mut hash = Hasher::default();
            hash.bytes(&*hashed);
            medium.add_to(&mut hash);
            *hashed = hash.finish().to_le_bytes();
        }
    }

    /// Replaces, in `materials` (the hashes of all materials by index), the hashes of bodies with a priority above 0 by
    /// ones that include it.
    fn add_priorities(&self, materials: &mut [[u8; 16]]) {
        for (&material, &priority) in &self.priorities {
            match materials.get_mut(material as usize) {
                Some(hashed) if priority > 0 => {
                    let mut hash = Hasher::default();
                    hash.bytes(&*hashed);
                    hash.bytes(b"priority");
                    hash.bytes(&[priority]);
                    *hashed = hash.finish().to_le_bytes();
                }
                _ => {}
            }
        }
    }

    /// Replaces, in `materials` (the hashes of all materials by index), the hash of each blend by one that includes the
    /// materials that it contains.
    fn add_blended(&self, materials: &mut [[u8; 16]]) {
        // A blend may contain others. After as many rounds as they nest, each hash includes all materials below.
        let blends = self.materials.iter().enumerate();
        let blends: Vec<_> = blends
            .filter_map(|(index, surface)| Some((index, surface.blended()?)))
            .collect();
        let rounds = if blends.is_empty() { 0 } else { MAX_BLENDS };
        let own = materials.to_vec();
        for _ in 0..rounds {
            let before = materials.to_vec();
            for &(index, parts) in &blends {
                let mut hash = Hasher::default();
                hash.bytes(&own[index]);
                for part in parts {
                    hash.bytes(&at(&before, part));
                }
                materials[index] = hash.finish().to_le_bytes();
            }
        }
    }

    /// Adds the instances, each with its mesh, to `hash`; adds nothing if there are none. `materials` are the hashes of
    /// all materials by index.
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
            hash.bytes(&at(&meshes, mesh));
            hash.vectors(axes.into_iter().chain([position]));
            hash.bytes(&[material.is_some().into()]);
            if let Some(material) = material {
                hash.bytes(&at(materials, material));
            }
        }
    }
}

/// Returns the entry of a list with an index. Returns zeros for an index that does not exist, as in a scene that
/// [`Scene::check`] refuses.
fn at<T: Copy + Default>(list: &[T], index: u32) -> T {
    list.get(index as usize).copied().unwrap_or_default()
}

/// Returns the hash of a mesh with its vertex attributes and materials. `by_index` are the hashes of all materials by
/// index.
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
        hash.vectors(vectors.iter().copied());
    }
    hash.number(uvs.len() as u64);
    uvs.iter().for_each(|uv| hash.floats(*uv));
    second_uvs.iter().for_each(|uv| hash.floats(*uv));
    hash.number(tangents.len() as u64);
    tangents.iter().for_each(|tangent| hash.floats(*tangent));
    hash.number(triangles.len() as u64);
    for corners in triangles {
        let bytes = corners.map(u32::to_le_bytes);
        hash.bytes(bytes.as_flattened());
    }
    hash.number(materials.len() as u64);
    for &material in materials {
        hash.bytes(&at(by_index, material));
    }
    hash.finish().to_le_bytes()
}

/// Adds the type and parameters of a light to `hash`.
fn light_hash(light: &Light, hash: &mut Hasher) {
    match light {
        &Light::Point {
            position,
            intensity,
        } => {
            hash.number(0);
            hash.vectors([position, intensity]);
        }
        &Light::Spot {
            position,
            direction,
            intensity,
            inner_degrees,
            outer_degrees,
            falloff,
        } => {
            hash.number(1);
            hash.vectors([position, direction, intensity]);
            hash.floats([inner_degrees, outer_degrees]);
            match falloff {
                SpotFalloff::Squared => {}
                SpotFalloff::Smooth => hash.number(1),
                SpotFalloff::Linear => hash.number(2),
            }
        }
        &Light::Directional {
            direction,
            irradiance,
            angle_degrees,
        } => {
            hash.number(2);
            hash.vectors([direction, irradiance]);
            hash.floats([angle_degrees]);
        }
        Light::Environment(environment) => {
            hash.number(3);
            hash.number(u64::from(environment.width));
            hash.number(environment.radiances.len() as u64);
            hash.floats([environment.turns]);
            hash.vectors(environment.scaled_radiances().iter().copied());
        }
    }
}

/// Combines the hash `surfaces`, from [`Scene::surfaces_hash`], with a camera. Returns the 32 hexadecimal digits of
/// [`Scene::hash`].
pub fn scene_hash(surfaces: u128, camera: &Camera) -> String {
    let &Camera {
        origin,
        target,
        up,
        projection,
        shift,
        pixel_aspect,
        lens,
        filter,
    } = camera;
    let mut hash = Hasher::default();
    hash.bytes(&surfaces.to_le_bytes());
    hash.vectors([origin, target, up]);
    match projection {
        Projection::Perspective { fov_degrees } => hash.floats([fov_degrees]),
        Projection::Orthographic { width } => {
            hash.bytes(b"orthographic");
            hash.floats([width]);
        }
    }
    // Without a shift nothing is added, so that hashes made before the parameter existed stay valid.
    if shift != [0.0; 2] {
        hash.bytes(b"shift");
        hash.floats(shift);
    }
    // Square pixels add nothing either.
    if pixel_aspect != 1.0 {
        hash.bytes(b"pixel aspect");
        hash.floats([pixel_aspect]);
    }
    if let Some(lens) = &lens {
        lens_hash(lens, &mut hash);
    }
    if filter != PixelFilter::default() {
        filter_hash(filter, &mut hash);
    }
    format!("{:032x}", hash.finish())
}

/// Returns the hash of a texture, as little-endian bytes. It covers `image`, the hash of the texture's image, and the
/// encoding, wrap modes, filter, transform and set of texture coordinates.
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
    hash.bytes(&image.to_le_bytes());
    hash.bytes(&[encoding as u8, across as u8, down as u8, filter as u8]);
    hash.floats(transform.to_cols_array());
    if uses_second_uvs {
        hash.bytes(b"second");
    }
    hash.finish().to_le_bytes()
}

/// Returns the hash of a material with its textures. `material` is its hash without them, and `textures` are the hashes
/// of all textures by index.
fn maps_hash(material: [u8; 16], maps: &MaterialTextures, textures: &[[u8; 16]]) -> [u8; 16] {
    let mut hash = Hasher::default();
    let MaterialTextures {
        textures: by_parameter,
        normal_scale,
        coat_normal_scale,
        mirrored_relief,
        hidden_from_camera,
        opacity,
        cutoff,
    } = maps;
    hash.bytes(&material);
    hash.floats([*normal_scale]);
    if by_parameter.contains_key(&Parameter::ClearcoatNormal) {
        hash.floats([*coat_normal_scale]);
    }
    if *mirrored_relief {
        hash.bytes(b"mirrored relief");
    }
    if *hidden_from_camera {
        hash.bytes(b"hidden from camera");
    }
    if (*opacity, *cutoff) != (1.0, 0.0) {
        hash.bytes(b"opacity");
        hash.floats([*opacity, *cutoff]);
    }
    for (&parameter, map) in by_parameter {
        hash.bytes(&[parameter as u8, map.channel as u8]);
        hash.bytes(&at(textures, map.texture));
    }
    hash.finish().to_le_bytes()
}

/// Adds the word `lens` and all parameters of a lens to `hash`. Callers skip this for a pinhole camera, which has no
/// lens and adds nothing.
fn lens_hash(lens: &Lens, hash: &mut Hasher) {
    let &Lens {
        radius,
        focus,
        blades,
        rotation_degrees,
    } = lens;
    hash.bytes(b"lens");
    match focus {
        Focus::Distance(distance) => hash.floats([0.0, distance]),
        Focus::Point(Vec3 { x, y, z }) => hash.floats([1.0, x, y, z]),
    }
    hash.number(blades.into());
    hash.floats([radius, rotation_degrees]);
}

/// Adds the word `filter`, the kind of a pixel filter and its parameters to `hash`. Callers skip this for the default
/// filter, which adds nothing.
fn filter_hash(filter: PixelFilter, hash: &mut Hasher) {
    hash.bytes(b"filter");
    match filter {
        PixelFilter::Box { radius } => hash.floats([0.0, radius]),
        PixelFilter::Gaussian { radius, sigma } => hash.floats([1.0, radius, sigma]),
        PixelFilter::BlackmanHarris { radius } => hash.floats([2.0, radius]),
    }
}
