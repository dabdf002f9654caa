//! Animations: the transforms of nodes and the weights of morph targets at a point in time.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    rc::Rc,
};

use glam::{DAffine3, DMat4, DQuat, DVec3};
use gltf::json::{
    Animation, Node,
    animation::{Interpolation, Property, Sampler},
    validation::Checked,
};

use super::container::File;
use crate::{
    LoadOptions,
    load_options::{ALL_ANIMATIONS, choose, listed},
    model::Model,
    scene::MAX_SECONDS,
};

/// Maximum number of floats of all keyframes of a file that are read: 2³⁰. A file in which many accessors share the
/// same bytes could otherwise keep the program busy for hours.
const MAX_FLOATS: u64 = 1 << 30;

/// Maximum number of times of keyframes that are read to learn how long the animations last: 2²⁴.
const MAX_TIMES: u64 = 1 << 24;

/// The animated properties of nodes at a point in time. The default is the rest pose, in which nothing is animated.
#[derive(Default)]
pub(super) struct Pose {
    /// Animated properties by the index of their node.
    nodes: BTreeMap<usize, NodePose>,
}

/// The animated properties of one node; `None` for a property that is not animated.
#[derive(Default)]
struct NodePose {
    translation: Option<DVec3>,
    rotation: Option<DQuat>,
    scale: Option<DVec3>,
    /// Weights of the morph targets of the node's mesh.
    weights: Option<Vec<f32>>,
}

impl Pose {
    /// Evaluates the animations of a file at the time that `options` selects. Without a time it returns the rest pose,
    /// with a warning in `model` if there are animations.
    ///
    /// Fails if the chosen animation does not exist, or a channel is invalid.
    pub(super) fn of(
        file: &File,
        options: &LoadOptions,
        model: &mut Model,
    ) -> Result<Pose, String> {
        let animations = &file.root.animations;
        let names: Vec<String> = animations
            .iter()
            .map(|animation| animation.name.clone().unwrap_or_default())
            .collect();
        let plays_all = |wanted: &String| {
            wanted == ALL_ANIMATIONS && !names.is_empty() && !names.contains(wanted)
        };
        let chosen = match &options.animation {
            Some(wanted) if plays_all(wanted) => None,
            Some(wanted) => Some(choose("animation", &names, wanted)?),
            None => None,
        };
        describe(file, &names, chosen, model);
        let time = match (options.time, &options.animation) {
            (Some(time), _) => time,
            (None, Some(_)) => 0.0,
            (None, None) => {
                if !names.is_empty() {
                    let list = listed(names.iter().map(String::as_str), true);
                    let s = if names.len() == 1 { "" } else { "s" };
                    model.note(format!(
                        "shown in its rest pose, without a time of its animation{s} {list} (`--time`)"
                    ));
                }
                return Ok(Pose::default());
            }
        };
        if !time.is_finite() {
            return Err(format!(
                "cannot be shown at {time} s; expected a finite number of seconds"
            ));
        }
        if animations.is_empty() {
            return Err(format!(
                "has no animations, so that it cannot be shown at {time} s; omit the time"
            ));
        }
        let mut evaluation = Evaluation {
            file,
            time,
            floats: 0,
            curves: HashMap::new(),
            pose: Pose::default(),
            collisions: BTreeSet::new(),
        };
        for (index, animation) in animations.iter().enumerate() {
            if chosen.is_none_or(|chosen| chosen == index) {
                evaluation
                    .add(animation, model)
                    .map_err(|problem| format!("animation {index}: {problem}"))?;
            }
        }
        let text = "shown with the last of several animations of {}; choose one of the animations";
        let names = ["property", "properties"];
        model.note_count(text, names, evaluation.collisions.len() as u64);
        Ok(evaluation.pose)
    }

