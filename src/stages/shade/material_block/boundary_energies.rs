//! Lookups of energy tables for a block of paths.

use super::super::arrays::{F32Array, PATHS, U32Array};
use crate::shading::energy::{GRAZING, LOST, TableCell, cell_corners, interpolated, table_cell};

/// The energies of a layered material's boundary for a cosine of each path of a block.
#[derive(Default)]
pub(super) struct BoundaryEnergies {
    /// Cells of the energy table: their first corner.
    cells: U32Array,
    /// Cells of the energy table: weight of the higher cosine.
    right: F32Array,
    /// Cells of the energy table: weight of the higher roughness.
    down: F32Array,
    /// The function `LOST` at the corners of the cells.
    lost: [F32Array; 4],
    /// The function `GRAZING` at the corners of the cells.
    grazing: [F32Array; 4],
}

impl BoundaryEnergies {
    /// Looks up the first `count` energies in the table with offset `table`.
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
            let cell = self.cell(at);
            let lost = cell_corners(tables, &cell, LOST);
            let grazing = cell_corners(tables, &cell, GRAZING);
            for corner in 0..4 {
                self.lost[corner][at] = lost[corner];
                self.grazing[corner][at] = grazing[corner];
            }
        }
    }

    /// Returns the cell at this index.
    #[inline(always)]
    fn cell(&self, at: usize) -> TableCell {
        TableCell {
            at: self.cells[at],
            right: self.right[at],
            down: self.down[at],
        }
    }

    /// Returns the fraction of the energy that single scattering loses, and the albedo at grazing angles.
    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> (f32, f32) {
        let cell = self.cell(at);
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
