//! User-defined operators in CUDA C++.

use std::{any::TypeId, fmt::Write};

use crate::{
    Error, Result,
    cuda::{Module, Source, in_quotes},
    layout::Shared,
};

/// The path with which the kernel files include the operator's text.
const INCLUDED: &str = "combine";
/// The largest number of characters of an operator's text in an error message.
const MAX_SHOWN: usize = 80;

/// An associative operator in CUDA C++, over values of type `V`.
///
/// The source text defines `V combine(V left, V right)`, where `V` is the CUDA name of the value type; `left` comes
/// first in the sequence, and parameters may also be `const V &`. Functions need no `__device__`. If the items have
/// another type `T`, or are converted before they are combined, the text also defines `V lift(T item)`. Functions of
/// other types are errors, even if their types convert. If values or items are structs, the text also defines the
/// structs, whose layout is checked against Rust.
///
/// CUDA's mathematical functions, such as `fmaxf`, are there, but not those of `std`.
///
/// ```
/// use compaction::custom::CustomOperator;
///
/// let text = "u32 lift(u8 flag) { return flag; } u32 combine(u32 left, u32 right) { return left + right; }";
/// let count = CustomOperator::new("count.cuh", text, 0_u32).exact();
/// assert_eq!(count.path(), "count.cuh");
/// ```
#[doc(alias("functor", "binary_op"))]
#[derive(Clone, Debug)]
pub struct CustomOperator<V: Shared> {
    path: String,
    text: String,
    identity: V,
    exact: bool,
}

impl<V: Shared> CustomOperator<V> {
    /// Creates an operator from its source text and its identity: combining a value with the identity must return the
    /// value. `path` names the text in error messages.
    ///
    /// ```
    /// use compaction::custom::CustomOperator;
    ///
    /// let text = "f32 combine(f32 left, f32 right) { return left * right; }";
    /// assert_eq!(CustomOperator::new("product.cuh", text, 1.0_f32).identity(), 1.0);
    /// ```
    pub fn new(path: impl Into<String>, text: impl Into<String>, identity: V) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
            identity,
            exact: false,
        }
    }

    /// Declares that the grouping of combinations does not affect the bits of the result, as for integers but not for
    /// sums of floats. Scans of long inputs are then faster.
    ///
    /// ```
    /// # use compaction::custom::CustomOperator;
    /// let text = "u32 combine(u32 left, u32 right) { return left | right; }";
    /// let any = CustomOperator::new("or.cuh", text, 0_u32).exact();
    /// # let _ = any;
    /// ```
    #[must_use]
    pub fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    /// Returns the path that names the operator in error messages.
    ///
    /// ```
    /// # use compaction::custom::CustomOperator;
    /// let max = CustomOperator::new("max.cuh", "u32 combine(u32 a, u32 b) { return max(a, b); }", 0_u32);
    /// assert_eq!(max.path(), "max.cuh");
    /// ```
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the identity that was passed to [`new`](Self::new).
    ///
    /// ```
    /// # use compaction::custom::CustomOperator;
    /// let max = CustomOperator::new("max.cuh", "u32 combine(u32 a, u32 b) { return max(a, b); }", 0_u32);
    /// assert_eq!(max.identity(), 0);
    /// ```
    pub fn identity(&self) -> V {
        self.identity
    }

    /// Adds to a kernel source the header `operator`, which defines the monoid for items of type `T`. Returns
    /// [`Error::NoFunction`] if the text does not contain the name of a function that it must define.
    pub(crate) fn declare<T: Shared>(&self, source: Source) -> Result<Source> {
        let lifts = self.names("lift");
        let [combine, lift] = functions::<V, T>();
        let is_needed = lifts || TypeId::of::<T>() != TypeId::of::<V>();
        for function in [&combine, &lift]
            .into_iter()
            .take(1 + usize::from(is_needed))
        {
            if !self.names(function.name) {
                return Err(self.no_function(function.signature.clone()));
            }
        }
        let lift_check = if lifts { lift.check } else { String::new() };
        let combine_check = combine.check;
        let mut identity = String::new();
        for byte in bytemuck::bytes_of(&self.identity) {
            let _ = write!(identity, "{byte},");
        }
        let (value, item, exact) = (V::NAME, T::NAME, self.exact);
        let lift = if lifts { "::lift(item)" } else { "item" };
        let text = format!(
            "// Values of type Value, converted from items of type Item.\n\
             #include \"{INCLUDED}\"\n\
             {combine_check}{lift_check}\
             struct Monoid {{\n\
             using Item = {item};\n\
             using Out = {value};\n\
             using Value = {value};\n\
             static constexpr bool EXACT = {exact}, COMMUTATIVE = false;\n\
             static __device__ __forceinline__ Value identity()\n\
             {{\n\
             const u8 bytes[] = {{{identity}}};\n\
             Value value;\n\
             memcpy(&value, bytes, sizeof value);\n\
             return value;\n\
             }}\n\
             static __device__ __forceinline__ Value lift(const Item &item) {{ return {lift}; }}\n\
             static __device__ __forceinline__ Value raise(const Out &out) {{ return out; }}\n\
             static __device__ __forceinline__ Out lower(const Value &value) {{ return value; }}\n\
             static __device__ __forceinline__ Value combine(const Value &left, const Value &right)\n\
             {{\n\
             return ::combine(left, right);\n\
             }}\n\
             }};\n"
        );
        Ok(source
            .header_shown_as(INCLUDED, self.shown(), self.text.clone())
            .header("operator", text))
    }

    /// Names the operator instead of the kernel file in an error of the compiler, and the function that is missing or
    /// has another type.
    pub(crate) fn loaded<T: Shared>(&self, module: Result<Module>) -> Result<Module> {
        module.map_err(|error| match error {
            Error::Compile { log, .. } => {
                let kernel = self.shown();
                let is_in_text = |line: &str| line.starts_with(&kernel) && line.contains("error");
                let mut functions = functions::<V, T>().into_iter();
                match functions.find(|function| function.is_wrong(&log)) {
                    Some(function) if !log.lines().any(is_in_text) => {
                        self.no_function(function.signature)
                    }
                    _ => Error::Compile { kernel, log },
                }
            }
            other => other,
        })
    }

    /// Returns the path as shown in error messages: on one line, or `the operator` if it is blank.
    fn shown(&self) -> String {
        match in_quotes(&self.path) {
            path if path.trim().is_empty() => "the operator".to_owned(),
            path => path.into_owned(),
        }
    }

    /// Returns whether the text contains a word. If not, it cannot define a function of this name.
    fn names(&self, name: &str) -> bool {
        let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
        self.text.split(|c| !is_in_word(c)).any(|word| word == name)
    }

    fn no_function(&self, function: String) -> Error {
        let text: Vec<&str> = self.text.split_whitespace().collect();
        let mut text = text.join(" ");
        if let Some((end, _)) = text.char_indices().nth(MAX_SHOWN) {
            text.truncate(end);
            text.push('…');
        }
        Error::NoFunction {
            path: self.shown(),
            function,
            text,
        }
    }
}

