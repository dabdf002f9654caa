//! The objects of a Mitsuba scene: the XML of the file and of the files that it includes, with defaults replaced.
//!
//! The crate `roxmltree` parses the XML. Document type definitions, and with them entities, are refused.

use std::{
    cell::Cell,
    collections::HashMap,
    io::Read,
    path::{Path, PathBuf},
    rc::Rc,
};

use roxmltree::{Document as Xml, Node, ParsingOptions};

use super::{
    defaults::Defaults,
    values::{self, Value},
};
use crate::{
    error::excerpt,
    files::{
        count_included, display_path, lines::decode, open_regular_file,
        relative_paths::RelativePaths,
    },
    memory,
};

/// Largest size of an XML file in bytes.
const MAX_BYTES: u64 = 256 << 20;
/// Bytes of memory that the tree of an XML file takes per byte of the file, at most.
const BYTES_PER_BYTE: u64 = 128;
/// Largest number of attributes of an element.
const MAX_ATTRIBUTES: u32 = 100;
/// Largest number of XML namespaces of a file.
const MAX_NAMESPACES: usize = 16;
/// Largest depth of nested elements, and of included files. Twice as many objects may be nested through references.
pub(super) const MAX_DEPTH: u32 = 64;

/// An object of the scene: an element such as `<bsdf type="diffuse">`, with its values and child objects.
pub(super) struct Object {
    /// Name of the element, such as `shape`.
    pub(super) tag: String,
    /// Plugin, such as `sphere`; empty if the element has no type.
    pub(super) plugin: String,
    /// Identifier; empty if the element has none.
    pub(super) id: String,
    /// Place in the file for messages, such as `line 12` or `file.xml, line 12`.
    pub(super) place: String,
    /// Values by name, in snake case. Of equal names the last counts.
    values: HashMap<String, Value>,
    /// Child objects with their parameter names, in the order of the file.
    children: Vec<(String, Child)>,
    /// Number of the object in the order in which the scene is read, from 1; 0 for the scene itself.
    pub(super) number: usize,
}

/// An object inside another one: written there, or referred to by its identifier.
enum Child {
    /// An object that is written inside its parent.
    Own(Rc<Object>),
    /// A reference to the object with this identifier.
    Reference(String),
}

/// The objects of a scene.
pub(super) struct Document {
    /// The scene itself, whose children are sensors, shapes and so on.
    pub(super) root: Rc<Object>,
    /// All objects with an identifier.
    by_id: HashMap<String, Rc<Object>>,
    /// Warnings for the user.
    pub(super) notes: Vec<String>,
}

impl Object {
    /// Returns the value with this name; `None` if there is none.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Returns the names of the values, sorted.
    pub(super) fn value_names(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> = self.values.keys().map(String::as_str).collect();
        names.sort_unstable();
        names.into_iter()
    }

    /// Returns a number, or `default` if there is none of this name.
    pub(super) fn number(&self, name: &str, default: f64) -> f64 {
        self.value(name).and_then(Value::number).unwrap_or(default)
    }

    /// Returns a text, or `default` if there is none of this name.
    pub(super) fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        match self.value(name) {
            Some(Value::Text(text)) => text,
            _ => default,
        }
    }

    /// Returns a flag, or `default` if there is none of this name.
    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        match self.value(name) {
            Some(&Value::Flag(flag)) => flag,
            _ => default,
        }
    }

    /// Returns a name for messages from element, identifier and place, such as `shape "ball" (line 12)`. Without an
    /// identifier it is `shape (line 12)`.
    pub(super) fn name(&self) -> String {
        match self.id.is_empty() {
            true => format!("{} ({})", self.tag, self.place),
            false => format!("{} \"{}\" ({})", self.tag, excerpt(&self.id), self.place),
        }
    }
}

