#include "cpu/product/patches.h"

#include <vector>

namespace fb::product {
namespace {

template <class Real>
struct Lane;
template <>
struct Lane<float> {
  using Int = int32_t;
  typedef int32_t Ints __attribute__((vector_size(32)));
  static __m256 masked(const float* p, Ints m) { return _mm256_maskload_ps(p, __m256i(m)); }
  static __m256 gather(const float* p, Ints at, Ints m) {
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, __m256i(at), __m256(m), 4);
  }
  static int bits(Ints m) { return _mm256_movemask_ps(__m256(m)); }
  // Every second of the 15 elements at p.
  static __m256 evens(const float* p) {
    return even_odd(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 7));
  }
  static __m256 masked_evens(const float* p, Ints m) {
    const __m256i lo = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(__m256i(m)));
    const __m256i hi = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(__m256i(m), 1));
    const __m256 even =
        _mm256_shuffle_ps(_mm256_maskload_ps(p, lo), _mm256_maskload_ps(p + 8, hi), 0x88);
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(even), 0xd8));
  }
  static __m256 even_odd(__m256 a, __m256 b) {
    return _mm256_castpd_ps(
        _mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xd8)), 0xd8));
  }
  static __m256 join(__m256 a, __m256 b) { return _mm256_or_ps(a, b); }
};
template <>
struct Lane<double> {
  using Int = int64_t;
  typedef int64_t Ints __attribute__((vector_size(32)));
  static __m256d masked(const double* p, Ints m) { return _mm256_maskload_pd(p, __m256i(m)); }
  static __m256d gather(const double* p, Ints at, Ints m) {
    return _mm256_mask_i64gather_pd(_mm256_setzero_pd(), p, __m256i(at), __m256d(m), 8);
  }
  static int bits(Ints m) { return _mm256_movemask_pd(__m256d(m)); }
  static __m256d evens(const double* p) {
    return _mm256_permute4x64_pd(_mm256_shuffle_pd(_mm256_loadu_pd(p), _mm256_loadu_pd(p + 3), 0xa),
                                 0xd8);
  }
  static __m256d masked_evens(const double* p, Ints m) { return gather(p, Ints{0, 2, 4, 6}, m); }
  static __m256d join(__m256d a, __m256d b) { return _mm256_or_pd(a, b); }
};

// A vector of consecutive pixels. Pixels of one image row form a run; where lanes are adjacent in
// memory each run is one load.
template <class Real>
struct PixelVector {
  static constexpr int W = Vec<Real>::width, all = (1 << W) - 1;
  using L = Lane<Real>;
  using Ints = typename L::Ints;
  Ints position[3], live;
  Ints offset;      // of lanes from lane 0, for gathers
  int64_t first;    // offset of lane 0 in the image
  int64_t lane[W];  // offsets of lanes in the image
  int runs;
  Ints run_mask[W];
  bool far = false;   // lanes too far apart for the gather's index
  int64_t run_at[W];  // offset of the run, moved back to where lane 0 would be

  void set(const Patches<Real>& s, int64_t pixel, int count) {
    int64_t w = pixel % s.grid[2], rest = pixel / s.grid[2];
    int64_t h = rest % s.grid[1];
    rest /= s.grid[1];
    int64_t d = rest % s.grid[0], n = rest / s.grid[0];
    runs = 0;
    live = Ints{};
    for (int a = 0; a < 3; ++a) position[a] = Ints{};
    for (int l = 0; l < W; ++l) lane[l] = 0;
    const int64_t unit = s.lane_stride();
    for (int l = 0; l < count; ++l) {
      lane[l] =
          n * s.batch_stride + d * s.step[0] * s.stride[0] + h * s.step[1] * s.stride[1] + w * unit;
      if (l == 0 || w == 0) {
        run_mask[runs] = Ints{};
        run_at[runs++] = lane[l] - l * unit;
      }
      run_mask[runs - 1][l] = -1;
      live[l] = -1;
      position[0][l] = typename L::Int(d * s.step[0]);
      position[1][l] = typename L::Int(h * s.step[1]);
      position[2][l] = typename L::Int(w * s.step[2]);
      if (++w == s.grid[2]) {
        w = 0;
        if (++h == s.grid[1]) {
          h = 0;
          if (++d == s.grid[0]) d = 0, ++n;
        }
      }
    }
    first = lane[0];
    far = false;
    for (int l = 0; l < W; ++l) {
      const int64_t apart = l < count ? lane[l] - first : 0;
      offset[l] = typename L::Int(apart);
      far |= int64_t(offset[l]) != apart;
    }
  }