/// A function that an operator's text defines.
struct Function {
    name: &'static str,
    /// The function with its types: `u32 combine(u32, u32)`.
    signature: String,
    /// CUDA C++ that compiles only if the function has exactly these types, without conversions.
    check: String,
}

impl Function {
    fn new(name: &'static str, value: &str, parameters: &[&str]) -> Self {
        let signature = format!("{value} {name}({})", parameters.join(", "));
        let mut check = String::new();
        for choice in 0..1 << parameters.len() {
            let passed =
                parameters
                    .iter()
                    .enumerate()
                    .map(|(at, parameter)| match choice >> at & 1 {
                        0 => (*parameter).to_owned(),
                        _ => format!("const {parameter} &"),
                    });
            let passed: Vec<_> = passed.collect();
            let _ = writeln!(check, "char is_{name}({value} (*)({}));", passed.join(", "));
        }
        let _ = writeln!(
            check,
            "u64 is_{name}(...);\n\
             static_assert(sizeof(is_{name}(&::{name})) == 1, \"{signature} is expected\");"
        );
        Self {
            name,
            signature,
            check,
        }
    }

    /// Returns whether the compiler's log says that the function is missing or has another type.
    fn is_wrong(&self, log: &str) -> bool {
        log.contains(&format!("{} is expected", self.signature))
    }
}

/// Returns `combine` and `lift` of an operator over values of type `V` and items of type `T`.
fn functions<V: Shared, T: Shared>() -> [Function; 2] {
    [
        Function::new("combine", V::NAME, &[V::NAME, V::NAME]),
        Function::new("lift", V::NAME, &[T::NAME]),
    ]
}
