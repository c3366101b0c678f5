#include "dispatch/schema.h"

#include "dispatch/schema_words.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fb {
const char* type_word(ArgType t) {
  switch (t) {
    case ArgType::tensor: case ArgType::tensors: case ArgType::optional_tensors: return "Tensor";
    case ArgType::scalar: case ArgType::scalars: return "Scalar";
    case ArgType::integer: case ArgType::ints: return "int";
    case ArgType::floating: case ArgType::doubles: return "float";
    case ArgType::boolean: case ArgType::bools: return "bool";
    case ArgType::string: return "str";
    case ArgType::dtype: return "ScalarType";
    case ArgType::device: return "Device";
    case ArgType::layout: return "Layout";
    case ArgType::memory_format: return "MemoryFormat";
    case ArgType::generator: return "Generator";
  }
  return "?";
}

namespace {

struct Reader {
  std::string_view s;
  size_t at = 0;
  void space() {
    while (at < s.size() && (s[at] == ' ' || s[at] == '\n')) ++at;
  }
  bool take(std::string_view w) {
    space();
    if (s.substr(at, w.size()) != w) return false;
    at += w.size();
    return true;
  }
  void expect(std::string_view w) {
    if (!take(w)) raise_runtime("schema '", s, "': expected '", w, "' at position ", uint64_t(at));
  }
  std::string word() {
    space();
    size_t b = at;
    while (at < s.size() && (isalnum(s[at]) || s[at] == '_' || s[at] == '.' || s[at] == '-')) {
      if (s[at] == '-' && s.substr(at, 2) == "->") break;
      ++at;
    }
    return std::string(s.substr(b, at - b));
  }
};

struct TypeText {
  ArgType type;
  bool optional = false, written = false, aliased = false;
  int list_size = 0;
};

ArgType scalar_type(const std::string& w, std::string_view s) {
  if (w == "Tensor") return ArgType::tensor;
  if (w == "Scalar") return ArgType::scalar;
  if (w == "int" || w == "SymInt") return ArgType::integer;
  if (w == "float") return ArgType::floating;
  if (w == "bool") return ArgType::boolean;
  if (w == "str") return ArgType::string;
  if (w == "ScalarType") return ArgType::dtype;
  if (w == "Device") return ArgType::device;
  if (w == "Layout") return ArgType::layout;
  if (w == "MemoryFormat") return ArgType::memory_format;
  if (w == "Generator") return ArgType::generator;
  raise_runtime("schema '", s, "': unknown type '", w, "'");
}

TypeText read_type(Reader& r) {
  TypeText t;
  t.type = scalar_type(r.word(), r.s);
  bool element_optional = false;
  auto alias = [&] {
    if (r.take("(")) {
      while (r.at < r.s.size() && r.s[r.at] != ')') {
        if (r.s[r.at] == '!') t.written = true;
        ++r.at;
      }
      r.expect(")");
      t.aliased = !t.written;
    }
  };
  alias();
  if (r.take("?")) t.optional = element_optional = true;
  if (r.take("[")) {
    t.optional = false;
    std::string n = r.word();
    r.expect("]");
    t.list_size = n.empty() ? -1 : atoi(n.c_str());
    switch (t.type) {
      case ArgType::tensor: t.type = element_optional ? ArgType::optional_tensors : ArgType::tensors; break;
      case ArgType::scalar: t.type = ArgType::scalars; break;
      case ArgType::integer: t.type = ArgType::ints; break;
      case ArgType::floating: t.type = ArgType::doubles; break;
      case ArgType::boolean: t.type = ArgType::bools; break;
      default: raise_runtime("schema '", r.s, "': no list of this type");
    }
    alias();
    if (r.take("?")) t.optional = true;
  }
  return t;
}

// Default values live as long as the process: schemas are never destroyed.
Value read_default(Reader& r, const TypeText& t) {
  const ArgType type = t.type;
  if (r.take("None")) return Value();
  if (r.take("True")) return Value(true);
  if (r.take("False")) return Value(false);
  if (r.take("[")) {
    std::vector<double> v;
    std::vector<bool> b, whole;
    while (!r.take("]")) {
      if (r.take("True")) b.push_back(true);
      else if (r.take("False")) b.push_back(false);
      else {
        const std::string w = r.word();
        if (w.empty()) raise_runtime("schema '", r.s, "': a list that is no default value, at position ", uint64_t(r.at));
        v.push_back(strtod(w.c_str(), nullptr));
        whole.push_back(w.find_first_of(".en") == std::string::npos);
      }
      r.take(",");
    }
    if (type == ArgType::bools) {
      bool* p = new bool[b.size() + 1];
      for (size_t i = 0; i < b.size(); ++i) p[i] = b[i];
      return Value(Span<bool>(p, int64_t(b.size())));
    }
    if (type == ArgType::doubles) {
      double* p = new double[v.size() + 1];
      for (size_t i = 0; i < v.size(); ++i) p[i] = v[i];
      return Value(Span<double>(p, int64_t(v.size())));
    }
    if (type == ArgType::scalars) {
      Scalar* p = new Scalar[v.size() + 1];
      for (size_t i = 0; i < v.size(); ++i) p[i] = whole[i] ? Scalar(int64_t(v[i])) : Scalar(v[i]);
      return Value(Span<Scalar>(p, int64_t(v.size())));
    }
    int64_t* p = new int64_t[v.size() + 1];
    for (size_t i = 0; i < v.size(); ++i) p[i] = int64_t(v[i]);
    return Value(Ints(p, int64_t(v.size())));
  }
  for (char quote : {'"', '\''})
    if (r.take(std::string_view(&quote, 1))) {
      size_t b = r.at;
      while (r.at < r.s.size() && r.s[r.at] != quote) ++r.at;
      if (r.at == r.s.size()) raise_runtime("schema '", r.s, "': a string that starts at position ", uint64_t(b), " has no end");
      char* p = strndup(r.s.data() + b, r.at - b);
      Value v{std::string_view(p, r.at - b)};
      ++r.at;
      if (type == ArgType::device) return Value(parse_device(std::string(v.string())));
      return v;
    }
  r.space();
  const size_t b = r.at;
  while (r.at < r.s.size() && r.s[r.at] != ',' && r.s[r.at] != ')') ++r.at;
  const std::string w(r.s.substr(b, r.at - b));
  if (w == "contiguous_format") return Value(MemoryFormat::contiguous);
  if (w == "preserve_format") return Value(MemoryFormat::preserve);
  if (w == "Mean") return Value(1);
  if (w == "long") return Value(DType::i64);
  if (type == ArgType::dtype)
    for (int d = 0; d < 32; ++d)
      if (const char* n = dtype_name(DType(d)); n && w == n) return Value(DType(d));
  if (type == ArgType::dtype) raise_runtime("schema '", r.s, "': unknown default '", w, "'");
  if (type == ArgType::ints) {  // "int[2] stride=1": every element is 1
    const int n = t.list_size > 0 ? t.list_size : 1;
    int64_t* p = new int64_t[size_t(n)];
    for (int i = 0; i < n; ++i) p[i] = atoll(w.c_str());
    return Value(Ints(p, n));
  }
  char* end = nullptr;
  const double d = w == "inf" ? __builtin_inf() : w == "-inf" ? -__builtin_inf() : strtod(w.c_str(), &end);
  if (end && *end) raise_runtime("schema '", r.s, "': '", w, "' is no default value");
  if (type == ArgType::floating || w.find_first_of(".enf") != std::string::npos) return Value(d);
  return Value(int64_t(atoll(w.c_str())));
}

// Enough digits to read the same number again, and a point or an exponent.
std::string print_double(double d) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", d);
  std::string s = digits;
  if (s.find_first_not_of("-0123456789") == std::string::npos) s += '.';
  return s;
}

