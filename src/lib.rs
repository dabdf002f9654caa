//! A wavefront path tracer.
