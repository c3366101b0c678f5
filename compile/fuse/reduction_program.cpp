// The programs of a nest with reductions: the tree of ops/reduce/tree.h over any strides. Lanes of the tree are lanes of a
// tile, or rows of tiles where neighbours in memory are outputs; blocks, runs and the tree of blocks are loops. Pass p of a
// nest is the loop over elements in which everything of phase p is known: it feeds folds, and stores elements.
#include <algorithm>

#include "compile/fuse/evaluator.h"
#include "compile/fuse/kernel_form.h"
#include "ops/reduce/tree.h"

namespace fb::compile {
namespace {

using tile::Elem;
using tile::Id;
using tile::kNone;
using tile::Op;

class Writer : public Evaluator {
 public:
  Writer(const KernelForm& f, tile::Builder& b) : Evaluator(*f.nest, b), f_(f), across_(f.part == Part::across) {
    from_ = word("from");
    to_ = word("to");
    scratch_ = b.parameter("scratch", Elem::address);
    partial_ = b.parameter("partial", Elem::address);
    blocks_ = word("blocks");
    outer_n_ = word("outer");
    inner_n_ = word("inner");
    for (auto [axes, sizes] : {std::pair{&f.kept, &kept_}, std::pair{&f.outer, &outer_}, std::pair{&f.inner, &inner_}})
      for (int d = 0; d < axes->rank(); ++d) sizes->push_back(word("size"));
    for (const NestOperand& o : nest.operands) {
      Reach r;
      r.base = b.parameter("operand", Elem::address);
      for (int d = 0; d < f.kept.rank(); ++d) r.kept.push_back(word("stride"));
      if (o.level == Level::element) {
        for (int d = 0; d < f.outer.rank(); ++d) r.outer.push_back(word("stride"));
        for (int d = 0; d < f.inner.rank(); ++d) r.inner.push_back(word("stride"));
      }
      reach_.push_back(std::move(r));
    }
    for (size_t s = 0; s < nest.stmts.size(); ++s)
      if (nest.stmts[s].kind == Stmt::fold) folds_.push_back(int(s));
    if (f.part == Part::blocks || f.part == Part::tree)
      for (size_t i = 0; i < folds_.size(); ++i) saved_.push_back(b.parameter("saved", Elem::address));
    for (const Stmt& s : nest.stmts)
      if (s.kind == Stmt::number) numbers_.push_back(b.parameter("number", s.elem));
  }

  void write() {
    const auto before = mark();
    b.loop(from_, to_, number(1), [&](Id u) {
      unit(u);
      release(before);
    });
  }

 private:
  struct Reach {
    Id base;
    std::vector<Id> kept, outer, inner;
  };
  Id word(const char* name) { return b.parameter(name, Elem::i64); }
  Id number(int64_t v) { return b.integer(v); }
  Id add(Id a, Id c) { return b.apply(Op::add, a, c); }
  Id mul(Id a, Id c) { return b.apply(Op::mul, a, c); }
  Id element(Id base, Id i, Elem e) { return add(base, mul(i, number(tile::bytes_of(e)))); }

