// Intrusive reference counts: one word in the object, no control block.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace fb {

struct RefCounted {
  mutable std::atomic<int64_t> refs{1};
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
};

// T gives `static void destroy(T*)`, called when the last reference goes.
template <class T>
class Ref {
 public:
  constexpr Ref() = default;
  constexpr Ref(std::nullptr_t) {}
  explicit Ref(T* owned) : p_(owned) {}  // takes over one reference
  Ref(const Ref& o) : p_(o.p_) { retain(); }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(const Ref& o) {
    Ref t(o);
    std::swap(p_, t.p_);
    return *this;
  }
  Ref& operator=(Ref&& o) noexcept {
    Ref t(std::move(o));
    std::swap(p_, t.p_);
    return *this;
  }
  ~Ref() { release(); }
  static Ref share(T* p) {
    Ref r;
    r.p_ = p;
    r.retain();
    return r;
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  T* detach() { return std::exchange(p_, nullptr); }
  void reset() { Ref t(std::move(*this)); }
  int64_t use_count() const { return p_ ? p_->refs.load(std::memory_order_acquire) : 0; }
  bool operator==(const Ref& o) const { return p_ == o.p_; }

 private:
  void retain() {
    if (p_) p_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    // The only owner may skip the atomic write: nobody else can raise the count.
    if (p_ && (p_->refs.load(std::memory_order_acquire) == 1 || p_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1))
      T::destroy(p_);
  }
  T* p_ = nullptr;
};

}  // namespace fb