template <class F>
std::string print_list(uint32_t n, F element) {
  std::string s = "[";
  for (uint32_t i = 0; i < n; ++i) s += (i ? ", " : "") + std::string(element(i));
  return s + "]";
}

std::string print_default(const Value& v) {
  switch (v.tag) {
    case Tag::none: return "None";
    case Tag::boolean: return v.i ? "True" : "False";
    case Tag::string: return text('"', v.string(), '"');
    case Tag::ints: return text(v.int_list());
    case Tag::memory_format: return text(v.i);
    case Tag::dtype: return dtype_name(v.dtype());
    case Tag::floating: return print_double(v.d);
    case Tag::integer: return text(v.i);
    case Tag::doubles: return print_list(v.len, [&](uint32_t i) { return print_double(v.doubles[i]); });
    case Tag::device: return text('"', v.device(), '"');
    case Tag::scalars: return print_list(v.len, [&](uint32_t i) { return v.scalars[i].is_floating() ? print_double(v.scalars[i].to_double()) : text(v.scalars[i]); });
    case Tag::bools: return print_list(v.len, [&](uint32_t i) { return v.bools[i] ? "True" : "False"; });
    default: return "[...]";
  }
}

}  // namespace

// A list of two and more fixed places, all the same, is written as one number; a float's default has a point.
std::string print_default(const ArgSpec& a) {
  const Value& v = a.default_value;
  if (a.type == ArgType::floating && v.tag == Tag::integer) return print_double(double(v.i));
  if (a.list_size < 2 || v.tag != Tag::ints || v.int_list().size() == 0) return print_default(v);
  for (int64_t x : v.int_list())
    if (x != v.int_list()[0]) return print_default(v);
  return text(v.int_list()[0]);
}