    /// Returns the transform of a node relative to its parent. `index` is that of the node. Fails if the node's
    /// rotation is not a valid quaternion.
    pub(super) fn transform(&self, index: usize, node: &Node) -> Result<DAffine3, String> {
        let rest = local_transform(node)?;
        let Some(pose) = self.nodes.get(&index) else {
            return Ok(rest);
        };
        let triple = |values: [f32; 3]| DVec3::from_array(values.map(f64::from));
        // An animated node should have no matrix. If it has one, its parts are replaced.
        let (scale, rotation, translation) = match node.matrix {
            Some(_) => rest.to_scale_rotation_translation(),
            None => (
                triple(node.scale.unwrap_or([1.0; 3])),
                rest_rotation(node)?,
                triple(node.translation.unwrap_or_default()),
            ),
        };
        Ok(DAffine3::from_scale_rotation_translation(
            pose.scale.unwrap_or(scale),
            pose.rotation.unwrap_or(rotation),
            pose.translation.unwrap_or(translation),
        ))
    }

    /// Returns the animated weights of the morph targets of a node's mesh, or `None` if they are not animated. `node`
    /// is its index.
    pub(super) fn weights(&self, node: usize) -> Option<&[f32]> {
        self.nodes.get(&node)?.weights.as_deref()
    }
}

/// The evaluation of the animations of a file at one time.
struct Evaluation<'f> {
    file: &'f File,
    /// Time in seconds.
    time: f64,
    /// Number of floats of keyframes that were read so far.
    floats: u64,
    /// Keyframes that were read, by the indices of the accessors of their times and values.
    curves: HashMap<(usize, usize), Rc<Curve>>,
    /// Properties that were evaluated so far.
    pose: Pose,
    /// Properties that several animations set: the index of the node, and the name of the property.
    collisions: BTreeSet<(usize, &'static str)>,
}

/// The keyframes of a property: times, and values of a fixed number of components.
struct Curve {
    /// Time of each keyframe in seconds, finite and not decreasing.
    times: Vec<f32>,
    /// Finite values of all keyframes, one after the other.
    values: Vec<f32>,
}

impl<'f> Evaluation<'f> {
    /// Evaluates all channels of an animation. A channel without a known property is left out, with a warning in
    /// `model`. Fails if a channel is invalid.
    fn add(&mut self, animation: &'f Animation, model: &mut Model) -> Result<(), String> {
        for (index, channel) in animation.channels.iter().enumerate() {
            let Checked::Valid(property) = channel.target.path else {
                let text = "not shown: {} of other things than transforms and weights of nodes";
                model.note_count(text, ["animation channel", "animation channels"], 1);
                continue;
            };
            let node = channel.target.node.value();
            let sampler = channel.sampler.value();
            let wrong = |problem: String| format!("channel {index}: {problem}");
            if node >= self.file.root.nodes.len() {
                return Err(wrong(format!("there is no node {node}")));
            }
            let written = animation.samplers.get(sampler);
            let written = written.ok_or_else(|| wrong(format!("there is no sampler {sampler}")))?;
            let is_set = self
                .animate(node, property, written)
                .map_err(|problem| wrong(format!("sampler {sampler}: {problem}")))?;
            if is_set {
                self.collisions.insert((node, name(property)));
            }
        }
        Ok(())
    }

    /// Evaluates a sampler and sets a property of the node with the index `node` to the result. Returns whether the
    /// property was set before. Fails if the sampler is invalid.
    fn animate(
        &mut self,
        node: usize,
        property: Property,
        sampler: &Sampler,
    ) -> Result<bool, String> {
        let Checked::Valid(interpolation) = sampler.interpolation else {
            return Err("has no known interpolation".to_owned());
        };
        let curve = self.curve(sampler, property)?;
        let width = match property {
            Property::Translation | Property::Scale => 3,
            Property::Rotation => 4,
            Property::MorphTargetWeights => {
                let keys = curve.times.len() * values_per_key(interpolation);
                curve.values.len() / keys.max(1)
            }
        };
        let value = curve.at(
            self.time,
            width,
            interpolation,
            property == Property::Rotation,
        )?;
        let pose = self.pose.nodes.entry(node).or_default();
        let vector = || DVec3::new(value[0], value[1], value[2]);
        Ok(match property {
            Property::Translation => pose.translation.replace(vector()).is_some(),
            Property::Scale => pose.scale.replace(vector()).is_some(),
            Property::Rotation => {
                let rotation = quaternion(value.into_iter())?;
                pose.rotation.replace(rotation).is_some()
            }
            Property::MorphTargetWeights => {
                let weights = value.iter().map(|&weight| weight as f32).collect();
                pose.weights.replace(weights).is_some()
            }
        })
    }

