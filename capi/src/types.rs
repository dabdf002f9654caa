//! The types of items and counts that a program names at run time.

use compaction::{layout::Shared, radix_sort::Order};

use crate::status::{Failure, Status};

/// The word type of counts and indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    U32,
    U64,
}

impl Word {
    /// Returns the word type of this number of bits, or a failure unless that is 32 or 64.
    pub(crate) fn of_bits(bits: u32) -> Result<Self, Failure> {
        match bits {
            32 => Ok(Self::U32),
            64 => Ok(Self::U64),
            _ => Err(Failure::invalid(format!(
                "word_bits: {bits}, where 32 and 64 are possible"
            ))),
        }
    }
}

/// Evaluates `$body` with the word type of `$word` as `$type`.
macro_rules! with_word {
    ($word:expr, $type:ident => $body:expr) => {
        match $word {
            $crate::types::Word::U32 => {
                type $type = u32;
                $body
            }
            $crate::types::Word::U64 => {
                type $type = u64;
                $body
            }
        }
    };
}
pub(crate) use with_word;

compaction::shared! {
    /// Plain data of 8 bytes, aligned to 4.
    pub(crate) struct Item8 {
        words: [u32; 2],
    }
    /// Plain data of 12 bytes, aligned to 4.
    pub(crate) struct Item12 {
        words: [u32; 3],
    }
    /// Plain data of 16 bytes, aligned to 4.
    pub(crate) struct Item16 {
        words: [u32; 4],
    }
    /// Plain data of 20 bytes, aligned to 4.
    pub(crate) struct Item20 {
        words: [u32; 5],
    }
    /// Plain data of 24 bytes, aligned to 4.
    pub(crate) struct Item24 {
        words: [u32; 6],
    }
    /// Plain data of 28 bytes, aligned to 4.
    pub(crate) struct Item28 {
        words: [u32; 7],
    }
    /// Plain data of 32 bytes, aligned to 4.
    pub(crate) struct Item32 {
        words: [u32; 8],
    }
    /// Plain data of 36 bytes, aligned to 4.
    pub(crate) struct Item36 {
        words: [u32; 9],
    }
    /// Plain data of 40 bytes, aligned to 4.
    pub(crate) struct Item40 {
        words: [u32; 10],
    }
    /// Plain data of 44 bytes, aligned to 4.
    pub(crate) struct Item44 {
        words: [u32; 11],
    }
    /// Plain data of 48 bytes, aligned to 4.
    pub(crate) struct Item48 {
        words: [u32; 12],
    }
    /// Plain data of 52 bytes, aligned to 4.
    pub(crate) struct Item52 {
        words: [u32; 13],
    }
    /// Plain data of 56 bytes, aligned to 4.
    pub(crate) struct Item56 {
        words: [u32; 14],
    }
    /// Plain data of 60 bytes, aligned to 4.
    pub(crate) struct Item60 {
        words: [u32; 15],
    }
    /// Plain data of 64 bytes, aligned to 4.
    pub(crate) struct Item64 {
        words: [u32; 16],
    }
}

/// The size of an item in bytes: 1, 2, or a multiple of 4 up to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemSize(u32);

impl ItemSize {
    /// Returns the size of an item, or a failure unless it is 1, 2, or a multiple of 4 up to 64.
    pub(crate) fn of_bytes(bytes: u32) -> Result<Self, Failure> {
        match bytes {
            1 | 2 => Ok(Self(bytes)),
            4..=64 if bytes.is_multiple_of(4) => Ok(Self(bytes)),
            _ => Err(Failure::invalid(format!(
                "item_bytes: {bytes}, where 1, 2 and multiples of 4 up to 64 are possible"
            ))),
        }
    }

    pub(crate) fn bytes(self) -> u32 {
        self.0
    }
}

/// Evaluates `$body` with a type of the size of `$item` as `$type`.
macro_rules! with_item {
    ($item:expr, $type:ident => $body:expr) => {
        $crate::types::with_item!(@ $item, $type, $body;
            1 u8, 2 u16, 8 $crate::types::Item8, 12 $crate::types::Item12, 16 $crate::types::Item16,
            20 $crate::types::Item20, 24 $crate::types::Item24, 28 $crate::types::Item28,
            32 $crate::types::Item32, 36 $crate::types::Item36, 40 $crate::types::Item40,
            44 $crate::types::Item44, 48 $crate::types::Item48, 52 $crate::types::Item52,
            56 $crate::types::Item56, 60 $crate::types::Item60, 64 $crate::types::Item64)
    };
    (@ $item:expr, $type:ident, $body:expr; $($bytes:literal $of:ty),+) => {
        match $item.bytes() {
            $($bytes => {
                type $type = $of;
                $body
            })+
            // The one size that is left.
            _ => {
                type $type = u32;
                $body
            }
        }
    };
}
pub(crate) use with_item;