// Words, letters of aliases and SymInt as they were written; spaces and defaults as in every schema.
std::string print_as_written(std::string_view s, const Schema& parsed) {
  auto strip = [](std::string_view x) {
    while (!x.empty() && std::isspace(static_cast<unsigned char>(x.front()))) x.remove_prefix(1);
    while (!x.empty() && std::isspace(static_cast<unsigned char>(x.back()))) x.remove_suffix(1);
    return x;
  };
  // The pieces between commas that stand in no bracket and no quotes, from `at` to the bracket that closes, which `at` passes.
  auto pieces = [&](size_t& at) {
    std::vector<std::string_view> out;
    int depth = 0;
    char quote = 0;
    size_t start = at;
    for (; at < s.size(); ++at) {
      const char c = s[at];
      if (quote) quote = c == quote ? 0 : quote;
      else if (c == '"' || c == '\'') quote = c;
      else if (c == '(' || c == '[') ++depth;
      else if ((c == ')' || c == ']') && depth) --depth;
      else if (c == ')' || (c == ',' && !depth)) {
        if (const std::string_view x = strip(s.substr(start, at - start)); !x.empty()) out.push_back(x);
        start = at + 1;
        if (c == ')') break;
      }
    }
    ++at;
    return out;
  };
  size_t at = s.find('(') + 1;
  std::string out = std::string(strip(s.substr(0, at - 1))) + "(";
  size_t i = 0;
  bool first = true;
  for (std::string_view piece : pieces(at)) {
    if (!first) out += ", ";
    first = false;
    if (piece == "*") {
      out += piece;
      continue;
    }
    const ArgSpec& a = parsed.args[i++];
    const size_t equals = piece.find('=');
    out += strip(piece.substr(0, equals));
    if (equals != std::string_view::npos) out += "=" + print_default(a);
  }
  out += ") -> ";
  at = s.find("->", at) + 2;
  const std::string_view rest = strip(s.substr(at));
  if (rest.empty() || rest[0] != '(') return out + std::string(rest);
  at = s.find('(', at) + 1;
  const std::vector<std::string_view> results = pieces(at);
  std::string list;
  for (size_t k = 0; k < results.size(); ++k) list += (k ? ", " : "") + std::string(results[k]);
  return out + (results.size() == 1 ? list : "(" + list + ")");
}

