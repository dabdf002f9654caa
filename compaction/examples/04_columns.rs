//! Compacts a struct of arrays: one array of flags selects from columns of different types.
//!
//! `cargo run -p compaction --example 04_columns`

use compaction::{
    Count, Error, Result, cuda,
    select_columns::{Column, SelectColumns, Workspace, cpu},
};

fn main() -> Result<()> {
    // Six light paths with the light they carry and their pixels. Paths without light are dead.
    let lights = [0.9_f32, 0.0, 0.5, 0.7, 0.0, 0.1];
    let pixels = [10_u64, 11, 12, 13, 14, 15];
    let alive = lights.map(|light| u8::from(light > 0.0));
    println!("all {lights:?} {pixels:?}");

    let (mut lights_out, mut pixels_out) = ([0.0; 6], [0; 6]);
    let light = cpu::Column::new(&lights, &mut lights_out);
    let pixel = cpu::Column::new(&pixels, &mut pixels_out);
    let count = cpu::columns(&alive, &mut [light, pixel])?;
    println!("CPU {:?} {:?}", &lights_out[..count], &pixels_out[..count]);

    match on_the_gpu(&alive, &lights, &pixels) {
        Ok((lights, pixels)) => println!("GPU {lights:?} {pixels:?}"),
        Err(error @ Error::NoDevice { .. }) => println!("GPU skipped: {error}"),
        Err(error) => return Err(error),
    }
    Ok(())
}

fn on_the_gpu(alive: &[u8], lights: &[f32], pixels: &[u64]) -> Result<(Vec<f32>, Vec<u64>)> {
    let context = cuda::open(0)?;
    let stream = context.default_stream();
    // The kernel is compiled for exactly these columns, whose items have 4 and 8 bytes.
    let select = SelectColumns::new(&cuda::Compiler::new(), &context, &[4, 8])?;
    let mut workspace = Workspace::with_capacity(&stream, 6)?;

    let alive = cuda::upload(&stream, alive)?;
    let light = cuda::upload(&stream, lights)?;
    let pixel = cuda::upload(&stream, pixels)?;
    let (mut lights_out, mut pixels_out) = (cuda::zeroed(&stream, 6)?, cuda::zeroed(&stream, 6)?);
    let mut count = cuda::zeroed::<u32>(&stream, 1)?;
    let (mut light_out, mut pixel_out) = (lights_out.as_view_mut(), pixels_out.as_view_mut());
    let columns = &mut [
        Column::new(&light, &mut light_out)?,
        Column::new(&pixel, &mut pixel_out)?,
    ];
    let (flags, all, mut kept) = (alive.as_view(), Count::All, count.as_view_mut());
    select.columns(&stream, &flags, all, columns, &mut kept, &mut workspace)?;

    let count = cuda::download(&stream, &count)?[0] as usize;
    let lights = cuda::download(&stream, &lights_out.slice(..count))?;
    Ok((lights, cuda::download(&stream, &pixels_out.slice(..count))?))
}
