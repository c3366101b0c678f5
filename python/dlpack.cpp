// Exchange of tensors with other libraries by capsules, in the binary layout that DLPack 1.0 defines.
#include <memory>

#include "python/binding.h"

namespace fb::py {
namespace {

struct DLDevice { int32_t type, id; };
struct DLDataType { uint8_t code, bits; uint16_t lanes; };
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;  // strides in elements; null for row-major
  uint64_t byte_offset;
};
struct DLManaged {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManaged*);
};
struct DLVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLVersioned*);
  uint64_t flags;  // bit 0: read-only
  DLTensor tensor;
};
enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6, kF8e4m3fn = 10, kF8e5m2 = 12 };
constexpr int32_t kCpu = 1, kCudaHost = 3;
const char *kFresh = "dltensor", *kUsed = "used_dltensor", *kFreshV = "dltensor_versioned", *kUsedV = "used_dltensor_versioned";

DLDataType dl_type(DType d) {
  const auto bits = uint8_t(8 * item_size(d));
  switch (d) {
    case DType::u8: case DType::u16: case DType::u32: case DType::u64: return {kUInt, bits, 1};
    case DType::i8: case DType::i16: case DType::i32: case DType::i64: return {kInt, bits, 1};
    case DType::f16: case DType::f32: case DType::f64: return {kFloat, bits, 1};
    case DType::bf16: return {kBfloat, bits, 1};
    case DType::c32: case DType::c64: case DType::c128: return {kComplex, bits, 1};
    case DType::boolean: return {kBool, bits, 1};
    case DType::f8_e4m3fn: return {kF8e4m3fn, bits, 1};
    case DType::f8_e5m2: return {kF8e5m2, bits, 1};
    default: break;
  }
  FB_CHECK(false, "a tensor of type ", d, " cannot be exported by DLPack");
}

DType from_dl(DLDataType t) {
  FB_CHECK(t.lanes == 1, "DLPack elements of ", int64_t(t.lanes), " lanes are not taken");
  static constexpr DType all[] = {DType::u8, DType::u16, DType::u32, DType::u64, DType::i8, DType::i16, DType::i32, DType::i64,
                                  DType::f16, DType::f32, DType::f64, DType::bf16, DType::c32, DType::c64, DType::c128,
                                  DType::boolean, DType::f8_e4m3fn, DType::f8_e5m2};
  for (DType d : all)
    if (const DLDataType o = dl_type(d); o.code == t.code && o.bits == t.bits) return d;
  FB_CHECK(false, "the DLPack type of code ", int64_t(t.code), " with ", int64_t(t.bits), " bits is not taken");
}

// What an exported capsule keeps: the tensor, and the arrays that its DLTensor points to.
template <class M> struct Export {
  M managed{};
  Tensor tensor;
  Dims sizes, strides;
};

template <class M> PyObject* export_as(const Tensor& t, const char* name) {
  auto* e = new Export<M>;
  e->tensor = t;
  e->sizes = Dims(t.sizes());
  e->strides = Dims(t.strides());
  // Strides of dimensions without a step say nothing; readers differ in what they expect there.
  for (int64_t i = 0; i < e->strides.size(); ++i)
    if (e->sizes[i] < 2) e->strides[i] = 1;
  DLTensor& d = e->managed.tensor;
  d.data = t.numel() ? t.data() : nullptr;
  d.device = {kCpu, 0};
  d.ndim = int32_t(t.ndim());
  d.dtype = dl_type(t.dtype());
  d.shape = e->sizes.data();
  d.strides = e->strides.data();
  t.storage()->resizable = false;   // whoever takes it over has the address of its memory
  e->managed.context = e;
  e->managed.deleter = [](M* m) { delete static_cast<Export<M>*>(m->context); };
  PyObject* capsule = PyCapsule_New(&e->managed, name, [](PyObject* c) {
    const char* n = PyCapsule_GetName(c);
    if (n != kFresh && n != kFreshV) return;  // someone took it over, and the duty to delete it
    auto* m = static_cast<M*>(PyCapsule_GetPointer(c, n));
    if (m) m->deleter(m);
  });
  if (!capsule) delete e;
  return capsule;
}

