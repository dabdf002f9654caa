//! Conservation of energy by clear coats and thin films, which lie above other layers.

use glam::{DVec3, Vec3};
use raysieve::scene::{Principled, Surface};

use crate::{Shelf, laws::albedo};

/// Number of viewing directions over which hemispherical means are taken.
const DIRECTIONS: u32 = 8;

/// Energy that a material scatters.
struct Energy {
    /// Mean over all viewing directions, weighted by their cosine, as a convex body shows it in a furnace.
    mean: DVec3,
    /// Albedo that is farthest from 1.
    worst: DVec3,
}

/// Returns the energy that each material scatters towards its front and its back, with its name.
fn energies(materials: Vec<(String, Principled)>) -> Vec<(String, Energy)> {
    let surfaces = materials.into_iter();
    let shelf = Shelf::new(
        surfaces
            .map(|(name, principled)| (name, Surface::Principled(principled)))
            .collect(),
    );
    let sides = shelf
        .items
        .iter()
        .flat_map(|item| [(item, true), (item, false)]);
    sides
        .map(|(item, front)| {
            let mut energy = Energy {
                mean: DVec3::ZERO,
                worst: DVec3::ONE,
            };
            for number in 0..DIRECTIONS {
                let cosine = ((number as f32 + 0.5) / DIRECTIONS as f32).sqrt();
                let albedo = albedo(&shelf.under(item, cosine, front));
                energy.mean += albedo / f64::from(DIRECTIONS);
                let distance = |albedo: DVec3| (albedo - DVec3::ONE).abs().max_element();
                if distance(albedo) > distance(energy.worst) {
                    energy.worst = albedo;
                }
            }
            (format!("{}, front {front}", item.name), energy)
        })
        .collect()
}

/// Returns white materials that scatter all light, with their names.
fn white_bases() -> Vec<(&'static str, Principled)> {
    let white = Principled::default();
    let glass = Principled {
        transmission: 1.0,
        ..white
    };
    vec![
        ("plastic", white),
        (
            "no boundary",
            Principled {
                specular: 0.0,
                ..white
            },
        ),
        (
            "metal",
            Principled {
                metallic: 1.0,
                ..white
            },
        ),
        ("glass", glass),
        ("dense glass", Principled { ior: 2.0, ..glass }),
        (
            "thin glass",
            Principled {
                thin: true,
                ..glass
            },
        ),
        (
            "leaf",
            Principled {
                diffuse_transmission: 0.5,
                diffuse_transmission_color: Vec3::ONE,
                ..white
            },
        ),
        (
            "brushed metal",
            Principled {
                metallic: 1.0,
                anisotropy: 0.7,
                ..white
            },
        ),
    ]
}

/// A coat takes from the layers below what it reflects itself, as in the specification of glTF.
#[test]
fn coats_of_any_roughness_lose_nothing_over_white_bases_of_any_roughness() {
    let coats = [(0.0, 0.0), (1.0, 0.0), (0.5, 0.3), (1.0, 0.6), (1.0, 1.0)];
    let mut wrong = Vec::new();
    for (name, base) in white_bases() {
        for roughness in [0.0, 0.2, 0.4, 0.7, 1.0] {
            let of_coat = |(clearcoat, clearcoat_roughness)| {
                let coated = Principled {
                    roughness,
                    clearcoat,
                    clearcoat_roughness,
                    ..base
                };
                let name = format!(
                    "{name}, roughness {roughness}, coat {clearcoat} of roughness {clearcoat_roughness}"
                );
                (name, coated)
            };
            let energies = energies(coats.map(of_coat).into());
            // The front and the back without a coat, to which all are compared.
            let (plain, coated) = energies.split_at(2);
            for pair in coated.chunks(2) {
                for ((name, energy), (_, plain)) in pair.iter().zip(plain) {
                    let (mean, worst) = (energy.mean - plain.mean, energy.worst - DVec3::ONE);
                    if mean.abs().max_element() > 0.01 || worst.abs().max_element() > 0.025 {
                        wrong.push(format!("{name}: mean {mean}, worst {worst}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A thin film changes the colors of the reflected and of the transmitted light, but not their sum.
#[test]
fn films_on_glass_of_any_roughness_conserve_energy_in_each_channel() {
    let films = [
        (1.3, 400.0),
        (1.8, 400.0),
        (2.5, 250.0),
        (2.5, 400.0),
        (2.5, 700.0),
    ];
    let mut materials = Vec::new();
    for roughness in [0.0, 0.3, 0.5, 0.7, 1.0] {
        for (ior, thickness) in films {
            for (thin, clearcoat) in [(false, 0.0), (true, 0.0), (false, 1.0)] {
                let filmed = Principled {
                    transmission: 1.0,
                    roughness,
                    thin,
                    clearcoat,
                    iridescence: 1.0,
                    iridescence_ior: ior,
                    iridescence_thickness: thickness,
                    ..Principled::default()
                };
                let name = format!(
                    "roughness {roughness}, film {ior} of {thickness} nm, thin {thin}, coat {clearcoat}"
                );
                materials.push((name, filmed));
            }
        }
    }
    let mut wrong = Vec::new();
    for (name, energy) in energies(materials) {
        let (mean, worst) = (energy.mean - DVec3::ONE, energy.worst - DVec3::ONE);
        if mean.abs().max_element() > 0.015 || worst.abs().max_element() > 0.04 {
            wrong.push(format!("{name}: mean {mean}, worst {worst}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
