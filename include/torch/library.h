// Operators from outside, in C++:
//   TORCH_LIBRARY(mylib, m) { m.def("scale(Tensor x, float a) -> Tensor"); }
//   TORCH_LIBRARY_IMPL(mylib, CPU, m) { m.impl("scale", &scale); }
// Kernels take Tensor, int64_t, double, bool, Scalar, std::string, vectors of these, and std::optional of them, in schema
// order, and return Tensor, numbers, std::vector<Tensor>, std::tuple of these, or nothing. A boxed kernel is a
// `void (*)(const torch::OperatorHandle&, const torch::Value* args, torch::Results& out)`.
// What goes wrong while a library loads is reported by torch.ops.load_library, which raises RuntimeError.
#pragma once
#include <string>
#include <tuple>
#include <vector>

#include "dispatch/box.h"
#include "dispatch/library.h"
#include "dispatch/library_load.h"

namespace torch {

using fb::Generator;
using fb::Results;
using fb::Scalar;
using fb::Tensor;
using fb::Value;
using OperatorHandle = fb::OpEntry;
using BoxedKernel = void (*)(const OperatorHandle& op, const Value* args, Results& out);

namespace detail {

// The word of a schema for a C++ type.
template <class T> struct TypeWord;
template <> struct TypeWord<Tensor> { static constexpr const char* text = "Tensor"; };
template <> struct TypeWord<int64_t> { static constexpr const char* text = "int"; };
template <> struct TypeWord<double> { static constexpr const char* text = "float"; };
template <> struct TypeWord<bool> { static constexpr const char* text = "bool"; };
template <> struct TypeWord<Scalar> { static constexpr const char* text = "Scalar"; };
template <> struct TypeWord<std::string> { static constexpr const char* text = "str"; };
template <> struct TypeWord<std::string_view> { static constexpr const char* text = "str"; };
template <> struct TypeWord<fb::DType> { static constexpr const char* text = "ScalarType"; };
template <> struct TypeWord<fb::Device> { static constexpr const char* text = "Device"; };
template <> struct TypeWord<std::vector<Tensor>> { static constexpr const char* text = "Tensor[]"; };
template <> struct TypeWord<fb::TensorSpan> { static constexpr const char* text = "Tensor[]"; };
template <> struct TypeWord<std::vector<int64_t>> { static constexpr const char* text = "int[]"; };
template <> struct TypeWord<fb::Ints> { static constexpr const char* text = "int[]"; };
template <> struct TypeWord<std::vector<double>> { static constexpr const char* text = "float[]"; };
template <class T> struct TypeWord<std::optional<T>> {
  // Made when compiled: blocks run while other statics of the shared object are not there yet.
  static constexpr auto chars = [] {
    constexpr size_t n = std::string_view(TypeWord<T>::text).size();
    std::array<char, n + 2> a{};
    for (size_t i = 0; i < n; ++i) a[i] = TypeWord<T>::text[i];
    a[n] = '?';
    return a;
  }();
  static constexpr const char* text = chars.data();
};

template <class R> struct ReturnWord {
  static std::string text() { return TypeWord<R>::text; }
};
template <> struct ReturnWord<void> {
  static std::string text() { return "()"; }
};
template <class... R> struct ReturnWord<std::tuple<R...>> {
  static std::string text() {
    std::string s;
    ((s += (s.empty() ? "" : ", ") + std::string(TypeWord<R>::text)), ...);
    return "(" + s + ")";
  }
};

// One argument of an unboxed kernel, from the boxed one.
template <class A, class T = fb::plain<A>> struct Argument {
  static decltype(auto) get(const Value& v) { return fb::FromValue<T>::get(v); }
};
template <> struct Argument<Tensor&, Tensor> {
  static Tensor& get(const Value& v) { return const_cast<Tensor&>(v.tensor()); }
};
template <class A> struct Argument<A, std::string> {
  static std::string get(const Value& v) { return std::string(v.string()); }
};
template <class A> struct Argument<A, std::vector<Tensor>> {
  static std::vector<Tensor> get(const Value& v) { return {v.tensors, v.tensors + v.len}; }
};
template <class A> struct Argument<A, std::vector<int64_t>> {
  static std::vector<int64_t> get(const Value& v) { return {v.ints, v.ints + v.len}; }
};
template <class A> struct Argument<A, std::vector<double>> {
  static std::vector<double> get(const Value& v) { return {v.doubles, v.doubles + v.len}; }
};
template <class A, class T> struct Argument<A, std::optional<T>> {
  static std::optional<T> get(const Value& v) {
    if (v.is_none()) return std::nullopt;
    return Argument<T>::get(v);
  }
};

template <class F> struct Unboxed;
template <class R, class... A> struct Unboxed<R (*)(A...)> {
  using Function = R (*)(A...);
  static void run(void* f, const OperatorHandle&, const Value* args, Results& out) { call(reinterpret_cast<Function>(f), args, out, std::index_sequence_for<A...>()); }
  static std::string schema(const std::string& name) {
    std::string s;
    int i = 0;
    ((s += (i ? ", " : "") + std::string(TypeWord<fb::plain<A>>::text) + " _" + std::to_string(i), ++i), ...);
    return name + "(" + s + ") -> " + ReturnWord<fb::plain<R>>::text();
  }

 private:
  template <size_t... I> static void call(Function f, [[maybe_unused]] const Value* args, Results& out, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>) f(Argument<A>::get(args[I])...);
    else if constexpr (requires { std::tuple_size<fb::plain<R>>::value; }) put_all(f(Argument<A>::get(args[I])...), out);
    else {
      fb::plain<R> r = f(Argument<A>::get(args[I])...);
      fb::put_result(out, std::move(r));
    }
  }
  template <class... T> static void put_all(std::tuple<T...>&& t, Results& out) { fb::put_result(out, std::move(t)); }
};

inline void run_boxed(void* f, const OperatorHandle& op, const Value* args, Results& out) { reinterpret_cast<BoxedKernel>(f)(op, args, out); }

}  // namespace detail

