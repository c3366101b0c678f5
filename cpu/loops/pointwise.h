// CPU bodies of pointwise cards: one vector loop over contiguous elements for each card and type. Everything about
// strides, broadcasting and other types is the driver's (pointwise.cpp), which stages chunks in buffers.
// Included before a card header in a unit of its own, with FB_EMIT_CARDS.
#pragma once
#include "cpu/simd/vec.h"
#include "dispatch/card.h"

namespace fb {

void run_pointwise_loop(PointwiseLoop& loop);

namespace loops {

// How elements of T are computed: in which V, how many at once.
template <class T> struct Lanes {
  using V = T;
  static constexpr int width = 1;
};
template <> struct Lanes<float> { using V = Vec<float>; static constexpr int width = 8; };
template <> struct Lanes<half> { using V = Vec<float>; static constexpr int width = 8; };
template <> struct Lanes<bfloat16> { using V = Vec<float>; static constexpr int width = 8; };
template <> struct Lanes<double> { using V = Vec<double>; static constexpr int width = 4; };

// A card may ask for scalars: `lane_by_lane` for math that iterates (half formats compute in float), `storage_lanes` for
// math on the stored format itself.
template <class C, class T> struct CardLanes : Lanes<T> {};
template <class C, class T> requires requires { C::lane_by_lane; } struct CardLanes<C, T> {
  using V = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;
  static constexpr int width = 1;
};
template <class C, class T> requires requires { C::storage_lanes; } struct CardLanes<C, T> {
  using V = T;
  static constexpr int width = 1;
};
// Derivatives have no business with the stored format.
template <class C, class T> struct GradientLanes : CardLanes<C, T> {};
template <class C, class T> requires requires { C::storage_lanes; } struct GradientLanes<C, T> : Lanes<T> {};
template <class C> constexpr bool raw_attributes() {
  if constexpr (requires { C::raw_attributes; }) return C::raw_attributes;
  else return false;
}

inline Mask<4> load_mask(const bool* p, Mask<4>*) {
  return Mask<4>((Mask<4>::raw)_mm256_cmpgt_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p)), _mm256_setzero_si256()));
}
inline Mask<8> load_mask(const bool* p, Mask<8>*) {
  int32_t w;
  std::memcpy(&w, p, 4);
  return Mask<8>((Mask<8>::raw)_mm256_cmpgt_epi64(_mm256_cvtepu8_epi64(_mm_cvtsi32_si128(w)), _mm256_setzero_si256()));
}
inline bool load_mask(const bool* p, bool*) { return *p; }
template <int B> inline void store_mask(bool* p, Mask<B> m) {
  const uint32_t bits = B == 4 ? uint32_t(_mm256_movemask_ps((__m256)m.v)) : uint32_t(_mm256_movemask_pd((__m256d)m.v));
  const uint64_t spread = _pdep_u64(bits, 0x0101010101010101u);
  std::memcpy(p, &spread, 32 / B);
}

template <class V, class T> [[gnu::always_inline]] inline V load_as(const T* p) {
  if constexpr (std::is_same_v<V, T>) return *p;
  else if constexpr (std::is_same_v<V, float>) return float(*p);
  else return load(p);
}

// The last elements of a run pass through full-width buffers: one vector body gives every element its bits.

