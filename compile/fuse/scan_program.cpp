// The program of a nest with scans: neighbouring lines are the lanes of a tile, which goes along them in one loop that
// carries their states. The last tile of a row of lines begins early enough to be whole.
#include "compile/fuse/evaluator.h"
#include "compile/fuse/kernel_form.h"

namespace fb::compile {
namespace {

using tile::Id;
using tile::kNone;
using tile::Op;

struct Lines : Evaluator {
  const KernelForm& f;
  const Parameters p;
  std::vector<Id> base;                           // [operand]: of the tile's first line
  Id at = kNone;                                  // how far along the lines
  struct State {
    int stmt;
    Id value, place = kNone;
  };
  std::vector<State> states;                      // [chain], before the element at hand, then after it

  Lines(const KernelForm& f, tile::Builder& b) : Evaluator(*f.nest, b), f(f), p(parameters_of(f, b)) {}

  Id first(int operand) { return b.apply(Op::add, base[size_t(operand)], b.apply(Op::mul, at, p.along[size_t(operand)])); }
  Id address(int operand) { return b.ramp(first(operand), p.across[size_t(operand)], f.lanes); }
  Id load(const Stmt& s) override {
    const tile::Elem e = nest.operands[size_t(s.operand)].stored;
    return b.load(f.dense[size_t(s.operand)] == 'o' ? first(s.operand) : address(s.operand), e);
  }
  Id load_moved(const Stmt& s, Id moved) override {
    const tile::Elem e = nest.operands[size_t(s.operand)].stored;
    const bool one = f.dense[size_t(s.operand)] == 'o';
    if (b.type(moved).lanes == 1) {
      const Id from = b.apply(Op::add, first(s.operand), moved);
      return b.load(one ? from : b.ramp(from, p.across[size_t(s.operand)], f.lanes), e);
    }
    return b.load(b.apply(Op::add, one ? b.splat(first(s.operand), f.lanes) : address(s.operand), moved), e);
  }
  State& state_of(int stmt) {
    for (State& s : states)
      if (s.stmt == stmt) return s;
    raise_runtime("a nest holds a place of no chain");
  }
  Id special(const Stmt& s) override {
    if (s.kind == Stmt::number) return p.numbers[size_t(s.operand)];
    if (s.kind == Stmt::chain) {
      State& state = state_of(int(&s - nest.stmts.data()));
      const Id x = b.splat(value(s.in[0]), f.lanes);
      if (!s.chain_of->places) return state.value = b.splat(s.chain_of->step(state.value, x), f.lanes);
      const Id taken = b.apply(Op::bit_or, s.chain_of->step(state.value, x), b.apply(Op::eq, at, b.integer(0)));
      state.place = b.apply(Op::select, taken, at, state.place);
      return state.value = b.apply(Op::select, taken, x, state.value);
    }
    if (s.kind == Stmt::place) {
      value(s.in[0]);
      return state_of(s.in[0]).place;
    }
    return Evaluator::special(s);
  }
};

}  // namespace

tile::Program scan_program(const KernelForm& f) {
  tile::Program program;
  program.name = f.nest->name;
  tile::Builder b(program);
  Lines e(f, b);
  const Nest& n = *f.nest;
  const int rank = f.kept.rank();
  const std::vector<Id>& size = e.p.size;
  b.loop(e.p.from, e.p.to, b.integer(1), [&](Id u) {
    // The first line of the tile, as an index along each dimension.
    const Id lanes = b.integer(f.lanes), width = size.back();
    const Id tiles = b.apply(Op::div, b.apply(Op::add, width, b.integer(f.lanes - 1)), lanes);
    std::vector<Id> index(static_cast<size_t>(rank));
    index.back() = b.apply(Op::min, b.apply(Op::mul, b.apply(Op::rem, u, tiles), lanes), b.apply(Op::sub, width, lanes));
    Id row = b.apply(Op::div, u, tiles);
    for (size_t d = size_t(rank) - 1; d-- > 0;) {
      index[d] = d ? b.apply(Op::rem, row, size[d]) : row;
      if (d) row = b.apply(Op::div, row, size[d]);
    }
    e.base.clear();
    for (size_t o = 0; o < n.operands.size(); ++o) {
      Id at = e.p.base[o];
      for (size_t d = 0; d < size_t(rank); ++d) at = b.apply(Op::add, at, b.apply(Op::mul, index[d], e.p.stride[o][d]));
      e.base.push_back(at);
    }
    e.states.clear();
    std::vector<Id> carried;
    for (size_t s = 0; s < n.stmts.size(); ++s) {
      const Stmt& st = n.stmts[s];
      if (st.kind != Stmt::chain) continue;
      e.states.push_back({int(s), kNone});
      carried.push_back(b.splat(st.chain_of->start(), f.lanes));
      if (st.chain_of->places) carried.push_back(b.splat(b.integer(0), f.lanes));
    }
    const auto outside = e.mark();
    b.loop(b.integer(0), e.p.extent, b.integer(1), carried, [&](Id k, std::vector<Id>& c) {
      e.at = k;
      size_t i = 0;
      for (auto& s : e.states) {
        s.value = c[i++];
        if (n.stmts[size_t(s.stmt)].chain_of->places) s.place = c[i++];
      }
      for (const NestOutput& o : n.outputs)
        b.store(e.address(o.operand), b.convert(b.splat(e.value(o.stmt), f.lanes), n.operands[size_t(o.operand)].stored));
      i = 0;
      for (const auto& s : e.states) {
        c[i++] = s.value;
        if (n.stmts[size_t(s.stmt)].chain_of->places) c[i++] = s.place;
      }
      e.release(outside);
    });
    e.release(outside);
  });
  return program;
}

}  // namespace fb::compile
