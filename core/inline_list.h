// A list of any movable type whose first N elements stand inside it: what most autograd nodes need takes no memory of
// its own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace fb {

template <class T, int N>
class InlineList {
 public:
  InlineList() = default;
  InlineList(const InlineList& o) {
    reserve(o.n_);
    for (const T& x : o) emplace_back(x);
  }
  InlineList(InlineList&& o) noexcept { take(o); }
  InlineList& operator=(const InlineList& o) {
    if (this != &o) *this = InlineList(o);
    return *this;
  }
  InlineList& operator=(InlineList&& o) noexcept {
    if (this != &o) {
      drop();
      take(o);
    }
    return *this;
  }
  ~InlineList() { drop(); }

  size_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  T* data() { return p_; }
  const T* data() const { return p_; }
  T* begin() { return p_; }
  T* end() { return p_ + n_; }
  const T* begin() const { return p_; }
  const T* end() const { return p_ + n_; }
  T& operator[](size_t i) { return p_[i]; }
  const T& operator[](size_t i) const { return p_[i]; }
  T& back() { return p_[n_ - 1]; }
  template <class... A>
  T& emplace_back(A&&... a) {
    if (n_ == cap_) {
      T x(std::forward<A>(a)...);  // may be one of those that move
      reserve(2 * size_t(cap_));
      return *new (p_ + n_++) T(std::move(x));
    }
    return *new (p_ + n_++) T(std::forward<A>(a)...);
  }
  void push_back(T x) { emplace_back(std::move(x)); }
  void clear() {
    std::destroy_n(p_, n_);
    n_ = 0;
  }
  void reserve(size_t c) {
    if (c <= cap_) return;
    T* q = static_cast<T*>(::operator new(c * sizeof(T)));
    std::uninitialized_move_n(p_, n_, q);
    std::destroy_n(p_, n_);
    if (p_ != inside()) ::operator delete(p_);
    p_ = q;
    cap_ = uint32_t(c);
  }

 private:
  T* inside() { return reinterpret_cast<T*>(room_); }
  void drop() {
    clear();
    if (p_ != inside()) ::operator delete(p_);
    p_ = inside();
    cap_ = N;
  }
  void take(InlineList& o) {  // into an empty list
    if (o.p_ == o.inside()) {
      for (T& x : o) emplace_back(std::move(x));
      o.clear();
      return;
    }
    p_ = std::exchange(o.p_, o.inside());
    n_ = std::exchange(o.n_, 0u);
    cap_ = std::exchange(o.cap_, uint32_t(N));
  }
  T* p_ = inside();
  uint32_t n_ = 0, cap_ = N;
  alignas(T) unsigned char room_[N * sizeof(T)];
};

}  // namespace fb
