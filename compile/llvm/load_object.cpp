// Takes an object file of x86-64 into memory: its sections side by side, behind them the sites of lanes and a jump to each
// function outside. Everything lies within the reach of the code's 32-bit distances.
#include <elf.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include "compile/llvm/lane_site.h"
#include "compile/llvm/machine.h"
#include "compile/tile/named_runs.h"
#include "core/error.h"

namespace fb::compile {

std::vector<LaneSite> lane_sites(const tile::Program& p) {
  std::vector<LaneSite> r;
  auto walk = [&](auto& self, int32_t region) -> void {
    for (tile::Id id : p.regions[size_t(region)].body) {
      const tile::Node& n = p[id];
      if (n.op == tile::Op::loop) self(self, n.region);
      if (n.op != tile::Op::lanes && n.op != tile::Op::patch && n.op != tile::Op::tell) continue;
      const int first = n.op == tile::Op::patch ? 2 : n.op == tile::Op::tell ? 1 : 0;
      const int lanes = n.op == tile::Op::tell ? p[n.in[0]].type.lanes : n.type.lanes;
      LaneSite s{p.thunks[size_t(n.imm)], lanes, int(n.in.size()) - first, {}, tile::bytes_of(n.type.elem)};
      for (int i = 0; i < s.count; ++i) s.in_bytes[i] = tile::bytes_of(p[n.in[first + i]].type.elem);
      r.push_back(s);
    }
  };
  walk(walk, 0);
  return r;
}

namespace {

thread_local std::string why;

const void* function_of(const std::string& name) {
  if (name == "fb_run_lanes") return reinterpret_cast<const void*>(&run_lanes);
  if (name == "memset") return reinterpret_cast<const void*>(&std::memset);
  if (name == "memcpy") return reinterpret_cast<const void*>(static_cast<void* (*)(void*, const void*, size_t)>(&std::memcpy));
  // fb_exp_f32, fb_exp_f32v ...
  const size_t tail = name.rfind("_f");
  if (name.compare(0, 3, "fb_") != 0 || tail == std::string::npos || tail < 3) return nullptr;
  const tile::Named* f = tile::find_named(std::string_view(name).substr(3, tail - 3));
  const std::string_view kind = std::string_view(name).substr(tail + 1);
  if (kind == "f32n" || kind == "f64n") {
    const tile::NamedRuns* r = tile::find_runs(std::string_view(name).substr(3, tail - 3));
    return r ? kind == "f32n" ? r->f32 : r->f64 : nullptr;
  }
  const int at = kind == "f32v" ? 0 : kind == "f32" ? 1 : kind == "f64v" ? 2 : kind == "f64" ? 3 : -1;
  return f && at >= 0 ? f->code[at] : nullptr;
}

struct Loader {
  const std::string& file;
  const tile::Program& p;
  std::vector<Elf64_Shdr> sections;
  std::vector<size_t> place;          // of sections, within the memory
  std::vector<Elf64_Sym> symbols;
  const char* names = nullptr;
  size_t names_size = 0;

