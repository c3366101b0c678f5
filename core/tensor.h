// A tensor: geometry over a storage. No operator is declared here; see dispatch/ and ops/.
#pragma once
#include "core/dims.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/refcount.h"
#include "core/scalar.h"
#include "core/storage.h"

namespace fb {

struct Options {
  DType dtype = DType::f32;
  Device device;
};

// What autograd/ keeps on a tensor; made when first needed.
struct AutogradMetaBase {
  virtual ~AutogradMetaBase() = default;
};

using Flags = uint16_t;
enum TensorFlags : Flags {
  kRequiresGrad = 1, kTrackedView = 2, kConj = 4, kNeg = 8, kWrappedNumber = 16, kInference = 32, kDual = 64,
  kPython = 128, kWrapped = 256,
  kLayered = kPython | kWrapped,  // calls go through a layer between autograd and the back end (dispatch/layers.h)
};

struct TensorImpl : RefCounted {
  Ref<Storage> storage;
  int64_t offset = 0;  // in elements
  int64_t numel = 0;
  Dims sizes, strides;
  DType dtype = DType::f32;
  Device device;
  bool contiguous = true;
  bool py_owned = false;                     // the Python object is kept alive by this tensor
  // What makes a call leave the plain road; one load tells whether any of it holds.
  union {
    struct {
      bool requires_grad : 1;   // a leaf that wants a gradient, or a result with grad_fn
      bool tracked_view : 1;    // a differentiable view: its grad_fn may have to be made anew
      bool conj : 1, neg : 1;   // lazily conjugated or negated values
      bool wrapped_number : 1;  // made from a bare number: yields in type promotion
      bool inference : 1;
      bool dual : 1;            // has a tangent of its own, kept in autograd meta, while a dual level is open
      bool python : 1;          // its Python class takes calls itself (__torch_dispatch__)
      bool wrapped : 1;         // stands for another tensor, the payload of its storage (a transform's level)
    };
    Flags flags = 0;
  };
  Layout layout = Layout::strided;
  AutogradMetaBase* autograd = nullptr;      // owned
  Ref<Storage> own_version;                  // set by .data: a version counter apart from the storage's
  void* py = nullptr;                        // the Python object that stands for this tensor

  uint32_t version() const { return own_version ? own_version->version : storage ? storage->version : 0; }
  void bump_version() {
    if (own_version) ++own_version->version;
    else if (storage) ++storage->version;
  }
  void refresh();  // recomputes numel and contiguous from sizes and strides
  static TensorImpl* make();
  static void destroy(TensorImpl*);
};

// Set by the Python layer: told when a tensor that owns its Python object dies.
extern void (*tensor_python_release)(void* py);

class Tensor {
 public:
  using Int = int64_t;   // what a shape rule computes with; a symbolic tensor has another
  using Sizes = Dims;
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  // Uninitialised, row-major. Raises on negative sizes, overflow, or memory that cannot be had.
  static Tensor empty(Ints sizes, Options o);
  static Tensor empty_strided(Ints sizes, Ints strides, Options o);
  // A dense tensor of these sizes whose strides follow PyTorch's rule for `format`.
  static Tensor empty_format(Ints sizes, Options o, MemoryFormat format);
  // A tensor over the same storage; no history.
  Tensor alias(Ints sizes, Ints strides, int64_t offset) const;
  Tensor alias() const { return alias(sizes(), strides(), offset()); }
  static Tensor over(Ref<Storage> s, DType d, Ints sizes, Ints strides, int64_t offset);

  bool defined() const { return bool(impl_); }
  explicit operator bool() const { return defined(); }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* operator->() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }
  Ref<TensorImpl>&& take() { return std::move(impl_); }
  bool is(const Tensor& o) const { return impl_.get() == o.impl_.get(); }

  Ints sizes() const { return impl_->sizes; }
  Ints strides() const { return impl_->strides; }
  int64_t size(int64_t d) const { return impl_->sizes[wrap_dim(d, ndim(), false)]; }
  int64_t stride(int64_t d) const { return impl_->strides[wrap_dim(d, ndim(), false)]; }
  int64_t ndim() const { return impl_->sizes.size(); }
  int64_t numel() const { return impl_->numel; }
  int64_t offset() const { return impl_->offset; }
  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->device; }
  Options options() const { return {dtype(), device()}; }
  bool is_contiguous() const { return impl_->contiguous; }
  bool is_contiguous(MemoryFormat f) const;
  // The format that results made from this tensor take: channels_last only where strides say so without doubt.
  MemoryFormat suggested_format() const;
  bool is_non_overlapping_and_dense() const;
  bool is_meta() const { return impl_->device.is_meta(); }
  bool is_complex() const { return fb::is_complex(dtype()); }
  bool is_floating() const { return fb::is_floating(dtype()); }
  bool is_conj() const { return impl_->conj; }
  bool is_neg() const { return impl_->neg; }
  int64_t item_bytes() const { return item_size(dtype()); }
  // First element; never null for a tensor with elements on the CPU.
  void* data() const { return static_cast<char*>(impl_->storage->data) + impl_->offset * item_size(impl_->dtype); }
  template <class T> T* ptr() const { return static_cast<T*>(data()); }
  const Ref<Storage>& storage() const { return impl_->storage; }

 private:
  Ref<TensorImpl> impl_;
};

// Bytes that `sizes` with `strides` reach from `offset` on; raises on overflow.
size_t storage_bytes(Ints sizes, Ints strides, int64_t offset, int64_t item);
Dims channels_last_strides(Ints sizes);
// Strides of a dense result that keeps the order of dimensions of `like` (preserve_format).
Dims preserved_strides(Ints sizes, Ints strides);
// Whether two tensors may share an element, and whether one element is reached twice within one.
bool may_overlap(const Tensor& a, const Tensor& b);
bool has_internal_overlap(const Tensor& t);

}  // namespace fb
