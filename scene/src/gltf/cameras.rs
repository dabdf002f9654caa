//! The cameras of a glTF file, and the choice of the one that shows the model.

use glam::{DAffine3, DVec2};
use gltf::json::{camera, validation::Checked};

use super::container::File;
use crate::{
    limits::MAX_LENGTH,
    load_options::{choose, listed},
    model::{Model, ModelCamera, ModelView, clipping::ClippedView},
};

/// A node of the file's scene that has a camera.
pub(super) struct CameraNode {
    /// Index of the node in the file.
    pub(super) node: usize,
    /// Index of the camera in the file; it may be invalid.
    pub(super) camera: usize,
    /// Transform from the node to the scene.
    pub(super) transform: DAffine3,
}

/// Adds the cameras of the file's scene to `model`, and selects the one with the name or number `wanted`, or else the
/// first one of a known type. A camera without a name has that of its node.
///
/// Adds a warning to `model` if nothing is chosen and there are several cameras. Fails if the selected camera does not
/// exist or is invalid. Other invalid cameras are left out.
pub(super) fn read(
    file: &File,
    nodes: &[CameraNode],
    wanted: Option<&str>,
    model: &mut Model,
) -> Result<(), String> {
    let names: Vec<String> = nodes.iter().map(|of| name(file, of)).collect();
    let chosen = match wanted {
        Some(wanted) => Some(choose("camera", &names, wanted)?),
        None => None,
    };
    let mut shown = None;
    for (index, of) in nodes.iter().enumerate() {
        let is_wanted = match chosen {
            Some(chosen) => chosen == index,
            None => model.camera.is_none(),
        };
        let camera = match read_camera(file, of.camera, of.transform) {
            Ok(camera) => camera,
            Err(problem) if is_wanted => return Err(format!("node {}: {problem}", of.node)),
            Err(_) => continue,
        };
        let Some(camera) = camera else {
            if chosen.is_some() && is_wanted {
                return Err(format!(
                    "camera {} has no known type; choose another one",
                    of.camera
                ));
            }
            let text = format!("ignored: camera {}, whose type is unknown", of.camera);
            model.note(text);
            continue;
        };
        if is_wanted {
            model.camera = Some(camera);
            shown = Some(of);
            if chosen.is_none() && nodes.len() > 1 {
                let number = index + 1;
                let list = listed(names.iter().map(String::as_str), true);
                model.note(format!(
                    "shown from camera {number} of its cameras {list} (`--camera`)"
                ));
            }
        }
        model.cameras.push((names[index].clone(), camera));
    }
    if let Some(view) = shown.and_then(|of| clipped_view(file, of)) {
        let clips = model.clipped_by(&view, std::iter::empty());
        for (clips, (field, place)) in clips
            .into_iter()
            .zip([("znear", "before"), ("zfar", "beyond")])
        {
            if clips {
                model.note(format!(
                    "not used: {field} of the camera, so that shapes {place} that distance are visible"
                ));
            }
        }
    }
    Ok(())
}

/// Returns the view and the clipping planes of a camera; `None` if its type is unknown or its planes are invalid. If the
/// file does not tell the aspect ratio, the view counts as square.
fn clipped_view(file: &File, of: &CameraNode) -> Option<ClippedView> {
    let camera = file.root.cameras.get(of.camera)?;
    let (planes, half, perspective) = match (&camera.perspective, &camera.orthographic) {
        (Some(perspective), _) => {
            let half_height = libm::tan(f64::from(perspective.yfov) / 2.0);
            let aspect_ratio = f64::from(perspective.aspect_ratio.unwrap_or(1.0));
            let half = DVec2::new(half_height * aspect_ratio, half_height);
            let far = perspective.zfar.map_or(f64::INFINITY, f64::from);
            ([perspective.znear.into(), far], half, true)
        }
        (_, Some(orthographic)) => {
            let half = DVec2::new(orthographic.xmag.into(), orthographic.ymag.into());
            let planes = [orthographic.znear.into(), orthographic.zfar.into()];
            (planes, half, false)
        }
        _ => return None,
    };
    // A scale of the node does not change the view.
    let axes = of.transform.matrix3;
    let is_valid = planes[0] >= 0.0 && planes[1] > planes[0] && half.min_element() > 0.0;
    is_valid.then_some(ClippedView {
        origin: of.transform.translation,
        axes: [axes.x_axis, axes.y_axis, -axes.z_axis],
        planes,
        half,
        perspective,
    })
}

/// Returns the name of a camera in the file, or else that of its node. It is empty if both have none.
fn name(file: &File, of: &CameraNode) -> String {
    let camera = file.root.cameras.get(of.camera);
    let own = camera.and_then(|camera| camera.name.as_ref());
    let own = own.filter(|name| !name.is_empty());
    own.or(file.root.nodes[of.node].name.as_ref())
        .cloned()
        .unwrap_or_default()
}

/// Reads the camera with this index, at a node with `transform`. Returns `None` if its type is unknown. Fails if it
/// does not exist or its view is invalid.
fn read_camera(
    file: &File,
    index: usize,
    transform: DAffine3,
) -> Result<Option<ModelCamera>, String> {
    let camera = file
        .root
        .cameras
        .get(index)
        .ok_or_else(|| format!("there is no camera {index}"))?;
    let positive = |value: f32| value.is_finite() && value > 0.0;
    let (view, aspect_ratio) = match (&camera.type_, &camera.perspective, &camera.orthographic) {
        (Checked::Valid(camera::Type::Perspective), Some(perspective), _) => {
            let yfov = perspective.yfov;
            if !positive(yfov) || f64::from(yfov) >= std::f64::consts::PI {
                return Err(format!(
                    "camera {index} has a yfov of {yfov}, expected radians between 0 and π"
                ));
            }
            let ratio = perspective.aspect_ratio.filter(|&ratio| positive(ratio));
            let view = ModelView::Perspective { yfov: yfov.into() };
            (view, ratio.map(f64::from))
        }
        (Checked::Valid(camera::Type::Orthographic), _, Some(orthographic)) => {
            let [half_width, half_height] = [("xmag", orthographic.xmag), ("ymag", orthographic.ymag)]
                .map(|(field, length)| {
                    let seen = (1e-8..=MAX_LENGTH).contains(&f64::from(length));
                    let wrong = format!(
                        "camera {index} has a {field} of {length}, expected metres above 0 and up to 1e8"
                    );
                    seen.then_some(f64::from(length)).ok_or(wrong)
                });
            let (half_width, half_height) = (half_width?, half_height?);
            let view = ModelView::Orthographic { half_height };
            (view, Some(half_width / half_height))
        }
        _ => return Ok(None),
    };
    Ok(Some(ModelCamera {
        transform,
        view,
        aspect_ratio,
    }))
}