  // Lanes whose tap lies within the image along one axis.
  Ints inside(const Patches<Real>& s, int axis, int64_t tap) const {
    const Ints p = position[axis] + typename L::Int(tap);
    return (p >= 0) & (p < typename L::Int(s.extent[axis]));
  }
};

// How one tap of one vector is read.
template <class Real>
struct TapRead {
  using L = Lane<Real>;
  using V = Vec<Real>;
  enum Kind { nothing, whole, whole_evens, runs1, runs2, evens1, evens2, many, spread, far } kind;
  typename L::Ints mask[2];
  const Real* at[2];
  const PixelVector<Real>* pixels;
  int64_t shift;

  void set(const PixelVector<Real>& v, const Real* image, int64_t offset, typename L::Ints m,
           int64_t unit) {
    pixels = &v;
    shift = offset;
    mask[0] = m;
    const int bits = L::bits(m);
    if (!bits) {
      kind = nothing;
      at[0] = image;
    } else if (unit > 2 || unit < 1 || (unit == 2 && v.runs > 2)) {
      kind = v.far ? far : spread;
      at[0] = image + v.first + offset;
    } else if (v.runs == 1) {
      const bool all = bits == PixelVector<Real>::all;
      kind = unit == 1 ? (all ? whole : runs1) : (all ? whole_evens : evens1);
      at[0] = image + v.run_at[0] + offset;
    } else if (v.runs == 2) {
      kind = unit == 1 ? runs2 : evens2;
      for (int r = 0; r < 2; ++r) {
        mask[r] = m & v.run_mask[r];
        at[r] = image + v.run_at[r] + offset;
      }
    } else {
      kind = many;
      at[0] = image;
    }
  }
  // The kind is a parameter, so that loops over channels can fix it.
  template <Kind kind>
  typename V::type load_as(int64_t channel) const {
    if constexpr (kind == nothing) return V::zero();
    if constexpr (kind == whole) return V::load(at[0] + channel);
    if constexpr (kind == whole_evens) return L::evens(at[0] + channel);
    if constexpr (kind == runs1) return L::masked(at[0] + channel, mask[0]);
    if constexpr (kind == runs2)
      return L::join(L::masked(at[0] + channel, mask[0]), L::masked(at[1] + channel, mask[1]));
    if constexpr (kind == evens1) return L::masked_evens(at[0] + channel, mask[0]);
    if constexpr (kind == evens2)
      return L::join(L::masked_evens(at[0] + channel, mask[0]),
                     L::masked_evens(at[1] + channel, mask[1]));
    if constexpr (kind == spread) return L::gather(at[0] + channel, pixels->offset, mask[0]);
    if constexpr (kind == far) {
      alignas(32) Real x[PixelVector<Real>::W];
      for (int l = 0; l < PixelVector<Real>::W; ++l)
        x[l] = mask[0][l] ? at[0][pixels->lane[l] - pixels->first + channel] : Real(0);
      return V::load(x);
    }
    if constexpr (kind == many) {
      typename V::type v = V::zero();
      for (int r = 0; r < pixels->runs; ++r)
        v = L::join(v, L::masked(at[0] + pixels->run_at[r] + shift + channel,
                                 mask[0] & pixels->run_mask[r]));
      return v;
    }
  }
  // Calls f.template operator()<kind>().
  template <class F>
  auto with_kind(F&& f) const {
    switch (kind) {
      case whole:
        return f.template operator()<whole>();
      case whole_evens:
        return f.template operator()<whole_evens>();
      case runs1:
        return f.template operator()<runs1>();
      case runs2:
        return f.template operator()<runs2>();
      case evens1:
        return f.template operator()<evens1>();
      case evens2:
        return f.template operator()<evens2>();
      case many:
        return f.template operator()<many>();
      case spread:
        return f.template operator()<spread>();
      case far:
        return f.template operator()<far>();
      case nothing:
        break;
    }
    return f.template operator()<nothing>();
  }
  typename V::type load(int64_t channel) const {
    return with_kind([&]<Kind k>() { return load_as<k>(channel); });
  }
};

