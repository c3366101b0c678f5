// Tile programs in LLVM's terms. No operator carries a fast-math flag, so that the bits are those the program says.
#include "compile/llvm/emit.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "compile/llvm/lane_site.h"
#include "compile/llvm/machine.h"
#include "core/error.h"

namespace fb::compile {
namespace {

using namespace llvm;
using tile::Elem;
using tile::Id;
using tile::Op;

struct Emitter {
  const tile::Program& p;
  LLVMContext& c;
  Module& m;
  IRBuilder<> b;
  Function* f = nullptr;
  std::vector<llvm::Value*> value;
  std::vector<std::vector<llvm::Value*>> results;
  AllocaInst* errors = nullptr;
  Instruction* entry_end = nullptr;  // allocas go before it
  int sites = 0;
  bool fence = false;                // something is stored past the cache

  Emitter(const tile::Program& program, Module& module)
      : p(program), c(module.getContext()), m(module), b(module.getContext()), value(program.nodes.size()), results(program.nodes.size()) {}

  // ---- types ----
  // bf16 is its bits, an address an i64; truth values are i1 in registers and a byte in memory.
  llvm::Type* scalar(Elem e) {
    switch (e) {
      case Elem::b1: return b.getInt1Ty();
      case Elem::f16: return b.getHalfTy();
      case Elem::bf16: return b.getInt16Ty();
      case Elem::f32: return b.getFloatTy();
      case Elem::f64: return b.getDoubleTy();
      default: return b.getIntNTy(unsigned(8 * tile::bytes_of(e)));
    }
  }
  llvm::Type* wide(llvm::Type* t, int lanes) { return lanes == 1 ? t : FixedVectorType::get(t, unsigned(lanes)); }
  llvm::Type* of(tile::Type t) { return wide(scalar(t.elem), t.lanes); }
  llvm::Type* in_memory(Elem e) { return e == Elem::b1 ? b.getInt8Ty() : scalar(e); }
  Constant* number(llvm::Type* t, int64_t v) { return ConstantInt::get(t, uint64_t(v)); }
  Constant* real(llvm::Type* t, double v) { return ConstantFP::get(t, v); }
  AllocaInst* slot(llvm::Type* t) {
    IRBuilder<> at(entry_end);
    AllocaInst* a = at.CreateAlloca(t);
    a->setAlignment(Align(64));
    return a;
  }

