//! Messages to the users. They name controls: a key with a keyboard, and a button or gesture on a touch screen.
//!
//! All viewers of a page receive the same messages, and some of them have no keyboard. A message therefore has a text
//! for each kind of input.

use std::fmt;

/// A message to the users, with a text for each kind of input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    keyboard: String,
    /// Text for users with a touch screen; `None` if it is the same.
    touch: Option<String>,
}

/// A kind of input, which decides how a message names controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Keyboard,
    Touch,
}

impl Input {
    /// Returns the name of a control for a message: `keys` with a keyboard, and `touch` on a touch screen.
    pub(crate) fn control<'a>(self, keys: &'a str, touch: &'a str) -> &'a str {
        match self {
            Self::Keyboard => keys,
            Self::Touch => touch,
        }
    }
}

impl Message {
    pub(crate) fn by_input(text: impl Fn(Input) -> String) -> Self {
        Self::new(text(Input::Keyboard), Some(text(Input::Touch)))
    }

    fn new(keyboard: String, touch: Option<String>) -> Self {
        let touch = touch.filter(|touch| *touch != keyboard);
        Self { keyboard, touch }
    }

    /// Returns the message with both texts changed by `change`.
    pub(crate) fn map(&self, change: impl Fn(&str) -> String) -> Self {
        let touch = self.touch.as_deref().map(&change);
        Self::new(change(&self.keyboard), touch)
    }

    pub(crate) fn for_keyboard(&self) -> &String {
        &self.keyboard
    }

    /// Returns the text for users with a touch screen; `None` if it is the same as for a keyboard.
    #[cfg(feature = "serve")]
    pub(crate) fn for_touch(&self) -> Option<&str> {
        self.touch.as_deref()
    }
}

impl fmt::Display for Message {
    /// Writes the text for users with a keyboard.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.keyboard)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::new(text, None)
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::new(text.to_owned(), None)
    }
}
