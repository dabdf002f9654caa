//! Lookups in the energy tables of [`energy`](crate::shading::energy) for a block of paths.

use crate::{
    accel::arrays::{F32Array, PATHS, U32Array},
    shading::energy::{GRAZING, LOST, TableCell, cell_corners, interpolated, table_cell},
};

/// Energies that the boundary of a layered material reflects or loses, for a roughness and a cosine of each path.
#[derive(Default)]
pub(super) struct BoundaryEnergies {
    /// Indices of the cells' first corners, see [`TableCell`].
    cells: U32Array,
    /// Interpolation weights of the higher cosine, 0..=1.
    right: F32Array,
    /// Interpolation weights of the higher roughness, 0..=1.
    down: F32Array,
    /// The function `LOST` at the corners of the cells.
    lost: [F32Array; 4],
    /// The function `GRAZING` at the corners of the cells.
    grazing: [F32Array; 4],
}

impl BoundaryEnergies {
    /// Looks up the energies of the first `count` paths by GGX roughness α and cosine to the normal.
    ///
    /// `tables` are all energy tables of the scene, and `table` is the index at which that of the material begins.
    #[inline(always)]
    pub(super) fn look_up(
        &mut self,
        tables: &[f32],
        table: u32,
        alphas: &F32Array,
        cosines: &F32Array,
        count: usize,
    ) {
        for at in 0..PATHS {
            let cell = table_cell(table, alphas[at], cosines[at]);
            self.cells[at] = cell.at;
            self.right[at] = cell.right;
            self.down[at] = cell.down;
        }
        for at in 0..count {
            let cell = self.table_cell_of(at);
            let lost = cell_corners(tables, &cell, LOST);
            let grazing = cell_corners(tables, &cell, GRAZING);
            for corner in 0..4 {
                self.lost[corner][at] = lost[corner];
                self.grazing[corner][at] = grazing[corner];
            }
        }
    }

    /// Returns the cell of the energy table for the path `at` of the block.
    #[inline(always)]
    fn table_cell_of(&self, at: usize) -> TableCell {
        TableCell {
            at: self.cells[at],
            right: self.right[at],
            down: self.down[at],
        }
    }

    /// Returns the interpolated functions [`LOST`] and [`GRAZING`], both 0..=1: the fraction of energy that single
    /// scattering loses, and the albedo if each facet reflects Schlick's (1 − cos)⁵.
    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> (f32, f32) {
        let cell = self.table_cell_of(at);
        let corners = |function: &[F32Array; 4]| {
            [
                function[0][at],
                function[1][at],
                function[2][at],
                function[3][at],
            ]
        };
        (
            interpolated(corners(&self.lost), &cell),
            interpolated(corners(&self.grazing), &cell),
        )
    }
}
