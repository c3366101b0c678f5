#include "compile/cache/disk.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "compile/llvm/machine.h"
#include "core/no_fork.h"

namespace fb::compile::cache {
namespace {

// 128 bits of a text: two products of words with odd numbers, each mixed with the other's upper half.
struct Digest {
  uint64_t a = 0x9e3779b97f4a7c15, b = 0xc2b2ae3d27d4eb4f;
  void word(uint64_t w) {
    const unsigned __int128 p = static_cast<unsigned __int128>(a ^ w) * 0xa0761d6478bd642fu, q = static_cast<unsigned __int128>(b + w) * 0xe7037ed1a0b428dbu;
    a = uint64_t(p) ^ uint64_t(q >> 64);
    b = (uint64_t(q) ^ uint64_t(p >> 64)) + 0x8ebc6af09c88c6e3;
  }
  void bytes(const void* p, size_t n) {
    const char* c = static_cast<const char*>(p);
    for (; n >= 8; n -= 8, c += 8) {
      uint64_t w;
      std::memcpy(&w, c, 8);
      word(w);
    }
    uint64_t w = 0;
    std::memcpy(&w, c, n);
    word(w);
    word(n);
  }
};

// The build-id among the notes of [at, end), or none.
std::string build_id(const char* at, const char* end) {
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) n;
    std::memcpy(&n, at, sizeof n);
    const char* desc = at + sizeof n + (n.n_namesz + 3) / 4 * 4;
    if (n.n_namesz > 64 || n.n_descsz > size_t(end - at) || desc + n.n_descsz > end) break;
    if (n.n_type == NT_GNU_BUILD_ID) return std::string(desc, n.n_descsz);
    at = desc + (n.n_descsz + 3) / 4 * 4;
  }
  return "";
}

// The same of a library that is not loaded.
std::string build_id_of_file(const std::string& path) {
  const int f = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (f < 0) return "";
  ElfW(Ehdr) h;
  std::string id;
  if (pread(f, &h, sizeof h, 0) == ssize_t(sizeof h) && std::memcmp(h.e_ident, ELFMAG, SELFMAG) == 0)
    for (int i = 0; id.empty() && i < h.e_phnum; ++i) {
      ElfW(Phdr) p;
      if (pread(f, &p, sizeof p, off_t(h.e_phoff + size_t(i) * sizeof p)) != ssize_t(sizeof p)) break;
      if (p.p_type != PT_NOTE || p.p_filesz > 65536) continue;
      std::string notes(p.p_filesz, 0);
      if (pread(f, notes.data(), notes.size(), off_t(p.p_offset)) == ssize_t(notes.size())) id = build_id(notes.data(), notes.data() + notes.size());
    }
  close(f);
  return id;
}

// What this library and that with LLVM are: their build-ids, and where this one lies.
struct Library {
  std::string id;
  uintptr_t base = 0;
};
const Library& library() {
  static constinit FirstUse<const Library> l;
  return l.get([] {
    Library r;
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&library), &info);
    r.base = reinterpret_cast<uintptr_t>(info.dli_fbase);
    dl_iterate_phdr(
        [](dl_phdr_info* i, size_t, void* p) {
          Library& to = *static_cast<Library*>(p);
          if (i->dlpi_addr != to.base) return 0;
          for (int k = 0; k < i->dlpi_phnum; ++k) {
            if (i->dlpi_phdr[k].p_type != PT_NOTE) continue;
            const char* at = reinterpret_cast<const char*>(i->dlpi_addr + i->dlpi_phdr[k].p_vaddr);
            if (to.id.empty()) to.id = build_id(at, at + i->dlpi_phdr[k].p_memsz);
          }
          return 1;
        },
        &r);
    const std::string maker = build_id_of_file(llvm_library());
    r.id = r.id.empty() || maker.empty() ? "" : r.id + maker;
    return r;
  });
}

bool own(const struct stat& s) { return s.st_uid == geteuid() && !(s.st_mode & (S_IWGRP | S_IWOTH)); }

std::atomic<bool> in_use{true};

// Empty where there is none.
const std::string& directory() {
  static constinit FirstUse<const std::string> d;
  return d.get([] {
    auto given = [](const char* name) {
      const char* v = std::getenv(name);
      return std::string(v ? v : "");
    };
    if (library().id.empty() || given("TORCHINDUCTOR_FORCE_DISABLE_CACHES") == "1") return std::string();
    std::string base = given("TORCHINDUCTOR_CACHE_DIR");
    if (base.empty()) {
      base = given("XDG_CACHE_HOME");
      if (base.empty()) {   // a home that is not there is not made
        const std::string home = given("HOME");
        if (struct stat s; home.empty() || stat(home.c_str(), &s) != 0) return std::string();
        base = home + "/.cache";
      }
      mkdir(base.c_str(), 0700);
      base += "/flambeau";
    }
    for (size_t at = 1; at != std::string::npos; at = base.find('/', at + 1))  // its parents, where they are not there
      if (at > 1) mkdir(base.substr(0, at).c_str(), 0700);
    mkdir(base.c_str(), 0700);
    base += "/kernels";
    mkdir(base.c_str(), 0700);
    struct stat s;
    return stat(base.c_str(), &s) == 0 && S_ISDIR(s.st_mode) && own(s) ? base : std::string();
  });
}