    /// Reads the keyframes of a sampler, or returns them if they were read before. Fails if an accessor is invalid, a
    /// number is not finite, the times decrease, or the file has too many keyframes.
    fn curve(&mut self, sampler: &Sampler, property: Property) -> Result<Rc<Curve>, String> {
        let (input, output) = (sampler.input.value(), sampler.output.value());
        if let Some(curve) = self.curves.get(&(input, output)) {
            return Ok(curve.clone());
        }
        let times = self.file.floats::<1>(input)?.into_flattened();
        let values = match property {
            Property::Translation | Property::Scale => {
                self.file.floats::<3>(output)?.into_flattened()
            }
            Property::Rotation => self.file.floats::<4>(output)?.into_flattened(),
            Property::MorphTargetWeights => self.file.floats::<1>(output)?.into_flattened(),
        };
        self.floats += (times.len() + values.len()) as u64;
        if self.floats > MAX_FLOATS {
            return Err(format!(
                "with it, the animations have more than {MAX_FLOATS} numbers; export fewer keyframes"
            ));
        }
        if times.is_empty() {
            return Err(format!(
                "accessor {input}: has no keyframes, expected one or more"
            ));
        }
        let wrong = (0..times.len())
            .find(|&key| !times[key].is_finite() || key > 0 && times[key] < times[key - 1]);
        if let Some(key) = wrong {
            return Err(format!(
                "accessor {input}: keyframe {key} is at {} s, expected finite times that increase; export the animation \
                 again",
                times[key]
            ));
        }
        if let Some(number) = values.iter().position(|value| !value.is_finite()) {
            return Err(format!(
                "accessor {output}: number {number} is {}, expected finite numbers; export the animation again",
                values[number]
            ));
        }
        let curve = Rc::new(Curve { times, values });
        self.curves.insert((input, output), curve.clone());
        Ok(curve)
    }
}

/// Stores in `model` which animations of these names can play, which of them is chosen (an index in `names`; `None` for
/// all), and how long those that play last.
fn describe(file: &File, names: &[String], chosen: Option<usize>, model: &mut Model) {
    let mut lengths = Lengths {
        file,
        last: HashMap::new(),
        read: 0,
    };
    let mut targets = HashSet::new();
    // The chosen one first, because a limited number of times is read.
    let seconds = chosen.map(|chosen| lengths.seconds(chosen));
    for index in 0..names.len() {
        let Some(length) = lengths.seconds(index) else {
            continue;
        };
        let is_first = names.iter().position(|name| *name == names[index]) == Some(index);
        let option = match names[index].is_empty() || !is_first {
            true => (index + 1).to_string(),
            false => names[index].clone(),
        };
        if choose("animation", names, &option) != Ok(index) {
            continue;
        }
        if chosen == Some(index) {
            model.chosen_animation = Some(model.animations.len());
        }
        model.animations.push(option);
        model.animation_lengths.push(length);
        let own: HashSet<_> = targets_of(&file.root.animations[index]).collect();
        model.animations_overlap |= !own.is_disjoint(&targets);
        targets.extend(own);
        let longest = model.animation_seconds.unwrap_or(0.0).max(length);
        model.animation_seconds = Some(longest);
    }
    if let Some(seconds) = seconds {
        model.animation_seconds = seconds;
    }
}