  // ---- where elements lie ----
  // The index along each dimension of row-major element i, a scalar or a tile.
  std::vector<Id> indices(const std::vector<Id>& sizes, Id i) {
    std::vector<Id> at(sizes.size());
    for (size_t d = sizes.size(); d-- > 0;) {
      at[d] = d ? b.apply(Op::rem, i, sizes[d]) : i;
      if (d) i = b.apply(Op::div, i, sizes[d]);
    }
    return at;
  }
  Id offset(const std::vector<Id>& index, const std::vector<Id>& strides) {
    Id sum = kNone;
    for (size_t d = 0; d < index.size(); ++d) {
      const Id one = mul(index[d], strides[d]);
      sum = sum == kNone ? one : add(sum, one);
    }
    return sum == kNone ? number(0) : sum;
  }
  void enter_kept(Id k) {
    const auto at = indices(kept_, k);
    of_kept_.clear();
    for (const Reach& r : reach_) of_kept_.push_back(add(r.base, offset(at, r.kept)));
  }
  void enter_outer(Id o) {
    const auto at = indices(outer_, o);
    of_outer_.clear();
    for (size_t i = 0; i < reach_.size(); ++i)
      of_outer_.push_back(nest.operands[i].level == Level::element ? add(of_kept_[i], offset(at, reach_[i].outer)) : of_kept_[i]);
  }
  // Row r of the inner run: neighbours along its last dimension.
  void enter_row(Id row) {
    const auto at = indices({inner_.begin(), inner_.end() - 1}, row);
    of_row_ = of_outer_;
    for (size_t i = 0; i < reach_.size(); ++i)
      if (nest.operands[i].level == Level::element) of_row_[i] = add(of_outer_[i], offset(at, reach_[i].inner));
  }
  // The addresses of the tile at hand: elements i .. i + 31 of the inner run, or element i of kColumns neighbouring outputs.
  // Of an operand whose elements along the tile are one: its address.
  Id address(int o) {
    const Reach& r = reach_[size_t(o)];
    const Elem e = nest.operands[size_t(o)].stored;
    const char kind = f_.dense[size_t(o)];
    const bool dense = kind == 'd' || kind == 'j';
    if (nest.operands[size_t(o)].level != Level::element) return kept_address(o);
    if (across_) {
      const Id at = add(of_outer_[size_t(o)], offset(indices(inner_, i_), r.inner));
      return b.ramp(at, dense ? number(tile::bytes_of(e)) : r.kept.back(), kColumns);
    }
    if (r.inner.empty()) return b.ramp(of_outer_[size_t(o)], number(0), tree::lanes);
    const Id step = dense ? number(tile::bytes_of(e)) : r.inner.back();
    auto from = [&](Id at) { return kind == 'o' ? at : b.ramp(at, step, width()); };
    if (column_ != kNone) return from(kind == 'o' ? of_row_[size_t(o)] : add(of_row_[size_t(o)], mul(column_, step)));
    if (r.inner.size() == 1 || kind == 'j' || kind == 'l') return from(add(of_outer_[size_t(o)], mul(i_, step)));
    if (f_.even) {   // the tile is part of a row
      if (tile_index_.empty()) tile_index_ = indices(inner_, i_);
      return from(add(of_outer_[size_t(o)], offset(tile_index_, r.inner)));
    }
    if (tile_index_.empty()) tile_index_ = indices(inner_, b.ramp(i_, number(1), tree::lanes));
    return add(b.splat(of_outer_[size_t(o)], tree::lanes), offset(tile_index_, r.inner));
  }
  Id kept_address(int o) {
    if (!across_) return of_kept_[size_t(o)];
    const Id step = f_.dense[size_t(o)] == 'd' ? number(tile::bytes_of(nest.operands[size_t(o)].stored)) : reach_[size_t(o)].kept.back();
    return b.ramp(of_kept_[size_t(o)], step, kColumns);
  }
  int width() const { return across_ ? kColumns : column_ != kNone ? f_.lanes : tree::lanes; }

  Id load(const Stmt& s) override {
    const Elem e = nest.operands[size_t(s.operand)].stored;
    if (s.level != Level::element) return b.load(kept_address(s.operand), e);
    return load_there(address(s.operand), e);
  }
  // Of the lanes that are there.
  Id load_there(Id at, Elem e) {
    if (there_ == kNone || b.type(at).lanes == 1) return b.load(at, e);
    return b.load(at, e, there_, b.convert(b.constant_bits(Elem::i32, 0), e));
  }
  Id load_moved(const Stmt& s, Id moved) override {
    const Elem e = nest.operands[size_t(s.operand)].stored;
    Id at;
    if (b.type(moved).lanes == 1) {   // neighbours stay neighbours
      auto& base = column_ != kNone ? of_row_ : of_outer_;   // that address() begins from
      const Id before = base[size_t(s.operand)];
      base[size_t(s.operand)] = add(before, moved);
      at = address(s.operand);
      base[size_t(s.operand)] = before;
    } else at = add(b.splat(address(s.operand), width()), moved);
    return load_there(at, e);
  }
  Id special(const Stmt& s) override {
    if (s.kind == Stmt::number) return numbers_[size_t(s.operand)];
    if (s.kind == Stmt::index) {
      const Id first = add(mul(o_, inner_n_), i_);
      return across_ ? first : b.ramp(first, number(1), width());
    }
    return Evaluator::special(s);
  }

  // ---- passes ----
  std::vector<int> folds_of(int pass) const {
    std::vector<int> r;
    for (int s : folds_)
      if (nest.stmts[size_t(s)].phase == pass + 1) r.push_back(s);
    return r;
  }
  // Elements are stored in the first pass that knows them.
  std::vector<NestOutput> stores_of(int pass) const {
    std::vector<NestOutput> r;
    for (const NestOutput& o : nest.outputs)
      if (nest.operands[size_t(o.operand)].level == Level::element && nest.stmts[size_t(o.stmt)].phase == pass) r.push_back(o);
    return r;
  }
  std::vector<int> keeps_of(int pass) const {
    std::vector<int> r;
    for (int s : f_.cached)
      if (nest.stmts[size_t(s)].phase == pass) r.push_back(s);
    return r;
  }
  bool needed(int pass) const { return !folds_of(pass).empty() || !stores_of(pass).empty() || !keeps_of(pass).empty(); }

