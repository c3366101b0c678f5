// Sizes and strides: small vectors that hold six dimensions without allocation.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace fb {

// A borrowed run of elements; valid as long as what it was made from.
template <class T>
struct Span {
  const T* p = nullptr;
  int64_t n = 0;
  constexpr Span() = default;
  constexpr Span(const T* q, int64_t m) : p(q), n(m) {}
  // A span over a braced list is for arguments of a call: the list lives to the end of the full expression.
#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr Span(std::initializer_list<T> l) : p(l.begin()), n(int64_t(l.size())) {}
#pragma GCC diagnostic pop
  constexpr int64_t size() const { return n; }
  constexpr bool empty() const { return n == 0; }
  constexpr const T& operator[](int64_t i) const { return p[i]; }
  constexpr const T* begin() const { return p; }
  constexpr const T* end() const { return p + n; }
  const T* data() const { return p; }
  const T& back() const { return p[n - 1]; }
  Span slice(int64_t from, int64_t count) const { return {p + from, count}; }
  bool operator==(Span o) const {
    if (n != o.n) return false;
    for (int64_t i = 0; i < n; ++i)
      if (!(p[i] == o.p[i])) return false;
    return true;
  }
};
using Ints = Span<int64_t>;

// N elements inline, more on the heap. T is trivially copyable.
template <class T, int N>
class SmallVec {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVec() = default;
  explicit SmallVec(int64_t n, T fill = T()) { resize(n, fill); }
  SmallVec(std::initializer_list<T> l) { assign(l.begin(), int64_t(l.size())); }
  SmallVec(Span<T> s) { assign(s.p, s.n); }
  SmallVec(const SmallVec& o) { assign(o.data(), o.n_); }
  SmallVec(SmallVec&& o) noexcept { take(o); }
  SmallVec& operator=(const SmallVec& o) {
    if (this != &o) assign(o.data(), o.n_);
    return *this;
  }
  SmallVec& operator=(SmallVec&& o) noexcept {
    if (this != &o) {
      if (p_ != inline_) std::free(p_);
      take(o);
    }
    return *this;
  }
  ~SmallVec() {
    if (p_ != inline_) std::free(p_);
  }
  operator Span<T>() const { return {p_, n_}; }
  Span<T> span() const { return {p_, n_}; }
  int64_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  T* data() { return p_; }
  const T* data() const { return p_; }
  T& operator[](int64_t i) { return p_[i]; }
  const T& operator[](int64_t i) const { return p_[i]; }
  T* begin() { return p_; }
  T* end() { return p_ + n_; }
  const T* begin() const { return p_; }
  const T* end() const { return p_ + n_; }
  T& back() { return p_[n_ - 1]; }
  const T& back() const { return p_[n_ - 1]; }
  void reserve(int64_t c) {
    if (c <= cap_) return;
    c = c < 2 * cap_ ? 2 * cap_ : c;
    T* q = c <= INT32_MAX ? static_cast<T*>(std::malloc(size_t(c) * sizeof(T))) : nullptr;
    if (!q) throw std::bad_alloc();
    std::memcpy(static_cast<void*>(q), p_, size_t(n_) * sizeof(T));
    if (p_ != inline_) std::free(p_);
    p_ = q;
    cap_ = int32_t(c);
  }
  void resize(int64_t n, T fill = T()) {
    reserve(n);
    for (int64_t i = n_; i < n; ++i) p_[i] = fill;
    n_ = int32_t(n);
  }
  void assign(const T* q, int64_t n) {
    reserve(n);
    if (n) std::memmove(static_cast<void*>(p_), q, size_t(n) * sizeof(T));
    n_ = int32_t(n);
  }
  void push_back(T v) {
    reserve(n_ + 1);
    p_[n_++] = v;
  }
  void pop_back() { --n_; }
  void clear() { n_ = 0; }
  void insert(int64_t at, T v) {
    push_back(v);
    for (int64_t i = n_ - 1; i > at; --i) p_[i] = p_[i - 1];
    p_[at] = v;
  }
  void erase(int64_t at) {
    for (int64_t i = at; i + 1 < n_; ++i) p_[i] = p_[i + 1];
    --n_;
  }
  bool operator==(const SmallVec& o) const { return span() == o.span(); }
  bool operator==(Span<T> o) const { return span() == o; }

 private:
  void take(SmallVec& o) {
    if (o.p_ == o.inline_) {
      p_ = inline_;
      cap_ = N;
      n_ = o.n_;
      std::memcpy(static_cast<void*>(inline_), o.inline_, sizeof inline_);
    } else {
      p_ = std::exchange(o.p_, o.inline_);
      cap_ = std::exchange(o.cap_, N);
      n_ = o.n_;
    }
    o.n_ = 0;
  }
  T* p_ = inline_;
  int32_t n_ = 0, cap_ = N;
  T inline_[N];
};

using Dims = SmallVec<int64_t, 6>;

namespace detail {
void append(std::string& s, Span<int64_t> v);  // "[2, 3]"
inline void append(std::string& s, const Dims& v) { append(s, v.span()); }
}  // namespace detail
using detail::append;

// Product of sizes; raises where it does not fit in 63 bits.
int64_t numel_of(Ints sizes);
// Row-major strides; a dimension of size 0 counts as 1, as in PyTorch.
Dims contiguous_strides(Ints sizes);
// dim in [-ndim, ndim) made non-negative; a 0-d tensor counts as 1-d. Raises IndexError outside.
int64_t wrap_dim(int64_t dim, int64_t ndim, bool wrap_scalar = true);
// The shape both broadcast to; raises RuntimeError naming both.
Dims broadcast_sizes(Ints a, Ints b);
bool is_expandable_to(Ints from, Ints to);

// Strides of a dense tensor whose dimensions stand in memory as `order` says: order(a, b) is negative where dimension a
// belongs inside b, positive where outside, and 0 where it does not matter (logical order is kept). An insertion sort,
// since such an order need not be transitive: this is PyTorch's rule for results of strided operands.
template <class I, class Order>
SmallVec<I, 6> ordered_strides_of(Span<I> sizes, Order order) {
  const int64_t n = sizes.n;
  SmallVec<int64_t, 8> perm(n);  // fastest first
  for (int64_t i = 0; i < n; ++i) perm[i] = n - 1 - i;
  for (int64_t i = 1; i < n; ++i) {
    int64_t k = i;
    for (int64_t j = i - 1; j >= 0; --j) {
      const int c = order(perm[j], perm[k]);
      if (c < 0) break;
      if (c > 0) {
        std::swap(perm[j], perm[k]);
        k = j;
      }
    }
  }
  bool row_major = true;
  for (int64_t i = 0; i < n; ++i) row_major = row_major && perm[i] == n - 1 - i;
  // A size of 0 counts as 1 in row-major order, and as itself in any other.
  SmallVec<I, 6> strides(n, I(1));
  I step = 1;
  for (int64_t d : perm) {
    strides[d] = step;
    if (sizes[d] > 1 || (sizes[d] == 0 && !row_major)) step = step * sizes[d];
  }
  return strides;
}
template <class Order>
Dims ordered_strides(Ints sizes, Order order) { return ordered_strides_of<int64_t>(sizes, order); }

}  // namespace fb