/// Yields the node and the kind of the property that each channel of an animation changes, as far as they are known.
fn targets_of(animation: &Animation) -> impl Iterator<Item = (usize, u8)> {
    let channels = animation.channels.iter();
    channels.filter_map(|channel| match channel.target.path {
        Checked::Valid(property) => Some((channel.target.node.value(), property as u8)),
        Checked::Invalid => None,
    })
}

/// The lengths of animations, from the times of their keyframes.
struct Lengths<'f> {
    file: &'f File,
    /// Last time of each accessor that was read, by its index.
    last: HashMap<usize, f32>,
    /// Number of times that were read.
    read: u64,
}

impl Lengths<'_> {
    /// Returns the time in seconds of the last keyframe of the animation with this index, at most [`MAX_SECONDS`]; `None`
    /// if it is not above 0. Keyframes that cannot be read do not count, and neither do those beyond [`MAX_TIMES`] in
    /// all.
    fn seconds(&mut self, animation: usize) -> Option<f64> {
        let animation: &Animation = self.file.root.animations.get(animation)?;
        let mut last = 0.0f32;
        for channel in &animation.channels {
            let sampler = animation.samplers.get(channel.sampler.value());
            if let (Checked::Valid(_), Some(sampler)) = (&channel.target.path, sampler) {
                last = last.max(self.last_time(sampler.input.value()));
            }
        }
        (last > 0.0).then(|| f64::from(last).min(MAX_SECONDS))
    }

    /// Returns the last time of an accessor; 0 if it cannot be read.
    fn last_time(&mut self, input: usize) -> f32 {
        if let Some(&last) = self.last.get(&input) {
            return last;
        }
        let accessors = &self.file.root.accessors;
        self.read += accessors.get(input).map_or(0, |accessor| accessor.count.0);
        let mut last = 0.0;
        if self.read <= MAX_TIMES {
            let times = self.file.floats::<1>(input).unwrap_or_default();
            let times = times.into_iter().flatten();
            last = times.filter(|time| time.is_finite()).fold(last, f32::max);
        }
        self.last.insert(input, last);
        last
    }
}

/// Returns the name of a property in glTF.
fn name(property: Property) -> &'static str {
    match property {
        Property::Translation => "translation",
        Property::Rotation => "rotation",
        Property::Scale => "scale",
        Property::MorphTargetWeights => "weights",
    }
}

/// Returns the number of values that a keyframe has: three for a cubic spline, which are the incoming tangent, the
/// value itself, and the outgoing tangent.
fn values_per_key(interpolation: Interpolation) -> usize {
    match interpolation {
        Interpolation::CubicSpline => 3,
        Interpolation::Linear | Interpolation::Step => 1,
    }
}

