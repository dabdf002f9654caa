// The prelude of every kernel file: Rust's names for the number types, and the operators that layout assertions use. A
// host C++ compiler also accepts this file, so that device functions can be tested without a GPU.
#pragma once

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using f32 = float;
using f64 = double;

// NVRTC has no <cstddef>, and has __builtin_offsetof only since CUDA 13; its front end has always had __INTADDR__.
#ifdef __CUDACC_RTC__
#define offset_of(T, field) ((u64)__INTADDR__(&((T *)0)->field))
#else
#define offset_of(T, field) ((u64)__builtin_offsetof(T, field))
#endif

template <class A, class B>
constexpr bool same_type = false;
template <class A>
constexpr bool same_type<A, A> = true;

#ifndef __CUDACC__
#define __device__
#define __host__
#define __forceinline__ inline
#endif
