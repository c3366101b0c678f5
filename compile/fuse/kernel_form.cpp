#include "compile/fuse/kernel_form.h"

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
  put(uint8_t(split | one_block << 1 | long_runs << 2 | exact << 3 | past_cache << 4));
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

// The order is that of the parameters in points_program, scan_program and reduction_program.
Words words_of(const KernelForm& f) {
  const Nest& n = *f.nest;
  Words r;
  auto put = [&](int64_t v) {
    r.w.push_back(v);
    return int(r.w.size()) - 1;
  };
  r.from = put(0);
  r.to = put(0);
  if (f.part == Part::points) {
    put(0);  // the chunk; the plan knows it
    for (int64_t s : f.kept.sizes) put(s);
    for (size_t o = 0; o < n.operands.size(); ++o) {
      r.bases.push_back(put(0));
      for (int d = 0; d < f.kept.rank(); ++d)
        if (d > 0 || f.dense[o] == 's') put(f.kept.strides[o][d]);
    }
  } else if (f.part == Part::lines) {
    put(f.inner.numel);
    for (int64_t s : f.kept.sizes) put(s);
    for (size_t o = 0; o < n.operands.size(); ++o) {
      r.bases.push_back(put(0));
      for (int64_t s : f.kept.strides[o]) put(s);
      put(f.inner.strides[o][0]);
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

}  // namespace fb::compile
