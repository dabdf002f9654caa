//! Stream compaction.