  // ---- conversions ----
  llvm::Value* bf16_to_float(llvm::Value* v, int lanes) {
    llvm::Value* w = b.CreateZExt(v, wide(b.getInt32Ty(), lanes));
    return b.CreateBitCast(b.CreateShl(w, number(w->getType(), 16)), wide(b.getFloatTy(), lanes));
  }
  // To nearest even; a NaN becomes the one NaN (core/half.h).
  llvm::Value* float_to_bf16(llvm::Value* v, int lanes) {
    llvm::Type* i32 = wide(b.getInt32Ty(), lanes);
    llvm::Value* u = b.CreateBitCast(v, i32);
    llvm::Value* odd = b.CreateAnd(b.CreateLShr(u, number(i32, 16)), number(i32, 1));
    llvm::Value* r = b.CreateLShr(b.CreateAdd(b.CreateAdd(u, number(i32, 0x7fff)), odd), number(i32, 16));
    r = b.CreateSelect(b.CreateFCmpUNO(v, v), number(i32, 0x7fc0), r);
    return b.CreateTrunc(r, wide(b.getInt16Ty(), lanes));
  }
  llvm::Value* convert(llvm::Value* v, Elem from, Elem to, int lanes) {
    llvm::Type* f32 = wide(b.getFloatTy(), lanes);
    if (from == to) return v;
    if (from == Elem::bf16) return convert(bf16_to_float(v, lanes), Elem::f32, to, lanes);
    // The fence: comparisons and selections of float must not become those of half, which are calls of a C library here.
    if (from == Elem::f16) return convert(b.CreateArithmeticFence(b.CreateFPExt(v, f32), f32), Elem::f32, to, lanes);
    if (tile::is_half(to)) {
      llvm::Value* x = convert(v, from, Elem::f32, lanes);
      return to == Elem::bf16 ? float_to_bf16(x, lanes) : b.CreateFPTrunc(x, wide(b.getHalfTy(), lanes));
    }
    llvm::Type* t = wide(scalar(to), lanes);
    const bool real_from = tile::is_float(from);
    if (to == Elem::b1)
      return real_from ? b.CreateFCmpUNE(v, real(v->getType(), 0)) : b.CreateICmpNE(v, number(v->getType(), 0));
    if (tile::is_float(to)) {
      if (real_from) return to == Elem::f64 ? b.CreateFPExt(v, t) : b.CreateFPTrunc(v, t);
      return tile::is_signed(from) ? b.CreateSIToFP(v, t) : b.CreateUIToFP(v, t);
    }
    if (real_from) {
      const bool large = tile::bytes_of(to) == 8 || to == Elem::u32;    // by way of 64 bits
      const double limit = large ? 0x1p63 : 0x1p31;
      llvm::Value *upper = nullptr, *x = v;
      if (to == Elem::u64) {                                            // the upper half of its numbers, as the lower one
        upper = b.CreateFCmpOGE(v, real(v->getType(), limit));
        x = b.CreateSelect(upper, b.CreateFSub(v, real(v->getType(), limit)), v);
      }
      // What truncates to the least integer fits as well; fp32 has no numbers between that and the next one.
      llvm::Value* low = !large && from == Elem::f64 ? b.CreateFCmpOGT(x, real(v->getType(), -limit - 1)) : b.CreateFCmpOGE(x, real(v->getType(), -limit));
      llvm::Value* fits = b.CreateAnd(low, b.CreateFCmpOLT(x, real(v->getType(), limit)));
      llvm::Value* whole = b.CreateFPToSI(b.CreateSelect(fits, x, real(v->getType(), 0)), wide(large ? b.getInt64Ty() : b.getInt32Ty(), lanes));
      if (upper) whole = b.CreateSelect(b.CreateAnd(upper, fits), b.CreateOr(whole, number(whole->getType(), INT64_MIN)), whole);
      return b.CreateTruncOrBitCast(whole, t);
    }
    return tile::is_signed(from) ? b.CreateSExtOrTrunc(v, t) : b.CreateZExtOrTrunc(v, t);
  }
  // The sum with 1.5 * 2^52 holds the integer in its low bits: AVX2 has no conversion of 64-bit integers.
  llvm::Value* to_int(llvm::Value* v, int lanes, Elem to) {
    if (to == Elem::i32) return b.CreateFreeze(b.CreateFPToSI(b.CreateUnaryIntrinsic(Intrinsic::rint, v), wide(b.getInt32Ty(), lanes)));
    llvm::Type* i64 = wide(b.getInt64Ty(), lanes);
    llvm::Value* s = b.CreateBitCast(b.CreateFAdd(v, real(v->getType(), 0x1.8p52)), i64);
    return b.CreateSub(s, number(i64, 0x4338000000000000));
  }

  // ---- integers ----
  llvm::Value* divide(llvm::Value* a, llvm::Value* d, Elem e, bool quotient) {
    llvm::Type* t = a->getType();
    llvm::Value *zero = number(t, 0), *one = number(t, 1);
    llvm::Value* by_zero = b.CreateICmpEQ(d, zero);
    if (!tile::is_signed(e)) {
      llvm::Value* safe = b.CreateSelect(by_zero, one, d);
      return b.CreateSelect(by_zero, zero, quotient ? b.CreateUDiv(a, safe) : b.CreateURem(a, safe));
    }
    llvm::Value* negates = b.CreateICmpEQ(d, Constant::getAllOnesValue(t));
    llvm::Value* safe = b.CreateSelect(b.CreateOr(by_zero, negates), one, d);
    if (!quotient) return b.CreateSelect(by_zero, zero, b.CreateSRem(a, safe));  // x % 1 is 0
    llvm::Value* q = b.CreateSelect(negates, b.CreateNeg(a), b.CreateSDiv(a, safe));
    return b.CreateSelect(by_zero, zero, q);
  }
  llvm::Value* compare(Op op, llvm::Value* a, llvm::Value* d, Elem e) {
    const int i = int(op) - int(Op::lt);
    if (tile::is_float(e)) {
      constexpr CmpInst::Predicate k[] = {CmpInst::FCMP_OLT, CmpInst::FCMP_OLE, CmpInst::FCMP_OGT, CmpInst::FCMP_OGE, CmpInst::FCMP_OEQ, CmpInst::FCMP_UNE};
      return b.CreateFCmp(k[i], a, d);
    }
    constexpr CmpInst::Predicate s[] = {CmpInst::ICMP_SLT, CmpInst::ICMP_SLE, CmpInst::ICMP_SGT, CmpInst::ICMP_SGE, CmpInst::ICMP_EQ, CmpInst::ICMP_NE};
    constexpr CmpInst::Predicate u[] = {CmpInst::ICMP_ULT, CmpInst::ICMP_ULE, CmpInst::ICMP_UGT, CmpInst::ICMP_UGE, CmpInst::ICMP_EQ, CmpInst::ICMP_NE};
    return b.CreateICmp((tile::is_signed(e) ? s : u)[i], a, d);
  }