impl Document {
    /// Reads a scene file and the files that it includes. `files` looks up file names, and `defined` are names with
    /// values that take precedence over those of `<default>`.
    ///
    /// Fails with a one-line message that does not name the scene file.
    pub(super) fn read(
        path: &Path,
        files: &mut RelativePaths,
        defined: &[(String, String)],
    ) -> Result<Document, String> {
        let mut reader = Reader {
            files,
            defaults: Defaults::new(defined),
            by_id: HashMap::new(),
            notes: Vec::new(),
            open: Vec::new(),
            included_bytes: 0,
            count: Cell::new(0),
        };
        let mut root = Object {
            tag: "scene".to_owned(),
            plugin: String::new(),
            id: String::new(),
            place: "line 1".to_owned(),
            values: HashMap::new(),
            children: Vec::new(),
            number: 0,
        };
        reader.file(path, "", &mut root)?;
        reader.defaults.check_used()?;
        Ok(Document {
            root: Rc::new(root),
            by_id: reader.by_id,
            notes: reader.notes,
        })
    }

    /// Returns the child objects of an object with their parameter names. References are resolved. References to
    /// missing objects are left out; [`Document::dangling`] returns their identifiers.
    pub(super) fn children<'d>(
        &'d self,
        object: &'d Object,
    ) -> impl Iterator<Item = (&'d str, &'d Rc<Object>)> {
        object.children.iter().filter_map(|(name, child)| {
            let child = match child {
                Child::Own(object) => object,
                Child::Reference(id) => self.by_id.get(id)?,
            };
            Some((name.as_str(), child))
        })
    }

    /// Returns the objects that are written inside an object, without references.
    pub(super) fn own_children<'d>(
        &'d self,
        object: &'d Object,
    ) -> impl Iterator<Item = &'d Rc<Object>> {
        object.children.iter().filter_map(|(_, child)| match child {
            Child::Own(object) => Some(object),
            Child::Reference(_) => None,
        })
    }

    /// Returns the first child object with this parameter name; `None` if there is none.
    pub(super) fn child<'d>(&'d self, object: &'d Object, name: &str) -> Option<&'d Rc<Object>> {
        let mut children = self.children(object);
        children
            .find(|(own, _)| *own == name)
            .map(|(_, child)| child)
    }

    /// Returns the first child object whose element has the name `tag`; `None` if there is none.
    pub(super) fn child_of_kind<'d>(
        &'d self,
        object: &'d Object,
        tag: &str,
    ) -> Option<&'d Rc<Object>> {
        let mut children = self.children(object);
        children
            .find(|(_, child)| child.tag == tag)
            .map(|(_, child)| child)
    }

    /// Returns the identifiers that an object refers to and that no object has.
    pub(super) fn dangling<'d>(&'d self, object: &'d Object) -> impl Iterator<Item = &'d str> {
        object.children.iter().filter_map(|(_, child)| match child {
            Child::Reference(id) if !self.by_id.contains_key(id) => Some(id.as_str()),
            _ => None,
        })
    }
}

/// The state of reading the XML files of a scene.
struct Reader<'f> {
    files: &'f mut RelativePaths,
    /// Values of the elements `<default>`. Of equal names the first counts.
    defaults: Defaults,
    by_id: HashMap<String, Rc<Object>>,
    notes: Vec<String>,
    /// Files that are being read, each included by the one before it.
    open: Vec<PathBuf>,
    /// Size of the included files so far; see [`count_included`].
    included_bytes: u64,
    /// Number of objects so far.
    count: Cell<usize>,
}

