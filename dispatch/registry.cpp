// The table of operators, made from the records in the linker sections fb_cards and fb_kernels on first use.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "core/fork_mutex.h"
#include "dispatch/call.h"
#include "dispatch/invoke.h"
#include "dispatch/library.h"
#include "dispatch/op.h"
#include "dispatch/table_read.h"
#include "dispatch/vjp.h"

extern "C" {
extern const fb::CardSlot __start_fb_cards[];
extern const fb::CardSlot __stop_fb_cards[];
extern const fb::KernelRecord __start_fb_kernels[];
extern const fb::KernelRecord __stop_fb_kernels[];
}

namespace fb {
namespace {

struct Registry {
  std::map<std::string, Packet*, std::less<>> packets;
  std::map<std::string, OpEntry*, std::less<>> ops;
  uint64_t changes = 1;                          // of the packets

  Packet& packet(const std::string& name) {
    Packet*& p = packets[name];
    if (!p) {
      p = new Packet;
      p->name = name;
    }
    return *p;
  }

  OpEntry& add(OpEntry e) {
    OpEntry* p = new OpEntry(std::move(e));
    p->packet = &packet(p->schema.name);
    p->packet->overloads.push_back(p);
    ops.emplace(p->schema.full_name(), p);
    set_invoke(*p);
    return *p;
  }

  // "sigmoid" -> "SigmoidBackward0", "special_i0e" -> "SpecialI0EBackward0"
  static std::string grad_name(const std::string& name) {
    std::string out;
    bool up = true;
    for (char c : name) {
      if (c == '_') {
        up = true;
        continue;
      }
      out += up ? char(toupper(c)) : c;
      up = isdigit(c);
    }
    return out + "Backward";
  }

  // A card that takes a number in place of its second tensor has an overload for numbers alone. Calls find the first one;
  // what watches them (dispatch modes, graphs) sees the second.
  void add_for_numbers(const OpEntry& e, const std::vector<OpEntry*>& derived) {
    const Schema& s = e.schema;
    if (e.card->kind != CardKind::pointwise || s.overload != "Tensor" || !(e.card->numbers & 2) || s.args.size() < 2 || s.args[1].type != ArgType::tensor) return;
    const char* overload = s.name == "bitwise_left_shift" || s.name == "bitwise_right_shift" ? "Tensor_Scalar" : "Scalar";
    if (ops.count(s.name + "." + overload)) return;
    std::vector<OpEntry> numbers{e};
    for (const OpEntry* q : derived)
      if (q->form == OpForm::inplace) numbers.push_back(*q);
    for (OpEntry& q : numbers) {
      q.schema.overload = overload;
      q.schema.args[1].type = ArgType::scalar;
      q.schema.tensor_mask &= ~uint64_t(2);
      add(std::move(q));
    }
  }

  // What a card says of names among its aliases: ".OVERLOAD" is that of its out= form, where that is not the usual one, and
  // ".OVERLOAD:NAME,NAME" names the tensors to be written as well; "_.OVERLOAD" is that of its in-place form; "NAME.OVERLOAD"
  // another name whose overload has a name of its own. "NAME" alone is another name with the same overloads.
  struct Names {
    std::string_view out, written, inplace;
    bool says_out = false, says_inplace = false;
    std::vector<std::string_view> others;

    explicit Names(const char* aliases) {
      for (const char* a = aliases; a && *a;) {
        const char* end = strchr(a, ' ');
        std::string_view word(a, end ? size_t(end - a) : strlen(a));
        a += word.size() + (end ? 1 : 0);
        if (word.starts_with('.')) {
          says_out = true;
          const size_t colon = word.find(':');
          out = word.substr(1, colon == word.npos ? word.npos : colon - 1);
          if (colon != word.npos) written = word.substr(colon + 1);
        } else if (word.starts_with("_.")) {
          says_inplace = true;
          inplace = word.substr(2);
        } else others.push_back(word);
      }
    }
    // Of the k-th tensor to be written; empty where nothing is said.
    std::string written_name(size_t k) const {
      std::string_view rest = written;
      for (; k && !rest.empty(); --k) rest = rest.find(',') == rest.npos ? std::string_view() : rest.substr(rest.find(',') + 1);
      return std::string(rest.substr(0, rest.find(',')));
    }
  };

