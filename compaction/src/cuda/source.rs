//! A kernel source file with everything needed to compile it.

use std::{any::TypeId, borrow::Cow, collections::HashSet, fmt::Write};

use super::{
    headers::{HEADERS, PRELUDE},
    params::Params,
};
use crate::{
    error::{Error, Result},
    layout::{self, Shared},
};

/// A kernel source file with its headers, its constants, and assertions that its types match the Rust types.
///
/// ```
/// use compaction::cuda::{In, InOut, Source};
///
/// let source = Source::new(
///     "kernels/double.cu",
///     r#"extern "C" __global__ void doubled(const u32 *items, u32 *out, u32 item_count) {
///         u32 item = blockIdx.x * BLOCK_THREADS + threadIdx.x;
///         if (item < item_count) out[item] = 2 * items[item];
///     }"#,
/// )
/// .constant("BLOCK_THREADS", 256)
/// .kernel::<(In<u32>, InOut<u32>, u32)>("doubled");
/// assert!(source.text()?.contains("constexpr u32 BLOCK_THREADS = 256;"));
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Source {
    path: Cow<'static, str>,
    text: Cow<'static, str>,
    /// The added headers as (path, text).
    headers: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// The path of the one header that compiler messages show under another name, and that name.
    shown: Option<(&'static str, String)>,
    /// The definitions of all constants and macros, one per line, in the order they were added.
    definitions: String,
    /// `static_assert`s appended after the file, without duplicates, in the order they were added.
    checks: Vec<String>,
    /// The declared kernels, in the order of their declarations.
    kernels: Vec<Declared>,
    /// Whether blocks must have as many threads as the constant `BLOCK_THREADS` says.
    has_fixed_blocks: bool,
}

/// A kernel declared by [`Source::kernel`]: its name, its parameter list in CUDA, and the type of its parameter tuple
/// in Rust.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) name: &'static str,
    pub(super) signature: String,
    pub(super) params: TypeId,
}