  // What is known of an output before the loop of `pass`, evaluated outside of it.
  void know_kept(int pass) {
    for (size_t s = 0; s < nest.stmts.size(); ++s) {
      const Stmt& st = nest.stmts[s];
      if (st.level == Level::element || st.kind == Stmt::fold || st.phase > pass || known(int(s))) continue;
      value(int(s));
    }
  }
  void store_kept(int pass) {  // what became known before `pass`
    for (const NestOutput& o : nest.outputs) {
      const NestOperand& to = nest.operands[size_t(o.operand)];
      if (to.level != Level::kept || nest.stmts[size_t(o.stmt)].phase != pass) continue;
      b.store(kept_address(o.operand), b.convert(across_ ? b.splat(value(o.stmt), kColumns) : value(o.stmt), to.stored));
    }
  }

  Id cache_address(int s) {
    // One row for each kept statement, as long as the elements of one output; across: kColumns of them side by side.
    Id row = scratch_;
    for (int c : f_.cached) {
      if (c == s) break;
      row = add(row, mul(row_length(), number(tile::bytes_of(nest.stmts[size_t(c)].elem))));
    }
    const Elem e = nest.stmts[size_t(s)].elem;
    Id at = across_ ? mul(add(mul(o_, inner_n_), i_), number(kColumns)) : add(mul(o_, padded()), i_);
    return b.ramp(add(row, mul(at, number(tile::bytes_of(e)))), number(tile::bytes_of(e)), width());
  }
  Id padded() { return mul(b.apply(Op::div, add(inner_n_, number(tree::lanes - 1)), number(tree::lanes)), number(tree::lanes)); }
  Id row_length() { return across_ ? mul(mul(outer_n_, inner_n_), number(kColumns)) : mul(outer_n_, padded()); }

  struct Extent {
    Id o0, o1, i0, i1;  // outer indices, and elements of their inner runs
  };
  Extent extent(Id block) {
    if (f_.one_block) return {number(0), outer_n_, number(0), inner_n_};
    if (f_.long_runs) {
      const Id per = b.apply(Op::div, add(inner_n_, number(tree::block - 1)), number(tree::block));
      const Id i0 = mul(b.apply(Op::rem, block, per), number(tree::block));
      const Id o0 = b.apply(Op::div, block, per);
      return {o0, add(o0, number(1)), i0, b.apply(Op::min, inner_n_, add(i0, number(tree::block)))};
    }
    const Id runs = b.apply(Op::div, number(tree::block), b.apply(Op::max, inner_n_, number(1)));
    const Id o0 = mul(block, runs);
    return {o0, b.apply(Op::min, outer_n_, add(o0, runs)), number(0), inner_n_};
  }