  template <class T> bool read(size_t at, T* to) const {
    if (at > file.size() || file.size() - at < sizeof(T)) return false;
    std::memcpy(static_cast<void*>(to), file.data() + at, sizeof(T));
    return true;
  }
  // Nothing of ours is large, or lies on borders wider than a page.
  bool within(const Elf64_Shdr& s) const {
    if (s.sh_addralign > 4096 || (s.sh_addralign & (s.sh_addralign - 1)) || s.sh_size > (64u << 20)) return false;
    return s.sh_type == SHT_NOBITS ? (s.sh_flags & SHF_ALLOC) != 0 : s.sh_offset <= file.size() && file.size() - s.sh_offset >= s.sh_size;
  }
  bool stored(size_t section) const { return section < sections.size() && sections[section].sh_type != SHT_NOBITS; }
  std::string name_of(uint32_t at) const {
    if (at >= names_size) return "";
    return std::string(names + at, strnlen(names + at, names_size - at));
  }
  bool headers() {
    Elf64_Ehdr h;
    if (!read(0, &h) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_X86_64 || h.e_type != ET_REL) return false;
    for (size_t i = 0; i < h.e_shnum; ++i) {
      Elf64_Shdr s;
      if (!read(h.e_shoff + i * sizeof s, &s)) return false;
      if (s.sh_type != SHT_NULL && !within(s)) return false;
      sections.push_back(s);
    }
    for (const Elf64_Shdr& s : sections) {
      if (s.sh_type != SHT_SYMTAB) continue;
      if (!stored(s.sh_link)) return false;
      names = file.data() + sections[s.sh_link].sh_offset;
      names_size = sections[s.sh_link].sh_size;
      for (size_t i = 0; i < s.sh_size / sizeof(Elf64_Sym); ++i) {
        Elf64_Sym sym;
        if (!read(s.sh_offset + i * sizeof sym, &sym)) return false;
        symbols.push_back(sym);
      }
    }
    return !symbols.empty();
  }
  Ref<Code> run() {
    if (!headers()) return {};
    size_t total = 0;
    auto take = [&](size_t bytes, size_t align) {
      total = (total + align - 1) / align * align;
      total += bytes;
      return total - bytes;
    };
    place.assign(sections.size(), SIZE_MAX);
    for (size_t i = 0; i < sections.size(); ++i)
      if ((sections[i].sh_flags & SHF_ALLOC) && sections[i].sh_type != SHT_X86_64_UNWIND && section_name(i) != ".eh_frame")
        place[i] = take(sections[i].sh_size, sections[i].sh_addralign ? sections[i].sh_addralign : 1);
    const std::vector<LaneSite> sites = lane_sites(p);
    const size_t sites_at = take(sites.size() * sizeof(LaneSite), alignof(LaneSite));
    std::map<std::string, size_t> jumps;
    for (const Elf64_Sym& s : symbols)
      if (s.st_shndx == SHN_UNDEF && s.st_name && name_of(s.st_name).compare(0, 8, "fb_site_") != 0)
        if (!jumps.contains(name_of(s.st_name))) jumps[name_of(s.st_name)] = take(16, 16);
    if (total > (64u << 20)) return {};
    const size_t size = (total + 4095) / 4096 * 4096;
    char* memory = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) {
      why = text("there is no memory for its ", int64_t(size), " bytes: ", std::strerror(errno));
      return {};
    }
    for (size_t i = 0; i < sections.size(); ++i)
      if (place[i] != SIZE_MAX && sections[i].sh_type != SHT_NOBITS) std::memcpy(memory + place[i], file.data() + sections[i].sh_offset, sections[i].sh_size);
    if (!sites.empty()) std::memcpy(static_cast<void*>(memory + sites_at), sites.data(), sites.size() * sizeof(LaneSite));
    for (const auto& [name, at] : jumps) {
      const void* f = function_of(name);
      if (!f) {
        why = "it calls " + name + ", which is not there";
        return fail(memory, size);
      }
      const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *[rip]
      std::memcpy(memory + at, jump, sizeof jump);
      std::memcpy(memory + at + 6, &f, 8);
    }
    Entry entry = nullptr;
    std::vector<const char*> where(symbols.size(), nullptr);
    for (size_t i = 0; i < symbols.size(); ++i) {
      const Elf64_Sym& s = symbols[i];
      if (s.st_shndx == SHN_UNDEF) {
        const std::string name = name_of(s.st_name);
        if (name.compare(0, 8, "fb_site_") == 0) {
          const size_t at = size_t(std::strtoul(name.c_str() + 8, nullptr, 10));
          if (at >= sites.size()) return fail(memory, size);
          where[i] = memory + sites_at + at * sizeof(LaneSite);
        } else if (s.st_name) where[i] = memory + jumps[name];
      } else if (s.st_shndx < sections.size() && place[s.st_shndx] != SIZE_MAX) {
        if (s.st_value > sections[s.st_shndx].sh_size) return fail(memory, size);
        where[i] = memory + place[s.st_shndx] + s.st_value;
        if (name_of(s.st_name) == "entry") entry = reinterpret_cast<Entry>(reinterpret_cast<uintptr_t>(where[i]));
      }
    }
    for (const Elf64_Shdr& s : sections) {
      if (s.sh_type != SHT_RELA || s.sh_info >= sections.size() || place[s.sh_info] == SIZE_MAX || sections[s.sh_info].sh_type == SHT_NOBITS) continue;
      for (size_t k = 0; k < s.sh_size / sizeof(Elf64_Rela); ++k) {
        Elf64_Rela r;
        if (!read(s.sh_offset + k * sizeof r, &r)) return fail(memory, size);
        const size_t symbol = ELF64_R_SYM(r.r_info), type = ELF64_R_TYPE(r.r_info);
        const size_t bytes = type == R_X86_64_64 ? 8 : 4;
        if (symbol >= where.size() || !where[symbol] || sections[s.sh_info].sh_size < bytes || r.r_offset > sections[s.sh_info].sh_size - bytes) return fail(memory, size);
        char* at = memory + place[s.sh_info] + r.r_offset;
        const int64_t target = reinterpret_cast<int64_t>(where[symbol]) + r.r_addend, distance = target - reinterpret_cast<int64_t>(at);
        if (type == R_X86_64_64) std::memcpy(at, &target, 8);
        else if (type == R_X86_64_PC32 || type == R_X86_64_PLT32) {
          const int32_t d = int32_t(distance);
          std::memcpy(at, &d, 4);
        } else return fail(memory, size);
      }
    }
    if (!entry) return fail(memory, size);
    if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) {
      why = text("this process may not make memory executable: ", std::strerror(errno));
      return fail(memory, size);
    }
    Ref<Code> code(new Code);
    code->entry = entry;
    code->memory = memory;
    code->size = size;
    return code;
  }
  std::string section_name(size_t i) const {
    Elf64_Ehdr h;
    if (!read(0, &h) || !stored(h.e_shstrndx)) return "";
    const Elf64_Shdr& s = sections[h.e_shstrndx];
    if (sections[i].sh_name >= s.sh_size) return "";
    const char* n = file.data() + s.sh_offset + sections[i].sh_name;
    return std::string(n, strnlen(n, s.sh_size - sections[i].sh_name));
  }
  static Ref<Code> fail(char* memory, size_t size) {
    munmap(memory, size);
    return {};
  }
};

}  // namespace

void Code::destroy(Code* c) {
  munmap(c->memory, c->size);
  delete c;
}

const std::string& why_not_loaded() { return why; }

Ref<Code> load_object(const std::string& object, const tile::Program& p) {
  why = "its object is damaged";
  return Loader{object, p, {}, {}, {}, nullptr, 0}.run();
}

}  // namespace fb::compile
