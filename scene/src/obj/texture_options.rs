//! The options of texture statements in MTL files.

use std::iter;

use glam::Vec2;

use crate::scene::Wrap;

/// Options of texture statements that may follow the file name.
const OPTIONS: [&str; 12] = [
    "-s", "-o", "-t", "-bm", "-mm", "-clamp", "-blendu", "-blendv", "-boost", "-cc", "-imfchan",
    "-texres",
];

/// The options and the file name of a texture statement, such as `-s 2 2 1 -o 0.5 wood.png`.
pub(super) struct TextureOptions<'c> {
    /// Name of the image file, as the statement gives it; it may contain spaces.
    pub(super) file: &'c str,
    /// Option `-s`: factor of the texture coordinates along u and v, 1 by default.
    pub(super) scale: Vec2,
    /// Option `-o`: offset of the texture coordinates, v upwards, added after `scale`; 0 by default.
    pub(super) offset: Vec2,
    /// Option `-bm`: factor of a bump map's heights, or of a normal map's strength, -100 to 100; 1 by default.
    pub(super) bump_scale: f32,
    /// Wrap mode for both axes: clamp after the option `-clamp on`, otherwise repeat.
    pub(super) wrap: Wrap,
}

impl<'c> TextureOptions<'c> {
    /// Parses the text of a texture statement after its keyword. Options may precede or follow the name, which may be in
    /// quotes. Unknown options are skipped with their values.
    pub(super) fn parse(code: &'c str) -> TextureOptions<'c> {
        let mut options = TextureOptions {
            file: code,
            scale: Vec2::ONE,
            offset: Vec2::ZERO,
            bump_scale: 1.0,
            wrap: Wrap::Repeat,
        };
        // Returns the first word and the text after it; `None` for the last word.
        fn next(code: &str) -> Option<(&str, &str)> {
            let code = code.trim_start();
            let end = code.find(char::is_whitespace)?;
            Some((&code[..end], code[end..].trim_start()))
        }
        while let Some((option, rest)) =
            next(options.file).filter(|(word, _)| word.starts_with('-'))
        {
            options.file = rest;
            let mut numbers = Vec::new();
            while let Some((word, rest)) = next(options.file).filter(|_| numbers.len() < 3)
                && let Some(number) = word.parse().ok().filter(|n: &f32| n.abs() <= 1e8)
            {
                numbers.push(number);
                options.file = rest;
            }
            let has_word = numbers.is_empty();
            if let Some((word, rest)) = next(options.file).filter(|_| has_word) {
                options.apply(option, &[], word);
                options.file = rest;
            } else {
                options.apply(option, &numbers, "");
            }
        }
        // The first option after the name ends it.
        let mut words = options.file.match_indices(" -");
        let after = words.find(|&(at, _)| {
            let option = options.file[at..].split_whitespace().next();
            option.is_some_and(|option| OPTIONS.contains(&option))
        });
        if let Some((at, _)) = after {
            let mut words = options.file[at..].split_whitespace().peekable();
            options.file = &options.file[..at];
            while let Some(option) = words.next() {
                let values: Vec<&str> =
                    iter::from_fn(|| words.next_if(|word| !OPTIONS.contains(word))).collect();
                let numbers: Vec<f32> = values.iter().map_while(|word| word.parse().ok()).collect();
                options.apply(option, &numbers, values.first().unwrap_or(&""));
            }
        }
        options.file = unquoted(options.file);
        options
    }

    /// Applies an option with its numbers or, if it has none, its word. Unknown options do nothing.
    fn apply(&mut self, option: &str, numbers: &[f32], word: &str) {
        let valid = |number: &f32| number.abs() <= 1e8;
        if !numbers.iter().all(valid) {
            return;
        }
        match (option, numbers) {
            ("-s", &[u, ref rest @ ..]) => {
                self.scale = Vec2::new(u, rest.first().copied().unwrap_or(1.0));
            }
            ("-o", &[u, ref rest @ ..]) => {
                self.offset = Vec2::new(u, rest.first().copied().unwrap_or(0.0));
            }
            ("-bm", &[scale, ..]) => self.bump_scale = scale.clamp(-100.0, 100.0),
            ("-clamp", []) if word == "on" => self.wrap = Wrap::Clamp,
            _ => {}
        }
    }
}

/// Returns a file name without the quotes around it and white space beside them.
pub(super) fn unquoted(name: &str) -> &str {
    let name = name.trim();
    let inside = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'));
    inside.unwrap_or(name)
}