/// Evaluates `$body` with a type of the size of `$bytes` as `$type`: plain data of 4 or 8 bytes. `$what` names the
/// parameter.
macro_rules! with_bytes {
    ($what:literal, $bytes:expr, $type:ident => $body:expr) => {
        match $bytes {
            4 => {
                type $type = u32;
                $body
            }
            8 => {
                type $type = $crate::types::Item8;
                $body
            }
            bytes => Err($crate::status::Failure::invalid(format!(
                "{}: {bytes}, where 4 and 8 are possible",
                $what
            ))),
        }
    };
}
pub(crate) use with_bytes;

/// The values of a sort: none, or items of 4 or 8 bytes.
pub(crate) trait Value: 'static {
    /// The value type in the types of the sort's workspaces; `()` for keys alone.
    type InWorkspace: 'static;
    /// The type of the values in the caller's buffers; for keys alone a placeholder, `u32`.
    type InBuffers: Shared + Send + Sync;
    /// Whether there are values.
    const EXIST: bool;

    /// Returns a failure for a sort of keys alone.
    fn check_exist() -> Result<(), Failure> {
        if Self::EXIST {
            return Ok(());
        }
        let message = "plan: it was made for keys alone, with value_bytes 0";
        Err(Failure::invalid(message))
    }
}

impl Value for () {
    type InWorkspace = ();
    type InBuffers = u32;
    const EXIST: bool = false;
}

impl Value for u32 {
    type InWorkspace = Self;
    type InBuffers = Self;
    const EXIST: bool = true;
}

impl Value for u64 {
    type InWorkspace = Self;
    type InBuffers = Self;
    const EXIST: bool = true;
}

/// Evaluates `$body` with the [`Value`] type of the size of `$bytes` as `$type`. Returns a failure unless that is 0, 4 or
/// 8.
macro_rules! with_value {
    ($bytes:expr, $type:ident => $body:expr) => {
        match $bytes {
            0 => {
                type $type = ();
                $body
            }
            4 => {
                type $type = u32;
                $body
            }
            8 => {
                type $type = u64;
                $body
            }
            bytes => Err($crate::status::Failure::invalid(format!(
                "value_bytes: {bytes}, where 0, 4 and 8 are possible"
            ))),
        }
    };
}
pub(crate) use with_value;

/// Returns the failure for a type name that does not exist, or is not among those that an operation supports.
pub(crate) fn unknown_type(name: &str, known: &str) -> Failure {
    let message = format!("no type is named \"{name}\" here; there are {known}");
    Failure::new(Status::CompactionUnknownName, message)
}

/// Evaluates `$body` with the number type that `$name` names as `$type`: one that can be scanned.
macro_rules! with_number {
    ($name:expr, $type:ident => $body:expr) => {
        $crate::types::with_named!($name, $type, $body; u32 i32 u64 i64 f32 f64)
    };
}
pub(crate) use with_number;

/// Evaluates `$body` with the key type that `$name` names as `$type`: one that can be sorted.
macro_rules! with_key {
    ($name:expr, $type:ident => $body:expr) => {
        $crate::types::with_named!($name, $type, $body; u8 u16 u32 u64 i8 i16 i32 i64 f32 f64)
    };
}
pub(crate) use with_key;

/// Evaluates `$body` with the type that `$name` names as `$type`: one whose histogram can be made.
macro_rules! with_sample {
    ($name:expr, $type:ident => $body:expr) => {
        $crate::types::with_named!($name, $type, $body; u8 u16 u32 i8 i16 i32 f32 f64)
    };
}
pub(crate) use with_sample;

/// Returns the order of a sort from the parameter `descending`.
pub(crate) fn order(descending: i32) -> Order {
    match descending {
        0 => Order::Ascending,
        _ => Order::Descending,
    }
}

/// Evaluates `$body` with the one of the types whose name is `$name`. Returns a failure if there is none.
macro_rules! with_named {
    ($name:expr, $type:ident, $body:expr; $($of:ident)+) => {
        match $name {
            $(stringify!($of) => {
                type $type = $of;
                $body
            })+
            name => Err($crate::types::unknown_type(name, stringify!($($of)+))),
        }
    };
}
pub(crate) use with_named;