  // One tile of the elements: f gets it once all of this pass is evaluated.
  template <class F> void tile_of(int pass, Id o, Id i, Id there, F&& f) {
    const auto before = mark();
    o_ = o;
    i_ = i;
    there_ = there;
    tile_index_.clear();
    for (int s : f_.cached)
      if (nest.stmts[size_t(s)].phase < pass) {
        // The row of scratch has room for whole tiles from its own beginning, not from every row of the run.
        const Elem e = nest.stmts[size_t(s)].elem;
        set(s, column_ == kNone ? b.load(cache_address(s), e) : load_there(cache_address(s), e));
      }
    f();
    for (int s : keeps_of(pass)) b.store(cache_address(s), b.splat(value(s), width()));
    for (const NestOutput& out : stores_of(pass)) {
      const Id v = b.convert(b.splat(value(out.stmt), width()), nest.operands[size_t(out.operand)].stored);
      if (there_ == kNone) b.store(address(out.operand), v);
      else b.store(address(out.operand), v, there_);
    }
    release(before);
    there_ = kNone;
  }
  Id step(int s, Id acc) {
    const Stmt& st = nest.stmts[size_t(s)];
    return st.folding->step(acc, value(st.in[0]), st.in.size() > 1 ? value(st.in[1]) : kNone);
  }
  // A pass that folds nothing may take its elements in any order: row by row of the inner run, along which every operand has
  // one step. What it stores is new memory: the last tile of a row begins early enough to be whole.
  void pass_rows(int pass) {
    auto run = [&](Id o) {
      enter_outer(o);
      const Id length = inner_.back(), step = number(f_.lanes), last = b.apply(Op::sub, length, step);
      b.loop(number(0), b.apply(Op::div, inner_n_, length), number(1), [&](Id r) {
        enter_row(r);
        b.loop(number(0), length, step, [&](Id j) { row_tile(pass, o, mul(r, length), f_.even ? j : b.apply(Op::min, j, last), kNone); });
      });
    };
    if (f_.outer.rank() == 0) run(number(0));
    else b.loop(number(0), outer_n_, number(1), run);
  }
  // The same of elements i0 .. i1 of run o alone: others belong to other threads.
  void rows(int pass, Id o, Id i0, Id i1) {
    enter_outer(o);
    const Id length = inner_.back(), step = number(f_.lanes), none = number(0);
    b.loop(b.apply(Op::div, i0, length), b.apply(Op::div, add(i1, b.apply(Op::sub, length, number(1))), length), number(1), [&](Id r) {
      enter_row(r);
      const Id first = mul(r, length);
      const Id j0 = b.apply(Op::max, none, b.apply(Op::sub, i0, first)), j1 = b.apply(Op::min, length, b.apply(Op::sub, i1, first));
      const Id whole = f_.even ? j1 : add(j0, mul(b.apply(Op::div, b.apply(Op::sub, j1, j0), step), step));
      b.loop(j0, whole, step, [&](Id j) { row_tile(pass, o, first, j, kNone); });
      if (!f_.even) b.loop(whole, j1, step, [&](Id j) { row_tile(pass, o, first, j, b.apply(Op::lt, b.ramp(j, number(1), f_.lanes), j1)); });
    });
  }
  void row_tile(int pass, Id o, Id first, Id column, Id there) {
    column_ = column;
    tile_of(pass, o, add(first, column), there, [] {});
    column_ = kNone;
  }
  // Block `block` of the output at hand in pass `pass`: what each of its folds makes of it.
  std::vector<Id> folded_block(int pass, const std::vector<int>& folds, Id block) {
    const auto [o0, o1, i0, i1] = extent(block);
    std::vector<Id> lanes;
    if (folds.empty() && f_.inner.rank() > 1) {
      if (f_.outer.rank() == 0 && (f_.one_block || f_.long_runs)) rows(pass, f_.one_block ? number(0) : o0, i0, i1);
      else b.loop(o0, o1, number(1), [&, i0 = i0, i1 = i1](Id o) { rows(pass, o, i0, i1); });
      return lanes;
    }
    for (int s : folds) lanes.push_back(b.splat(nest.stmts[size_t(s)].folding->identity(), tree::lanes));
    const Id thirty_two = number(tree::lanes);
    const Id whole = f_.exact ? i1 : add(i0, mul(b.apply(Op::div, b.apply(Op::sub, i1, i0), thirty_two), thirty_two));
    auto runs = [&, i0 = i0, i1 = i1](Id o, std::vector<Id>& acc) {
      enter_outer(o);
      b.loop(i0, whole, thirty_two, acc, [&](Id i, std::vector<Id>& a) {
        tile_of(pass, o, i, kNone, [&] {
          for (size_t k = 0; k < folds.size(); ++k) a[k] = step(folds[k], a[k]);
        });
      });
      if (f_.exact) return;
      b.loop(whole, i1, thirty_two, acc, [&](Id i, std::vector<Id>& a) {
        const Id there = b.apply(Op::lt, b.ramp(i, number(1), tree::lanes), i1);
        tile_of(pass, o, i, there, [&] {
          for (size_t k = 0; k < folds.size(); ++k) a[k] = b.apply(Op::select, there, step(folds[k], a[k]), a[k]);
        });
      });
    };
    if (f_.outer.rank() == 0 && (f_.one_block || f_.long_runs)) runs(f_.one_block ? number(0) : o0, lanes);
    else b.loop(o0, o1, number(1), lanes, runs);
    // Lanes that met nothing hold the identity, which leaves the others' bits as they are.
    for (size_t k = 0; k < folds.size(); ++k)
      while (b.type(lanes[k]).lanes > 1)
        lanes[k] = nest.stmts[size_t(folds[k])].folding->combine(b.apply(Op::low, lanes[k]), b.apply(Op::high, lanes[k]));
    return lanes;
  }
  // Neighbouring blocks, `row` bytes apart from `own` on, in pairs until one is left.
  Id tree_of(const TileFold& fold, Elem e, Id own, int lanes) {
    auto at = [&](Id i) {
      const Id p = add(own, mul(i, number(int64_t(tile::bytes_of(e)) * lanes)));
      return lanes == 1 ? p : b.ramp(p, number(tile::bytes_of(e)), lanes);
    };
    return folded(fold, e, at);
  }
  // The same of blocks that stand eight bytes apart, one value each.
  Id tree_apart(const TileFold& fold, Elem e, Id own) {
    return folded(fold, e, [&](Id i) { return add(own, mul(i, number(8))); });
  }
  template <class At> Id folded(const TileFold& fold, Elem e, At&& at) {
    std::vector<Id> gap{number(1)};
    b.loop(number(0), number(40), number(1), gap, [&](Id, std::vector<Id>& g) {
      const Id twice = mul(g[0], number(2));
      b.loop(number(0), b.apply(Op::sub, blocks_, g[0]), twice, [&](Id i) {
        b.store(at(i), fold.combine(b.load(at(i), e), b.load(at(add(i, g[0])), e)));
      });
      g[0] = twice;
    });
    return b.load(at(number(0)), e);
  }
  Id partial_of(size_t fold, Id first) {  // eight bytes for each value
    return add(partial_, mul(add(mul(number(int64_t(fold)), blocks_), first), number(8)));
  }