impl Source {
    /// Creates a source from the text of a kernel file. `path` names the file in compiler messages:
    /// `"kernels/shade.cu"`.
    ///
    /// The header `compaction/prelude.cuh`, which defines type names such as `u32`, is prepended without an `#include`.
    ///
    /// ```
    /// use compaction::cuda::Source;
    ///
    /// // In a program: `include_str!("../kernels/shade.cu")`.
    /// let source = Source::new("kernels/shade.cu", r#"extern "C" __global__ void shade(u32 *items) {}"#);
    /// ```
    pub fn new(path: impl Into<Cow<'static, str>>, text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
            headers: Vec::new(),
            shown: None,
            definitions: String::new(),
            checks: Vec::new(),
            kernels: Vec::new(),
            has_fixed_blocks: false,
        }
    }

    /// Returns the path that was passed to [`new`](Self::new), which names the file in errors.
    ///
    /// ```
    /// # use compaction::cuda::Source;
    /// assert_eq!(Source::new("kernels/shade.cu", "").path(), "kernels/shade.cu");
    /// ```
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Adds a header that the kernel file can include by its path: `#include "…"`.
    ///
    /// An include is looked up relative to the including file, then by its full path, then as `"compaction/….cuh"` or
    /// `<compaction/….cuh>` among this crate's headers. Each header is expanded once, at its first include. An include inside `#if` is
    /// expanded unconditionally.
    ///
    /// ```
    /// use compaction::cuda::Source;
    ///
    /// let source = Source::new("kernels/shade.cu", r#"#include "shared/path.cuh""#)
    ///     .header("kernels/shared/path.cuh", "struct Path { f32 light; };");
    /// assert!(source.text()?.contains("struct Path"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn header(
        mut self,
        path: impl Into<Cow<'static, str>>,
        text: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.headers.push((path.into(), text.into()));
        self
    }

    /// Adds a header that is included as `path`, and that compiler messages show as `shown`. Only one header can have
    /// another name.
    pub(crate) fn header_shown_as(
        mut self,
        path: &'static str,
        shown: String,
        text: String,
    ) -> Self {
        self.shown = Some((path, shown));
        self.header(path, text)
    }

    /// Adds several [headers](Self::header), each as (path, text).
    ///
    /// ```
    /// use compaction::cuda::Source;
    ///
    /// const HEADERS: &[(&str, &str)] = &[("shared/a.cuh", "struct A {};"), ("shared/b.cuh", "struct B {};")];
    /// let source = Source::new("c.cu", r#"#include "shared/b.cuh""#).headers(HEADERS);
    /// assert!(source.text()?.contains("struct B"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn headers(self, headers: &[(&'static str, &'static str)]) -> Self {
        headers
            .iter()
            .fold(self, |source, &(path, text)| source.header(path, text))
    }

    /// Adds the line `constexpr u32 NAME = value;` before the kernel file and its headers. An invalid or repeated name
    /// is an error of the compiler.
    ///
    /// ```
    /// # use compaction::cuda::Source;
    /// let source = Source::new("shade.cu", "").constant("BLOCK_THREADS", 128);
    /// assert!(source.text()?.contains("constexpr u32 BLOCK_THREADS = 128;"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn constant(mut self, name: &str, value: u32) -> Self {
        let _ = writeln!(self.definitions, "constexpr u32 {name} = {value};");
        self
    }

    /// Adds a preprocessor macro before the kernel file and its headers, such as the item type of a generic kernel.
    ///
    /// ```
    /// # use compaction::cuda::Source;
    /// let source = Source::new("scan.cu", "").define("ITEM", "f32");
    /// assert!(source.text()?.contains("#define ITEM f32"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn define(mut self, name: &str, replacement: &str) -> Self {
        let _ = writeln!(
            self.definitions,
            "#define {name} {}",
            replacement.replace('\n', " \\\n")
        );
        self
    }

    /// Asserts at compile time that CUDA's struct `T` has the layout of Rust's. Types in the arguments of a declared
    /// [kernel](Self::kernel) are checked without this call.
    ///
    /// ```
    /// use compaction::cuda::Source;
    ///
    /// compaction::shared! {
    ///     /// Where a path goes.
    ///     struct Path { origin: [f32; 3], pixel: u32 }
    /// }
    ///
    /// let source = Source::new("path.cu", "struct Path { f32 origin[3]; u32 pixel; };").shared::<Path>();
    /// assert!(source.text()?.contains("Path.pixel: byte 12 in Rust"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn shared<T: Shared>(self) -> Self {
        self.check(layout::asserts::<T>())
    }

    /// Declares a kernel `extern "C" __global__ void name(…)`, and asserts at compile time that its parameter types are
    /// those of the tuple `P`.
    ///
    /// ```
    /// use compaction::cuda::{In, Nvrtc, Source, Target};
    ///
    /// // Rust says that the kernel only reads; it says that it writes.
    /// let source = Source::new("write.cu", r#"extern "C" __global__ void write(u32 *items) { items[0] = 1; }"#)
    ///     .kernel::<(In<u32>,)>("write");
    /// if let Ok(nvrtc) = Nvrtc::find() {
    ///     let error = nvrtc.compile(&source, Target::Ptx(75)).unwrap_err().to_string();
    ///     assert!(error.contains("write: argument types in Rust are (const u32 *)"), "{error}");
    /// }
    /// ```
    pub fn kernel<P: Params>(self, name: &'static str) -> Self {
        let declared = Declared {
            name,
            signature: P::signature(),
            params: TypeId::of::<P>(),
        };
        self.declare(declared, P::layouts())
    }

    fn declare(mut self, declared: Declared, layouts: Vec<String>) -> Self {
        let Declared {
            name, signature, ..
        } = &declared;
        let check = format!(
            "static_assert(same_type<decltype({name}), void{signature}>, \"{name}: argument types in Rust are {signature}\");\n"
        );
        self.kernels.push(declared);
        layouts.into_iter().fold(self, Self::check).check(check)
    }

    /// Returns the complete text for the compiler, with all includes expanded. `#line` directives make messages name
    /// the original file and line.
    ///
    /// ```
    /// use compaction::cuda::Source;
    ///
    /// let source = Source::new("shade.cu", "// Shades.\n#include \"math.cuh\"");
    /// let error = source.text().unwrap_err().to_string();
    /// assert!(error.starts_with("shade.cu:2: no header \"math.cuh\"; there are compaction/kernels/prelude.cuh,"));
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoHeader`] for an unknown include.
    pub fn text(&self) -> Result<String> {
        let mut text = String::new();
        let mut taken = HashSet::new();
        self.expand(
            PRELUDE,
            self.find(PRELUDE).map_or("", |(_, prelude)| prelude),
            &mut taken,
            &mut text,
        )?;
        if !self.definitions.is_empty() {
            let _ = write!(
                text,
                "#line 1 \"constants of {}\"\n{}",
                in_quotes(&self.path),
                self.definitions
            );
        }
        self.expand(&self.path, &self.text, &mut taken, &mut text)?;
        if !self.checks.is_empty() {
            let _ = write!(
                text,
                "#line 1 \"{} as Rust declares it\"\n{}",
                in_quotes(&self.path),
                self.checks.concat()
            );
        }
        Ok(text)
    }

    /// Returns the names of the declared kernels, in the order of their [declarations](Self::kernel).
    ///
    /// ```
    /// use compaction::cuda::{InOut, Source};
    ///
    /// let text = r#"extern "C" __global__ void write(u32 *items) { items[0] = 1; }"#;
    /// let source = Source::new("write.cu", text).kernel::<(InOut<u32>,)>("write");
    /// assert!(source.kernel_names().eq(["write"]));
    /// ```
    pub fn kernel_names(&self) -> impl Iterator<Item = &'static str> {
        self.kernels.iter().map(|declared| declared.name)
    }

    /// Requires launches with one-dimensional blocks of as many threads as the constant `BLOCK_THREADS` says.
    pub(crate) fn fixed_blocks(mut self) -> Self {
        self.has_fixed_blocks = true;
        self
    }

    /// Returns the number of threads that each block must have, if that is fixed.
    pub(super) fn block_threads(&self) -> Option<u32> {
        let mut lines = self.definitions.lines();
        let threads = lines.find_map(|line| line.strip_prefix("constexpr u32 BLOCK_THREADS = "))?;
        let threads = threads.trim_end_matches(';').parse().ok()?;
        self.has_fixed_blocks.then_some(threads)
    }

    /// Returns the text that was passed to [`new`](Self::new).
    pub(super) fn file_text(&self) -> &Cow<'static, str> {
        &self.text
    }

    pub(super) fn kernels(&self) -> &[Declared] {
        &self.kernels
    }

    /// Adds a text of `static_assert`s, unless it is empty or already added.
    fn check(mut self, check: String) -> Self {
        if !check.is_empty() && !self.checks.contains(&check) {
            self.checks.push(check);
        }
        self
    }

    /// Appends `body`, the text of the file `path`, to `text`. Each include is replaced by its header the first time.
    /// `taken` collects the paths of expanded files.
    fn expand<'a>(
        &'a self,
        path: &'a str,
        body: &'a str,
        taken: &mut HashSet<&'a str>,
        text: &mut String,
    ) -> Result<()> {
        taken.insert(path);
        let shown = match &self.shown {
            Some((known, shown)) if *known == path => shown,
            _ => path,
        };
        let name_in_line = in_quotes(shown);
        let _ = writeln!(text, "#line 1 \"{name_in_line}\"");
        for (line, code) in (1..).zip(body.lines()) {
            let Some(name) = included(code) else {
                // A header is expanded only once anyway, and compilers warn about the pragma in a main file.
                text.push_str(if code.trim() == "#pragma once" {
                    ""
                } else {
                    code
                });
                text.push('\n');
                continue;
            };
            let Some((header, header_body)) = self.resolve(path, name) else {
                return Err(Error::NoHeader {
                    file: shown.to_owned(),
                    line,
                    name: name.to_owned(),
                    known: self
                        .known_headers()
                        .map(|(known, _)| known)
                        .collect::<Vec<_>>()
                        .join(", "),
                });
            };
            if taken.contains(header) {
                text.push('\n');
            } else {
                self.expand(header, header_body, taken, text)?;
                let _ = writeln!(text, "#line {} \"{name_in_line}\"", line + 1);
            }
        }
        Ok(())
    }

    /// Finds the header that the file `includer` includes as `name`, and returns its (path, text), or `None` if there
    /// is no such header.
    ///
    /// The name is looked up relative to the folder of `includer`, then as a full path, and then among this crate's
    /// headers.
    fn resolve(&self, includer: &str, name: &str) -> Option<(&str, &str)> {
        let folder = includer.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.find(&plain_path(folder, name))
            .or_else(|| self.find(&plain_path("", name)))
            .or_else(|| self.find(&name.replacen("compaction/", "compaction/include/", 1)))
            .or_else(|| self.find(&name.replacen("compaction/", "compaction/kernels/", 1)))
    }

    fn find(&self, path: &str) -> Option<(&str, &str)> {
        self.known_headers().find(|(known, _)| *known == path)
    }

    /// Yields all headers that can be included, as (path, text): added ones first, then those of this crate.
    fn known_headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers
            .iter()
            .map(|(path, text)| (path.as_ref(), text.as_ref()))
            .chain(HEADERS.iter().copied())
    }
}

