//! Names of controls in messages: a key with a keyboard, and a button or gesture on a touch screen.
//!
//! All viewers of a page receive the same messages, and some of them have no keyboard. A message therefore contains both
//! names, and each viewer displays one of them.

/// Characters around and between the two names, which no other text contains.
const BEGIN: char = '\u{e000}';
const MIDDLE: char = '\u{e001}';
const END: char = '\u{e002}';

/// Returns the name of a control for a message: `keys` with a keyboard, and `touch` on a touch screen.
pub(crate) fn control_name(keys: &str, touch: &str) -> String {
    format!("{BEGIN}{keys}{MIDDLE}{touch}{END}")
}

/// Returns a message with the names of controls for a keyboard.
pub(crate) fn for_keyboard(message: &str) -> String {
    with_names(message, |(keys, _)| keys)
}

/// Returns a message with the names of controls for a touch screen; `None` if it is the same as for a keyboard.
#[cfg(any(feature = "serve", test))]
pub(crate) fn for_touch(message: &str) -> Option<String> {
    message
        .contains(BEGIN)
        .then(|| with_names(message, |(_, touch)| touch))
}

/// Returns a message in which `choose` has chosen one name of each control.
fn with_names<'a>(message: &'a str, choose: impl Fn((&'a str, &'a str)) -> &'a str) -> String {
    let mut parts = message.split(BEGIN);
    let first = parts.next().unwrap_or_default();
    let rest = parts.flat_map(|part| {
        let (names, after) = part.split_once(END).unwrap_or((part, ""));
        [
            choose(names.split_once(MIDDLE).unwrap_or((names, names))),
            after,
        ]
    });
    [first].into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_keys_or_buttons() {
        let message = format!(
            "{}: back, {} saves",
            control_name("O", "Region"),
            control_name("K", "Save scene")
        );
        assert_eq!(for_keyboard(&message), "O: back, K saves");
        let touch = "Region: back, Save scene saves".to_owned();
        assert_eq!(for_touch(&message), Some(touch));
        assert_eq!(for_keyboard("saved"), "saved");
        assert_eq!(for_touch("saved"), None);
    }
}
