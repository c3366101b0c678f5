// The widest vectors of the target that is compiled for: Native<T>, its name, and a load that asks for no type.
#pragma once
#include "cpu/simd/wide.h"

#if !defined(FB_WIDE_AVX512) && defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "cpu/simd/vec.h"
#define FB_NATIVE_AVX2
#endif

namespace fb {

#if defined(FB_WIDE_AVX512)
inline constexpr const char* native_domain = "AVX-512";
template <class T> using Native = Wide<T, 64>;
#elif defined(FB_NATIVE_AVX2)
inline constexpr const char* native_domain = "AVX2";
template <class T> using Native = Vec<T>;
#elif defined(FB_WIDE_NEON)
inline constexpr const char* native_domain = "NEON";
template <class T> using Native = Wide<T, 16>;
#else
// Exactly rounded and slow, for tests; as wide as AVX-512, which shares all but its few instructions.
inline constexpr const char* native_domain = "emulation";
template <class T> using Native = Wide<T, 64>;
#endif

#ifdef FB_NATIVE_AVX2
template <class T> FB_SIMD Native<T> load_native(const T* p) { return load(p); }
template <class T> FB_SIMD void store_native(T* p, Native<T> a) { store(p, a); }
#else
template <class T> FB_SIMD Native<T> load_native(const T* p) { return Native<T>::load(p); }
template <class T> FB_SIMD void store_native(T* p, Native<T> a) { a.store(p); }
#endif

}  // namespace fb