// A kernel as m.def and m.impl take it.
class CppFunction {
 public:
  template <class R, class... A> CppFunction(R (*f)(A...)) : kernel_{&detail::Unboxed<R (*)(A...)>::run, reinterpret_cast<void*>(f), nullptr}, schema_(&detail::Unboxed<R (*)(A...)>::schema) {}
  // A lambda without captures.
  template <class F> requires requires(F f) { +f; } && (!std::is_pointer_v<std::decay_t<F>>) CppFunction(F f) : CppFunction(+f) {}
  template <BoxedKernel F> static CppFunction makeFromBoxedFunction() { return CppFunction(fb::LibraryKernel{&detail::run_boxed, reinterpret_cast<void*>(F), nullptr}); }

  const fb::LibraryKernel& kernel() const { return kernel_; }
  // What the C++ types say; empty of a boxed kernel.
  std::string schema(const std::string& name) const { return schema_ ? schema_(name) : std::string(); }

 private:
  explicit CppFunction(fb::LibraryKernel k) : kernel_(k) {}
  fb::LibraryKernel kernel_;
  std::string (*schema_)(const std::string& name) = nullptr;
};

// Registrations for one namespace: the `m` of the macros below.
class Library {
 public:
  enum Kind { DEF, IMPL, FRAGMENT };
  Library(Kind kind, std::string ns, const char* key) : kind_(kind), ns_(std::move(ns)), key_(key) {
    if (kind == DEF) fb::library_namespace(ns_);
  }
  // "name(Tensor x, int n=2) -> Tensor"
  Library& def(const std::string& schema) {
    if (kind_ == IMPL) fb::raise_runtime("TORCH_LIBRARY_IMPL(", ns_, ", ...): m.def(\"", schema, "\") belongs into TORCH_LIBRARY");
    fb::library_define(ns_ + "::" + unqualified(schema));
    return *this;
  }
  // With a kernel for every device. Where only a name is given, the schema is that of the C++ types.
  Library& def(const std::string& schema_or_name, CppFunction f) {
    const bool name_only = schema_or_name.find('(') == std::string::npos;
    const std::string schema = name_only ? f.schema(schema_or_name) : schema_or_name;
    if (schema.empty()) fb::raise_runtime("m.def(\"", schema_or_name, "\"): a boxed kernel does not tell its schema; write it out");
    def(schema);
    const std::string bare = unqualified(schema);
    add(bare.substr(0, bare.find('(')), "CompositeImplicitAutograd", f);
    return *this;
  }
  Library& impl(const std::string& name, CppFunction f) {
    add(unqualified(name), *key_ ? key_ : "CompositeImplicitAutograd", f);
    return *this;
  }

 private:
  std::string unqualified(const std::string& s) const {
    const size_t sep = s.find("::"), paren = s.find('(');
    if (sep == std::string::npos || (paren != std::string::npos && paren < sep)) return s;
    if (s.substr(0, sep) != ns_) fb::raise_runtime("\"", s, "\" is not in namespace ", ns_);
    return s.substr(sep + 2);
  }
  void add(const std::string& name, const char* key, const CppFunction& f) {
    fb::library_impl_named(ns_ == "aten" ? name : ns_ + "::" + name, fb::library_key(key), f.kernel(), f.schema("kernel"));
  }
  Kind kind_;
  std::string ns_;
  const char* key_;
};

namespace detail {
// Runs the block of a macro when the shared object is loaded.
struct LibraryInit {
  LibraryInit(Library::Kind kind, const char* ns, const char* key, void (*block)(Library&)) {
    try {
      Library m(kind, ns, key);
      block(m);
    } catch (const fb::Error& e) {
      fb::library_note_error(e.what());
    } catch (const std::exception& e) {
      fb::library_note_error(e.what());
    }
  }
};
}  // namespace detail
}  // namespace torch

namespace at {
using torch::Scalar;
using torch::Tensor;
}  // namespace at

#define TORCH_LIBRARY_JOIN2(a, b) a##b
#define TORCH_LIBRARY_JOIN(a, b) TORCH_LIBRARY_JOIN2(a, b)
#define TORCH_LIBRARY_BLOCK(kind, ns, key, m, id)                                                                 \
  static void TORCH_LIBRARY_JOIN(torch_library_block_, id)(torch::Library&);                                     \
  static const torch::detail::LibraryInit TORCH_LIBRARY_JOIN(torch_library_init_, id)(                           \
      torch::Library::kind, #ns, key, &TORCH_LIBRARY_JOIN(torch_library_block_, id));                            \
  static void TORCH_LIBRARY_JOIN(torch_library_block_, id)(torch::Library & m)
#define TORCH_LIBRARY(ns, m) TORCH_LIBRARY_BLOCK(DEF, ns, "", m, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(ns, m) TORCH_LIBRARY_BLOCK(FRAGMENT, ns, "", m, __COUNTER__)
#define TORCH_LIBRARY_IMPL(ns, key, m) TORCH_LIBRARY_BLOCK(IMPL, ns, #key, m, __COUNTER__)
#define TORCH_FN(f) (&f)