// ---- forward ----
template <class C, int M, class T> struct Forward {
  using V = typename CardLanes<C, T>::V;
  using Attr = std::conditional_t<raw_attributes<C>(), double, V>;
  static constexpr int W = CardLanes<C, T>::width;
  static constexpr int nin = detail::arguments_of<C>.nin(), nattr = detail::arguments_of<C>.nattr();
  static constexpr bool is_mask(int i) { return C::bool_operands >> i & 1; }

  template <int I> using In = std::conditional_t<is_mask(I), bool, T>;
  template <int I> using InV = std::conditional_t<is_mask(I), mask_t<V>, V>;

  template <int I> [[gnu::always_inline]] static InV<I> get(const char* p, int64_t i) {
    const In<I>* q = reinterpret_cast<const In<I>*>(p) + i;
    if constexpr (is_mask(I)) return load_mask(q, static_cast<mask_t<V>*>(nullptr));
    else return load_as<V>(q);
  }
  template <size_t... I, size_t... A>
  [[gnu::always_inline]] static auto apply(std::index_sequence<I...>, std::index_sequence<A...>, char* const* in, int64_t i, const Attr* a) {
    constexpr auto f = detail::member_fn<C, V, M>();
    return f(get<int(I)>(in[I], i)..., a[A]...);
  }
  using R = decltype(apply(std::make_index_sequence<nin>(), std::make_index_sequence<nattr>(), nullptr, 0, nullptr));
  static constexpr bool to_bool = std::is_same_v<R, mask_t<V>> && !std::is_same_v<T, bool>;
  using Out = std::conditional_t<to_bool || (std::is_same_v<R, bool> && W == 1), bool,
                                 std::conditional_t<is_complex_v<T> && !is_complex_v<R>, typename domain<std::conditional_t<is_complex_v<T>, T, cfloat>>::lane, T>>;

  template <bool stream> [[gnu::always_inline]] static void put(Out* o, R r) {
    if constexpr (W == 1) *o = Out(r);
    else if constexpr (to_bool) store_mask(o, r);
    else if constexpr (stream) stream_store(o, r);
    else store(o, r);
  }

  static void body(char* out, char* const* in, int64_t n, const Scalar* attrs, bool stream) {
    Attr a[nattr + 1];
    for (int k = 0; k < nattr; ++k) {
      if constexpr (std::is_same_v<Attr, double>) a[k] = attrs[k].to_double();
      else if constexpr (W == 1 && !std::is_same_v<V, T>) a[k] = float(attrs[k].to_double());
      else if constexpr (W == 1) a[k] = attrs[k].template to<T>();
      else a[k] = V(lane_t<V>(attrs[k].to_double()));
    }
    Out* o = reinterpret_cast<Out*>(out);
    constexpr auto ins = std::make_index_sequence<nin>();
    constexpr auto as = std::make_index_sequence<nattr>();
    if constexpr (W == 1) {
      for (int64_t i = 0; i < n; ++i) o[i] = Out(apply(ins, as, in, i, a));
    } else {
      int64_t i = 0;
      if constexpr (!to_bool)
        if (stream && (reinterpret_cast<uintptr_t>(o) & 31) == 0) {
          for (; i + W <= n; i += W) put<true>(o + i, apply(ins, as, in, i, a));
          stream_fence();
        }
      for (; i + W <= n; i += W) put<false>(o + i, apply(ins, as, in, i, a));
      if (i < n) {
        alignas(32) char buf[nin + 1][64];
        char* ptr[nin + 1];
        stage(ins, buf, ptr, in, i, n - i);
        alignas(32) Out tail[W];
        put<false>(tail, apply(ins, as, ptr, 0, a));
        std::memcpy(static_cast<void*>(o + i), tail, size_t(n - i) * sizeof(Out));
      }
    }
  }
  template <size_t... I>
  static void stage(std::index_sequence<I...>, char (*buf)[64], char** ptr, char* const* in, int64_t i, int64_t n) {
    ((std::memset(buf[I], 0, 64), std::memcpy(buf[I], in[I] + i * int64_t(sizeof(In<int(I)>)), size_t(n) * sizeof(In<int(I)>)), ptr[I] = buf[I]), ...);
  }
};

// ---- backward of operand K: inputs are g, the saved operands in order, the saved result ----
template <class C, int K, int M, class T> struct Backward {
  using V = typename GradientLanes<C, T>::V;
  static constexpr int W = GradientLanes<C, T>::width;
  static constexpr int nattr = detail::arguments_of<C>.nattr();
  static constexpr PointwiseGrad info = detail::pointwise_card<C>.grads[K];
  static constexpr int saved = __builtin_popcount(info.saves_in);
  static constexpr int nin = 1 + saved + info.saves_out;
  static constexpr bool is_mask(int operand) { return C::bool_operands >> operand & 1; }

  [[gnu::always_inline]] static V apply(char* const* in, int64_t i, const V* a) {
    V x[kMaxOperands];
    int at = 1;
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (([&] {
         if constexpr (info.saves_in >> I & 1) {
           if constexpr (is_mask(I)) {
             using Mk = mask_t<V>;
             x[I] = select(load_mask(reinterpret_cast<const bool*>(in[at]) + i, static_cast<Mk*>(nullptr)), k<V>(1), k<V>(0));
           } else x[I] = load_as<V>(reinterpret_cast<const T*>(in[at]) + i);
           ++at;
         }
       }()), ...);
    }(std::make_integer_sequence<int, kMaxOperands>());
    V y{};
    if constexpr (info.saves_out) y = load_as<V>(reinterpret_cast<const T*>(in[at]) + i);
    const V g = load_as<V>(reinterpret_cast<const T*>(in[0]) + i);
    const detail::PointSource<V> s{x, &y, &g, a};
    return detail::point_gradient<C, K, V, M>(g, s);
  }

  static void body(char* out, char* const* in, int64_t n, const Scalar* attrs, bool stream) {
    V a[nattr + 1];
    for (int q = 0; q < nattr; ++q) {
      if constexpr (W == 1 && !std::is_same_v<V, T>) a[q] = float(attrs[q].to_double());
      else if constexpr (W == 1) a[q] = attrs[q].template to<T>();
      else a[q] = V(lane_t<V>(attrs[q].to_double()));
    }
    T* o = reinterpret_cast<T*>(out);
    if constexpr (W == 1) {
      for (int64_t i = 0; i < n; ++i) o[i] = T(apply(in, i, a));
    } else {
      int64_t i = 0;
      if (stream && (reinterpret_cast<uintptr_t>(o) & 31) == 0) {
        for (; i + W <= n; i += W) stream_store(o + i, apply(in, i, a));
        stream_fence();
      }
      for (; i + W <= n; i += W) store(o + i, apply(in, i, a));
      if (i < n) {
        alignas(32) char buf[nin][64];
        char* ptr[nin];
        int at = 0;
        auto stage = [&](size_t bytes) {
          std::memset(buf[at], 0, 64);
          std::memcpy(buf[at], in[at] + size_t(i) * bytes, size_t(n - i) * bytes);
          ptr[at] = buf[at];
          ++at;
        };
        stage(sizeof(T));
        for (int q = 0; q < kMaxOperands; ++q)
          if (info.saves_in >> q & 1) stage(is_mask(q) ? 1 : sizeof(T));
        if (info.saves_out) stage(sizeof(T));
        alignas(32) T tail[W];
        store(tail, apply(ptr, 0, a));
        std::memcpy(static_cast<void*>(o + i), tail, size_t(n - i) * sizeof(T));
      }
    }
  }
};

