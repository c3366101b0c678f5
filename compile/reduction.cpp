// A reduction by machine code: the tree of ops/reduce/tree.h as tile programs, over any strides. Lanes of the tree are lanes
// of a tile; blocks, runs and the tree of blocks are loops. The same program gives the same bits for any share of the work.
#include <algorithm>
#include <cstring>

#include "compile/kernels.h"
#include "compile/tile/builder.h"
#include "compile/tile_card.h"
#include "core/threads.h"
#include "ops/reduce/shape.h"
#include "ops/reduce/tree.h"

namespace fb::compile {
namespace {

using tile::Builder;
using tile::Elem;
using tile::Id;
using tile::Op;

constexpr int64_t kGrain = 1 << 15;   // elements of a share that one thread takes
constexpr int kColumns = 32;          // outputs of a tile, where neighbours in memory are outputs

struct Axes {                         // row-major, neighbours joined; strides in bytes
  Dims sizes, strides;
  int64_t numel = 1;
  void add(int64_t n, int64_t s) {
    numel *= n;
    if (n == 1) return;
    if (!sizes.empty() && strides.back() == s * n) {
      sizes.back() *= n;
      strides.back() = s;
    } else {
      sizes.push_back(n);
      strides.push_back(s);
    }
  }
};
struct Geometry {
  Axes kept, outer, inner;
  int64_t blocks = 0;
  Geometry(const Tensor& x, uint64_t mask) {
    int64_t last_run = 0, run = 0;
    bool in_run = false;
    auto each = [&](auto&& f) {
      run = 0;
      in_run = false;
      for (int64_t d = 0; d < x.ndim(); ++d) {
        const bool reduced = mask >> d & 1;
        run += reduced && !in_run;
        in_run = reduced;
        f(d, reduced);
      }
    };
    each([&](int64_t, bool) { last_run = run; });
    each([&](int64_t d, bool reduced) {
      (reduced ? run == last_run ? inner : outer : kept).add(x.sizes()[d], x.strides()[d] * x.item_bytes());
    });
    blocks = tree::block_count(outer.numel, inner.numel);
  }
};

// What the programs depend on; all numbers come as words.
struct Shape {
  const TilePasses* passes;
  Elem stored, compute, out;
  int kept, outer, inner;             // dimensions
  bool dense;                         // the inner run is one of neighbours
  bool long_runs;                     // longer than a block
};

// Which of the programs: both passes over outputs whose elements are one block, or one pass's blocks, or its tree; or both
// passes over tiles of outputs that are neighbours in memory.
enum class Part : uint8_t { whole, first_blocks, first_tree, second_blocks, second_tree, across };

class Writer {
 public:
  Writer(const std::string& name, const Shape& s, Part part) : s_(s), b_(p_) {
    p_.name = name;
    from_ = b_.parameter("from", Elem::i64);
    to_ = b_.parameter("to", Elem::i64);
    data_ = b_.parameter("data", Elem::address);
    out_ = b_.parameter("out", Elem::address);
    means_ = b_.parameter("means", Elem::address);
    partial_ = b_.parameter("partial", Elem::address);
    blocks_ = b_.parameter("blocks", Elem::i64);
    outer_n_ = b_.parameter("outer", Elem::i64);
    inner_n_ = b_.parameter("inner", Elem::i64);
    count_ = b_.convert(b_.parameter("count", Elem::f64), s.compute);
    number_ = b_.convert(b_.parameter("number", Elem::f64), s.compute);
    kept_ = axes(s.kept);
    outer_ = axes(s.outer);
    inner_ = axes(s.inner);
    write(part);
  }
  tile::Program take() { return std::move(p_); }

