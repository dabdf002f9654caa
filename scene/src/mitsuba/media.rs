//! Media of Mitsuba. One whose density varies becomes a homogeneous one.

use std::{
    io::{BufReader, Read},
    path::Path,
    rc::Rc,
};

use glam::{DVec3, Vec3};

use super::{Converter, document::Object, textures::Use, values::Value};
use crate::{error::excerpt, files::open_regular_file, import::media, scene::Medium};

impl Converter<'_> {
    /// Converts a medium, once per object; `None` for one that does nothing or is not shown, with a warning.
    pub(super) fn medium(&mut self, object: &Rc<Object>) -> Result<Option<Medium>, String> {
        if let Some(&known) = self.media.get(&object.number) {
            return Ok(known);
        }
        let medium = self
            .nested(object, |own| own.new_medium(object))
            .map_err(|problem| format!("{}: {problem}", object.name()))?;
        self.media.insert(object.number, medium);
        Ok(medium)
    }

    /// Converts a medium that was not converted before.
    fn new_medium(&mut self, object: &Object) -> Result<Option<Medium>, String> {
        let plugin = object.plugin.as_str();
        if !["homogeneous", "heterogeneous"].contains(&plugin) {
            let plugin = excerpt(plugin);
            self.scene
                .note(format!("not shown: media of type `{plugin}`"));
            return Ok(None);
        }
        let scale = object.number("scale", 1.0) as f32;
        let older = [
            self.coefficient(object, "sigma_s")?,
            self.coefficient(object, "sigma_a")?,
        ];
        let (scattering, absorption) = if let [None, None] = older {
            let extinction = self.coefficient(object, "sigma_t")?.unwrap_or(Vec3::ONE);
            let albedo = self.coefficient(object, "albedo")?;
            let albedo = albedo
                .unwrap_or(Vec3::splat(0.75))
                .clamp(Vec3::ZERO, Vec3::ONE);
            (extinction * albedo, extinction * (Vec3::ONE - albedo))
        } else {
            let [scattering, absorption] = older.map(Option::unwrap_or_default);
            (scattering, absorption)
        };
        let anisotropy = self.anisotropy(object);
        Ok(media::medium(
            scattering * scale,
            absorption * scale,
            anisotropy,
        ))
    }

    /// Returns the mean cosine of the phase function of a medium.
    fn anisotropy(&mut self, object: &Object) -> f64 {
        let Some(phase) = self.document.child_of_kind(object, "phase") else {
            return 0.0;
        };
        match phase.plugin.as_str() {
            "isotropic" => 0.0,
            "hg" => phase.number("g", 0.8),
            plugin => {
                let plugin = excerpt(plugin);
                self.scene.note(format!(
                    "approximated: the phase function `{plugin}` by `isotropic`"
                ));
                0.0
            }
        }
    }

    /// Returns the coefficient or albedo of a medium with this name, the mean of one that varies; `None` if there is
    /// none.
    fn coefficient(&mut self, object: &Object, name: &str) -> Result<Option<Vec3>, String> {
        let document = self.document;
        let Some(child) = document.child(object, name) else {
            return Ok(object.value(name).and_then(Value::reflectance));
        };
        if child.plugin == "gridvolume" {
            let file = child.text("filename", "");
            let path = self.files.find_by_last_component(file)?;
            if self.scene.is_missing(file, &path) {
                return Ok(None);
            }
            self.scene
                .note("approximated: the density of media that varies, by its mean");
            let mean = grid_mean(&path);
            return mean
                .map(Some)
                .map_err(|problem| format!("`{}` {problem}", excerpt(file)));
        }
        let inner = match child.tag.as_str() {
            "volume" => document.children(child).map(|(_, inner)| inner).next(),
            _ => Some(child),
        };
        if let Some(value) = child.value("value").or(child.value("color")) {
            return Ok(value.reflectance());
        }
        let Some(inner) = inner else {
            return Ok(None);
        };
        let color = self.texture(inner, Use::Reflectance)?;
        Ok(Some(color.mean(&self.scene.model.library)))
    }

    /// Sets the fog of the scene to the medium around the sensor, unless that is inside a shape.
    pub(super) fn medium_around(&mut self, sensor: &Object) -> Result<(), String> {
        let document = self.document;
        let Some(around) = document.child_of_kind(sensor, "medium") else {
            return Ok(());
        };
        let mut open: Vec<&Rc<Object>> = vec![&document.root];
        while let Some(object) = open.pop() {
            open.extend(document.own_children(object));
            let interior = document.child(object, "interior");
            if object.tag == "shape" && interior.is_some_and(|of| of.number == around.number) {
                return Ok(());
            }
        }
        self.scene.fog = self.medium(around)?;
        Ok(())
    }
}

/// Returns the mean of the values of a `.vol` file, per channel.
fn grid_mean(path: &Path) -> Result<Vec3, String> {
    let mut file = BufReader::new(open_regular_file(path, &["vol"])?);
    let damaged = || "is damaged: it ends too early, or is no grid of 32-bit numbers".to_owned();
    let mut header = [0; 48];
    file.read_exact(&mut header).map_err(|_| damaged())?;
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| header[at + byte]));
    let (encoding, channels) = (word(4), u64::from(word(20)));
    if !header.starts_with(b"VOL\x03") || encoding != 1 || ![1, 3].contains(&channels) {
        return Err(damaged());
    }
    let cells = [8, 12, 16].into_iter().try_fold(1_u64, |cells, at| {
        cells
            .checked_mul(u64::from(word(at)))
            .filter(|&cells| cells < 1 << 40)
    });
    let cells = cells.filter(|&cells| cells > 0).ok_or_else(damaged)?;
    let mut sum = DVec3::ZERO;
    let mut cell = vec![0; 4 * channels as usize];
    for _ in 0..cells {
        file.read_exact(&mut cell).map_err(|_| damaged())?;
        let (values, _) = cell.as_chunks::<4>();
        let value = |at: usize| f64::from(f32::from_le_bytes(values[at.min(values.len() - 1)]));
        sum += DVec3::new(value(0), value(1), value(2));
    }
    Ok((sum / cells as f64).as_vec3())
}