  void add_card(const CardRecord& c, std::map<std::string, int>& grad_numbers) {
    const Names names(c.aliases);
    OpEntry f;
    f.card = &c;
    f.schema = parse_schema(c.schema);
    if (c.grad_name) f.grad_name = c.grad_name;
    else if (c.kind != CardKind::composite) {
      const std::string g = grad_name(f.schema.name);
      f.grad_name = g + std::to_string(grad_numbers[g]++);
    }
    OpEntry& e = add(std::move(f));
    e.functional = &e;
    e.packet->forms |= c.forms;
    std::vector<OpEntry*> derived;
    if (!e.packet->doc || !*e.packet->doc) e.packet->doc = c.doc;
    if (c.forms & form::inplace) {
      OpEntry i;
      i.card = &c;
      i.form = OpForm::inplace;
      i.schema = e.schema;
      i.schema.name += "_";
      if (names.says_inplace) i.schema.overload = names.inplace;
      i.schema.args[0].name = "self";
      i.schema.args[0].aliased = false;
      i.schema.args[0].written = i.schema.writes = true;
      i.schema.is_view = false;
      i.schema.returns[0].written = true;
      i.schema.returns[0].aliased = false;
      i.grad_name = e.grad_name;
      i.functional = &e;
      OpEntry& ie = add(std::move(i));
      derived.push_back(&ie);
      ie.packet->forms |= (c.forms & (form::method | form::nn | form::hidden)) | (c.forms & form::fn_inplace ? uint32_t(form::fn) : 0u);
      if (!ie.packet->doc) ie.packet->doc = c.doc;
    }
    if (c.forms & form::out) {
      OpEntry o;
      o.card = &c;
      o.form = OpForm::out;
      o.schema = e.schema;
      const std::string& ov = e.schema.overload;
      o.schema.overload = names.says_out ? std::string(names.out) : (ov.empty() || ov == "Tensor") && !ops.count(e.schema.name + ".out") ? "out" : ov + "_out";
      o.functional = &e;
      for (size_t k = 0; k < e.schema.returns.size(); ++k) {
        ArgSpec a;
        a.name = names.written_name(k);
        if (a.name.empty()) a.name = e.schema.returns.size() == 1 ? "out" : e.schema.returns[k].name.empty() ? text("out", int64_t(k)) : e.schema.returns[k].name;
        a.type = ArgType::tensor;
        a.kwarg_only = true;
        a.written = true;
        o.schema.tensor_mask |= uint64_t(1) << o.schema.args.size();
        o.schema.args.push_back(std::move(a));
        o.schema.returns[k].written = true;
      }
      o.schema.writes = true;
      if (!ops.count(o.schema.full_name())) derived.push_back(&add(std::move(o)));
    }
    add_for_numbers(e, derived);
    // Other names: the same card under a name of its own, forms included.
    for (const std::string_view word : names.others) {
      const size_t dot = word.find('.');
      const std::string name(word.substr(0, dot));
      std::vector<OpEntry> copies;
      copies.push_back(e);
      for (OpEntry* q : derived) copies.push_back(*q);
      for (OpEntry& q : copies) {
        q.schema.name = name + (q.form == OpForm::inplace ? "_" : "");
        if (dot != word.npos) {
          const std::string overload(word.substr(dot + 1));
          q.schema.overload = q.form != OpForm::out ? overload : overload.empty() ? "out" : overload + "_out";
        }
        const bool special = name.rfind("special_", 0) == 0;  // never in place, never a method
        if (q.form == OpForm::inplace && special) continue;
        const bool inplace = q.form == OpForm::inplace;
        OpEntry& added = add(std::move(q));
        if (special) added.packet->forms |= form::special | form::out;
        else if (inplace)
          added.packet->forms |= (c.forms & (form::method | form::nn)) | (c.forms & form::fn_inplace ? uint32_t(form::fn) : 0u);
        else added.packet->forms |= c.forms;
        if (!added.packet->doc) added.packet->doc = c.doc;
      }
    }
  }