impl Curve {
    /// Returns the value at a time, of `width` components. Before the first and after the last keyframe that is the
    /// value of the keyframe. `spherical` selects spherical instead of linear interpolation.
    ///
    /// Fails if the number of values does not match the number of keyframes.
    fn at(
        &self,
        time: f64,
        width: usize,
        interpolation: Interpolation,
        spherical: bool,
    ) -> Result<Vec<f64>, String> {
        let keys = self.times.len();
        let per_key = values_per_key(interpolation);
        let expected = keys * per_key * width;
        if width == 0 || self.values.len() != expected {
            return Err(format!(
                "has {keys} keyframes and {} numbers, expected {per_key} values for each keyframe",
                self.values.len()
            ));
        }
        // `part` is 0 for the incoming tangent, 1 for the value and 2 for the outgoing tangent of a cubic spline.
        let value = |key: usize, part: usize| {
            let first = (key * per_key + part.min(per_key - 1)) * width;
            let numbers = &self.values[first..first + width];
            numbers.iter().map(|&number| f64::from(number))
        };
        let to = self.times.partition_point(|&key| f64::from(key) <= time);
        if to == 0 || to == keys {
            return Ok(value(to.saturating_sub(1), 1).collect());
        }
        let from = to - 1;
        let start = f64::from(self.times[from]);
        let duration = f64::from(self.times[to]) - start;
        let fraction = (time - start) / duration;
        Ok(match interpolation {
            Interpolation::Step => value(from, 1).collect(),
            Interpolation::Linear if spherical && width == 4 => {
                let rotation = |key: usize| quaternion(value(key, 1));
                let between = slerp(rotation(from)?, rotation(to)?, fraction);
                between.to_array().to_vec()
            }
            Interpolation::Linear => value(from, 1)
                .zip(value(to, 1))
                .map(|(a, b)| a + (b - a) * fraction)
                .collect(),
            Interpolation::CubicSpline => {
                let (t, t2) = (fraction, fraction * fraction);
                let t3 = t2 * t;
                let starts = value(from, 1).zip(value(from, 2));
                let ends = value(to, 1).zip(value(to, 0));
                let hermite = |((a, out), (b, into)): ((f64, f64), (f64, f64))| {
                    (2.0 * t3 - 3.0 * t2 + 1.0) * a
                        + duration * (t3 - 2.0 * t2 + t) * out
                        + (3.0 * t2 - 2.0 * t3) * b
                        + duration * (t3 - t2) * into
                };
                starts.zip(ends).map(hermite).collect()
            }
        })
    }
}

/// Returns the unit quaternion of four numbers (x, y, z, w). Fails if they have no length.
fn quaternion(mut numbers: impl Iterator<Item = f64>) -> Result<DQuat, String> {
    let parts = std::array::from_fn(|_| numbers.next().unwrap_or_default());
    unit_quaternion(DQuat::from_array(parts))
}

/// Returns the spherical linear interpolation of two quaternions along the shorter arc, as glTF 2.0 defines it.
///
/// Other than glam's function it takes sines from the crate `libm`, which gives the same bits on every machine.
fn slerp(from: DQuat, to: DQuat, fraction: f64) -> DQuat {
    let dot = from.dot(to);
    let to = if dot < 0.0 { -to } else { to };
    let cosine = dot.abs();
    // Nearly equal quaternions have an angle of almost 0, by whose sine one cannot divide.
    if cosine > 1.0 - 1e-9 {
        return from + (to - from) * fraction;
    }
    let angle = libm::acos(cosine);
    let weight = |part: f64| libm::sin(part * angle) / libm::sin(angle);
    from * weight(1.0 - fraction) + to * weight(fraction)
}

/// Returns a node's transform relative to its parent in the rest pose, from its matrix or from its scale, rotation and
/// translation. Fails if its rotation is not a valid quaternion.
fn local_transform(node: &Node) -> Result<DAffine3, String> {
    if let Some(matrix) = node.matrix {
        return Ok(DAffine3::from_mat4(DMat4::from_cols_array(
            &matrix.map(f64::from),
        )));
    }
    let triple = |values: [f32; 3]| DVec3::from_array(values.map(f64::from));
    Ok(DAffine3::from_scale_rotation_translation(
        triple(node.scale.unwrap_or([1.0; 3])),
        rest_rotation(node)?,
        triple(node.translation.unwrap_or_default()),
    ))
}

/// Returns the rotation that a node has in its rest pose, without that of a matrix. Fails if it is not a valid
/// quaternion.
fn rest_rotation(node: &Node) -> Result<DQuat, String> {
    let rotation = node.rotation.map_or([0.0, 0.0, 0.0, 1.0], |all| all.0);
    unit_quaternion(DQuat::from_array(rotation.map(f64::from)))
}

/// Normalises a quaternion. Fails if it is not finite or has no length.
pub(super) fn unit_quaternion(rotation: DQuat) -> Result<DQuat, String> {
    if rotation.is_finite() && rotation.length_squared().is_normal() {
        Ok(rotation.normalize())
    } else {
        Err("its rotation is not a valid quaternion".to_owned())
    }
}
