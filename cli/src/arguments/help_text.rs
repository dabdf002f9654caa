//! The sections of the long help after the options: examples, controls and exit codes.

use raysieve_viewer::session;

const EXAMPLES: &str = "\
Examples:
  raysieve scenes/cornell.ron
          renders in a window or, without a display, into cornell.png
  raysieve model.glb
          renders a model, with a camera and lights chosen automatically
  raysieve part.ply --up z --camera-from 120,30 --env studio.hdr,90 --background transparent -o part.png
          chooses the view of a model, its light and its background
  raysieve model.glb --write-scene model.ron
          writes the model with its camera and lights as a scene to continue from
  raysieve shoe.glb --variant street --camera 2 -o shoe.png
          shows a glTF model in another material variant, from its second camera
  raysieve fox.glb --animation Walk --frames 0..48 --fps 30 -o fox.png
          renders the frames fox.0000.png to fox.0047.png of an animation
  raysieve shoe.glb --turntable 36 -o shoe.png
          renders shoe.0000.png to shoe.0035.png, once around the model
  raysieve scenes/cornell.ron --size 1024x1024 --spp 256 -o box.exr --stats box.json
          writes an image in linear color, and its statistics
  raysieve scenes/mesh.ron --backend cpu --compaction off --headless --overlay
          writes mesh.png with the statistics drawn on it, rendered on the CPU without compaction
  raysieve scenes/cornell.ron --noise 0.01 --spp 16384 -o box.exr
          renders until each pixel has an estimated error of 1 %, or 16384 samples
  raysieve scenes/cornell.ron --crop 200,300,128x64 -o detail.png
          renders a region, with the pixels of the whole image
  raysieve scenes/mesh.ron --backend cuda:all -o mesh.exr
          renders on all GPUs of the machine; the result is the same as on one
  raysieve scenes/cornell.ron --serve 127.0.0.1:8080
          serves a web page, which also works through a tunnel: ssh -L 8080:localhost:8080 HOST
  raysieve scenes/mesh.ron --spp 100000 -o mesh.exr --checkpoint mesh-so-far.exr
          a long render: after an interruption, the same command continues it
  raysieve scenes/mesh.ron --samples 0..32 -o a.exr
  raysieve scenes/mesh.ron --samples 32..64 -o b.exr
  raysieve merge a.exr b.exr -o mesh.exr
          renders in two parts, for example on two machines, and merges them
  raysieve farm scenes/mesh.ron --spp 65536 --parts 64 -o mesh.exr
          renders in 64 parts on a Slurm cluster
  raysieve verify mesh.exr
          renders the samples again and compares every bit
  raysieve inspect scenes/cornell.ron 256,300
          explains a pixel: prints one of its paths, bounce by bounce
  raysieve bench
          measures how much compaction gains on this machine, bounce by bounce";

const EXIT_CODES: &str = "\
Exit codes:
    0  success; also after Ctrl-C with --serve
    1  the render or a farm failed, a file could not be written, verification failed, or a benchmark is slower than its
       baseline
    2  wrong usage, an invalid scene or input file, or a missing GPU
  130  interrupted by Ctrl-C: the image is written with the samples rendered so far; a second Ctrl-C, over a second
       later, exits at once and writes nothing; a window closes at the first Ctrl-C, keeps unsaved edits and writes no
       image";

/// Returns the sections of the long help after the options.
pub(super) fn after_options() -> String {
    format!("{EXAMPLES}\n\n{}\n\n{EXIT_CODES}", controls_help())
}

/// Returns the section of the long help that lists the keys and mouse actions of the window and the page, and the
/// settings that the window saves.
fn controls_help() -> String {
    let mut text = "Controls in the window and on the page of --serve:".to_owned();
    for control in session::controls() {
        if let Some(heading) = control.heading {
            text.push_str(&format!("\n  {heading}"));
        }
        let (keys, effect) = (control.keys, control.effect);
        text.push_str(&format!("\n    {keys:<16}{effect}"));
    }
    text.push_str("\n\nSaved for the next window in the settings folder ($XDG_CONFIG_HOME/raysieve/window.ron):");
    text.push_str("\n  place and units of the figures, the size of the text, and the size and position of the window");
    text
}
