#include "dispatch/repeated.h"

#include <algorithm>

#include "dispatch/call.h"
#include "dispatch/thread_state.h"

namespace fb {
namespace {

bool repeats(const Tensor& t, int64_t d) { return t.strides()[d] == 0 && t.sizes()[d] > 1; }

// The part of t, of `like`'s shape, that is at place k of the dimensions that repeat.
Tensor part(Tensor t, const Tensor& like, int64_t k) {
  for (int64_t d = like.ndim(); d-- > 0;) {
    if (!repeats(like, d)) continue;
    t = op<"narrow">(t, d, k % like.sizes()[d], int64_t(1));
    k /= like.sizes()[d];
  }
  return t;
}
int64_t repetitions(const Tensor& t) {
  int64_t n = 1;
  for (int64_t d = 0; d < t.ndim(); ++d)
    if (repeats(t, d)) n *= t.sizes()[d];
  return n;
}

// The places of the dimensions that op's int? dim and those of `to` that repeat name together, of self.
Dims reduced_dims(const Tensor& to, int64_t n, std::optional<int64_t> dim, bool kept) {
  Dims dims;
  int64_t at = 0;  // of the result
  for (int64_t d = 0; d < n; ++d) {
    const bool gone = dim && wrap_dim(*dim, n) == d;
    if (gone || repeats(to, at)) dims.push_back(d);
    at += !gone || kept;
  }
  return dims;
}

// What is left in each place of `to`, of operators where that is neither a reduction of the argument nor the last element: an
// index counts through all that is reduced; a 1 of eye() stays; randperm() fills before it swaps; histc() counts in place.
Tensor left_in_place(const OpEntry& op, const Value* args, const Tensor& to, const Tensor& result) {
  const Schema& s = op.functional->schema;
  const Dims again = repeated_dims(to);
  if (s.name == "argmax" || s.name == "argmin") {
    const Tensor& self = args[0].tensor();
    const int64_t n = self.ndim();
    const Dims dims = reduced_dims(to, n, args[1].integer(), args[2].boolean());
    Dims order, sizes;
    for (int64_t d = 0; d < n; ++d)
      if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d), sizes.push_back(self.sizes()[d]);
    sizes.push_back(-1);
    for (int64_t d : dims) order.push_back(d);
    const Tensor flat = fb::op<"reshape">(fb::op<"permute">(self, order), sizes);
    const Tensor found = s.name == "argmax" ? fb::op<"argmax">(flat, int64_t(-1)) : fb::op<"argmin">(flat, int64_t(-1));
    return fb::op<"reshape">(found, one_of_each(to).sizes());
  }
  if (s.name == "eye") return fb::op<"to.dtype">(fb::op<"any.dims">(fb::op<"ne">(result, int64_t(0)), again, true), result.dtype());
  if (s.name == "randperm") return fb::op<"amax">(result, again, true);
  if (s.name == "histc") return fb::op<"sum">(result, again, true, result.dtype());
  return {};
}

// The result that a reduction has where the dimensions of `to` that repeat are reduced, too, of size 1; undefined for others.
Tensor reduced_further(const OpEntry& op, const Value* args, const Tensor& to, const Tensor& result) {
  const Schema& s = op.functional->schema;
  const int dim = s.find("dim"), keep = s.find("keepdim");
  if (dim < 0 || keep < 0) return {};
  SmallVec<Value, 8> v;
  for (size_t i = 0; i < s.args.size(); ++i) v.push_back(args[i]);
  v[keep] = Value(true);
  if (args[dim].tag == Tag::integer) {  // one dimension at a time
    Tensor t = result;
    for (int64_t d = 0; d < to.ndim(); ++d) {
      if (!repeats(to, d)) continue;
      v[0] = Value(t);
      v[dim] = Value(d);
      Results r;
      op.functional->invoke(*op.functional, v.data(), r);
      t = r[0];
    }
    return t;
  }
  const int64_t n = args[0].tensor().ndim();
  Dims dims;
  uint64_t mask = 0;
  for (int64_t d : args[dim].int_list()) {
    dims.push_back(d);
    mask |= uint64_t(1) << wrap_dim(d, n);
  }
  int64_t at = 0;  // of the result
  for (int64_t d = 0; d < n; ++d) {
    const bool gone = mask >> d & 1;
    if (!gone && repeats(to, at)) dims.push_back(d);
    at += !gone || args[keep].boolean();
  }
  v[dim] = Value(dims);
  Results r;
  op.functional->invoke(*op.functional, v.data(), r);
  return fb::op<"reshape">(r[0], part(to, to, 0).sizes());
}

}  // namespace

Dims repeated_dims(const Tensor& t) {
  Dims dims;
  for (int64_t d = 0; d < t.ndim(); ++d)
    if (repeats(t, d)) dims.push_back(d);
  return dims;
}
Tensor one_of_each(const Tensor& t) { return part(t, t, 0); }
void warn_repeated(const char* name, const Tensor& self) {
  if (has_internal_overlap(self))
    warn(text(name, ": several indices of self, of shape ", self.sizes(), " and strides ", self.strides(), ", share an element; clone it first, if that is not meant"));
}

void write_repeated(const OpEntry& op, const Value* args, const Tensor& to, const Tensor& result) {
  prepare_out(op, to, result.sizes(), result.dtype());
  GradMode no(false);
  Tensor all = left_in_place(op, args, to, result);
  if (!all.defined()) all = reduced_further(op, args, to, result);
  const int64_t last = repetitions(to) - 1;
  op_list<"copy_">(part(to, to, last), all.defined() ? all : part(result, to, last));
}

void write_repeated(const Tensor& self, const Tensor& result, const Tensor& written) {
  GradMode no(false);
  const Tensor place = part(self, self, 0);
  const int64_t n = repetitions(self);
  for (int64_t k = 0; k < n; ++k)
    op_list<"copy_">(place, op<"where">(part(written, self, k), part(result, self, k), place));
}

}  // namespace fb