  // ---- memory ----
  llvm::Value* pointer(llvm::Value* address) { return b.CreateIntToPtr(address, b.getPtrTy()); }
  // The first address, where those of n are neighbours of e.
  llvm::Value* run_of(Id address, Elem e) {
    const tile::Node& n = p[address];
    if (n.op != Op::ramp) return nullptr;
    const tile::Node& step = p[n.in[1]];
    return step.op == Op::constant && step.imm == tile::bytes_of(e) ? value[size_t(n.in[0])] : nullptr;
  }
  bool masked_natively(Elem e) { return tile::bytes_of(e) >= 4; }
  llvm::Value* lane(llvm::Value* v, int l) { return v->getType()->isVectorTy() ? b.CreateExtractElement(v, uint64_t(l)) : v; }
  llvm::Value* as_stored(llvm::Value* v, tile::Type t) { return t.elem == Elem::b1 ? b.CreateZExt(v, wide(b.getInt8Ty(), t.lanes)) : v; }
  // A loop that calls f(address, lane) for the lanes where mask holds: short code for what is rare or slow anyway.
  template <class F> void each_lane(llvm::Value* addresses, llvm::Value* mask, int lanes, F&& f_) {
    llvm::Type *i64 = b.getInt64Ty(), *i8 = b.getInt8Ty();
    AllocaInst* at = slot(wide(i64, lanes));
    b.CreateStore(addresses, at);
    AllocaInst* on = nullptr;
    if (mask) {
      on = slot(wide(i8, lanes));
      b.CreateStore(b.CreateZExt(mask, wide(i8, lanes)), on);
    }
    BasicBlock *before = b.GetInsertBlock(), *round = BasicBlock::Create(c, "lane", f), *next = BasicBlock::Create(c, "next", f),
               *after = BasicBlock::Create(c, "lanes", f);
    b.CreateBr(round);
    b.SetInsertPoint(round);
    PHINode* l = b.CreatePHI(i64, 2);
    l->addIncoming(b.getInt64(0), before);
    if (mask) {
      BasicBlock* work = BasicBlock::Create(c, "work", f, next);
      b.CreateCondBr(b.CreateICmpNE(b.CreateLoad(i8, b.CreateGEP(i8, on, l)), b.getInt8(0)), work, next);
      b.SetInsertPoint(work);
    }
    f_(pointer(b.CreateLoad(i64, b.CreateGEP(i64, at, l))), l);
    b.CreateBr(next);
    b.SetInsertPoint(next);
    llvm::Value* more = b.CreateAdd(l, b.getInt64(1));
    l->addIncoming(more, next);
    b.CreateCondBr(b.CreateICmpSLT(more, b.getInt64(lanes)), round, after);
    b.SetInsertPoint(after);
  }
  llvm::Value* load(const tile::Node& n) {
    const int lanes = n.type.lanes;
    const Elem e = n.type.elem;
    llvm::Type* t = in_memory(e);
    llvm::Value* r;
    llvm::Value* run = lanes > 1 ? run_of(n.in[0], e) : nullptr;
    const bool masked = n.in.size() == 3;
    if (run && !masked) r = b.CreateAlignedLoad(wide(t, lanes), pointer(run), Align(1));
    else if (run && masked_natively(e))
      r = b.CreateMaskedLoad(wide(t, lanes), pointer(run), Align(1), value[size_t(n.in[1])], value[size_t(n.in[2])]);
    else if (masked || lanes > 16) {
      AllocaInst* room = slot(wide(t, lanes));  // lanes that are off keep what stands here
      if (masked) b.CreateStore(as_stored(value[size_t(n.in[2])], n.type), room);
      each_lane(value[size_t(n.in[0])], masked ? value[size_t(n.in[1])] : nullptr, lanes, [&](llvm::Value* at, llvm::Value* l) {
        b.CreateStore(b.CreateAlignedLoad(t, at, Align(1)), b.CreateGEP(t, room, l));
      });
      r = b.CreateLoad(wide(t, lanes), room);
    } else {
      r = lanes > 1 ? PoisonValue::get(wide(t, lanes)) : nullptr;
      for (int l = 0; l < lanes; ++l) {
        llvm::Value* x = b.CreateAlignedLoad(t, pointer(lane(value[size_t(n.in[0])], l)), Align(1));
        r = lanes > 1 ? b.CreateInsertElement(r, x, uint64_t(l)) : x;
      }
    }
    return e == Elem::b1 ? b.CreateICmpNE(r, number(r->getType(), 0)) : r;
  }
  void store(const tile::Node& n) {
    const tile::Type type = p[n.in[1]].type;
    llvm::Value* v = value[size_t(n.in[1])];
    if (type.elem == Elem::b1) v = b.CreateZExt(v, wide(b.getInt8Ty(), type.lanes));
    llvm::Value* run = type.lanes > 1 ? run_of(n.in[0], type.elem) : nullptr;
    const bool masked = n.in.size() == 3;
    if (run && !masked) {
      const bool past = n.imm == 1;
      StoreInst* s = b.CreateAlignedStore(v, pointer(run), past ? Align(uint64_t(std::min(32, type.lanes * tile::bytes_of(type.elem)))) : Align(1));
      if (past) s->setMetadata(LLVMContext::MD_nontemporal, MDNode::get(c, ConstantAsMetadata::get(b.getInt32(1))));
      fence |= past;
    } else if (run && masked_natively(type.elem)) {
      b.CreateMaskedStore(v, pointer(run), Align(1), value[size_t(n.in[2])]);
    } else if (masked || type.lanes > 16) {
      llvm::Type* t = in_memory(type.elem);
      AllocaInst* room = slot(wide(t, type.lanes));
      b.CreateStore(v, room);
      each_lane(value[size_t(n.in[0])], masked ? value[size_t(n.in[2])] : nullptr, type.lanes, [&](llvm::Value* at, llvm::Value* l) {
        b.CreateAlignedStore(b.CreateLoad(t, b.CreateGEP(t, room, l)), at, Align(1));
      });
    } else {
      for (int l = 0; l < type.lanes; ++l) b.CreateAlignedStore(lane(v, l), pointer(lane(value[size_t(n.in[0])], l)), Align(1));
    }
  }