// Calls f(tap index, offset in the image, masks of the vectors) for each tap.
template <class Real, int most, class F>
void each_tap(const Patches<Real>& s, const PixelVector<Real>* v, int count, F&& f) {
  using Ints = typename Lane<Real>::Ints;
  Ints in0[most], in1[most], in2[most];
  int64_t t = 0;
  for (int64_t t0 = 0; t0 < s.taps[0]; ++t0) {
    for (int i = 0; i < count; ++i) in0[i] = v[i].live & v[i].inside(s, 0, s.tap[0][t0]);
    for (int64_t t1 = 0; t1 < s.taps[1]; ++t1) {
      for (int i = 0; i < count; ++i) in1[i] = in0[i] & v[i].inside(s, 1, s.tap[1][t1]);
      const int64_t row = s.tap[0][t0] * s.stride[0] + s.tap[1][t1] * s.stride[1];
      for (int64_t t2 = 0; t2 < s.taps[2]; ++t2, ++t) {
        for (int i = 0; i < count; ++i) in2[i] = in1[i] & v[i].inside(s, 2, s.tap[2][t2]);
        f(t, row + s.tap[2][t2] * s.stride[2], in2);
      }
    }
  }
}

}  // namespace

template <class Real>
void pack_pixels(const void* source, int64_t i0, int64_t rows, int64_t k0, int64_t kn, int width,
                 Real* to) {
  using V = Vec<Real>;
  constexpr int W = V::width, most = 16;
  const Patches<Real>& s = *static_cast<const Patches<Real>*>(source);
  const int64_t taps = s.tap_count(), cs = s.channel_stride;
  const int64_t vectors = (rows + width - 1) / width * width / W;
  const int64_t unit = s.lane_stride();
  const bool last = s.channels_last();
  PixelVector<Real> pixels[most];
  for (int64_t v0 = 0; v0 < vectors; v0 += most) {
    const int count = int(std::min<int64_t>(most, vectors - v0));
    Real* dest[most];
    for (int i = 0; i < count; ++i) {
      const int64_t at = (v0 + i) * W;
      pixels[i].set(s, i0 + at, int(std::clamp<int64_t>(rows - at, 0, W)));
      dest[i] = to + at / width * width * kn + at % width;
    }
    each_tap<Real, most>(
        s, pixels, count, [&](int64_t t, int64_t offset, const typename Lane<Real>::Ints* masks) {
          const int64_t c0 = std::max<int64_t>(0, (k0 - t + taps - 1) / taps),
                        c1 = (k0 + kn - t + taps - 1) / taps;
          if (c0 >= c1) return;
          const int64_t skip = (c0 * taps + t - k0) * width, step = taps * width;
          if (last) {
            for (int i = 0; i < count; ++i) {
              const int bits = Lane<Real>::bits(masks[i]);
              Real* d = dest[i] + skip;
              int64_t c = c0;
              for (; c + W <= c1; c += W) {
                typename V::type x[W];
#pragma GCC unroll 8
                for (int l = 0; l < W; ++l)
                  x[l] =
                      bits >> l & 1 ? V::load(s.image + pixels[i].lane[l] + offset + c) : V::zero();
                V::transpose(x);
#pragma GCC unroll 8
                for (int l = 0; l < W; ++l) V::store(d + l * step, x[l]);
                d += W * step;
              }
              for (; c < c1; ++c, d += step)
                for (int l = 0; l < W; ++l)
                  d[l] = bits >> l & 1 ? s.image[pixels[i].lane[l] + offset + c] : Real(0);
            }
            return;
          }
          // Whole vectors side by side stream through a channel together; the others go one by one.
          const Real* from[most];
          Real* whole_to[most];
          int wholes = 0;
          for (int i = 0; i < count; ++i) {
            TapRead<Real> read;
            read.set(pixels[i], s.image, offset, masks[i], unit);
            Real* d = dest[i] + skip;
            if (read.kind == TapRead<Real>::whole) {
              from[wholes] = read.at[0] + c0 * cs;
              whole_to[wholes++] = d;
              continue;
            }
            read.with_kind([&]<typename TapRead<Real>::Kind kind>() {
              for (int64_t c = c0; c < c1; ++c, d += step)
                V::store(d, read.template load_as<kind>(c * cs));
            });
          }
          for (int64_t c = 0; c < c1 - c0; ++c)
            for (int i = 0; i < wholes; ++i) {
              const Real* p = from[i] + c * cs;
              __builtin_prefetch(p + 4 * cs);
              V::store(whole_to[i] + c * step, V::load(p));
            }
        });
  }
}