// ---- tables ----
template <class C, int M> constexpr void fill_forward(PointwiseBody* t) {
  auto put = [&]<class T>() {
    if constexpr (C::types & types::bit(dtype_of<T>)) t[int(dtype_of<T>)] = &Forward<C, M, T>::body;
  };
  (put.template operator()<uint8_t>(), put.template operator()<int8_t>(), put.template operator()<int16_t>(), put.template operator()<int32_t>(),
   put.template operator()<int64_t>(), put.template operator()<half>(), put.template operator()<bfloat16>(), put.template operator()<float>(),
   put.template operator()<double>(), put.template operator()<cfloat>(), put.template operator()<cdouble>(), put.template operator()<bool>(),
   put.template operator()<uint16_t>(), put.template operator()<uint32_t>(), put.template operator()<uint64_t>());
}
template <class C, int K, int M> constexpr void fill_backward(PointwiseBody* t) {
  if constexpr (detail::pointwise_card<C>.grads[K].has) {
    auto put = [&]<class T>() {
      if constexpr (C::types & types::bit(dtype_of<T>)) t[int(dtype_of<T>)] = &Backward<C, K, M, T>::body;
    };
    (put.template operator()<half>(), put.template operator()<bfloat16>(), put.template operator()<float>(), put.template operator()<double>(),
     put.template operator()<cfloat>(), put.template operator()<cdouble>());
  }
}
template <class C> struct Tables {
  static constexpr int modes = detail::modes_of<C>();
  static constexpr int nin = detail::arguments_of<C>.nin();
  struct F { PointwiseBody b[modes * kTypeSlots]; };
  struct B { PointwiseBody b[nin * modes * kTypeSlots]; };
  static constexpr F forward = [] {
    F f{};
    [&]<int... M>(std::integer_sequence<int, M...>) { (fill_forward<C, M>(f.b + M * kTypeSlots), ...); }(std::make_integer_sequence<int, modes>());
    return f;
  }();
  static constexpr B grads = [] {
    B g{};
    auto one = [&]<int K>() {
      [&]<int... M>(std::integer_sequence<int, M...>) { (fill_backward<C, K, M>(g.b + (K * modes + M) * kTypeSlots), ...); }(std::make_integer_sequence<int, modes>());
    };
    if constexpr (nin > 0) one.template operator()<0>();
    if constexpr (nin > 1) one.template operator()<1>();
    if constexpr (nin > 2) one.template operator()<2>();
    if constexpr (nin > 3) one.template operator()<3>();
    return g;
  }();
  static constexpr PointwiseTable table{forward.b, grads.b};
};

// A card that says `using loops = Other` has the same operands, numbers and mathematics as Other.
template <class C> struct LoopsOf { using type = C; };
template <class C> requires requires { typename C::loops; } struct LoopsOf<C> { using type = typename C::loops; };

template <class C> constexpr KernelRecord pointwise_record() {
  if constexpr (C::kind == CardKind::pointwise)
    return {C::schema, DeviceType::cpu, KernelStyle::pointwise, 100, nullptr, nullptr, &Tables<typename LoopsOf<C>::type>::table,
            &run_pointwise_loop};
  else
    return {nullptr, DeviceType::cpu, KernelStyle::pointwise, 100, nullptr, nullptr, nullptr, nullptr};
}

}  // namespace loops

#undef FB_CARD_LOOPS
#define FB_CARD_LOOPS(C)                                                                            \
  [[gnu::section("fb_kernels"), gnu::used]] static constinit const ::fb::KernelRecord FB_CONCAT(     \
      fb_loops_, __COUNTER__) __attribute__((aligned(8))) = ::fb::loops::pointwise_record<C>();

}  // namespace fb