  // ---- lanes one by one ----
  llvm::Value* any(llvm::Value* mask) {
    if (!mask->getType()->isVectorTy()) return mask;
    const unsigned n = cast<FixedVectorType>(mask->getType())->getNumElements();
    return b.CreateICmpNE(b.CreateBitCast(mask, b.getIntNTy(n)), number(b.getIntNTy(n), 0));
  }
  // The next site of lane_sites (lane_site.h): the loader puts it beside the code.
  void run_site(llvm::Value* mask, llvm::Value* out, llvm::Value* pointers) {
    FunctionType* type = FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getPtrTy(), b.getPtrTy()}, false);
    auto* site = new GlobalVariable(m, b.getInt8Ty(), true, GlobalValue::ExternalLinkage, nullptr, site_name(sites++));
    site->setDSOLocal(true);
    b.CreateCall(m.getOrInsertFunction("fb_run_lanes", type), {site, mask, out, pointers})->setDoesNotThrow();
  }
  llvm::Value* lanes_apart(const tile::Node& n) {
    const bool patch = n.op == Op::patch;
    const int first = patch ? 2 : 0, count = int(n.in.size()) - first;
    llvm::Type* stored = wide(in_memory(n.type.elem), n.type.lanes);
    AllocaInst* out = slot(stored);
    BasicBlock *before = nullptr, *after = nullptr;
    if (patch) {
      BasicBlock* rare = BasicBlock::Create(c, "rare", f);
      after = BasicBlock::Create(c, "joined", f);
      before = b.GetInsertBlock();
      b.CreateCondBr(any(value[size_t(n.in[0])]), rare, after);
      b.SetInsertPoint(rare);
      b.CreateStore(as_stored(value[size_t(n.in[1])], n.type), out);
    }
    llvm::Value* mask = ConstantPointerNull::get(b.getPtrTy());
    if (patch) {
      mask = slot(wide(b.getInt8Ty(), n.type.lanes));
      b.CreateStore(b.CreateZExt(value[size_t(n.in[0])], wide(b.getInt8Ty(), n.type.lanes)), mask);
    }
    AllocaInst* pointers = slot(ArrayType::get(b.getPtrTy(), uint64_t(count)));
    for (int i = 0; i < count; ++i) {
      const tile::Type t = p[n.in[first + i]].type;
      AllocaInst* a = slot(wide(in_memory(t.elem), t.lanes));
      b.CreateStore(as_stored(value[size_t(n.in[first + i])], t), a);
      b.CreateStore(a, b.CreateConstGEP1_32(b.getPtrTy(), pointers, unsigned(i)));
    }
    run_site(mask, out, pointers);
    llvm::Value* r = b.CreateLoad(stored, out);
    if (n.type.elem == Elem::b1) r = b.CreateICmpNE(r, number(stored, 0));
    if (!patch) return r;
    BasicBlock* rare_end = b.GetInsertBlock();
    b.CreateBr(after);
    b.SetInsertPoint(after);
    PHINode* joined = b.CreatePHI(r->getType(), 2);
    joined->addIncoming(value[size_t(n.in[1])], before);
    joined->addIncoming(r, rare_end);
    return joined;
  }
  // Many lanes: by way of memory, where they would have to stand during calls anyway.
  llvm::Value* call_run(const tile::Node& n) {
    llvm::Type* t = of(n.type);
    std::vector<llvm::Value*> x;
    std::vector<llvm::Type*> types;
    for (Id i : n.in) {
      AllocaInst* a = slot(t);
      b.CreateStore(value[size_t(i)], a);
      x.push_back(a);
      types.push_back(b.getPtrTy());
    }
    x.push_back(b.getInt64(uint64_t(n.type.lanes)));
    types.push_back(b.getInt64Ty());
    b.CreateCall(m.getOrInsertFunction(run_name(*n.callee, n.type.elem), FunctionType::get(b.getVoidTy(), types, false)), x)->setDoesNotThrow();
    return b.CreateLoad(t, x[0]);
  }
  // A named function is code of this library, called with a register's lanes at a time.
  llvm::Value* call(const tile::Node& n) {
    const int lanes = n.type.lanes, whole = 32 / tile::bytes_of(n.type.elem), width = lanes == 1 ? 1 : whole;
    llvm::Type* t = wide(scalar(n.type.elem), width);
    if (lanes >= 4 * whole && n.in.size() <= 2) return call_run(n);
    FunctionCallee f_ = m.getOrInsertFunction(code_name(*n.callee, n.type.elem, width),
                                              FunctionType::get(t, std::vector<llvm::Type*>(size_t(n.in.size()), t), false));
    auto* callee = cast<Function>(f_.getCallee());
    callee->setDoesNotThrow();
    callee->setDoesNotAccessMemory();
    callee->setWillReturn();
    callee->setSpeculatable();
    std::vector<llvm::Value*> x;
    for (Id i : n.in) x.push_back(value[size_t(i)]);
    return in_parts(x, lanes, width, [&](const std::vector<llvm::Value*>& part) { return b.CreateCall(f_, part); });
  }
  llvm::Value* some_lanes(llvm::Value* v, int first, int count, int have) {
    SmallVector<int, 32> k;
    for (int l = 0; l < count; ++l) k.push_back(first + l < have ? first + l : 0);
    return b.CreateShuffleVector(v, k);
  }
  // f of `width` lanes of x at a time, side by side; fewer lanes are filled up with the first one.
  template <class F> llvm::Value* in_parts(const std::vector<llvm::Value*>& x, int lanes, int width, F&& f_) {
    if (lanes == width) return f_(x);
    std::vector<llvm::Value*> parts;
    for (int first = 0; first < lanes; first += width) {
      std::vector<llvm::Value*> part;
      for (llvm::Value* v : x) part.push_back(some_lanes(v, first, width, lanes));
      parts.push_back(f_(part));
    }
    for (int have = width; parts.size() > 1; have *= 2) {
      std::vector<llvm::Value*> joined;
      for (size_t i = 0; i < parts.size(); i += 2) {
        SmallVector<int, 64> k;
        for (int l = 0; l < 2 * have; ++l) k.push_back(l);
        joined.push_back(b.CreateShuffleVector(parts[i], parts[i + 1], k));
      }
      parts = joined;
    }
    return lanes < width ? some_lanes(parts[0], 0, lanes, width) : parts[0];
  }
  void tell(const tile::Node& n) {
    const int count = int(n.in.size()) - 1, lanes = p[n.in[0]].type.lanes;
    AllocaInst* mask = slot(wide(b.getInt8Ty(), lanes));
    b.CreateStore(b.CreateZExt(value[size_t(n.in[0])], wide(b.getInt8Ty(), lanes)), mask);
    AllocaInst* pointers = slot(ArrayType::get(b.getPtrTy(), uint64_t(count ? count : 1)));
    for (int i = 0; i < count; ++i) {
      const tile::Type t = p[n.in[i + 1]].type;
      AllocaInst* a = slot(wide(in_memory(t.elem), t.lanes));
      b.CreateStore(as_stored(value[size_t(n.in[i + 1])], t), a);
      b.CreateStore(a, b.CreateConstGEP1_32(b.getPtrTy(), pointers, unsigned(i)));
    }
    run_site(mask, ConstantPointerNull::get(b.getPtrTy()), pointers);
  }
  // Lanes one after the other; only integers' changes are indivisible in the machine, floats' take a comparing loop of LLVM's.
  llvm::Value* change(const tile::Node& n) {
    const Elem e = n.type.elem;
    const int lanes = n.type.lanes;
    llvm::Type* t = scalar(e);
    AllocaInst *room = slot(wide(t, lanes)), *by = slot(wide(t, lanes)), *expected = nullptr;
    b.CreateStore(Constant::getNullValue(wide(t, lanes)), room);
    b.CreateStore(value[size_t(n.in[1])], by);
    if (n.in.size() > 3) {
      expected = slot(wide(t, lanes));
      b.CreateStore(value[size_t(n.in[3])], expected);
    }
    const Align align(static_cast<uint64_t>(tile::bytes_of(e)));
    each_lane(value[size_t(n.in[0])], value[size_t(n.in[2])], lanes, [&](llvm::Value* at, llvm::Value* l) {
      llvm::Value *x = b.CreateLoad(t, b.CreateGEP(t, by, l)), *old;
      if (n.imm == int64_t(tile::Atomic::add) || n.imm > int64_t(tile::Atomic::max) || !tile::is_float(e)) {
        if (expected) {
          llvm::Type* bits = b.getIntNTy(unsigned(8 * tile::bytes_of(e)));
          llvm::Value* want = b.CreateBitCast(b.CreateLoad(t, b.CreateGEP(t, expected, l)), bits);
          llvm::Value* pair = b.CreateAtomicCmpXchg(at, want, b.CreateBitCast(x, bits), align, AtomicOrdering::SequentiallyConsistent,
                                                    AtomicOrdering::SequentiallyConsistent);
          old = b.CreateBitCast(b.CreateExtractValue(pair, 0), t);
        } else {
          using A = AtomicRMWInst::BinOp;
          const bool sign = tile::is_signed(e);
          const A kinds[] = {tile::is_float(e) ? A::FAdd : A::Add, sign ? A::Min : A::UMin, sign ? A::Max : A::UMax, A::And, A::Or, A::Xor, A::Xchg};
          old = b.CreateAtomicRMW(kinds[n.imm], at, x, align, AtomicOrdering::SequentiallyConsistent);
        }
      } else {  // programs with these run on one thread
        old = b.CreateAlignedLoad(t, at, Align(1));
        const Op op = n.imm == int64_t(tile::Atomic::min) ? Op::lt : Op::gt;
        b.CreateAlignedStore(b.CreateSelect(compare(op, old, x, e), old, x), at, Align(1));
      }
      b.CreateStore(old, b.CreateGEP(t, room, l));
    });
    return b.CreateLoad(wide(t, lanes), room);
  }
  // A register of floats is permuted by the low bits of the indices; a single lane reads the table.
  llvm::Value* lookup(const tile::Node& n) {
    llvm::Value* i = value[size_t(n.in[0])];
    std::vector<Constant*> numbers;
    for (float v : p.tables[size_t(n.imm)].v) numbers.push_back(real(b.getFloatTy(), double(v)));
    if (n.type.lanes == 1) {
      ArrayType* t = ArrayType::get(b.getFloatTy(), 8);
      auto* table = new GlobalVariable(m, t, true, GlobalValue::PrivateLinkage, ConstantArray::get(t, numbers));
      return b.CreateLoad(b.getFloatTy(), b.CreateGEP(b.getFloatTy(), table, b.CreateZExt(b.CreateAnd(i, number(i->getType(), 7)), b.getInt64Ty())));
    }
    Constant* table = ConstantVector::get(numbers);
    return in_parts({i}, n.type.lanes, 8, [&](const std::vector<llvm::Value*>& part) {
      return b.CreateIntrinsic(Intrinsic::x86_avx2_permps, {}, {table, part[0]});
    });
  }

