// One argument of an operator call: a tagged word that borrows what it points to.
// Every call, from Python, C++ or a graph, is an array of these in schema order; see dispatch/box.h.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace fb {

class Generator;

enum class Tag : uint8_t {
  none, tensor, integer, floating, boolean, complex, string, dtype, device, layout, memory_format, generator,
  ints, doubles, bools, tensors, scalars,
};

using TensorSpan = Span<Tensor>;

struct Value {
  Tag tag = Tag::none;
  uint32_t len = 0;  // of lists and strings
  union {
    int64_t i = 0;
    double d;
    TensorImpl* t;
    const int64_t* ints;
    const double* doubles;
    const bool* bools;
    const Tensor* tensors;
    const Scalar* scalars;
    const char* str;
    Generator* gen;
    struct { double re, im; } c;
  };
  Value() {}
  Value(const Tensor& x) : tag(x.defined() ? Tag::tensor : Tag::none) { t = x.impl(); }
  Value(int64_t v) : tag(Tag::integer) { i = v; }
  Value(int v) : Value(int64_t(v)) {}
  Value(double v) : tag(Tag::floating) { d = v; }
  Value(bool v) : tag(Tag::boolean) { i = v; }
  Value(cdouble v) : tag(Tag::complex) { c = {v.re, v.im}; }
  Value(const Scalar& s) {
    if (s.is_complex()) *this = Value(s.to_complex());
    else if (s.is_floating()) *this = Value(s.to_double());
    else if (s.is_boolean()) *this = Value(s.to_bool());
    else *this = Value(s.to_int());
    if (s.kind() == Scalar::Kind::unsigned_integer) len = 1;
  }
  Value(std::string_view s) : tag(Tag::string), len(uint32_t(s.size())) { str = s.data(); }
  Value(const char* s) : Value(std::string_view(s)) {}
  Value(DType v) : tag(v == DType::none ? Tag::none : Tag::dtype) { i = int64_t(v); }
  Value(Device v) : tag(Tag::device) { i = int64_t(v.type) | int64_t(uint8_t(v.index)) << 8; }
  Value(Layout v) : tag(Tag::layout) { i = int64_t(v); }
  Value(MemoryFormat v) : tag(Tag::memory_format) { i = int64_t(v); }
  Value(Generator* g) : tag(g ? Tag::generator : Tag::none) { gen = g; }
  Value(Ints v) : tag(Tag::ints), len(uint32_t(v.n)) { ints = v.p; }
  Value(const Dims& v) : Value(v.span()) {}
  Value(Span<double> v) : tag(Tag::doubles), len(uint32_t(v.n)) { doubles = v.p; }
  Value(Span<bool> v) : tag(Tag::bools), len(uint32_t(v.n)) { bools = v.p; }
  Value(TensorSpan v) : tag(Tag::tensors), len(uint32_t(v.n)) { tensors = v.p; }
  Value(const std::vector<Tensor>& v) : Value(TensorSpan(v.data(), int64_t(v.size()))) {}
  Value(Span<Scalar> v) : tag(Tag::scalars), len(uint32_t(v.n)) { scalars = v.p; }
  Value(std::nullopt_t) {}
  template <class T> Value(const std::optional<T>& v) {
    if (v) *this = Value(*v);
  }

  bool is_none() const { return tag == Tag::none; }
  bool is_number() const {
    return tag == Tag::integer || tag == Tag::floating || tag == Tag::boolean || tag == Tag::complex;
  }
  const Tensor& tensor() const { return reinterpret_cast<const Tensor&>(t); }
  Scalar scalar() const {
    switch (tag) {
      case Tag::floating: return Scalar(d);
      case Tag::boolean: return Scalar(i != 0);
      case Tag::complex: return Scalar(cdouble(c.re, c.im));
      default: return len ? Scalar(uint64_t(i)) : Scalar(i);
    }
  }
  int64_t integer() const { return tag == Tag::floating ? int64_t(d) : i; }
  double floating() const { return tag == Tag::floating ? d : tag == Tag::complex ? c.re : double(i); }
  bool boolean() const { return tag == Tag::floating ? d != 0 : i != 0; }
  Ints int_list() const { return {ints, int64_t(len)}; }
  TensorSpan tensor_list() const { return {tensors, int64_t(len)}; }
  std::string_view string() const { return {str, len}; }
  DType dtype() const { return tag == Tag::dtype ? DType(i) : DType::none; }
  Device device() const { return {DeviceType(i & 0xff), int8_t(i >> 8)}; }
};
static_assert(sizeof(Tensor) == sizeof(TensorImpl*));

// What a call gives back: up to four tensors inline, or a list, or one plain value.
class Results {
 public:
  Results() = default;
  Results(const Results&) = delete;
  ~Results() = default;
  int size() const { return many_.empty() ? n_ : int(many_.size()); }
  Tensor& operator[](int i) { return many_.empty() ? few_[i] : many_[size_t(i)]; }
  const Tensor& operator[](int i) const { return many_.empty() ? few_[i] : many_[size_t(i)]; }
  void push(Tensor t) {
    if (many_.empty() && n_ < 4) few_[n_++] = std::move(t);
    else {
      if (many_.empty())
        for (int i = 0; i < n_; ++i) many_.push_back(std::move(few_[i]));
      many_.push_back(std::move(t));
    }
  }
  void set_list(std::vector<Tensor> v) {
    is_list = true;
    many_ = std::move(v);
    n_ = 0;
  }
  void clear() {
    for (int i = 0; i < n_; ++i) few_[i] = Tensor();
    n_ = 0;
    many_.clear();
    is_list = false;
    value = Value();
  }
  bool is_list = false;
  Value value;  // where the schema returns something other than tensors

 private:
  Tensor few_[4];
  int n_ = 0;
  std::vector<Tensor> many_;
};

}  // namespace fb