/// Returns a path that can stand between quotes on one line: `'` and `/` replace quotes and backslashes, and spaces
/// replace control characters.
pub(crate) fn in_quotes(path: &str) -> Cow<'_, str> {
    if !path.contains(|c: char| c == '"' || c == '\\' || c.is_control()) {
        return path.into();
    }
    let plain = path.chars().map(|c| match c {
        '"' => '\'',
        '\\' => '/',
        c if c.is_control() => ' ',
        c => c,
    });
    plain.collect()
}

/// Returns the header name of a line `#include "name"` or `#include <compaction/…>`, and `None` for other lines.
fn included(line: &str) -> Option<&str> {
    let rest = line
        .trim_start()
        .strip_prefix('#')?
        .trim_start()
        .strip_prefix("include")?
        .trim_start();
    match rest.strip_prefix('<') {
        Some(rest) => rest
            .split_once('>')
            .map(|(name, _)| name)
            .filter(|name| name.starts_with("compaction/")),
        None => rest
            .strip_prefix('"')?
            .split_once('"')
            .map(|(name, _)| name),
    }
}

/// Joins `folder` and `name` into a path without `.` and `..`. A `..` beyond the root is ignored.
fn plain_path(folder: &str, name: &str) -> String {
    let mut words = Vec::new();
    for word in folder.split('/').chain(name.split('/')) {
        match word {
            "" | "." => {}
            ".." => drop(words.pop()),
            _ => words.push(word),
        }
    }
    words.join("/")
}

/// Returns the name of a kernel's parameter at a position, counted from 1, as the text of the kernel file has it.
/// Returns `None` if the kernel is defined elsewhere or by a macro.
pub(super) fn parameter_name<'t>(text: &'t str, kernel: &str, position: usize) -> Option<&'t str> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut definitions = text.split("__global__").skip(1);
    let parameters = definitions.find_map(|definition| {
        let (head, rest) = definition.split_once('(')?;
        let is_kernel = head.trim_end().rsplit(|letter| !is_word(letter)).next() == Some(kernel);
        is_kernel.then(|| rest.split_once(')').map(|(parameters, _)| parameters))?
    })?;
    let parameter = parameters.split(',').nth(position.checked_sub(1)?)?;
    let name = parameter
        .trim_end()
        .rsplit(|letter| !is_word(letter))
        .next()?;
    (!name.is_empty()).then_some(name)
}