  // ---- loops: tested before the first round, and after each ----
  // A loop from 0 to a truth value has one round or none.
  bool is_branch(const tile::Node& n) {
    auto is = [&](Id i, int64_t v) { return p[i].op == Op::constant && p[i].imm == v; };
    return !n.imm && is(n.in[0], 0) && is(n.in[2], 1) && p[n.in[1]].op == Op::convert && p[p[n.in[1]].in[0]].type.elem == Elem::b1;
  }
  void loop(Id id, const tile::Node& n) {
    const tile::Region& r = p.regions[size_t(n.region)];
    llvm::Value *from = value[size_t(n.in[0])], *to = value[size_t(n.in[1])], *step = value[size_t(n.in[2])];
    const int count = int(n.in.size()) - 3;
    const bool branch = is_branch(n);
    BasicBlock *before = b.GetInsertBlock(), *body = BasicBlock::Create(c, "round", f), *after = BasicBlock::Create(c, "done", f);
    auto goes_on = [&](llvm::Value* in_range, llvm::Value* first) { return n.imm ? b.CreateAnd(in_range, first) : in_range; };
    b.CreateCondBr(branch ? value[size_t(p[n.in[1]].in[0])] : goes_on(b.CreateICmpSLT(from, to), n.imm ? value[size_t(n.in[3])] : nullptr), body, after);
    b.SetInsertPoint(body);
    std::vector<PHINode*> phi;           // the index, what is carried
    auto argument = [&](int i, llvm::Value* first) {
      llvm::Value*& now = value[size_t(r.arguments[size_t(i)])];
      now = first;
      if (branch) return;
      phi.push_back(b.CreatePHI(first->getType(), 2));
      phi.back()->addIncoming(first, before);
      now = phi.back();
    };
    argument(0, from);
    for (int i = 0; i < count; ++i) argument(i + 1, value[size_t(n.in[i + 3])]);
    region(n.region);
    const tile::Node& y = p[r.body.back()];
    BasicBlock* latch = b.GetInsertBlock();
    if (branch) {
      b.CreateBr(after);
    } else {
      llvm::Value* next = b.CreateAdd(phi[0], step);
      b.CreateCondBr(goes_on(b.CreateICmpSLT(next, to), n.imm ? value[size_t(y.in[0])] : nullptr), body, after);
      phi[0]->addIncoming(next, latch);
      for (int i = 0; i < count; ++i) phi[size_t(i) + 1]->addIncoming(value[size_t(y.in[i])], latch);
    }
    b.SetInsertPoint(after);
    for (int i = 0; i < count; ++i) {
      llvm::Value* v = value[size_t(y.in[i])];
      PHINode* out = b.CreatePHI(v->getType(), 2);
      out->addIncoming(value[size_t(n.in[i + 3])], before);
      out->addIncoming(v, latch);
      results[size_t(id)].push_back(out);
    }
  }