  void pass_whole(int pass) {
    const auto folds = folds_of(pass);
    if (folds.empty() && f_.inner.rank() > 1) return pass_rows(pass);
    if (f_.one_block) {
      const auto v = folded_block(pass, folds, number(0));
      for (size_t k = 0; k < folds.size(); ++k) set(folds[k], v[k]);
      return;
    }
    b.loop(number(0), blocks_, number(1), [&](Id block) {
      const auto before = mark();
      const auto v = folded_block(pass, folds, block);
      for (size_t k = 0; k < folds.size(); ++k) {
        const Elem e = nest.stmts[size_t(folds[k])].elem;
        b.store(element(partial_of(k, number(0)), block, e), v[k]);
      }
      release(before);
    });
    for (size_t k = 0; k < folds.size(); ++k) {
      const Stmt& s = nest.stmts[size_t(folds[k])];
      set(folds[k], tree_of(*s.folding, s.elem, partial_of(k, number(0)), 1));
    }
  }

  // The tree over kColumns outputs at once: a lane of the tree is a row of memory, which stays in the first cache; behind
  // the 32 rows of each fold stand its blocks.
  void pass_across(int pass) {
    const auto folds = folds_of(pass);
    const Id zero = number(0), one = number(1);
    auto row_bytes = [&](size_t k) { return int64_t(kColumns) * tile::bytes_of(nest.stmts[size_t(folds[k])].elem); };
    auto lanes_at = [&](size_t k) { return add(partial_, mul(number(int64_t(k) * kColumns * 8), add(blocks_, number(tree::lanes)))); };
    auto blocks_at = [&](size_t k) { return add(lanes_at(k), number(tree::lanes * kColumns * 8)); };
    auto at = [&](size_t k, Id base, Id i) {
      return b.ramp(add(base, mul(i, number(row_bytes(k)))), number(tile::bytes_of(nest.stmts[size_t(folds[k])].elem)), kColumns);
    };
    b.loop(zero, blocks_, one, [&](Id block) {
      const auto before = mark();
      const auto [o0, o1, i0, i1] = extent(block);
      for (size_t k = 0; k < folds.size(); ++k) {
        const Id none = b.splat(nest.stmts[size_t(folds[k])].folding->identity(), kColumns);
        b.loop(zero, number(tree::lanes), one, [&](Id l) { b.store(at(k, lanes_at(k), l), none); });
      }
      b.loop(o0, o1, one, [&, i0 = i0, i1 = i1](Id o) {
        enter_outer(o);
        b.loop(i0, i1, one, [&](Id i) {
          tile_of(pass, o, i, kNone, [&] {
            const Id lane = b.apply(Op::bit_and, b.apply(Op::sub, i, i0), number(tree::lanes - 1));
            for (size_t k = 0; k < folds.size(); ++k) {
              const Id p = at(k, lanes_at(k), lane);
              b.store(p, step(folds[k], b.load(p, nest.stmts[size_t(folds[k])].elem)));
            }
          });
        });
      });
      for (size_t k = 0; k < folds.size(); ++k) {
        const Stmt& s = nest.stmts[size_t(folds[k])];
        std::vector<Id> half{number(tree::lanes / 2)};
        b.loop(zero, number(5), one, half, [&](Id, std::vector<Id>& w) {
          b.loop(zero, w[0], one, [&](Id l) {
            const Id p = at(k, lanes_at(k), l);
            b.store(p, s.folding->combine(b.load(p, s.elem), b.load(at(k, lanes_at(k), add(l, w[0])), s.elem)));
          });
          w[0] = b.apply(Op::div, w[0], number(2));
        });
        b.store(at(k, blocks_at(k), block), b.load(at(k, lanes_at(k), zero), s.elem));
      }
      release(before);
    });
    for (size_t k = 0; k < folds.size(); ++k) {
      const Stmt& s = nest.stmts[size_t(folds[k])];
      set(folds[k], tree_of(*s.folding, s.elem, blocks_at(k), kColumns));
    }
  }

