#include "compile/fuse/nest.h"

#include <algorithm>

namespace fb::compile {

int Nest::add(Stmt s) {
  stmts.push_back(std::move(s));
  return int(stmts.size()) - 1;
}
int Nest::known(const Stmt& s) const {
  for (size_t i = stmts.size(); i-- > 0 && !s.in.empty();) {
    const Stmt& t = stmts[i];
    if (t.kind == s.kind && t.elem == s.elem && t.point == s.point && t.folding == s.folding && t.raw == s.raw && std::equal(t.in.begin(), t.in.end(), s.in.begin(), s.in.end()) &&
        std::equal(t.attrs.begin(), t.attrs.end(), s.attrs.begin(), s.attrs.end()))
      return int(i);
  }
  return -1;
}
int Nest::derive(Stmt s) {
  if (const int i = known(s); i >= 0) return i;
  s.level = Level::once;
  s.phase = 0;
  for (int i : s.in) {
    s.level = std::max(s.level, stmts[size_t(i)].level);
    s.phase = std::max(s.phase, stmts[size_t(i)].phase);
  }
  return add(std::move(s));
}
int Nest::number(int64_t word, tile::Elem elem) {
  Stmt s;
  s.kind = Stmt::number;
  s.level = Level::once;
  s.elem = elem;
  s.operand = int(words.size());
  words.push_back(word);
  return add(std::move(s));
}
int Nest::converted(int stmt, tile::Elem to) {
  if (stmts[size_t(stmt)].elem == to) return stmt;
  Stmt s;
  s.kind = Stmt::convert;
  s.elem = to;
  s.in = {stmt};
  return derive(std::move(s));
}
int Nest::rounded(int stmt, tile::Elem to) {
  if (!tile::is_half(to)) return converted(stmt, to);
  return converted(converted(stmt, to), tile::Elem::f32);
}

}  // namespace fb::compile
