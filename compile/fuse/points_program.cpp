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
  std::vector<Id> base, step, numbers;   // [operand]: of the row; along it
  Id at = tile::kNone;                   // the tile's first element

  Points(const KernelForm& f, tile::Builder& b) : Evaluator(*f.nest, b), f(f) {}

  Id address(int operand) { return b.ramp(b.apply(Op::add, base[size_t(operand)], b.apply(Op::mul, at, step[size_t(operand)])), step[size_t(operand)], f.lanes); }
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
      if (kind == 'o') return b.load(first, e);
      return b.load(b.ramp(b.apply(Op::add, first, b.apply(Op::mul, at, step[size_t(s.operand)])), step[size_t(s.operand)], f.lanes), e);
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
    if (s.kind == Stmt::number) return numbers[size_t(s.operand)];
    return Evaluator::special(s);
  }
};

}  // namespace

tile::Program points_program(const KernelForm& f) {
  tile::Program p;
  p.name = f.nest->name;
  tile::Builder b(p);
  Points e(f, b);
  const Nest& n = *f.nest;
  const int rank = f.kept.rank();
  const Id from = b.parameter("from", tile::Elem::i64), to = b.parameter("to", tile::Elem::i64), chunk = b.parameter("chunk", tile::Elem::i64);
  std::vector<Id> size, base;
  std::vector<std::vector<Id>> stride;
  for (int d = 0; d < rank; ++d) size.push_back(b.parameter("size", tile::Elem::i64));
  for (size_t o = 0; o < n.operands.size(); ++o) {
    base.push_back(b.parameter("operand", tile::Elem::address));
    stride.emplace_back();
    for (int d = 0; d < rank; ++d) {
      const char kind = d ? 's' : f.dense[o];
      stride.back().push_back(kind == 's' ? b.parameter("stride", tile::Elem::i64)
                                          : b.integer(kind == 'd' ? tile::bytes_of(n.operands[o].stored) : 0));
    }
    e.step.push_back(stride.back()[0]);
  }
  for (const Stmt& s : n.stmts)
    if (s.kind == Stmt::number) e.numbers.push_back(b.parameter("number", s.elem));
  b.loop(from, to, b.integer(1), [&](Id u) {
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
      Id at = base[o];
      for (int d = 1; d < rank; ++d) at = b.apply(Op::add, at, b.apply(Op::mul, index[size_t(d) - 1], stride[o][size_t(d)]));
      e.base.push_back(at);
    }
    const auto outside = e.mark();
    for (size_t s = 0; s < n.stmts.size(); ++s)   // what the row has one of
      if (n.stmts[s].kind == Stmt::load && f.dense[size_t(n.stmts[s].operand)] == 'o') e.value(int(s));
    b.loop(lo, hi, b.integer(f.lanes), [&](Id t) {
      e.at = f.lanes == 1 ? t : b.apply(Op::min, t, b.apply(Op::sub, size[0], b.integer(f.lanes)));
      const auto row_wide = e.mark();
      for (const NestOutput& o : n.outputs) {
        e.store(o.operand, b.convert(b.splat(e.value(o.stmt), f.lanes), n.operands[size_t(o.operand)].stored));
      }
      e.release(row_wide);
    });
    e.release(outside);
  });
  return p;
}

}  // namespace fb::compile
