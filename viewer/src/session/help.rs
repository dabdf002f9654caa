//! The help of window and page: lists of the controls, of touch gestures and of words, and the first hints.

use std::iter;

use super::controls::CONTROLS;

/// Words of the figures with their meanings, in the order in which the help lists them.
pub(crate) const WORDS: [(&str, &str); 9] = [
    (
        "survive, end",
        "rays that go on after a bounce; rays that end at a surface",
    ),
    ("miss", "rays that leave the scene"),
    (
        "compaction",
        "removal of rays that ended or missed; its strategies differ in speed, not in the picture",
    ),
    (
        "busy threads",
        "share of the threads that had a ray to trace",
    ),
    (
        "sh.rays",
        "shadow rays, which find out whether a light is visible from a hit",
    ),
    ("ns/ray", "time of all stages per ray, counting shadow rays"),
    (
        "saved",
        "time that compaction saves in the other stages, once strategies were compared",
    ),
    (
        "pays",
        "bounces in which compaction saves more time than it costs",
    ),
    (
        "Mpaths/s",
        "million paths per second; a path is one sample of a pixel",
    ),
];

/// Touch gestures on the page, and their effects, in the order in which the help lists them.
pub(crate) const GESTURES: [(&str, &str); 8] = [
    (
        "drag with one finger",
        "orbit about the target, or look around in fly mode",
    ),
    (
        "drag with two fingers",
        "pan; after Magnify, move the picture",
    ),
    (
        "pinch",
        "nearer and farther; after Magnify, magnify more or less",
    ),
    (
        "tap",
        "show one path of the pixel, and select its material to edit; again: hide the path. After Pixel, describe the pixel too",
    ),
    (
        "Region, then drag",
        "render only a region; Region, then a tap: the whole picture",
    ),
    (
        "Compare, then drag",
        "move the line between the picture and the image of --compare",
    ),
    (
        "drag a slider",
        "change a value; a tap on its number types one",
    ),
    ("tap a message", "remove it, or show the problem before it"),
];

/// Returns the first hints, which a window displays until the first input: how to move, how to compare strategies, where
/// help and editor are, and how to play animations if there are any. They fit into a window of 320 pixels.
pub(crate) fn hints(has_animations: bool) -> impl Iterator<Item = &'static str> {
    let hints = [
        "drag orbits, wheel zooms, Shift+drag pans",
        "c compares strategies of compaction",
        "? lists keys, l edits, h moves figures",
    ];
    let animated = has_animations.then_some("P plays and pauses the animation");
    hints.into_iter().chain(animated)
}

/// A line of the list of controls, or a word of the figures.
pub struct ControlHelp {
    /// Heading of the group that begins with this line; `None` if the line belongs to the group before.
    pub heading: Option<&'static str>,
    /// Keys and mouse gestures, such as "drag, arrows"; or a word.
    pub keys: &'static str,
    /// Effect of the keys and gestures, or meaning of the word.
    pub effect: &'static str,
}

/// Returns the keys and the effect of every control as text, in the order in which the help lists them. The last group
/// explains words of the figures instead.
pub fn list() -> impl Iterator<Item = ControlHelp> {
    let controls = CONTROLS.iter().map(|control| ControlHelp {
        heading: control.heading,
        keys: control.label,
        effect: control.description,
    });
    let headings = [Some("Words of the figures")].into_iter();
    let words = headings.chain(iter::repeat(None)).zip(WORDS);
    let words = words.map(|(heading, (keys, effect))| ControlHelp {
        heading,
        keys,
        effect,
    });
    controls.chain(words)
}
