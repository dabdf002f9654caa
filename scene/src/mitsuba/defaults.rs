//! The values of the elements `<default>`, which replace `$name` in attributes.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

use roxmltree::Node;

use crate::error::excerpt;

/// Largest length in bytes of an attribute in which a `$name` was replaced.
const MAX_VALUE: usize = 64 << 10;
/// Largest length in bytes of all these attributes together. An attribute counts as often as it is read.
const MAX_TOTAL: usize = 16 << 20;

/// Values by name.
pub(super) struct Defaults {
    values: HashMap<String, String>,
    /// Bytes that further replacements may produce.
    left: Cell<usize>,
    /// Names that the user defined and that the scene has not used so far.
    unused: RefCell<Vec<String>>,
}

impl Defaults {
    /// Creates the values that the user defined, by their names. Of equal names the last counts.
    pub(super) fn new(defined: &[(String, String)]) -> Defaults {
        Defaults {
            values: defined.iter().cloned().collect(),
            left: Cell::new(MAX_TOTAL),
            unused: RefCell::new(defined.iter().map(|(name, _)| name.clone()).collect()),
        }
    }

    /// Fails if the user defined a name that the scene does not use.
    pub(super) fn check_used(&self) -> Result<(), String> {
        match self.unused.borrow().first() {
            None => Ok(()),
            Some(name) => {
                let name = excerpt(name);
                Err(format!("does not use `${name}`; do not define it"))
            }
        }
    }

    /// Adds a value, unless there is one of this name.
    pub(super) fn add(&mut self, name: String, value: String) {
        self.values.entry(name).or_insert(value);
    }

    /// Returns the attribute of an element with each `$name` replaced by its value. Fails if the attribute is missing,
    /// or as [`Defaults::replaced`] does.
    pub(super) fn attribute(&self, node: Node, name: &str) -> Result<String, String> {
        let text = node.attribute(name).ok_or_else(|| {
            let tag = excerpt(node.tag_name().name());
            format!("<{tag}> has no attribute `{name}`; add it")
        })?;
        self.replaced(text)
    }

    /// Returns an attribute like [`Defaults::attribute`], or an empty text if the element does not have it.
    pub(super) fn optional(&self, node: Node, name: &str) -> Result<String, String> {
        self.replaced(node.attribute(name).unwrap_or_default())
    }

    /// Returns a text with each `$name` replaced by its value. Fails if a name has no value, or if the texts become too
    /// long, as values that contain others can.
    pub(super) fn replaced(&self, text: &str) -> Result<String, String> {
        if !text.contains('$') {
            return Ok(text.to_owned());
        }
        let mut replaced = String::new();
        let mut push = |part: &str| {
            if replaced.len() + part.len() > MAX_VALUE {
                let text = excerpt(text);
                return Err(format!(
                    "`{text}` has more than {MAX_VALUE} characters with its defaults; shorten them"
                ));
            }
            let left = self.left.get().checked_sub(part.len()).ok_or_else(|| {
                format!("all values with defaults have more than {MAX_TOTAL} characters; write shorter defaults")
            })?;
            self.left.set(left);
            replaced.push_str(part);
            Ok(())
        };
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            push(before)?;
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_');
            let (key, after) = after.split_at(end.unwrap_or(after.len()));
            let value = self.values.get(key).ok_or_else(|| {
                let text = excerpt(text);
                let name = match excerpt(key) {
                    name if name.is_empty() => "..".to_owned(),
                    name => name,
                };
                format!(
                    "`{text}` has no value; add <default name=\"{name}\" value=\"..\"/> or --define {name}=.."
                )
            })?;
            self.unused.borrow_mut().retain(|name| name != key);
            push(value)?;
            rest = after;
        }
        push(rest)?;
        Ok(replaced)
    }
}