impl Reader<'_> {
    /// Reads an XML file and adds its objects to `scene`. `name` is that of an included file, empty for the scene.
    fn file(&mut self, path: &Path, name: &str, scene: &mut Object) -> Result<(), String> {
        let text = read_text(path)?;
        if !self.open.is_empty() {
            count_included(&mut self.included_bytes, text.len() as u64)?;
        }
        let options = ParsingOptions {
            allow_dtd: false,
            ..ParsingOptions::default()
        };
        let xml = Xml::parse_with_options(&text, options).map_err(|error| {
            format!(
                "is not valid XML: {}; correct it",
                excerpt_long(&error.to_string())
            )
        })?;
        self.open.push(path.to_owned());
        let root = xml.root_element();
        if root.tag_name().name() != "scene" {
            let found = excerpt(root.tag_name().name());
            return Err(format!(
                "is not a Mitsuba scene, but has the root element <{found}>; expected <scene>"
            ));
        }
        let place = |line: u32| match name.is_empty() {
            true => format!("line {line}"),
            false => format!("{name}, line {line}"),
        };
        // Positions are found by counting lines once, in the order of the elements.
        let lines = Lines::new(&text);
        self.members(root, scene, &|node| place(lines.of(node)), 0)?;
        self.open.pop();
        Ok(())
    }

    /// Reads the members of an element: values, child objects, references and includes.
    fn members(
        &mut self,
        element: Node,
        into: &mut Object,
        place: &dyn Fn(Node) -> String,
        depth: u32,
    ) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!(
                "{}: is nested deeper than {MAX_DEPTH} elements; simplify it",
                place(element)
            ));
        }
        for node in element.children().filter(Node::is_element) {
            let at = |problem: String| format!("{}: {problem}", place(node));
            let tag = node.tag_name().name();
            let attribute = |name: &str| self.defaults.attribute(node, name);
            let optional = |name: &str| self.defaults.optional(node, name).map_err(at);
            match tag {
                "default" => {
                    let (name, value) = (attribute("name"), attribute("value"));
                    let (name, value) = (name.map_err(at)?, value.map_err(at)?);
                    self.defaults.add(name, value);
                }
                "include" => {
                    let name = attribute("filename").map_err(at)?;
                    self.include(&name, into).map_err(at)?;
                }
                "path" => {
                    let folder = attribute("value").map_err(at)?;
                    self.search_path(&folder).map_err(at)?;
                }
                "alias" => {
                    let (id, new) = (attribute("id").map_err(at)?, attribute("as").map_err(at)?);
                    if let Some(object) = self.by_id.get(&id).cloned() {
                        self.by_id.insert(new, object);
                    }
                }
                "ref" => {
                    let id = attribute("id").map_err(at)?;
                    let name = optional("name")?;
                    into.children
                        .push((snake_case(&name), Child::Reference(id)));
                }
                _ if values::is_value(tag) && node.attribute("type").is_none() => {
                    let name = snake_case(&optional("name")?);
                    let failed = Cell::new(None);
                    let read = |node: Node, name: &str| {
                        let text = node.attribute(name)?;
                        let replaced = self.defaults.replaced(text);
                        replaced.map_err(|problem| failed.set(Some(problem))).ok()
                    };
                    let value = values::value(node, &read, self.files);
                    if let Some(problem) = failed.take() {
                        return Err(at(problem));
                    }
                    let value = value.map_err(at)?;
                    into.values.insert(name, value);
                }
                _ => {
                    let name = snake_case(&optional("name")?);
                    let number = self.count.get() + 1;
                    self.count.set(number);
                    let mut object = Object {
                        tag: tag.to_owned(),
                        plugin: optional("type")?,
                        id: optional("id")?,
                        place: place(node),
                        values: HashMap::new(),
                        children: Vec::new(),
                        number,
                    };
                    self.members(node, &mut object, place, depth + 1)?;
                    let object = Rc::new(object);
                    if !object.id.is_empty() {
                        self.by_id.insert(object.id.clone(), object.clone());
                    }
                    into.children.push((name, Child::Own(object)));
                }
            }
        }
        Ok(())
    }

    /// Adds the folder of a `<path>`, relative to the file that contains it, to those in which files are looked up. A
    /// folder that does not exist is a warning. Fails if there are too many.
    fn search_path(&mut self, name: &str) -> Result<(), String> {
        let here = self.open.last().and_then(|file| file.parent());
        let folder = here.unwrap_or(Path::new("")).join(name.replace('\\', "/"));
        if folder.is_dir() {
            return self.files.search_first(folder);
        }
        let shown = excerpt(name);
        self.note(format!(
            "not used: the <path> `{shown}`, which is not a folder"
        ));
        Ok(())
    }

    /// Reads an included file into `scene`. Fails if it is missing, includes itself, or there are too many.
    fn include(&mut self, name: &str, scene: &mut Object) -> Result<(), String> {
        let path = self.files.file(name)?;
        let shown = excerpt(name);
        if self.open.contains(&path) {
            return Err(format!("`{shown}` includes itself; remove the <include>"));
        }
        if self.open.len() > MAX_DEPTH as usize {
            return Err(format!(
                "`{shown}` is included by too many files in turn; merge some"
            ));
        }
        let problem = |problem| format!("{}: {problem}", display_path(&path));
        self.file(&path, &shown, scene).map_err(problem)
    }

    /// Adds a warning, unless an equal one exists.
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Reads an XML file and decodes its text by [`decode`]. Fails with a one-line message that does not name the file.
fn read_text(path: &Path) -> Result<String, String> {
    let mut file = open_regular_file(path, &["xml"])?;
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    let bytes = file.metadata().map_err(cannot)?.len();
    if bytes > MAX_BYTES {
        return Err(format!("has {bytes} bytes; expected at most {MAX_BYTES}"));
    }
    memory::check(bytes.saturating_mul(BYTES_PER_BYTE))?;
    let mut text = Vec::new();
    let limited = file.by_ref().take(MAX_BYTES);
    { limited }.read_to_end(&mut text).map_err(cannot)?;
    let text = without_comments(&decode(text));
    check_attributes(&text).map(|()| text)
}

