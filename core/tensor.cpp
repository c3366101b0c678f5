#include "core/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/allocator.h"
#include "core/fresh_tensors.h"
#include "core/shape_rules.h"

namespace fb {

void (*tensor_python_release)(void* py) = nullptr;

__attribute__((tls_model("initial-exec"))) constinit thread_local uint16_t fresh_tensor_flags = 0;

TensorImpl* TensorImpl::make() {
  TensorImpl* t = new (cpu_allocate(sizeof(TensorImpl))) TensorImpl;
  t->flags = fresh_tensor_flags;
  return t;
}

void TensorImpl::destroy(TensorImpl* t) {
  if (t->py_owned && tensor_python_release) {
    void* py = std::exchange(t->py, nullptr);
    t->py_owned = false;
    t->refs.store(1, std::memory_order_relaxed);  // the release may look at this tensor once more
    tensor_python_release(py);
  }
  delete t->autograd;
  t->~TensorImpl();
  cpu_free(t, sizeof(TensorImpl));
}

void TensorImpl::refresh() {
  numel = numel_of(sizes);
  contiguous = numel == 0 || rules_of_shape::is_contiguous(sizes.span(), strides.span());
}

size_t storage_bytes(Ints sizes, Ints strides, int64_t offset, int64_t item) {
  int64_t last = offset;
  bool over = false;
  for (int64_t i = 0; i < sizes.n; ++i) {
    if (sizes[i] == 0) return 0;
    int64_t reach = 0;
    over |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach);
    over |= __builtin_add_overflow(last, reach, &last);
  }
  over |= __builtin_add_overflow(last, int64_t(1), &last);
  over |= __builtin_mul_overflow(last, item, &last);
  FB_CHECK(!over, "a tensor of shape ", sizes, " and strides ", strides, " needs more than 2^63 - 1 bytes");
  return size_t(last);
}

static void check_sizes(Ints sizes) {
  for (int64_t s : sizes)
    FB_CHECK(s >= 0, "size ", s, " in shape ", sizes, " is negative; sizes are at least 0");
}

Tensor Tensor::empty(Ints sizes, Options o) {
  TensorImpl* t = TensorImpl::make();
  Ref<TensorImpl> ref(t);
  t->sizes.assign(sizes.p, sizes.n);
  t->strides.resize(sizes.n);
  int64_t numel = 1, step = 1, bytes = 0;
  bool odd = false;  // negative, or too large
  for (int64_t i = sizes.n - 1; i >= 0; --i) {
    const int64_t s = sizes[i];
    t->strides[i] = step;
    odd |= s < 0;
    numel = int64_t(uint64_t(numel) * uint64_t(s));  // at most `step` where that did not overflow
    odd |= __builtin_mul_overflow(step, s > 1 ? s : 1, &step);
  }
  odd |= __builtin_mul_overflow(step, item_size(o.dtype), &bytes);
  if (odd) [[unlikely]] {  // a size of 0 may still make it nothing
    check_sizes(sizes);
    t->strides = contiguous_strides(sizes);
    numel = numel_of(sizes);
    FB_CHECK(numel == 0 || !__builtin_mul_overflow(numel, item_size(o.dtype), &bytes), "a tensor of shape ", sizes, " and type ",
             o.dtype, " needs more than 2^63 - 1 bytes");
  }
  t->numel = numel;
  t->dtype = o.dtype;
  t->device = o.device;
  t->storage = Storage::allocate(numel == 0 ? 0 : size_t(bytes), o.device);
  return Tensor(std::move(ref));
}

Tensor Tensor::empty_strided(Ints sizes, Ints strides, Options o) {
  check_sizes(sizes);
  for (int64_t s : strides) FB_CHECK(s >= 0, "stride ", s, " in ", strides, " is negative; strides are at least 0");
  return over(Storage::allocate(storage_bytes(sizes, strides, 0, item_size(o.dtype)), o.device), o.dtype, sizes, strides, 0);
}

Tensor Tensor::over(Ref<Storage> s, DType d, Ints sizes, Ints strides, int64_t offset) {
  TensorImpl* t = TensorImpl::make();
  Ref<TensorImpl> ref(t);
  t->device = s->device;
  t->storage = std::move(s);
  t->dtype = d;
  t->sizes = Dims(sizes);
  t->strides = Dims(strides);
  t->offset = offset;
  t->refresh();
  return Tensor(std::move(ref));
}

Tensor Tensor::empty_format(Ints sizes, Options o, MemoryFormat f) {
  if (f == MemoryFormat::channels_last || f == MemoryFormat::channels_last_3d) {
    const int64_t want = f == MemoryFormat::channels_last ? 4 : 5;
    FB_CHECK(sizes.n == want, "memory format channels_last", want == 5 ? "_3d" : "", " takes ", want,
             " dimensions, the shape is ", sizes);
    return empty_strided(sizes, channels_last_strides(sizes), o);
  }
  return empty(sizes, o);
}

Tensor Tensor::alias(Ints sizes, Ints strides, int64_t offset) const {
  TensorImpl* t = TensorImpl::make();
  const TensorImpl* from = impl_.get();
  t->storage = from->storage;
  t->own_version = from->own_version;
  t->dtype = from->dtype;
  t->device = from->device;
  t->conj = from->conj;
  t->neg = from->neg;
  t->layout = from->layout;
  t->inference = from->inference;
  t->wrapped = from->wrapped;
  t->sizes = Dims(sizes);
  t->strides = Dims(strides);
  t->offset = offset;
  t->refresh();
  return Tensor(Ref<TensorImpl>(t));
}

Dims channels_last_strides(Ints sizes) { return rules_of_shape::channels_last_strides(sizes); }

bool Tensor::is_contiguous(MemoryFormat f) const {
  if (f != MemoryFormat::channels_last && f != MemoryFormat::channels_last_3d) return is_contiguous();
  if (ndim() != (f == MemoryFormat::channels_last ? 4 : 5)) return false;
  return rules_of_shape::is_channels_last(sizes(), strides());
}
MemoryFormat Tensor::suggested_format() const { return rules_of_shape::suggested_format(sizes(), strides()); }
bool Tensor::is_non_overlapping_and_dense() const {
  return is_contiguous() || numel() < 2 || rules_of_shape::is_dense(sizes(), strides());
}
Dims preserved_strides(Ints sizes, Ints strides) { return rules_of_shape::preserved_strides(sizes, strides); }

bool has_internal_overlap(const Tensor& t) {
  if (t.is_non_overlapping_and_dense()) return false;
  for (int64_t i = 0; i < t.ndim(); ++i)
    if (t.strides()[i] == 0 && t.sizes()[i] > 1) return true;
  return false;
}

bool may_overlap(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || a.numel() == 0 || b.numel() == 0) return false;
  if (a.storage().get() != b.storage().get()) return false;
  const int64_t ia = a.item_bytes(), ib = b.item_bytes();
  const int64_t a0 = a.offset() * ia, b0 = b.offset() * ib;
  const int64_t a1 = int64_t(storage_bytes(a.sizes(), a.strides(), a.offset(), ia));
  const int64_t b1 = int64_t(storage_bytes(b.sizes(), b.strides(), b.offset(), ib));
  return a0 < b1 && b0 < a1;
}

}  // namespace fb