  llvm::Value* node(Id id) {
    const tile::Node& n = p[id];
    const Elem e = n.type.elem;
    const int lanes = n.type.lanes;
    auto x = [&](int i) { return value[size_t(n.in[i])]; };
    const bool real_ = tile::is_float(e);
    switch (n.op) {
      case Op::constant: {
        llvm::Type* t = of(n.type);
        if (!real_) return number(t, e == Elem::b1 ? n.imm & 1 : n.imm);
        Constant* s = cast<Constant>(ConstantExpr::getBitCast(number(b.getIntNTy(unsigned(8 * tile::bytes_of(e))), n.imm), scalar(e)));
        return lanes == 1 ? s : ConstantVector::getSplat(ElementCount::getFixed(unsigned(lanes)), s);
      }
      case Op::parameter: {
        llvm::Value* at = b.CreateConstGEP1_32(b.getInt64Ty(), f->getArg(0), unsigned(n.imm));
        return b.CreateLoad(of(n.type), at);
      }
      case Op::ramp: {
        std::vector<Constant*> k;
        llvm::Type* t = scalar(e);
        for (int l = 0; l < lanes; ++l) k.push_back(ConstantInt::get(t, uint64_t(l)));
        if (lanes == 1) return x(0);
        llvm::Value* step = b.CreateTruncOrBitCast(x(1), t);
        return b.CreateAdd(b.CreateVectorSplat(unsigned(lanes), x(0)), b.CreateMul(b.CreateVectorSplat(unsigned(lanes), step), ConstantVector::get(k)));
      }
      case Op::splat: return lanes == 1 ? x(0) : b.CreateVectorSplat(unsigned(lanes), x(0));
      case Op::low: case Op::high: {
        const int from = n.op == Op::low ? 0 : lanes;
        if (lanes == 1) return b.CreateExtractElement(x(0), uint64_t(from));
        SmallVector<int, 64> k;
        for (int l = 0; l < lanes; ++l) k.push_back(from + l);
        return b.CreateShuffleVector(x(0), k);
      }
      case Op::add: return real_ ? b.CreateFAdd(x(0), x(1)) : b.CreateAdd(x(0), x(1));
      case Op::sub: return real_ ? b.CreateFSub(x(0), x(1)) : b.CreateSub(x(0), x(1));
      case Op::mul: return real_ ? b.CreateFMul(x(0), x(1)) : b.CreateMul(x(0), x(1));
      case Op::div: return real_ ? b.CreateFDiv(x(0), x(1)) : divide(x(0), x(1), e, true);
      case Op::rem: return divide(x(0), x(1), e, false);
      case Op::neg: return real_ ? b.CreateFNeg(x(0)) : b.CreateNeg(x(0));
      case Op::min: return b.CreateSelect(compare(Op::lt, x(0), x(1), e), x(0), x(1));
      case Op::max: return b.CreateSelect(compare(Op::gt, x(0), x(1), e), x(0), x(1));
      case Op::fma: return b.CreateIntrinsic(Intrinsic::fma, {x(0)->getType()}, {x(0), x(1), x(2)});
      case Op::sqrt: return b.CreateUnaryIntrinsic(Intrinsic::sqrt, x(0));
      case Op::abs:
        if (real_) return b.CreateUnaryIntrinsic(Intrinsic::fabs, x(0));
        return tile::is_signed(e) ? b.CreateSelect(b.CreateICmpSLT(x(0), number(x(0)->getType(), 0)), b.CreateNeg(x(0)), x(0)) : x(0);
      case Op::floor: return b.CreateUnaryIntrinsic(Intrinsic::floor, x(0));
      case Op::ceil: return b.CreateUnaryIntrinsic(Intrinsic::ceil, x(0));
      case Op::trunc: return b.CreateUnaryIntrinsic(Intrinsic::trunc, x(0));
      case Op::rint: return b.CreateUnaryIntrinsic(Intrinsic::rint, x(0));
      case Op::copysign: return b.CreateBinaryIntrinsic(Intrinsic::copysign, x(0), x(1));
      case Op::bit_and: return b.CreateAnd(x(0), x(1));
      case Op::bit_or: return b.CreateOr(x(0), x(1));
      case Op::bit_xor: return b.CreateXor(x(0), x(1));
      case Op::bit_not: return b.CreateNot(x(0));
      case Op::shl: case Op::shr: case Op::sar: {
        llvm::Value* by = b.CreateAnd(x(1), number(x(1)->getType(), 8 * tile::bytes_of(e) - 1));
        return n.op == Op::shl ? b.CreateShl(x(0), by) : n.op == Op::shr ? b.CreateLShr(x(0), by) : b.CreateAShr(x(0), by);
      }
      case Op::lt: case Op::le: case Op::gt: case Op::ge: case Op::eq: case Op::ne: return compare(n.op, x(0), x(1), p[n.in[0]].type.elem);
      case Op::select: return b.CreateSelect(x(0), x(1), x(2));
      case Op::bitcast: return b.CreateBitCast(x(0), of(n.type));
      case Op::convert: return convert(x(0), p[n.in[0]].type.elem, e, lanes);
      case Op::to_int: return to_int(x(0), lanes, e);
      case Op::lookup: return lookup(n);
      case Op::call: return call(n);
      case Op::load: return load(n);
      case Op::store: store(n); return nullptr;
      case Op::loop: loop(id, n); return nullptr;
      case Op::result: return results[size_t(n.in[0])][size_t(n.imm)];
      case Op::lanes: case Op::patch: return lanes_apart(n);
      case Op::raise_if: {
        llvm::Value* bit = b.CreateShl(b.CreateZExt(any(x(0)), b.getInt32Ty()), uint64_t(n.imm));
        b.CreateStore(b.CreateOr(b.CreateLoad(b.getInt32Ty(), errors), bit), errors);
        return nullptr;
      }
      case Op::any: return any(x(0));
      case Op::tell: tell(n); return nullptr;
      case Op::atomic: return change(n);
      case Op::yield: return nullptr;
      default: raise_runtime("tile program ", p.name, ": ", tile::name_of(n.op), " was left for the machine's code");
    }
  }
  void region(int32_t r) {
    for (Id id : p.regions[size_t(r)].body) value[size_t(id)] = node(id);
  }

  void run() {
    FunctionType* type = FunctionType::get(b.getInt32Ty(), {b.getPtrTy()}, false);
    f = Function::Create(type, Function::ExternalLinkage, "entry", m);
    f->setDoesNotThrow();
    f->addFnAttr("target-cpu", processor());
    f->addFnAttr("prefer-vector-width", tile::wide_vectors() ? "512" : "256");
    BasicBlock *entry = BasicBlock::Create(c, "entry", f), *start = BasicBlock::Create(c, "start", f);
    b.SetInsertPoint(entry);
    entry_end = b.CreateBr(start);
    b.SetInsertPoint(start);
    errors = slot(b.getInt32Ty());
    b.CreateStore(b.getInt32(0), errors);
    region(0);
    if (fence) b.CreateIntrinsic(Intrinsic::x86_sse_sfence, {}, {});
    b.CreateRet(b.CreateLoad(b.getInt32Ty(), errors));
  }
};

}  // namespace

std::unique_ptr<Module> emit(const tile::Program& p, LLVMContext& context) {
  auto m = std::make_unique<Module>(p.name, context);
  Emitter e(p, *m);
  e.run();
  return m;
}

}  // namespace fb::compile