// _to_dlpack(tensor, versioned) -> capsule
PyObject* to_dlpack(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FB_PY_BEGIN
  if (n != 2) raise_type("_to_dlpack takes a tensor and whether the capsule tells its version");
  const Tensor& t = tensor_arg(args[0], "_to_dlpack", "tensor");
  FB_CHECK(t.device().is_cpu() && t->layout == Layout::strided, "only dense tensors on the cpu are exported by DLPack");
  FB_CHECK(!t.is_conj() && !t.is_neg(), "a lazily conjugated or negated tensor cannot be exported by DLPack; use resolve_conj()");
  if (PyObject_IsTrue(args[1]) != 1) return export_as<DLManaged>(t, kFresh);
  PyObject* c = export_as<DLVersioned>(t, kFreshV);
  if (c) static_cast<DLVersioned*>(PyCapsule_GetPointer(c, kFreshV))->major = 1;
  return c;
  FB_PY_END(nullptr)
}

template <class M> void release(void* p) {
  auto* m = static_cast<M*>(p);
  if (m->deleter) {
    // The other library may run Python code.
    if (Py_IsInitialized()) {
      GilHold gil;
      m->deleter(m);
    } else {
      m->deleter(m);
    }
  }
}

template <class M> PyObject* take(PyObject* capsule, M* m, const char* used) {
  const DLTensor& d = m->tensor;
  FB_CHECK(d.device.type == kCpu || d.device.type == kCudaHost, "a DLPack capsule of memory on device type ", int64_t(d.device.type),
           " cannot be read; only memory of the cpu can");
  FB_CHECK(d.ndim >= 0 && d.ndim < 256, "a DLPack capsule with ", int64_t(d.ndim), " dimensions");
  const DType dtype = from_dl(d.dtype);
  Dims sizes, strides;
  int64_t step = 1;
  for (int i = 0; i < d.ndim; ++i) {
    FB_CHECK(d.shape[i] >= 0, "a DLPack capsule of size ", d.shape[i], " in dimension ", int64_t(i));
    sizes.push_back(d.shape[i]);
    strides.push_back(d.strides ? d.strides[i] : 0);
    FB_CHECK(strides[i] >= 0 || sizes[i] < 2, "a DLPack capsule with the negative stride ", strides[i], "; copy the array first");
    if (strides[i] < 0) strides[i] = 1;
  }
  for (int i = d.ndim - 1; i >= 0 && !d.strides; --i) {
    strides[i] = step;
    step *= sizes[i] > 1 ? sizes[i] : 1;
  }
  const size_t bytes = storage_bytes(sizes, strides, 0, item_size(dtype));
  auto* data = static_cast<char*>(d.data) + d.byte_offset;
  Tensor t = Tensor::over(Storage::foreign(data, bytes, Device(), release<M>, m), dtype, sizes, strides, 0);
  checked(PyCapsule_SetName(capsule, used));
  return wrap(t);
}

// _from_dlpack(capsule) -> Tensor over the same memory, which the capsule gives up.
PyObject* from_dlpack(PyObject*, PyObject* c) {
  FB_PY_BEGIN
  if (PyCapsule_IsValid(c, kFresh)) return take(c, static_cast<DLManaged*>(PyCapsule_GetPointer(c, kFresh)), kUsed);
  if (PyCapsule_IsValid(c, kFreshV)) {
    auto* m = static_cast<DLVersioned*>(PyCapsule_GetPointer(c, kFreshV));
    FB_CHECK(m->major == 1, "a DLPack capsule of version ", int64_t(m->major), "; version 1 is read");
    return take(c, m, kUsedV);
  }
  if (PyCapsule_IsValid(c, kUsed) || PyCapsule_IsValid(c, kUsedV))
    raise_runtime("a DLPack capsule can be taken over once, and this one was");
  raise_runtime("from_dlpack takes a DLPack capsule, not ", Py_TYPE(c)->tp_name);
  FB_PY_END(nullptr)
}

PyMethodDef functions[] = {
    {"_to_dlpack", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(to_dlpack)), METH_FASTCALL, nullptr},
    {"_from_dlpack", from_dlpack, METH_O, nullptr},
    {}};

}  // namespace

void init_dlpack(PyObject* m) { checked(PyModule_AddFunctions(m, functions)); }

}  // namespace fb::py