  Registry() {
    // A header that includes another card's emits that card once more; overloads keep the order of their header.
    std::vector<CardSlot> cards;
    std::set<const CardRecord*> seen;
    for (auto p = __start_fb_cards; p < __stop_fb_cards; ++p)
      if (p->card && seen.insert(p->card).second) cards.push_back(*p);
    std::stable_sort(cards.begin(), cards.end(), [](const CardSlot& a, const CardSlot& b) { return a.order < b.order; });
    std::map<std::string, int> grad_numbers;
    for (const CardSlot& c : cards) add_card(*c.card, grad_numbers);
    for (const KernelRecord* k = __start_fb_kernels; k < __stop_fb_kernels; ++k) {
      if (!k->op || (k->style == KernelStyle::pointwise && !k->table)) continue;
      // A pointwise record names its whole schema; only the name before "(" counts.
      const std::string_view name(k->op, strcspn(k->op, "("));
      bool found = false;
      for (auto& [full, e] : ops)
        if (e->functional && std::string_view(e->functional->schema.full_name()) == name) {
          e->cpu.push_back(k);
          found = true;
        }
      if (!found) raise_runtime("a kernel is registered for '", name, "', but no card has that name");
    }
    for (auto& [full, e] : ops)
      std::stable_sort(e->cpu.begin(), e->cpu.end(), [](auto* a, auto* b) { return a->rank < b->rank; });
  }
};

Registry& registry() {
  static Registry* r = new Registry;
  return *r;
}
constinit ForkMutex table_lock;  // names are looked up rarely: call sites keep what they found

}  // namespace

Packet* find_packet(std::string_view name) {
  auto& r = registry();
  std::shared_lock<ForkMutex> guard(table_lock);
  const auto i = r.packets.find(name);
  return i == r.packets.end() ? nullptr : i->second;
}

const OpEntry* find_op(std::string_view full) {
  auto& r = registry();
  std::shared_lock<ForkMutex> guard(table_lock);
  const auto i = r.ops.find(full);
  return i == r.ops.end() ? nullptr : i->second;
}

TableRead::TableRead() {
  registry();
  table_lock.lock_shared();
}
TableRead::~TableRead() { table_lock.unlock_shared(); }

const std::vector<Packet*>& all_packets() {
  auto& r = registry();
  // A thread's own list: it stays as it is until the thread asks again after a change.
  thread_local std::vector<Packet*> list;
  thread_local uint64_t made_at = 0;
  std::shared_lock<ForkMutex> guard(table_lock);
  if (made_at != r.changes) {
    list.clear();
    for (auto& [name, p] : r.packets) list.push_back(p);
    made_at = r.changes;
  }
  return list;
}

bool registry_add(OpEntry* op) {
  auto& r = registry();
  std::unique_lock<ForkMutex> guard(table_lock);
  if (!r.ops.emplace(op->schema.full_name(), op).second) return false;
  op->packet = &r.packet(op->schema.name);
  op->packet->overloads.push_back(op);
  op->packet->forms |= op->card->forms;
  ++r.changes;
  return true;
}

void registry_remove(const OpEntry& op) {
  auto& r = registry();
  std::unique_lock<ForkMutex> guard(table_lock);
  auto& l = op.packet->overloads;
  l.erase(std::remove(l.begin(), l.end(), &op), l.end());
  if (const auto i = r.ops.find(op.schema.full_name()); i != r.ops.end() && i->second == &op) r.ops.erase(i);
  if (!l.empty()) return;
  if (const auto i = r.packets.find(op.schema.name); i != r.packets.end() && i->second == op.packet) r.packets.erase(i);
  ++r.changes;
}

namespace {
bool fits(const ArgSpec& a, const Value& v, bool numbers) {
  if (v.is_none()) return a.optional || a.type == ArgType::optional_tensors || a.type == ArgType::tensor;
  switch (a.type) {
    case ArgType::tensor: return v.tag == Tag::tensor || (numbers && v.is_number());
    case ArgType::tensors: case ArgType::optional_tensors: return v.tag == Tag::tensors;
    case ArgType::scalar: return v.is_number();
    case ArgType::scalars: return v.tag == Tag::scalars;
    case ArgType::integer: return v.tag == Tag::integer || v.tag == Tag::boolean;
    case ArgType::ints: return v.tag == Tag::ints;
    case ArgType::floating: return v.tag == Tag::floating || v.tag == Tag::integer;
    case ArgType::doubles: return v.tag == Tag::doubles;
    case ArgType::boolean: return v.tag == Tag::boolean;
    case ArgType::bools: return v.tag == Tag::bools;
    case ArgType::string: return v.tag == Tag::string;
    case ArgType::dtype: return v.tag == Tag::dtype;
    case ArgType::device: return v.tag == Tag::device;
    case ArgType::layout: return v.tag == Tag::layout;
    case ArgType::memory_format: return v.tag == Tag::memory_format;
    case ArgType::generator: return v.tag == Tag::generator;
  }
  return false;
}
}  // namespace

const OpEntry& resolve_op(const char* name, const Value* args, int n) {
  auto takes = [&](const OpEntry& e) {
    const Schema& s = e.schema;
    if (n > int(s.args.size())) return false;
    for (int i = 0; i < n; ++i)
      if (!fits(s.args[size_t(i)], args[i], e.card && (e.card->numbers >> i & 1))) return false;
    for (size_t i = size_t(n); i < s.args.size(); ++i)
      if (!s.args[i].has_default) return false;
    return true;
  };
  if (strchr(name, '.')) {
    if (const OpEntry* e = find_op(name)) {
      if (takes(*e)) return *e;
      raise_runtime("operator ", e->schema.print(), " was called with arguments that do not fit");
    }
  } else if (Packet* p = find_packet(name)) {
    {
      const TableRead table;
      for (const OpEntry* e : p->overloads)
        if (takes(*e)) return *e;
    }
    std::string tags;
    for (int i = 0; i < n; ++i) tags += text(i ? ", " : "", int(args[i].tag));
    raise_runtime("no overload of operator ", name, " takes these ", n, " arguments (tags ", tags, ")");
  }
  raise_not_implemented("operator ", name, " is not there yet");
}

void call_with_defaults(const OpEntry& op, Value* args, int n, Results& out) {
  const auto& specs = op.schema.args;
  for (size_t i = size_t(n); i < specs.size(); ++i) args[i] = specs[i].default_value;
  op.invoke(op, args, out);
}

}  // namespace fb