 private:
  struct Sizes {
    std::vector<Id> size, stride;
  };
  Sizes axes(int n) {
    Sizes a;
    for (int i = 0; i < n; ++i) {
      a.size.push_back(b_.parameter("size", Elem::i64));
      a.stride.push_back(b_.parameter("stride", Elem::i64));
    }
    return a;
  }
  Id add(Id a, Id c) { return b_.apply(Op::add, a, c); }
  Id mul(Id a, Id c) { return b_.apply(Op::mul, a, c); }
  Id number(int64_t v) { return b_.integer(v); }
  // Bytes from the first element to element i, a scalar or a tile.
  Id offset(const Sizes& a, Id i) {
    Id sum = b_.splat(number(0), b_.type(i).lanes);
    for (size_t d = a.size.size(); d-- > 0;) {
      sum = add(sum, mul(d ? b_.apply(Op::rem, i, a.size[d]) : i, a.stride[d]));
      if (d) i = b_.apply(Op::div, i, a.size[d]);
    }
    return sum;
  }
  // The addresses of elements i .. i + 31 of the inner run that begins at p.
  Id addresses(Id p, Id i) {
    if (s_.inner == 0) return b_.ramp(p, number(0), tree::lanes);
    if (s_.inner == 1) {
      const Id step = s_.dense ? number(tile::bytes_of(s_.stored)) : inner_.stride[0];
      return b_.ramp(add(p, mul(i, step)), step, tree::lanes);
    }
    return add(b_.splat(p, tree::lanes), offset(inner_, b_.ramp(i, number(1), tree::lanes)));
  }
  struct Extent {
    Id o0, o1, i0, i1;                // outer indices, and elements of their inner runs
  };
  Extent extent(Id block) {
    Id o0, o1, i0, i1;
    if (s_.long_runs) {
      const Id per = b_.apply(Op::div, add(inner_n_, number(tree::block - 1)), number(tree::block));
      o0 = b_.apply(Op::div, block, per);
      o1 = add(o0, number(1));
      i0 = mul(b_.apply(Op::rem, block, per), number(tree::block));
      i1 = b_.apply(Op::min, inner_n_, add(i0, number(tree::block)));
    } else {
      const Id runs = b_.apply(Op::div, number(tree::block), b_.apply(Op::max, inner_n_, number(1)));
      o0 = mul(block, runs);
      o1 = b_.apply(Op::min, outer_n_, add(o0, runs));
      i0 = number(0);
      i1 = inner_n_;
    }
    return {o0, o1, i0, i1};
  }
  // Block `block` of output k, folded to one value.
  Id folded_block(const TileFold& fold, Id k, Id block, Id parameter) {
    const Id p = add(data_, offset(kept_, k));
    const auto [o0, o1, i0, i1] = extent(block);
    const Id thirty_two = number(tree::lanes);
    const Id whole = add(i0, mul(b_.apply(Op::div, b_.apply(Op::sub, i1, i0), thirty_two), thirty_two));
    std::vector<Id> lanes{b_.splat(fold.identity(), tree::lanes)};
    b_.loop(o0, o1, number(1), lanes, [&](Id o, std::vector<Id>& acc) {
      const Id run = add(p, offset(outer_, o));
      b_.loop(i0, whole, thirty_two, acc, [&](Id i, std::vector<Id>& a) {
        a[0] = fold.step(a[0], b_.convert(b_.load(addresses(run, i), s_.stored), s_.compute), parameter);
      });
      b_.loop(whole, i1, thirty_two, acc, [&](Id i, std::vector<Id>& a) {
        const Id there = b_.apply(Op::lt, b_.ramp(i, number(1), tree::lanes), i1);
        const Id none = b_.convert(b_.constant_bits(Elem::i32, 0), s_.stored);
        const Id x = b_.load(addresses(run, i), s_.stored, there, none);
        a[0] = b_.apply(Op::select, there, fold.step(a[0], b_.convert(x, s_.compute), parameter), a[0]);
      });
    });
    // Lanes that met nothing hold the identity, which leaves the others' bits as they are.
    Id v = lanes[0];
    while (b_.type(v).lanes > 1) v = fold.combine(b_.apply(Op::low, v), b_.apply(Op::high, v));
    return v;
  }
  Id element(Id base, Id i, Elem e) { return add(base, mul(i, number(tile::bytes_of(e)))); }
  Id mean(Id k) { return b_.load(element(means_, k, s_.compute), s_.compute); }
  // Neighbouring blocks of output k in pairs until one is left.
  Id tree_of_blocks(const TileFold& fold, Id k) {
    const Id own = element(partial_, mul(k, blocks_), s_.compute);
    std::vector<Id> gap{number(1)};
    b_.loop(number(0), number(40), number(1), gap, [&](Id, std::vector<Id>& g) {
      const Id twice = mul(g[0], number(2));
      b_.loop(number(0), b_.apply(Op::sub, blocks_, g[0]), twice, [&](Id i) {
        const Id at = element(own, i, s_.compute), other = element(own, add(i, g[0]), s_.compute);
        b_.store(at, fold.combine(b_.load(at, s_.compute), b_.load(other, s_.compute)));
      });
      g[0] = twice;
    });
    return b_.load(own, s_.compute);
  }
  // The tree over kColumns outputs at once, the first at p: a lane of the tree is a row of the scratch memory, which stays in
  // the first cache; behind the 32 rows stand the blocks.
  Id folded_columns(const TileFold& fold, Id p, Id parameter) {
    const int64_t row = int64_t(kColumns) * tile::bytes_of(s_.compute);
    auto at = [&](Id base, Id i) { return b_.ramp(add(base, mul(i, number(row))), number(tile::bytes_of(s_.compute)), kColumns); };
    auto combine = [&](Id base, Id to, Id from) {
      b_.store(at(base, to), fold.combine(b_.load(at(base, to), s_.compute), b_.load(at(base, from), s_.compute)));
    };
    const Id zero = number(0), one = number(1), blocks_at = add(partial_, number(tree::lanes * row));
    b_.loop(zero, blocks_, one, [&](Id block) {
      const auto [o0, o1, i0, i1] = extent(block);
      const Id none = b_.splat(fold.identity(), kColumns);
      b_.loop(zero, number(tree::lanes), one, [&](Id l) { b_.store(at(partial_, l), none); });
      b_.loop(o0, o1, one, [&, i0 = i0, i1 = i1](Id o) {
        const Id run = add(p, offset(outer_, o));
        b_.loop(i0, i1, one, [&](Id i) {
          const Id x = b_.load(b_.ramp(add(run, mul(i, inner_.stride[0])), number(tile::bytes_of(s_.stored)), kColumns), s_.stored);
          const Id lane = at(partial_, b_.apply(Op::bit_and, b_.apply(Op::sub, i, i0), number(tree::lanes - 1)));
          b_.store(lane, fold.step(b_.load(lane, s_.compute), b_.convert(x, s_.compute), parameter));
        });
      });
      std::vector<Id> width{number(tree::lanes / 2)};
      b_.loop(zero, number(5), one, width, [&](Id, std::vector<Id>& w) {
        b_.loop(zero, w[0], one, [&](Id l) { combine(partial_, l, add(l, w[0])); });
        w[0] = b_.apply(Op::div, w[0], number(2));
      });
      b_.store(at(blocks_at, block), b_.load(at(partial_, zero), s_.compute));
    });
    std::vector<Id> gap{one};
    b_.loop(zero, number(40), one, gap, [&](Id, std::vector<Id>& g) {
      const Id twice = mul(g[0], number(2));
      b_.loop(zero, b_.apply(Op::sub, blocks_, g[0]), twice, [&](Id i) { combine(blocks_at, i, add(i, g[0])); });
      g[0] = twice;
    });
    return b_.load(at(blocks_at, zero), s_.compute);
  }
  // Unit u: a tile of the last kept dimension; the last tile begins early enough to be whole.
  void columns(Id u) {
    const TilePasses& f = *s_.passes;
    const Id width = kept_.size.back();
    const Id tiles = b_.apply(Op::div, add(width, number(kColumns - 1)), number(kColumns));
    const Id first = b_.apply(Op::min, mul(b_.apply(Op::rem, u, tiles), number(kColumns)), b_.apply(Op::sub, width, number(kColumns)));
    const Id k = add(mul(b_.apply(Op::div, u, tiles), width), first);
    const Id p = add(data_, offset(kept_, k));
    const Id m = f.between(folded_columns(f.first, p, tile::kNone), b_.splat(count_, kColumns));
    const Id v = f.finish(folded_columns(f.second, p, m), b_.splat(number_, kColumns));
    b_.store(b_.ramp(element(out_, k, s_.out), number(tile::bytes_of(s_.out)), kColumns), b_.convert(v, s_.out));
  }
  void put(Id k, Id v) { b_.store(element(out_, k, s_.out), b_.convert(s_.passes->finish(v, number_), s_.out)); }