struct Header {
  char magic[8];
  char name[32];
  uint64_t bytes, sum[2];
};
constexpr char kMagic[8] = {'f', 'l', 'a', 'm', 'b', 'e', 'a', '1'};

Header header_of(const std::string& name, const std::string& object) {
  Header h{};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  std::memcpy(h.name, name.data(), sizeof h.name);
  h.bytes = object.size();
  Digest d;
  d.bytes(name.data(), name.size());
  d.bytes(object.data(), object.size());
  h.sum[0] = d.a;
  h.sum[1] = d.b;
  return h;
}

constexpr size_t kMostFiles = 8192;

// Where there are more files, those go that were neither read nor written for longest, until three quarters are left.
void trim() {
  DIR* d = opendir(directory().c_str());
  if (!d) return;
  std::vector<std::string> names;
  while (const dirent* e = readdir(d)) {
    const std::string_view n(e->d_name);
    if (n.ends_with(".o") || n.ends_with(".tmp")) names.emplace_back(n);
  }
  if (names.size() > kMostFiles) {
    std::vector<std::pair<int64_t, const std::string*>> used;
    for (const std::string& n : names)
      if (struct stat s; fstatat(dirfd(d), n.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0) used.emplace_back(std::max<int64_t>(s.st_atime, s.st_mtime), &n);
    std::sort(used.begin(), used.end());
    for (size_t i = 0; i + kMostFiles / 4 * 3 < used.size(); ++i) unlinkat(dirfd(d), used[i].second->c_str(), 0);
  }
  closedir(d);
}

}  // namespace

std::string name_of(const tile::Program& p) {
  Digest d;
  d.bytes(library().id.data(), library().id.size());
  d.bytes(processor(), std::strlen(processor()));
  for (const auto& r : p.regions) {
    for (tile::Id id : r.body) {
      const tile::Node& n = p[id];
      if (n.op == tile::Op::tell) return "";   // its messages lie where only this process finds them
      d.word(uint64_t(id) << 32 | uint64_t(n.op) << 24 | uint64_t(n.type.elem) << 16 | uint64_t(n.type.lanes));
      d.word(uint64_t(n.imm));
      for (tile::Id i : n.in) d.word(uint64_t(uint32_t(i)));
      if (n.callee) d.bytes(n.callee->name, std::strlen(n.callee->name));
      if (n.region >= 0) d.word(uint64_t(n.region));
    }
    for (tile::Id a : r.arguments) d.word(uint64_t(a) << 32 | uint64_t(p[a].type.elem) << 16 | uint64_t(p[a].type.lanes));
    d.word(~uint64_t(0));
  }
  for (const tile::Thunk& t : p.thunks) {
    d.word(reinterpret_cast<uintptr_t>(t.fn) - library().base);
    d.word(uint64_t(t.context));
  }
  for (const tile::Table& t : p.tables) d.bytes(t.v, sizeof t.v);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(d.a), static_cast<unsigned long long>(d.b));
  return text;
}

void use(bool on) { in_use.store(on, std::memory_order_relaxed); }

bool find(const std::string& name, std::string* object) {
  if (!in_use.load(std::memory_order_relaxed) || name.empty() || directory().empty()) return false;
  const int f = open((directory() + "/" + name + ".o").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (f < 0) return false;
  struct stat s;
  bool good = false;
  Header h;
  if (fstat(f, &s) == 0 && S_ISREG(s.st_mode) && own(s) && s.st_size >= off_t(sizeof h) && s.st_size < (64 << 20) && read(f, &h, sizeof h) == ssize_t(sizeof h)) {
    object->resize(size_t(s.st_size) - sizeof h);
    size_t have = 0;
    while (have < object->size()) {
      const ssize_t n = read(f, object->data() + have, object->size() - have);
      if (n <= 0) break;
      have += size_t(n);
    }
    const Header want = header_of(name, *object);
    good = have == object->size() && std::memcmp(&h, &want, sizeof h) == 0;
  }
  close(f);
  return good;
}

void keep(const std::string& name, const std::string& object) {
  if (!in_use.load(std::memory_order_relaxed) || name.empty() || directory().empty()) return;
  static std::atomic<int> counter{0};
  if (counter % 64 == 0) trim();
  const std::string to = directory() + "/" + name + ".o", aside = to + "." + std::to_string(getpid()) + "." + std::to_string(counter++) + ".tmp";
  const int f = open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (f < 0) return;
  const Header h = header_of(name, object);
  const std::string all = std::string(reinterpret_cast<const char*>(&h), sizeof h) + object;
  size_t put = 0;
  while (put < all.size()) {
    const ssize_t n = write(f, all.data() + put, all.size() - put);
    if (n <= 0) break;
    put += size_t(n);
  }
  if (close(f) != 0 || put != all.size() || rename(aside.c_str(), to.c_str()) != 0) unlink(aside.c_str());
}

}  // namespace fb::compile::cache
