//! Parameter lists of pbrt directives, such as `"float radius" [ 2 ]`.

use std::rc::Rc;

use glam::{DVec2, DVec3};

use super::tokens::{Token, Tokens, number_of};
use crate::{error::excerpt, memory::reserve_one};

/// Number of numbers in a list from which on its growth is checked against the available memory.
const MIN_CHECKED: usize = 1 << 10;

/// A parameter of a directive.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    /// Type as it is written, such as `rgb` or `texture`.
    pub(super) kind: String,
    /// Name of the parameter.
    pub(super) name: String,
    /// Numbers, with 1 for `true` and 0 for `false`; empty for texts.
    pub(super) numbers: Vec<f64>,
    /// Texts; empty for numbers.
    pub(super) texts: Vec<String>,
}

/// The parameters of a directive.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters(Vec<Rc<Parameter>>);

impl Parameters {
    /// Reads all parameters that follow. Fails if one has no type, name or value, or both numbers and texts. An empty
    /// list is accepted.
    pub(super) fn read(tokens: &mut Tokens) -> Result<Parameters, String> {
        let mut list = Vec::new();
        while let Some(Token::Text(_)) = tokens.peek()? {
            let declared = tokens.text("a parameter")?;
            let mut words = declared.split_whitespace();
            let (Some(kind), Some(name)) = (words.next(), words.next()) else {
                let declared = excerpt(&declared);
                return Err(format!(
                    "found the parameter \"{declared}\", expected a type and a name"
                ));
            };
            let mut parameter = Parameter {
                kind: kind.to_owned(),
                name: name.to_owned(),
                numbers: Vec::new(),
                texts: Vec::new(),
            };
            let problem =
                |problem: String| format!("parameter \"{}\": {problem}", excerpt(&declared));
            match tokens.next()? {
                Some(Token::Open) => loop {
                    match tokens.next()? {
                        Some(Token::Close) => break,
                        Some(token) => parameter.push(token).map_err(problem)?,
                        None => return Err(problem("the list has no closing `]`".to_owned())),
                    }
                },
                Some(token) => parameter.push(token).map_err(problem)?,
                None => return Err(problem("has no value".to_owned())),
            }
            list.push(Rc::new(parameter));
        }
        Ok(Parameters(list))
    }

    /// Adds the parameters of `defaults` whose names are missing here.
    pub(super) fn add_missing(&mut self, defaults: &Parameters) {
        let own = self.0.len();
        for parameter in &defaults.0 {
            let mut names = self.0[..own].iter().map(|own| &own.name);
            if !names.any(|name| *name == parameter.name) {
                self.0.push(parameter.clone());
            }
        }
    }

    /// Returns the number of parameters.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the names of all parameters.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|parameter| parameter.name.as_str())
    }

    /// Returns the first parameter with this name; `None` if there is none.
    pub(super) fn get(&self, name: &str) -> Option<&Parameter> {
        let found = self.0.iter().find(|parameter| parameter.name == name);
        found.map(Rc::as_ref)
    }

    /// Returns the first number of a parameter, or `default` if there is none of this name.
    pub(super) fn number(&self, name: &str, default: f64) -> f64 {
        let found = self
            .get(name)
            .and_then(|parameter| parameter.numbers.first());
        found.copied().unwrap_or(default)
    }

    /// Returns a flag, or `default` if there is none of this name.
    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        match self.get(name) {
            Some(parameter) if parameter.texts.first().is_some_and(|text| text == "true") => true,
            Some(parameter) => parameter.numbers.first().is_some_and(|&flag| flag != 0.0),
            None => default,
        }
    }

    /// Returns the first text of a parameter, or `default` if there is none of this name.
    pub(super) fn text<'p>(&'p self, name: &str, default: &'p str) -> &'p str {
        let found = self.get(name).and_then(|parameter| parameter.texts.first());
        found.map_or(default, String::as_str)
    }

    /// Returns the numbers of a parameter; empty if there is none of this name.
    pub(super) fn numbers(&self, name: &str) -> &[f64] {
        self.get(name).map_or(&[], |parameter| &parameter.numbers)
    }

    /// Returns a point or vector, or `default` if there is none of this name with exactly three numbers. The declared
    /// type is not checked.
    pub(super) fn vector(&self, name: &str, default: DVec3) -> DVec3 {
        match self.numbers(name) {
            &[x, y, z] => DVec3::new(x, y, z),
            _ => default,
        }
    }

    /// Returns a list of points or vectors; empty if there is none of this name. Fails unless the number of components
    /// is a multiple of three.
    pub(super) fn vectors(&self, name: &str) -> Result<Vec<DVec3>, String> {
        let (vectors, rest) = self.numbers(name).as_chunks::<3>();
        match rest.is_empty() {
            true => Ok(vectors.iter().copied().map(DVec3::from_array).collect()),
            false => Err(format!("{name}: expected three numbers per point")),
        }
    }

    /// Returns a list of texture coordinates; empty if there is none of this name. Fails if the number of components is
    /// odd.
    pub(super) fn pairs(&self, name: &str) -> Result<Vec<DVec2>, String> {
        let (pairs, rest) = self.numbers(name).as_chunks::<2>();
        match rest.is_empty() {
            true => Ok(pairs.iter().copied().map(DVec2::from_array).collect()),
            false => Err(format!("{name}: expected two numbers per point")),
        }
    }

    /// Returns a list of vertex indices below `count`. Fails if one is not.
    pub(super) fn indices(&self, name: &str, count: usize) -> Result<Vec<u32>, String> {
        let of = |&number: &f64| {
            let valid = number >= 0.0 && number < count as f64 && number.fract() == 0.0;
            valid.then_some(number as u32).ok_or_else(|| {
                format!("{name}: found {number}, expected the number of one of {count} vertices")
            })
        };
        self.numbers(name).iter().map(of).collect()
    }
}

impl Parameter {
    /// Adds a value. Fails if it is not of the type of the values before it.
    fn push(&mut self, token: Token) -> Result<(), String> {
        match token {
            Token::Text(text) if self.numbers.is_empty() => self.texts.push(text),
            Token::Word("true") if self.texts.is_empty() => self.numbers.push(1.0),
            Token::Word("false") if self.texts.is_empty() => self.numbers.push(0.0),
            Token::Word(word) if self.texts.is_empty() => {
                // Files with many short lists would be slow and large if each were checked and grown like a long one.
                if self.numbers.len() >= MIN_CHECKED {
                    reserve_one(&mut self.numbers)?;
                }
                self.numbers.push(number_of(word)?);
            }
            Token::Open => return Err("found `[` inside a list".to_owned()),
            Token::Close => return Err("found `]`, expected a value".to_owned()),
            _ => return Err("has numbers and texts; expected one of them".to_owned()),
        }
        Ok(())
    }
}