  void write(Part part) {
    b_.loop(from_, to_, number(1), [&](Id u) {
      const TilePasses& f = *s_.passes;
      switch (part) {
        case Part::whole: {
          const Id m = f.between(folded_block(f.first, u, number(0), tile::kNone), count_);
          return put(u, folded_block(f.second, u, number(0), m));
        }
        case Part::across:
          return columns(u);
        case Part::first_tree:
          return b_.store(element(means_, u, s_.compute), f.between(tree_of_blocks(f.first, u), count_));
        case Part::second_tree:
          return put(u, tree_of_blocks(f.second, u));
        case Part::first_blocks: case Part::second_blocks: {
          const Id k = b_.apply(Op::div, u, blocks_), block = b_.apply(Op::rem, u, blocks_);
          const bool second = part == Part::second_blocks;
          const Id v = folded_block(second ? f.second : f.first, k, block, second ? mean(k) : tile::kNone);
          return b_.store(element(partial_, u, s_.compute), v);
        }
      }
    });
  }

  const Shape& s_;
  tile::Program p_;
  Builder b_;
  Id from_, to_, data_, out_, means_, partial_, blocks_, outer_n_, inner_n_, count_, number_;
  Sizes kept_, outer_, inner_;
};

int argument(const OpEntry& op, const char* name) {
  for (size_t i = 0; i < op.schema.args.size(); ++i)
    if (op.schema.args[i].name == name) return int(i);
  return -1;
}

}  // namespace

bool accepts_reduction(const OpEntry& op, const Value* args, std::string* why) {
  auto no = [&](auto&&... words) {
    if (why) *why = text(words...);
    return false;
  };
  if (!find_tile_reduction(op.card->schema)) return no("its card has no passes");
  const Tensor& x = args[0].tensor();
  if (!x.device().is_cpu()) return no("the input is on ", x.device());
  if (!is_floating(x.dtype()) || tile::elem_of(x.dtype()) == Elem::none) return no("the input is of type ", x.dtype());
  return true;
}

void run_reduction(const OpEntry& op, const Value* args, Results& res) {
  Results shape;
  shape_of(op, args, shape);    // raises what the card's rule raises
  const Tensor& x = args[0].tensor();
  const Tensor out = Tensor::empty_strided(shape[0].sizes(), shape[0].strides(), {shape[0].dtype(), DeviceType::cpu});
  if (out.numel() == 0) return res.push(out);
  const TileReduction& card = *find_tile_reduction(op.card->schema);
  const Value& dim = args[argument(op, "dim")];
  const int64_t one_dim = dim.tag == Tag::integer ? dim.i : 0;
  const Ints dims = dim.tag == Tag::ints ? dim.int_list() : dim.tag == Tag::integer ? Ints(&one_dim, 1) : Ints();
  const Geometry g(x, reduce_mask(dims, x.ndim()));

  const DType compute = compute_type(x.dtype());
  Shape s{compute == DType::f64 ? card.f64 : card.f32, tile::elem_of(x.dtype()), tile::elem_of(compute), tile::elem_of(out.dtype()),
          int(g.kept.sizes.size()), int(g.outer.sizes.size()), int(g.inner.sizes.size()), false, g.inner.numel > tree::block};
  s.dense = s.inner == 1 && g.inner.strides[0] == x.item_bytes();
  const std::string name = op.schema.full_name();
  const std::string key = text(name, " ", x.dtype(), out.dtype(), " ", s.kept, " ", s.outer, " ", s.inner, s.dense ? " dense" : "", s.long_runs ? " long" : "");

  const int64_t count = g.outer.numel * g.inner.numel;
  auto bits = [](double v) {
    int64_t w;
    std::memcpy(&w, &v, 8);
    return w;
  };
  const int64_t item = item_size(compute);
  Tensor means, partial;
  // Neighbours in memory are outputs rather than elements of one.
  const bool across = s.inner == 1 && !s.dense && s.kept > 0 && g.kept.strides.back() == x.item_bytes() &&
                      g.kept.sizes.back() >= kColumns && g.blocks >= 1;
  if (g.blocks > 1 && !across) {
    means = Tensor::empty(Dims{out.numel()}, {compute, DeviceType::cpu});
    partial = Tensor::empty(Dims{out.numel() * g.blocks}, {compute, DeviceType::cpu});
  }
  auto address = [](const Tensor& t) { return t.defined() && t.numel() ? reinterpret_cast<int64_t>(t.data()) : 0; };
  std::vector<int64_t> words{0, 0, address(x), address(out), address(means), address(partial), g.blocks, g.outer.numel, g.inner.numel,
                             bits(double(count)), bits(card.number(args, count))};
  for (const Axes* a : {&g.kept, &g.outer, &g.inner})
    for (int64_t d = 0; d < a->sizes.size(); ++d) {
      words.push_back(a->sizes[d]);
      words.push_back(a->strides[d]);
    }
  const int64_t scratch = across ? (tree::lanes + g.blocks) * kColumns * item : 0;
  auto run = [&](Part part, int64_t units, int64_t grain) {
    const Entry entry = kernel(key + char('0' + int(part)), [&] { return Writer(name, s, part).take(); });
    parallel_for(0, units, grain, [&](int64_t lo, int64_t hi) {
      std::vector<int64_t> w = words;
      w[0] = lo;
      w[1] = hi;
      Tensor own;
      if (scratch) {
        own = Tensor::empty(Dims{scratch}, {DType::u8, DeviceType::cpu});
        w[5] = address(own);
      }
      entry(w.data());
    });
  };
  if (across) {
    const int64_t tiles = (g.kept.sizes.back() + kColumns - 1) / kColumns;
    run(Part::across, out.numel() / g.kept.sizes.back() * tiles, std::max<int64_t>(1, kGrain / (count * kColumns)));
  } else if (g.blocks <= 1) run(Part::whole, out.numel(), std::max<int64_t>(1, kGrain / std::max<int64_t>(count, 1)));
  else {
    const int64_t units = out.numel() * g.blocks, grain = kGrain / tree::block;
    run(Part::first_blocks, units, grain);
    run(Part::first_tree, out.numel(), kGrain / item);
    run(Part::second_blocks, units, grain);
    run(Part::second_tree, out.numel(), kGrain / item);
  }
  res.push(out);
}

}  // namespace fb::compile
