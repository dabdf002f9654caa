//! `docs/foreign-scenes.md` explains every note that the readers of Mitsuba's and pbrt's scenes give.

use std::{collections::BTreeSet, fs, path::Path};

/// Beginnings of the notes about what is left out or approximated.
const BEGINNINGS: [&str; 5] = [
    "approximated: ",
    "not shown: ",
    "not used: ",
    "shown as ",
    "shown without ",
];

/// Returns the text of a note with `..` for each part that depends on the scene, and without its remedy.
fn normalized(note: &str) -> String {
    let mut text = String::new();
    let mut depth = 0;
    for letter in note.chars() {
        match letter {
            '{' if depth == 0 => {
                text += "..";
                depth = 1;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ if depth == 0 => text.push(letter),
            _ => {}
        }
    }
    text.split(';').next().unwrap().trim().to_owned()
}

/// Returns the notes in the string literals of the Rust files in a folder and below it.
fn notes_of(folder: &Path, notes: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            notes_of(&path, notes);
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        for beginning in BEGINNINGS {
            for (at, _) in source.match_indices(&format!("\"{beginning}")) {
                let literal = &source[at + 1..];
                let end = literal.find('"').unwrap();
                // A backslash at the end of a line continues the text on the next one.
                let lines = literal[..end].split("\\\n").map(str::trim_start);
                notes.insert(normalized(&lines.collect::<String>()));
            }
        }
    }
}

#[test]
fn every_note_about_a_foreign_scene_is_explained() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut notes = BTreeSet::new();
    for folder in ["mitsuba", "pbrt", "import"] {
        notes_of(&root.join("scene/src").join(folder), &mut notes);
    }
    assert!(notes.len() > 60, "{} notes", notes.len());
    let page = fs::read_to_string(root.join("docs/foreign-scenes.md")).unwrap();
    let table = page
        .split("## Notes")
        .nth(1)
        .expect("a section with the notes");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.split_once(" | "));
    let explained: BTreeSet<String> = cells
        .filter(|(note, _)| {
            BEGINNINGS
                .iter()
                .any(|beginning| note.starts_with(beginning))
        })
        .map(|(note, _)| note.to_owned())
        .collect();
    let lacking: Vec<&String> = notes.difference(&explained).collect();
    let obsolete: Vec<&String> = explained.difference(&notes).collect();
    assert!(
        lacking.is_empty() && obsolete.is_empty(),
        "change the table of notes in docs/foreign-scenes.md\nmissing: {lacking:#?}\nno longer given: {obsolete:#?}"
    );
}