template <class Real>
void pack_taps(const void* source, int64_t i0, int64_t rows, int64_t k0, int64_t kn, int width,
               Real* to) {
  using V = Vec<Real>;
  constexpr int W = V::width;
  const Patches<Real>& s = *static_cast<const Patches<Real>*>(source);
  constexpr int panel = 2 * W;
  const int64_t taps = s.tap_count(), padded = (rows + width - 1) / width * width;
  const int64_t unit = s.lane_stride();
  PixelVector<Real> pixels;
  thread_local std::vector<TapRead<Real>> reads;
  thread_local std::vector<std::pair<int64_t, int>>
      spots;  // offset and lanes inside, for channels last
  if (s.channels_last()) {
    spots.resize(size_t(taps));
  } else {
    reads.resize(size_t(taps));
  }
  for (int64_t k = 0; k < kn; k += W) {
    const int lanes = int(std::min<int64_t>(W, kn - k));
    pixels.set(s, k0 + k, lanes);
    if (s.channels_last()) {
      each_tap<Real, 1>(s, &pixels, 1,
                        [&](int64_t t, int64_t offset, const typename Lane<Real>::Ints* masks) {
                          spots[size_t(t)] = {offset, Lane<Real>::bits(masks[0])};
                        });
      for (int l = 0; l < lanes; ++l) {
        int64_t t = i0 / s.channels, c = i0 % s.channels;
        for (int64_t i = 0; i < rows;) {
          const int64_t run = std::min(rows - i, s.channels - c);
          const bool inside = spots[size_t(t)].second >> l & 1;
          const Real* from = s.image + pixels.lane[l] + spots[size_t(t)].first + c;
          for (int64_t done = 0; done < run;) {
            const int64_t at = i + done, n = std::min(run - done, width - at % width);
            Real* d = to + at / width * width * kn + (k + l) * width + at % width;
            if (inside && n == panel) {  // a whole row of a panel, in vectors
#pragma GCC unroll 2
              for (int e = 0; e < panel; e += W) V::store(d + e, V::load(from + done + e));
            } else if (inside)
              std::memcpy(d, from + done, size_t(n) * sizeof(Real));
            else
              std::memset(d, 0, size_t(n) * sizeof(Real));
            done += n;
          }
          i += run;
          c = 0;
          ++t;
        }
        for (int64_t i = rows; i < padded; ++i)
          to[i / width * width * kn + (k + l) * width + i % width] = 0;
      }
      continue;
    }
    bool whole = true;
    each_tap<Real, 1>(s, &pixels, 1,
                      [&](int64_t t, int64_t offset, const typename Lane<Real>::Ints* masks) {
                        reads[size_t(t)].set(pixels, s.image, offset, masks[0], unit);
                        whole &= reads[size_t(t)].kind == TapRead<Real>::whole;
                      });
    const TapRead<Real>* read = reads.data();
    int64_t t = i0 % taps, channel = i0 / taps * s.channel_stride;
    for (int64_t i = 0; i < padded; i += W) {
      typename V::type x[W];
      Real* d = to + i / width * width * kn + k * width + i % width;
      if (whole && i + W <= rows) {
        if (taps == 1) {
          const Real* from = read->at[0] + channel;
#pragma GCC unroll 8
          for (int r = 0; r < W; ++r, from += s.channel_stride) {
            __builtin_prefetch(from + 32);
            x[r] = V::load(from);
          }
          channel += W * s.channel_stride;
        } else {
#pragma GCC unroll 8
          for (int r = 0; r < W; ++r) {
            x[r] = V::load(read[t].at[0] + channel);
            const bool next = ++t == taps;
            t = next ? 0 : t;
            channel += next ? s.channel_stride : 0;
          }
        }
      } else {
        alignas(32) Real got[W][W];
        for (int r = 0; r < W; ++r) {
          if (i + r >= rows) {
            V::store(got[r], V::zero());
            continue;
          }
          V::store(got[r], read[t].load(channel));
          if (++t == taps) t = 0, channel += s.channel_stride;
        }
#pragma GCC unroll 8
        for (int r = 0; r < W; ++r) x[r] = V::load(got[r]);
      }
      V::transpose(x);
      if (lanes == W) {
#pragma GCC unroll 8
        for (int r = 0; r < W; ++r) V::store(d + r * width, x[r]);
      } else {
        alignas(32) Real got[W][W];
#pragma GCC unroll 8
        for (int r = 0; r < W; ++r) V::store(got[r], x[r]);
        for (int r = 0; r < lanes; ++r) V::store(d + r * width, V::load(got[r]));
      }
    }
  }
}

template void pack_pixels<float>(const void*, int64_t, int64_t, int64_t, int64_t, int, float*);
template void pack_pixels<double>(const void*, int64_t, int64_t, int64_t, int64_t, int, double*);
template void pack_taps<float>(const void*, int64_t, int64_t, int64_t, int64_t, int, float*);
template void pack_taps<double>(const void*, int64_t, int64_t, int64_t, int64_t, int, double*);

}  // namespace fb::product