Schema parse_schema(std::string_view s) {
  Reader r{s};
  Schema out;
  const std::string full = r.word();
  const size_t dot = full.find('.');
  out.name = full.substr(0, dot);
  if (dot != std::string::npos) out.overload = full.substr(dot + 1);
  r.expect("(");
  bool kwarg_only = false;
  while (!r.take(")")) {
    if (r.take("*")) {
      kwarg_only = true;
      r.take(",");
      continue;
    }
    const TypeText t = read_type(r);
    ArgSpec a;
    a.type = t.type;
    a.optional = t.optional;
    a.written = t.written;
    a.aliased = t.aliased;
    a.list_size = int16_t(t.list_size);
    a.kwarg_only = kwarg_only;
    a.name = r.word();
    if (r.take("=")) {
      a.has_default = true;
      a.default_value = read_default(r, t);
    }
    r.take(",");
    out.args.push_back(std::move(a));
  }
  if (out.args.size() > 63) raise_runtime("schema '", s, "' has more than 63 arguments");
  r.expect("->");
  const bool tuple = r.take("(");
  while (r.at < s.size()) {
    if (tuple && r.take(")")) break;
    const TypeText t = read_type(r);
    ReturnSpec ret;
    ret.type = t.type;
    ret.written = t.written;
    ret.aliased = t.aliased;
    if (tuple) ret.name = r.word();
    out.returns.push_back(std::move(ret));
    r.take(",");
    r.space();
    if (!tuple) break;
  }
  for (size_t i = 0; i < out.args.size(); ++i) {
    const ArgSpec& a = out.args[i];
    if (a.type == ArgType::tensor) out.tensor_mask |= uint64_t(1) << i;
    if (a.type == ArgType::tensors || a.type == ArgType::optional_tensors) out.list_mask |= uint64_t(1) << i;
    if (!a.kwarg_only) out.positional = int(i) + 1;
    if (!a.has_default && out.required == int(i)) out.required = int(i) + 1;
    out.writes |= a.written;
  }
  out.is_view = !out.returns.empty() && out.returns[0].aliased;
  return out;
}

int Schema::find(std::string_view arg) const {
  for (size_t i = 0; i < args.size(); ++i)
    if (args[i].name == arg) return int(i);
  return -1;
}

std::string Schema::print() const {
  std::string s = full_name() + "(";
  bool star = false;
  // Each written argument has a letter of its own, which its result repeats. A view that gives a list shares `a` with all of it.
  char next = 'a';
  std::vector<char> letters;
  bool view_of_list = false;
  for (const ReturnSpec& q : returns) view_of_list |= q.aliased && is_list(q.type);
  auto type = [](ArgType t, bool optional, int list, bool written, const std::string& alias) {
    std::string w = type_word(t);
    if (!alias.empty()) w += "(" + alias + (written ? "!)" : ")");
    if (t == ArgType::optional_tensors) w += "?";
    if (list) w += list > 0 ? "[" + std::to_string(list) + "]" : "[]";
    if (optional) w += "?";
    return w;
  };
  for (size_t i = 0; i < args.size(); ++i) {
    const ArgSpec& a = args[i];
    if (i) s += ", ";
    if (a.kwarg_only && !star) {
      s += "*, ";
      star = true;
    }
    std::string alias;
    if (a.written) letters.push_back(next), alias = next++;
    else if (a.aliased) alias = view_of_list ? "a -> *" : "a";
    s += type(a.type, a.optional, a.list_size, a.written, alias) + " " + a.name;
    if (a.has_default) s += "=" + print_default(a);
  }
  s += ") -> ";
  if (returns.size() != 1) s += "(";
  size_t written = 0;
  for (size_t i = 0; i < returns.size(); ++i) {
    if (i) s += ", ";
    const ReturnSpec& q = returns[i];
    std::string alias;
    if (q.written) alias = written < letters.size() ? letters[written++] : 'a';
    else if (q.aliased) alias = 'a';
    s += type(q.type, false, q.type == ArgType::tensors ? -1 : 0, q.written, alias);
    if (!q.name.empty()) s += " " + q.name;
  }
  if (returns.size() != 1) s += ")";
  return s;
}

}  // namespace fb
