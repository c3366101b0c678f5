// Fits a nest to the strides at hand: which dimensions join, which is the vector's, how the work is shared.
#include <algorithm>

#include "compile/fuse/evaluator.h"
#include "compile/fuse/plan.h"
#include "compile/passes/passes.h"
#include "core/threads.h"
#include "ops/reduce/tree.h"

namespace fb::compile {
namespace {

constexpr int kLanes = 8;              // elements of a tile of Part::points without long functions
constexpr int64_t kPiece = 1 << 14;    // elements of a share that one thread takes
constexpr int64_t kPastCache = 16 << 20;  // bytes of a result
constexpr int64_t kCache = 1 << 20;    // bytes of elements that are kept between passes

std::string listed(const KernelForm& f, const char* part) {
  std::string s = text(part, " ", f.nest->name, ":");
  for (size_t o = 0; o < f.nest->operands.size(); ++o) s += text(" ", tile::name_of(f.nest->operands[o].stored), f.dense[o]);
  return s;
}

// Appends dimension d of the domain to axes, or joins it to the last one, where every operand has them side by side.
void add_dimension(Axes& a, const Nest& n, int64_t d, bool faster_first) {
  a.strides.resize(n.operands.size());
  const int64_t size = n.domain[d];
  a.numel *= size;
  if (size == 1) return;
  bool join = !a.sizes.empty();
  for (size_t o = 0; o < n.operands.size() && join; ++o) {
    const int64_t s = n.operands[o].strides[d], last = a.strides[o].back();
    join = faster_first ? s == last * a.sizes.back() : last == s * size;
  }
  if (join) {
    a.sizes.back() *= size;
    if (!faster_first)
      for (size_t o = 0; o < n.operands.size(); ++o) a.strides[o].back() = n.operands[o].strides[d];
    return;
  }
  a.sizes.push_back(size);
  for (size_t o = 0; o < n.operands.size(); ++o) a.strides[o].push_back(n.operands[o].strides[d]);
}

void launch(Step& step, KernelForm& f, int64_t units, int64_t grain, int64_t chunk, const char* part) {
  Launch l;
  const auto make = [&] { return f.part == Part::points ? points_program(f) : f.part == Part::lines ? scan_program(f) : reduction_program(f); };
  l.code = kernel(f.key(), make);
  Words w = words_of(f);
  if (f.part == Part::points) w.w[2] = chunk;
  l.words = std::move(w.w);
  l.bases = std::move(w.bases);
  l.scratch = w.scratch;
  l.partial = w.partial;
  if (!w.folds.empty()) {
    l.first_fold = w.folds[0];
    l.folds = int(w.folds.size());
  }
  l.units = units;
  l.grain = std::max<int64_t>(1, grain);
  l.what = listed(f, part);
  step.launches.push_back(std::move(l));
}

// How much work a text is: its operators, those that take long counted more.
struct Weigher : Evaluator {
  explicit Weigher(const Nest& n, tile::Builder& b) : Evaluator(n, b) {}
  tile::Id load(const Stmt& s) override { return any(s.elem); }
  tile::Id load_moved(const Stmt& s, tile::Id) override { return any(s.elem); }
  tile::Id special(const Stmt& s) override { return any(s.elem); }
  tile::Id any(tile::Elem e) {
    const tile::Id at = b.parameter("any", tile::Elem::address);
    return b.load(at, e);
  }
  int in_place = 0;       // operators of the texts that stand in their calls' places
  bool leaves = false;    // some functions are called
  int weight(int s) {
    for (int i : nest.stmts[size_t(s)].in)
      if (!known(i)) set(i, any(nest.stmts[size_t(i)].elem));
    const size_t first = b.program().nodes.size();
    value(s);
    int w = 0;
    for (size_t i = first; i < b.program().nodes.size(); ++i) switch (const tile::Node& n = b.program().nodes[i]; n.op) {
        case tile::Op::call: {
          const int length = straight_length(n.callee, n.type.elem);
          in_place += length;
          leaves |= length == 0;
          w += 20;
          break;
        }
        case tile::Op::lanes: case tile::Op::patch:
          leaves = true;
          w += 20;
          break;
        case tile::Op::div: case tile::Op::rem: case tile::Op::sqrt: w += 5; break;
        case tile::Op::constant: case tile::Op::splat: case tile::Op::parameter: break;
        default: ++w;
      }
    return w;
  }
};

// Elements of a tile of Part::points, where there are enough.
int lanes_for(const Nest& n) {
  tile::Program p;
  tile::Builder b(p);
  Weigher w(n, b);
  int heaviest = 0, bytes = 4;
  for (size_t s = 0; s < n.stmts.size(); ++s) {
    if (n.stmts[s].kind != Stmt::text) continue;
    heaviest = std::max(heaviest, w.weight(int(s)));
    bytes = std::max(bytes, tile::bytes_of(n.stmts[s].elem));
  }
  if (w.leaves || w.in_place > kTextsInPlace) return kRunLanes;
  return heaviest < 20 ? kLanes : tile_bytes() / bytes;
}

void fit_points(const Nest& n, Step& step) {
  KernelForm f;
  f.nest = &n;
  // The first result says which dimension is fastest.
  std::vector<size_t> voices;
  for (const NestOutput& o : n.outputs) voices.push_back(size_t(o.operand));
  for (size_t o = 0; o < n.operands.size(); ++o) voices.push_back(o);
  const int64_t nd = n.domain.size();
  SmallVec<int64_t, 8> order(nd);
  for (int64_t i = 0; i < nd; ++i) order[i] = nd - 1 - i;
  auto key = [&](int64_t d) {
    for (size_t o : voices)
      if (n.operands[o].strides[d]) return std::abs(n.operands[o].strides[d]);
    return int64_t(0);
  };
  for (int64_t i = 1; i < nd; ++i)
    for (int64_t j = i; j > 0 && key(order[j]) && key(order[j - 1]) > key(order[j]); --j) std::swap(order[j], order[j - 1]);
  f.kept.strides.resize(n.operands.size());
  for (int64_t i = 0; i < nd; ++i) add_dimension(f.kept, n, order[i], true);
  if (f.kept.sizes.empty()) {
    f.kept.sizes.push_back(1);
    for (Dims& s : f.kept.strides) s.push_back(0);
  }
  const int64_t run = f.kept.sizes[0];
  std::vector<char> written(n.operands.size());
  for (const NestOutput& o : n.outputs) written[size_t(o.operand)] = 1;
  for (size_t o = 0; o < n.operands.size(); ++o) {
    const int64_t s = f.kept.strides[o][0];
    f.dense.push_back(s == tile::bytes_of(n.operands[o].stored) || (written[o] && run == 1) ? 'd' : s == 0 ? 'o' : 's');
  }
  f.lanes = lanes_for(n);
  if (run < f.lanes) f.lanes = run < kLanes ? 1 : kLanes;
  const int64_t rows = f.kept.numel / run;
  // What is larger than the cache need not pass through it.
  f.past_cache = f.lanes > 1;
  for (const NestOutput& o : n.outputs)
    f.past_cache = f.past_cache && f.dense[size_t(o.operand)] == 'd' && f.kept.numel * tile::bytes_of(n.operands[size_t(o.operand)].stored) >= kPastCache;
  int64_t units, grain, chunk = run;
  if (f.kept.rank() == 1) {
    chunk = kPiece;
    units = (run + chunk - 1) / chunk;
    grain = 1;
  } else if (run > 2 * kPiece) {
    f.split = true;
    chunk = kPiece;
    units = rows * ((run + chunk - 1) / chunk);
    grain = 1;
  } else {
    units = rows;
    grain = kPiece / run;
  }
  launch(step, f, units, grain, chunk, "points");
}

// Elements worth keeping in memory: known in one pass, wanted in a later one, and dear.
std::vector<int> dear_elements(const Nest& n, int last_pass) {
  const size_t count = n.stmts.size();
  std::vector<int> first(count, -1), last(count, -1);   // pass in which an element is evaluated
  auto want = [&](auto& self, int s, int pass) -> void {
    if (n.stmts[size_t(s)].level != Level::element || last[size_t(s)] == pass) return;
    if (first[size_t(s)] < 0 || pass < first[size_t(s)]) first[size_t(s)] = pass;
    last[size_t(s)] = std::max(last[size_t(s)], pass);
    for (int i : n.stmts[size_t(s)].in) self(self, i, pass);
  };
  for (int pass = 0; pass <= last_pass; ++pass) {
    for (size_t s = 0; s < count; ++s)
      if (n.stmts[s].kind == Stmt::fold && n.stmts[s].phase == pass + 1)
        for (int i : n.stmts[s].in) want(want, i, pass);
    for (const NestOutput& o : n.outputs)
      if (n.operands[size_t(o.operand)].level == Level::element && n.stmts[size_t(o.stmt)].phase == pass) want(want, o.stmt, pass);
  }
  std::vector<int> r;
  std::vector<int> weight(count, 0);
  tile::Program p;
  tile::Builder b(p);
  Weigher w(n, b);
  for (size_t s = 0; s < count; ++s) {
    const Stmt& st = n.stmts[s];
    if (st.level != Level::element || first[s] < 0) continue;
    if (st.kind == Stmt::text) weight[s] = w.weight(int(s));
    else if (st.kind == Stmt::convert) weight[s] = 1;
    for (int i : st.in) weight[s] += weight[size_t(i)];
    // Only elements known in their own first pass can be kept there.
    if (st.kind == Stmt::text && weight[s] >= 10 && last[s] > first[s] && first[s] == st.phase && st.elem != tile::Elem::b1) {
      r.push_back(int(s));
      weight[s] = 0;
    }
  }
  return r;
}

// How an operand's elements lie along an inner run (KernelForm::dense).
char along_run(const Axes& inner, const NestOperand& o, size_t operand) {
  const Dims& s = inner.strides[operand];
  if (s.empty()) return 's';
  const bool side = s.back() == tile::bytes_of(o.stored);
  if (s.size() == 1) return side ? 'd' : 's';
  bool joined = true;
  for (int64_t d = 0; d + 1 < s.size(); ++d) joined = joined && s[d] == s[d + 1] * inner.sizes[d + 1];
  if (joined) return side ? 'j' : 'l';
  return side ? 'd' : s.back() == 0 ? 'o' : 's';
}

void fit_reduction(const Nest& n, Step& step) {
  KernelForm f;
  f.nest = &n;
  const int64_t nd = n.domain.size();
  // A kept dimension between two reduced ones separates runs; the last run is the inner one.
  int64_t run = 0, last_run = 0;
  bool in_run = false;
  for (int64_t d = 0; d < nd; ++d) {
    const bool reduced = n.mask >> d & 1;
    last_run += reduced && !in_run;
    in_run = reduced;
  }
  in_run = false;
  for (Axes* a : {&f.kept, &f.outer, &f.inner}) a->strides.resize(n.operands.size());
  for (int64_t d = 0; d < nd; ++d) {
    const bool reduced = n.mask >> d & 1;
    run += reduced && !in_run;
    in_run = reduced;
    add_dimension(reduced ? run == last_run ? f.inner : f.outer : f.kept, n, d, false);
  }
  for (const Stmt& s : n.stmts) f.last_pass = std::max(f.last_pass, s.phase);
  const int64_t count = f.outer.numel * f.inner.numel, blocks = tree::block_count(f.outer.numel, f.inner.numel);
  f.one_block = blocks <= 1;
  f.long_runs = f.inner.numel > tree::block;
  int along = 0, beside = 0;   // operands whose neighbours are elements of one output, or outputs
  for (size_t o = 0; o < n.operands.size(); ++o) {
    if (n.operands[o].level != Level::element) continue;
    const int64_t item = tile::bytes_of(n.operands[o].stored);
    const char kind = along_run(f.inner, n.operands[o], o);
    along += f.inner.rank() == 0 || kind == 'j' || (f.inner.rank() == 1 && kind == 'd');
    beside += f.kept.rank() > 0 && f.kept.strides[o].back() == item;
  }
  const bool across = beside > along && f.inner.rank() > 0 && f.kept.rank() > 0 && f.kept.sizes.back() >= kColumns;
  int folds = 0;
  for (const Stmt& s : n.stmts) folds += s.kind == Stmt::fold;
  if (across) {
    f.part = Part::across;
    for (size_t o = 0; o < n.operands.size(); ++o)
      f.dense.push_back(f.kept.strides[o].back() == tile::bytes_of(n.operands[o].stored) ? 'd' : 's');
  } else {
    f.part = Part::whole;
    for (size_t o = 0; o < n.operands.size(); ++o)
      f.dense.push_back(along_run(f.inner, n.operands[o], o));
    if (f.inner.rank() > 1) {
      f.even = f.inner.sizes.back() % tree::lanes == 0;
      for (f.lanes = tree::lanes; f.lanes > f.inner.sizes.back();) f.lanes /= 2;
    }
    f.exact = f.inner.numel % tree::lanes == 0;
    if (!f.one_block && f.kept.numel < 2 * get_num_threads() && count * f.kept.numel > 4 * kPiece) {
      // Few outputs: threads share the blocks of each pass.
      step.shared = true;
      step.partial_bytes = folds * f.kept.numel * blocks * 8;
      step.fold_bytes = f.kept.numel * 8;
      for (f.pass = 0; f.pass <= f.last_pass; ++f.pass) {
        bool feeds = false, stores = false;
        for (const NestOutput& o : n.outputs)   // what needs no pass
          feeds |= f.pass == 0 && n.operands[size_t(o.operand)].level == Level::kept && n.stmts[size_t(o.stmt)].phase == 0;
        for (const Stmt& s : n.stmts) feeds |= s.kind == Stmt::fold && s.phase == f.pass + 1;
        for (const NestOutput& o : n.outputs)
          stores |= n.operands[size_t(o.operand)].level == Level::element && n.stmts[size_t(o.stmt)].phase == f.pass;
        f.part = Part::blocks;
        if (feeds || stores) launch(step, f, f.kept.numel * blocks, kPiece / tree::block, 0, "blocks");
        f.part = Part::tree;
        if (feeds) launch(step, f, f.kept.numel, 1 << 10, 0, "tree");
      }
      return;
    }
  }
  const int64_t padded = (f.inner.numel + tree::lanes - 1) / tree::lanes * tree::lanes;
  const int64_t row = across ? count * kColumns : f.outer.numel * padded;
  f.cached = dear_elements(n, f.last_pass);
  for (int s : f.cached) step.scratch_bytes += row * tile::bytes_of(n.stmts[size_t(s)].elem);
  if (step.scratch_bytes > kCache) {
    f.cached.clear();
    step.scratch_bytes = 0;
  }
  if (across) {
    step.partial_bytes = folds * int64_t(kColumns) * 8 * (blocks + tree::lanes);
    const int64_t tiles = (f.kept.sizes.back() + kColumns - 1) / kColumns;
    launch(step, f, f.kept.numel / f.kept.sizes.back() * tiles, kPiece / (count * kColumns), 0, "across");
  } else {
    if (!f.one_block) step.partial_bytes = folds * blocks * 8;
    launch(step, f, f.kept.numel, kPiece / count, 0, "whole");
  }
}

void fit_scan(const Nest& n, Step& step) {
  KernelForm f;
  f.nest = &n;
  f.part = Part::lines;
  const int64_t line = __builtin_ctzll(n.mask);
  f.kept.strides.resize(n.operands.size());
  for (int64_t d = 0; d < n.domain.size(); ++d)
    if (d != line) add_dimension(f.kept, n, d, false);
  if (f.kept.sizes.empty()) {
    f.kept.sizes.push_back(1);
    for (Dims& s : f.kept.strides) s.push_back(0);
  }
  f.inner.numel = n.domain[line];
  bool dense = true;   // neighbouring lines stand side by side
  for (const NestOperand& o : n.operands) {
    const int64_t s = f.kept.strides[f.dense.size()].back();
    f.inner.strides.push_back(Dims{o.strides[line]});
    f.dense.push_back(s == tile::bytes_of(o.stored) ? 'd' : s == 0 ? 'o' : 's');
    dense = dense && f.dense.back() != 's';
  }
  const int64_t width = f.kept.sizes.back();
  f.lanes = dense && width >= kRunLanes ? kRunLanes : width >= kLanes ? kLanes : 1;
  const int64_t tiles = (width + f.lanes - 1) / f.lanes;
  launch(step, f, f.kept.numel / width * tiles, kPiece / (f.inner.numel * f.lanes), 0, "lines");
}

}  // namespace

void fit(const Nest& n, Step& step) {
  if (n.scans) fit_scan(n, step);
  else if (n.reduces) fit_reduction(n, step);
  else fit_points(n, step);
}

}  // namespace fb::compile
