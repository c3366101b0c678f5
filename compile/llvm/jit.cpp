// LLVM in this process: a short list of its passes, and its code generator for this machine. With emit.cpp it is a library of
// its own, libtorch_llvm, whose one entry load_llvm.cpp calls.
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <chrono>
#include <mutex>

#include "compile/llvm/emit.h"
#include "compile/llvm/machine.h"
#include "core/error.h"

namespace fb::compile {
namespace {

// Programs come as vectors already; what is left is to take loads and constants out of loops and to tidy.
struct Optimizer {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes;
  llvm::FunctionPassManager list;

  explicit Optimizer(llvm::TargetMachine* machine) : passes(machine) {
    passes.registerModuleAnalyses(modules);
    passes.registerCGSCCAnalyses(calls);
    passes.registerFunctionAnalyses(functions);
    passes.registerLoopAnalyses(loops);
    passes.crossRegisterProxies(loops, functions, calls, modules);
    list.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    list.addPass(llvm::EarlyCSEPass(true));
    list.addPass(llvm::InstCombinePass());
    list.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    list.addPass(llvm::SimplifyCFGPass());
  }
  void run(llvm::Module& m) {
    for (llvm::Function& f : m)
      if (!f.isDeclaration()) list.run(f, functions);
    functions.clear();
    loops.clear();
  }
};

struct Machine {
  std::mutex lock;
  std::unique_ptr<llvm::TargetMachine> target;

  Machine() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    const char* triple = "x86_64-unknown-linux-gnu";
    std::string why;
    const llvm::Target* t = llvm::TargetRegistry::lookupTarget(triple, why);
    if (!t) raise_runtime("the machine's code generator is not there: ", why);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    target.reset(t->createTargetMachine(triple, "x86-64-v3", "", options, llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  }
  static Machine& instance() {
    static Machine* m = new Machine;
    return *m;
  }
};

}  // namespace

extern "C" [[gnu::visibility("default")]] void fb_make_object(const tile::Program& p, double* times, std::string* to) {
  auto now = [] { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  Machine& j = Machine::instance();
  const double t1 = now();
  const std::lock_guard<std::mutex> hold(j.lock);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> m = emit(p, context);
  m->setDataLayout(j.target->createDataLayout());
  m->setTargetTriple(j.target->getTargetTriple().str());
  std::string why;
  llvm::raw_string_ostream stream(why);
  if (llvm::verifyModule(*m, &stream)) raise_runtime("tile program ", p.name, " made an LLVM module that is not well formed: ", stream.str());
  const double t2 = now();
  Optimizer(j.target.get()).run(*m);
  const double t3 = now();
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream out(object);
  llvm::legacy::PassManager list;
  if (j.target->addPassesToEmitFile(list, out, nullptr, llvm::CodeGenFileType::ObjectFile)) raise_runtime("the machine's code generator cannot write objects");
  list.run(*m);
  const double t4 = now();
  if (times) {
    times[0] = t2 - t1;
    times[1] = t3 - t2;
    times[2] = t4 - t3;
  }
  to->assign(object.data(), object.size());
}

}  // namespace fb::compile
