//! Choice of the scene of a file that is shown, and the error for a file with nothing to show.

use gltf::json::Root;

use super::container::File;
use crate::model::Model;

/// Returns the indices of the root nodes to show: those of the default scene, or of the first if there is no default.
///
/// If that scene has no meshes, returns the roots of the first scene with meshes. If no scene has meshes, returns all
/// nodes without a parent if a mesh is among them or below, and the roots of the default scene otherwise. In a file
/// without scenes, all nodes are shown.
///
/// Such files are valid, and Blender's importer shows all of their nodes. Adds warnings about another choice than the
/// default scene, and about scenes, meshes, lights and cameras that are not shown. Fails if the default scene does not
/// exist.
pub(super) fn roots(file: &File, model: &mut Model) -> Result<Vec<usize>, String> {
    let root = &file.root;
    let default = root.scene.map_or(0, |scene| scene.value());
    if root.scene.is_some() && default >= root.scenes.len() {
        return Err(format!("there is no scene {default}"));
    }
    let scenes: Vec<Vec<usize>> = (root.scenes.iter())
        .map(|scene| scene.nodes.iter().map(|node| node.value()).collect())
        .collect();
    let Some(default_roots) = scenes.get(default) else {
        return Ok(parentless(root));
    };
    if default_roots.iter().any(|&node| node >= root.nodes.len()) {
        // The caller reports the node that does not exist.
        return Ok(default_roots.clone());
    }
    let has_mesh_below = has_mesh_below(root);
    let has_mesh = |roots: &[usize]| {
        let mut roots = roots.iter().filter_map(|&node| has_mesh_below.get(node));
        roots.any(|&has_mesh| has_mesh)
    };
    let others = (0..scenes.len()).filter(|&scene| scene != default);
    let mut shown = [default].into_iter().chain(others);
    let Some(shown) = shown.find(|&scene| has_mesh(&scenes[scene])) else {
        let all = parentless(root);
        if !has_mesh(&all) {
            return Ok(default_roots.clone());
        }
        model.note("its scenes have no meshes; the nodes outside of them are shown".to_owned());
        return Ok(all);
    };
    if shown != default {
        model.note(format!(
            "scene {default} has no meshes; scene {shown} is shown instead (counted from 0)"
        ));
        let others = scenes.iter().filter(|roots| has_mesh(roots)).count() - 1;
        let names = ["other scene", "other scenes"];
        model.note_count("not shown: {} with meshes", names, others as u64);
        let text = format!("not shown: {{}} of scene {default}");
        let left_out = lights_and_cameras(root, default_roots, &scenes[shown]);
        model.note_count(&text, ["light or camera", "lights and cameras"], left_out);
    } else if scenes.len() > 1 {
        let count = scenes.len();
        model.note(format!(
            "only scene {shown} of its {count} scenes is shown (counted from 0)"
        ));
    }
    let in_scenes = reached(root, &scenes.concat());
    let everywhere = vec![true; root.nodes.len()];
    let outside =
        count_nodes_with_mesh(root, &everywhere) - count_nodes_with_mesh(root, &in_scenes);
    let text = "not shown: {} with meshes outside of all scenes";
    model.note_count(text, ["node", "nodes"], outside as u64);
    Ok(scenes[shown].clone())
}

/// Returns, for each node of the file, whether it or a descendant has a mesh.
fn has_mesh_below(root: &Root) -> Vec<bool> {
    let mut parents = vec![None; root.nodes.len()];
    for (parent, node) in root.nodes.iter().enumerate() {
        for child in node.children.iter().flatten() {
            if let Some(of) = parents.get_mut(child.value()) {
                *of = Some(parent);
            }
        }
    }
    let mut has_mesh = vec![false; root.nodes.len()];
    for (index, _) in (root.nodes.iter().enumerate()).filter(|(_, node)| node.mesh.is_some()) {
        let mut next = Some(index);
        while let Some(node) = next.filter(|&node| !has_mesh[node]) {
            has_mesh[node] = true;
            next = parents[node];
        }
    }
    has_mesh
}

/// Returns the indices of the nodes that are not children of others.
fn parentless(root: &Root) -> Vec<usize> {
    let mut below = vec![false; root.nodes.len()];
    let children = root
        .nodes
        .iter()
        .flat_map(|node| node.children.iter().flatten());
    for child in children {
        if let Some(below) = below.get_mut(child.value()) {
            *below = true;
        }
    }
    (0..below.len()).filter(|&node| !below[node]).collect()
}

/// Returns, for each node of the file, whether it is one of `roots` or a descendant of one. Indices of nodes that do
/// not exist are ignored.
fn reached(root: &Root, roots: &[usize]) -> Vec<bool> {
    let mut reached = vec![false; root.nodes.len()];
    let mut open = roots.to_vec();
    while let Some(index) = open.pop() {
        // A node that is reached twice is an error later.
        if let Some(node) = root.nodes.get(index)
            && !std::mem::replace(&mut reached[index], true)
        {
            let children = node.children.iter().flatten();
            open.extend(children.map(|child| child.value()));
        }
    }
    reached
}

/// Returns the number of nodes with a mesh among those that are marked.
fn count_nodes_with_mesh(root: &Root, marked: &[bool]) -> usize {
    let nodes = root.nodes.iter().zip(marked);
    nodes
        .filter(|(node, marked)| **marked && node.mesh.is_some())
        .count()
}

/// Returns the number of lights and cameras of the nodes that are in the scene with the roots `hidden`, but not in that
/// with the roots `shown`.
fn lights_and_cameras(root: &Root, hidden: &[usize], shown: &[usize]) -> u64 {
    let (hidden, shown) = (reached(root, hidden), reached(root, shown));
    let nodes = root.nodes.iter().zip(hidden.iter().zip(&shown));
    nodes
        .filter(|(_, (hidden, shown))| **hidden && !**shown)
        .map(|(node, _)| {
            let extensions = node.extensions.as_ref();
            let light = extensions.and_then(|extensions| extensions.khr_lights_punctual.as_ref());
            u64::from(light.is_some()) + u64::from(node.camera.is_some())
        })
        .sum()
}

/// Returns the error text, with cause and remedy, for a file that shows no triangles, lines or points.
pub(super) fn nothing_to_show(root: &Root) -> String {
    let lights = root.extensions.as_ref();
    let lights = lights.and_then(|extensions| extensions.khr_lights_punctual.as_ref());
    let lights = lights.map_or(0, |lights| lights.lights.len());
    let meshes = root.meshes.len();
    let empty = root.meshes.iter().all(|mesh| mesh.primitives.is_empty());
    let used = root.nodes.iter().any(|node| node.mesh.is_some());
    match meshes {
        0 if root.cameras.is_empty() && lights == 0 => {
            "has no meshes; export it with meshes".to_owned()
        }
        0 => "has cameras or lights and no meshes; export it with meshes".to_owned(),
        1 if !used => {
            "has a mesh that no node uses, so that nothing is shown; add a node to its scene"
                .to_owned()
        }
        _ if !used => format!(
            "has {meshes} meshes that no node uses, so that nothing is shown; add nodes to its scene"
        ),
        _ if empty => "has only meshes without primitives; export it with meshes".to_owned(),
        _ => "has no triangles, lines or points that can be shown; export it with visible meshes"
            .to_owned(),
    }
}
