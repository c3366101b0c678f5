// Writes statements of a nest into a program, each when it is first asked for.
#pragma once
#include <vector>

#include "compile/fuse/nest.h"
#include "compile/tile/builder.h"
#include "core/error.h"

namespace fb::compile {

class Evaluator {
 public:
  Evaluator(const Nest& n, tile::Builder& b) : nest(n), b(b), now_(n.stmts.size(), tile::kNone) {}
  virtual ~Evaluator() = default;

  tile::Id value(int s) {
    if (now_[size_t(s)] == tile::kNone) now_[size_t(s)] = evaluate(s);
    return now_[size_t(s)];
  }
  bool known(int s) const { return now_[size_t(s)] != tile::kNone; }
  void set(int s, tile::Id v) { now_[size_t(s)] = v; }
  // What was evaluated within a region is not known outside: [mark, release).
  std::vector<tile::Id> mark() const { return now_; }
  void release(std::vector<tile::Id> before) { now_ = std::move(before); }

  const Nest& nest;
  tile::Builder& b;

 protected:
  virtual tile::Id load(const Stmt& s) = 0;
  // The tile's element at `moved` bytes, a scalar or a tile, from where it lies.
  virtual tile::Id load_moved(const Stmt& s, tile::Id moved) = 0;
  virtual tile::Id special(const Stmt& s) { raise_runtime("a nest holds a statement that its kernel has no value for"); }

 private:
  tile::Id read(const Stmt& s) {
    const tile::Id i = value(s.in[0]), size = value(s.attrs[0]), zero = b.integer(0);
    const tile::Id bad = b.apply(tile::Op::bit_or, b.apply(tile::Op::lt, i, zero), b.apply(tile::Op::ge, i, size));
    b.raise_if(bad, tile::kBadIndex);
    return load_moved(s, b.apply(tile::Op::mul, b.apply(tile::Op::select, bad, b.splat(zero, b.type(i).lanes), i), value(s.attrs[1])));
  }
  tile::Id evaluate(int at) {
    const Stmt& s = nest.stmts[size_t(at)];
    switch (s.kind) {
      case Stmt::load: return load(s);
      case Stmt::read: return read(s);
      case Stmt::convert: return b.convert(value(s.in[0]), s.elem);
      case Stmt::text: {
        tile::Id in[16], attrs[16];
        for (int64_t i = 0; i < s.in.size(); ++i) in[i] = value(s.in[i]);
        for (int64_t i = 0; i < s.attrs.size(); ++i) attrs[i] = value(s.attrs[i]);
        return b.convert(s.point(in, attrs, s.raw.data()), s.elem);
      }
      default: return special(s);
    }
  }
  std::vector<tile::Id> now_;
};

}  // namespace fb::compile