/// Replaces each comment by spaces and keeps its line feeds, so that lines and columns of errors stay the same.
///
/// Mitsuba accepts `--` in comments, which XML forbids. A comment without an end stays, and the XML parser rejects it.
fn without_comments(text: &str) -> String {
    let mut blank = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--")
        && let Some(length) = rest[start + 4..].find("-->")
    {
        let end = start + 4 + length + 3;
        blank.push_str(&rest[..start]);
        let spaces = rest[start..end].chars();
        blank.extend(spaces.map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[end..];
    }
    blank.push_str(rest);
    blank
}

/// Fails if an element has more than [`MAX_ATTRIBUTES`] attributes, or the text mentions `xmlns` more than
/// [`MAX_NAMESPACES`] times. The time and memory of the XML parser grow with the square of both.
fn check_attributes(text: &str) -> Result<(), String> {
    if text.matches("xmlns").nth(MAX_NAMESPACES).is_some() {
        return Err(format!(
            "has more than {MAX_NAMESPACES} XML namespaces; remove them"
        ));
    }
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let skipped = [("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((_, end)) = skipped.iter().find(|(start, _)| rest.starts_with(start)) {
            let Some(at) = rest.find(end) else { break };
            rest = &rest[at..];
            continue;
        }
        let mut attributes = 0;
        let mut from = 1;
        while let Some(at) = rest[from..].find(['>', '"', '\'']) {
            let found = rest.as_bytes()[from + at];
            from += at + 1;
            if found == b'>' {
                break;
            }
            attributes += 1;
            let Some(end) = rest[from..].find(char::from(found)) else {
                return Ok(());
            };
            from += end + 1;
        }
        if attributes > MAX_ATTRIBUTES {
            return Err(format!(
                "has an element with more than {MAX_ATTRIBUTES} attributes; remove some"
            ));
        }
        rest = &rest[from..];
    }
    Ok(())
}

/// Byte offsets of the line feeds in the text of a file, from 0, in increasing order.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Lines {
        Lines(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// Returns the line number of an element, from 1.
    fn of(&self, node: Node) -> u32 {
        let at = node.range().start;
        self.0.partition_point(|&end| end < at) as u32 + 1
    }
}

/// Converts a name in camel case, as older scenes have, to snake case: `toWorld` to `to_world` and `intIOR` to
/// `int_ior`.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    let mut after_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && after_lower {
            snake.push('_');
        }
        after_lower = c.is_lowercase();
        snake.extend(c.to_lowercase());
    }
    snake
}

/// Shortens a message of the XML parser to its first 160 characters, and escapes control characters.
fn excerpt_long(text: &str) -> String {
    crate::error::escaped(&text.chars().take(160).collect::<String>())
}
