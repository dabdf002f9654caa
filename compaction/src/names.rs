//! Conversion between enum values and their names.

/// The error of parsing the name of an enum value, such as an operator or a strategy, if no value has this name.
///
/// ```
/// use compaction::scan::Operator;
///
/// let error = "mean".parse::<Operator>().unwrap_err();
/// assert_eq!(error.to_string(), "no operator is named \"mean\"; there are sum, min, max");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {kind} is named \"{name}\"; there are {known}")]
pub struct UnknownName {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) known: String,
}

/// Implements `Display` and `FromStr` for a type that has a constant `ALL` and a method `name`.
macro_rules! known_by_name {
    ($type:ty, $kind:literal) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::names::UnknownName;

            fn from_str(name: &str) -> std::result::Result<Self, Self::Err> {
                let known = Self::ALL.iter().find(|known| known.name() == name);
                known.copied().ok_or_else(|| {
                    let names: Vec<_> = Self::ALL.iter().map(|known| known.name()).collect();
                    $crate::names::UnknownName {
                        kind: $kind,
                        name: name.to_owned(),
                        known: names.join(", "),
                    }
                })
            }
        }
    };
}
pub(crate) use known_by_name;
