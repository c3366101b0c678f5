#include "compile/fuse/kernel_form.h"

#include "compile/tile/builder.h"
#include "ops/reduce/tree.h"

namespace fb::compile {

std::string KernelForm::key() const {
  std::string k;
  auto put = [&](auto v) { k.append(reinterpret_cast<const char*>(&v), sizeof v); };
  put(part);
  put(uint8_t(pass));
  put(uint8_t(lanes));
  put(uint8_t(kept.rank()));
  put(uint8_t(outer.rank()));
  put(uint8_t(inner.rank()));
  put(uint8_t(split | one_block << 1 | long_runs << 2 | exact << 3 | past_cache << 4 | even << 5));
  for (char d : dense) k += d;
  for (int c : cached) put(int16_t(c));
  put(char(-1));
  for (const Stmt& s : nest->stmts) {
    put(s.kind);
    put(s.level);
    put(s.elem);
    put(int8_t(s.operand));
    put(s.point);
    put(s.folding);
    put(s.chain_of);
    for (int i : s.in) put(int16_t(i));
    put(int16_t(-1));
    for (int i : s.attrs) put(int16_t(i));
    put(int16_t(-1));
    for (double r : s.raw) put(r);
  }
  for (const NestOperand& o : nest->operands) {
    put(o.stored);
    put(o.level);
  }
  for (const NestOutput& o : nest->outputs) {
    put(int16_t(o.stmt));
    put(int16_t(o.operand));
  }
  return k;
}

// The dimension that lanes go along.
static int lanes_along(const KernelForm& f) { return f.part == Part::lines ? f.kept.rank() - 1 : 0; }
// Whether an operand's stride is a number of the call; along the lanes it may be known.
static bool is_word(const KernelForm& f, size_t operand, int d) { return d != lanes_along(f) || f.dense[operand] == 's'; }

// The order is that of the parameters in parameters_of and reduction_program.
Words words_of(const KernelForm& f) {
  const Nest& n = *f.nest;
  Words r;
  auto put = [&](int64_t v) {
    r.w.push_back(v);
    return int(r.w.size()) - 1;
  };
  r.from = put(0);
  r.to = put(0);
  if (f.part == Part::points || f.part == Part::lines) {
    put(f.part == Part::lines ? f.inner.numel : 0);  // of points the plan knows it
    for (int64_t s : f.kept.sizes) put(s);
    for (size_t o = 0; o < n.operands.size(); ++o) {
      r.bases.push_back(put(0));
      for (int d = 0; d < f.kept.rank(); ++d)
        if (is_word(f, o, d)) put(f.kept.strides[o][d]);
      if (f.part == Part::lines) put(f.inner.strides[o][0]);
    }
  } else {
    r.scratch = put(0);
    r.partial = put(0);
    put(tree::block_count(f.outer.numel, f.inner.numel));
    put(f.outer.numel);
    put(f.inner.numel);
    for (const Axes* a : {&f.kept, &f.outer, &f.inner})
      for (int64_t s : a->sizes) put(s);
    for (size_t o = 0; o < n.operands.size(); ++o) {
      r.bases.push_back(put(0));
      for (int64_t s : f.kept.strides[o]) put(s);
      if (n.operands[o].level != Level::element) continue;
      for (int64_t s : f.outer.strides[o]) put(s);
      for (int64_t s : f.inner.strides[o]) put(s);
    }
    if (f.part == Part::blocks || f.part == Part::tree)
      for (const Stmt& s : n.stmts)
        if (s.kind == Stmt::fold) r.folds.push_back(put(0));
  }
  for (int64_t w : n.words) put(w);
  return r;
}

Parameters parameters_of(const KernelForm& f, tile::Builder& b) {
  const Nest& n = *f.nest;
  const auto number = [&](const char* name) { return b.parameter(name, tile::Elem::i64); };
  Parameters p;
  p.from = number("from");
  p.to = number("to");
  p.extent = number("extent");
  for (int d = 0; d < f.kept.rank(); ++d) p.size.push_back(number("size"));
  for (size_t o = 0; o < n.operands.size(); ++o) {
    p.base.push_back(b.parameter("operand", tile::Elem::address));
    p.stride.emplace_back();
    for (int d = 0; d < f.kept.rank(); ++d)
      p.stride.back().push_back(is_word(f, o, d) ? number("stride") : b.integer(f.dense[o] == 'd' ? tile::bytes_of(n.operands[o].stored) : 0));
    p.across.push_back(p.stride.back()[size_t(lanes_along(f))]);
    if (f.part == Part::lines) p.along.push_back(number("along"));
  }
  for (const Stmt& s : n.stmts)
    if (s.kind == Stmt::number) p.numbers.push_back(b.parameter("number", s.elem));
  return p;
}

}  // namespace fb::compile
