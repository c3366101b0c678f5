// LLVM in this process: a short list of its passes, its code generator for this machine, and its linker.
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

#include "compile/llvm/emit.h"
#include "compile/llvm/machine.h"
#include "core/error.h"

namespace fb::compile {
namespace {

template <class T> T checked(llvm::Expected<T> v) {
  if (!v) raise_runtime("the machine's code generator failed: ", llvm::toString(v.takeError()));
  return std::move(*v);
}
void check(llvm::Error e) {
  if (e) raise_runtime("the machine's code generator failed: ", llvm::toString(std::move(e)));
}

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

struct Jit {
  std::mutex lock;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::orc::LLJIT> engine;
  int made = 0;

  Jit() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::orc::JITTargetMachineBuilder target(llvm::Triple("x86_64-unknown-linux-gnu"));
    target.setCPU("x86-64-v3");
    target.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
    target.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
    machine = checked(target.createTargetMachine());
    engine = checked(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(target).setNumCompileThreads(0).create());
  }
  static Jit& instance() {
    static Jit* j = new Jit;  // machine code outlives every static object
    return *j;
  }
};

}  // namespace

Entry make_code(const tile::Program& p) {
  Jit& j = Jit::instance();
  const std::lock_guard<std::mutex> hold(j.lock);
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> m = emit(p, *context);
  m->setDataLayout(j.engine->getDataLayout());
  m->setTargetTriple(j.machine->getTargetTriple().str());
  std::string why;
  llvm::raw_string_ostream stream(why);
  if (llvm::verifyModule(*m, &stream)) raise_runtime("tile program ", p.name, " made an LLVM module that is not well formed: ", stream.str());
  Optimizer(j.machine.get()).run(*m);
  // Each program has a library of its own, so that every entry may have the same name.
  auto lib_or_error = j.engine->createJITDylib("program" + std::to_string(j.made++));
  if (!lib_or_error) check(lib_or_error.takeError());
  llvm::orc::JITDylib& lib = *lib_or_error;
  check(j.engine->addIRModule(lib, llvm::orc::ThreadSafeModule(std::move(m), std::move(context))));
  return checked(j.engine->lookup(lib, "entry")).toPtr<Entry>();
}

}  // namespace fb::compile
