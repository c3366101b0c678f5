// The program of a nest without reductions: units are rows along the fastest dimension, or pieces of them. The last tile of
// a row begins early enough to be whole; rows shorter than a tile have a program of one lane.
#include <algorithm>

#include "compile/fuse/evaluator.h"
#include "compile/fuse/kernel_form.h"

namespace fb::compile {
namespace {

using tile::Id;
using tile::Op;

struct Points : Evaluator {
  const KernelForm& f;
  const Parameters p;
  std::vector<Id> base;                  // [operand]: of the row
  Id at = tile::kNone;                   // the tile's first element

  Points(const KernelForm& f, tile::Builder& b) : Evaluator(*f.nest, b), f(f), p(parameters_of(f, b)) {}

  Id from(Id first, int operand) { return b.ramp(b.apply(Op::add, first, b.apply(Op::mul, at, p.across[size_t(operand)])), p.across[size_t(operand)], f.lanes); }
  Id address(int operand) { return from(base[size_t(operand)], operand); }
  // Past the cache only whole aligned tiles are stored: not the last one of a row, nor rows that begin between them.
  void store(int operand, Id v) {
    const Id to = address(operand);
    if (!f.past_cache) return b.store(to, v);
    const int bytes = f.lanes * tile::bytes_of(nest.operands[size_t(operand)].stored);
    const Id first = b.bitcast(b.program()[to].in[0], tile::Elem::i64);
    const Id off = b.apply(Op::ne, b.apply(Op::bit_and, first, b.integer(std::min(bytes, 32) - 1)), b.integer(0));
    b.when(b.apply(Op::bit_not, off), [&] { b.store_past_cache(to, v); });
    b.when(off, [&] { b.store(to, v); });
  }
  Id load_moved(const Stmt& s, Id moved) override {
    const tile::Elem e = nest.operands[size_t(s.operand)].stored;
    const char kind = f.dense[size_t(s.operand)];
    if (b.type(moved).lanes == 1) {
      const Id first = b.apply(Op::add, base[size_t(s.operand)], moved);
      return b.load(kind == 'o' ? first : from(first, s.operand), e);
    }
    if (kind == 'o') return b.load(b.apply(Op::add, b.splat(base[size_t(s.operand)], f.lanes), moved), e);
    return b.load(b.apply(Op::add, address(s.operand), moved), e);
  }
  Id load(const Stmt& s) override {
    const tile::Elem e = nest.operands[size_t(s.operand)].stored;
    if (f.dense[size_t(s.operand)] == 'o') return b.load(base[size_t(s.operand)], e);
    return b.load(address(s.operand), e);
  }
  Id special(const Stmt& s) override {
    if (s.kind == Stmt::number) return p.numbers[size_t(s.operand)];
    return Evaluator::special(s);
  }
};

}  // namespace

tile::Program points_program(const KernelForm& f) {
  tile::Program program;
  program.name = f.nest->name;
  tile::Builder b(program);
  Points e(f, b);
  const Nest& n = *f.nest;
  const int rank = f.kept.rank();
  const std::vector<Id>& size = e.p.size;
  const Id chunk = e.p.extent;
  b.loop(e.p.from, e.p.to, b.integer(1), [&](Id u) {
    Id lo = b.integer(0), hi = size[0], row = u;
    if (rank == 1 || f.split) {
      Id piece = u;
      if (rank > 1) {
        const Id per = b.apply(Op::div, b.apply(Op::add, size[0], b.apply(Op::sub, chunk, b.integer(1))), chunk);
        piece = b.apply(Op::rem, u, per);
        row = b.apply(Op::div, u, per);
      }
      lo = b.apply(Op::mul, piece, chunk);
      hi = b.apply(Op::min, size[0], b.apply(Op::add, lo, chunk));
    }
    std::vector<Id> index;
    for (int d = 1; d < rank; ++d) {
      index.push_back(d + 1 < rank ? b.apply(Op::rem, row, size[size_t(d)]) : row);
      if (d + 1 < rank) row = b.apply(Op::div, row, size[size_t(d)]);
    }
    e.base.clear();
    for (size_t o = 0; o < n.operands.size(); ++o) {
      Id at = e.p.base[o];
      for (int d = 1; d < rank; ++d) at = b.apply(Op::add, at, b.apply(Op::mul, index[size_t(d) - 1], e.p.stride[o][size_t(d)]));
      e.base.push_back(at);
    }
    const auto outside = e.mark();
    for (size_t s = 0; s < n.stmts.size(); ++s)   // what the row has one of
      if (n.stmts[s].kind == Stmt::load && f.dense[size_t(n.stmts[s].operand)] == 'o') e.value(int(s));
    b.loop(lo, hi, b.integer(f.lanes), [&](Id t) {
      e.at = f.lanes == 1 ? t : b.apply(Op::min, t, b.apply(Op::sub, size[0], b.integer(f.lanes)));
      const auto row_wide = e.mark();
      for (const NestOutput& o : n.outputs) e.store(o.operand, b.convert(b.splat(e.value(o.stmt), f.lanes), n.operands[size_t(o.operand)].stored));
      e.release(row_wide);
    });
    e.release(outside);
  });
  return program;
}

}  // namespace fb::compile
