// Appends to a program. The current builder of a thread is where the operators of tile/domain.h append.
#pragma once
#include "core/error.h"
#include "compile/tile/ir.h"

namespace fb::tile {

class Builder {
 public:
  explicit Builder(Program& p);   // appends to the body of p; becomes current until it dies
  ~Builder();
  Builder(const Builder&) = delete;
  static Builder& current();

  Program& program() { return p_; }
  Type type(Id v) const { return p_[v].type; }

  Id parameter(const char* name, Elem e);
  Id constant_bits(Elem e, int64_t bits);
  Id integer(int64_t v) { return constant_bits(Elem::i64, v); }
  Id real(Elem e, double v);
  // An operator on lanes, operands splat to the widest; the result has their element, or b1 for comparisons.
  Id apply(Op op, Id a);
  Id apply(Op op, Id a, Id b);
  Id apply(Op op, Id a, Id b, Id c);
  Id splat(Id v, int lanes);
  Id convert(Id v, Elem to);
  Id bitcast(Id v, Elem to);
  Id to_int(Id v);
  Id ramp(Id base, Id step, int lanes);
  Id lookup(const float (&table)[8], Id i);
  Id load(Id address, Elem e, Id mask = kNone, Id other = kNone);
  void store(Id address, Id value, Id mask = kNone);
  void store_past_cache(Id address, Id value);
  Id call(const Named& f, const Id* x, int n);
  Id lanes(Thunk t, Elem result, const Id* x, int n);
  Id patch(Thunk t, Id mask, Id r, const Id* x, int n);
  void raise_if(Id mask, Errors e);
  Id any(Id mask);
  void tell(Thunk t, Id mask, const Id* x, int n);
  Id atomic(Atomic kind, Id address, Id value, Id mask, Id expected = kNone);

  // for (i = from; i < to; i += step) carried = body(i, carried): f gets the index and the carried values, and changes them.
  template <class F> void loop(Id from, Id to, Id step, std::vector<Id>& carried, F&& f) {
    const Id at = open_loop(from, to, step, carried);
    f(index_, carried);
    close_loop(at, carried);
  }
  template <class F> void loop(Id from, Id to, Id step, F&& f) {
    std::vector<Id> none;
    loop(from, to, step, none, [&](Id i, std::vector<Id>&) { f(i); });
  }
  // if (truth) f(): a loop of one round or none.
  template <class F> void when(Id truth, F&& f) {
    loop(integer(0), convert(truth, Elem::i64), integer(1), [&](Id) { f(); });
  }
  // while (carried[0]) carried = body(carried): the first carried value is a b1.
  template <class F> void loop_while(std::vector<Id>& carried, F&& f) {
    const Id at = open_loop(integer(0), integer(INT64_MAX), integer(1), carried);
    p_[at].imm = 1;
    f(carried);
    close_loop(at, carried);
  }
  // An open loop and its end, for callers that write its body between the two; the index is the first result.
  Id open_loop(Id from, Id to, Id step, std::vector<Id>& carried);
  void close_loop(Id loop, std::vector<Id>& carried);
  Id index() const { return index_; }

  Id append(Node n);

 private:
  int same_lanes(Id* v, int n);

  Program& p_;
  Builder* outer_;
  std::vector<int32_t> open_;   // regions
  Id index_ = kNone;
};

}  // namespace fb::tile