  void unit(Id u) {
    if (f_.part == Part::blocks || f_.part == Part::tree) return shared_unit(u);
    Id k = u;
    if (across_) {  // the last tile begins early enough to be whole
      const Id width = kept_.back();
      const Id tiles = b.apply(Op::div, add(width, number(kColumns - 1)), number(kColumns));
      const Id first = b.apply(Op::min, mul(b.apply(Op::rem, u, tiles), number(kColumns)), b.apply(Op::sub, width, number(kColumns)));
      k = add(mul(b.apply(Op::div, u, tiles), width), first);
    }
    enter_kept(k);
    for (int pass = 0; pass <= f_.last_pass; ++pass) {
      know_kept(pass);
      store_kept(pass);
      if (!needed(pass)) continue;
      if (across_) pass_across(pass);
      else pass_whole(pass);
    }
  }
  // Part::blocks: unit u is a block of an output in one pass. Part::tree: u is an output; its blocks become values.
  void shared_unit(Id u) {
    const Id k = f_.part == Part::tree ? u : b.apply(Op::div, u, blocks_);
    enter_kept(k);
    for (size_t i = 0; i < folds_.size(); ++i) {  // what earlier passes came to
      const Stmt& s = nest.stmts[size_t(folds_[i])];
      if (s.phase <= f_.pass) set(folds_[i], b.load(element(saved_[i], k, s.elem), s.elem));
    }
    know_kept(f_.pass);
    const auto folds = folds_of(f_.pass);
    if (f_.part == Part::blocks) {
      const auto v = folded_block(f_.pass, folds, b.apply(Op::rem, u, blocks_));
      for (size_t i = 0; i < folds.size(); ++i)
        b.store(add(partial_, mul(add(mul(number(int64_t(i)), mul(word_units(), blocks_)), u), number(8))), v[i]);
      return;
    }
    for (size_t i = 0; i < folds.size(); ++i) {
      const Stmt& s = nest.stmts[size_t(folds[i])];
      const Id own = add(partial_, mul(add(mul(number(int64_t(i)), mul(word_units(), blocks_)), mul(k, blocks_)), number(8)));
      // Values of four bytes stand eight apart: the tree takes them as they stand.
      set(folds[i], tree_apart(*s.folding, s.elem, own));
      for (size_t j = 0; j < folds_.size(); ++j)
        if (folds_[j] == folds[i]) b.store(element(saved_[j], k, s.elem), value(folds[i]));
    }
    know_kept(f_.pass + 1);
    if (f_.pass == 0) store_kept(0);
    store_kept(f_.pass + 1);
  }
  // How many outputs there are.
  Id word_units() {
    Id n = number(1);
    for (Id s : kept_) n = mul(n, s);
    return n;
  }

  const KernelForm& f_;
  const bool across_;
  Id from_, to_, scratch_, partial_, blocks_, outer_n_, inner_n_;
  std::vector<Id> kept_, outer_, inner_, saved_, numbers_;
  std::vector<Reach> reach_;
  std::vector<int> folds_;
  std::vector<Id> of_kept_, of_outer_, of_row_, tile_index_;
  Id o_ = kNone, i_ = kNone, there_ = kNone;
  Id column_ = kNone;   // of the tile in its row, where a pass goes by rows
};

}  // namespace

tile::Program reduction_program(const KernelForm& f) {
  tile::Program p;
  p.name = f.nest->name;
  tile::Builder b(p);
  Writer(f, b).write();
  return p;
}

}  // namespace fb::compile
