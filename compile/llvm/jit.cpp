// LLVM in this process: a short list of its passes, and its code generator for this machine. With emit.cpp it is a library of
// its own, libtorch_llvm, whose one entry load_llvm.cpp calls.
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <chrono>
#include <mutex>
#include <vector>

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

// Code generators, one for each thread that compiles at the same time.
class Machines {
 public:
  using Machine = std::unique_ptr<llvm::TargetMachine>;

  static Machines& instance() {
    static Machines* m = new Machines;
    return *m;
  }
  Machine take() {
    {
      const std::lock_guard<std::mutex> hold(lock_);
      if (!idle_.empty()) {
        Machine m = std::move(idle_.back());
        idle_.pop_back();
        return m;
      }
    }
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    return Machine(target_->createTargetMachine(kTriple, processor(), "", options, llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  }
  void give_back(Machine m) {
    const std::lock_guard<std::mutex> hold(lock_);
    idle_.push_back(std::move(m));
  }

 private:
  static constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

  Machines() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    // A tile's registers alternate in the order of the text. LLVM's machine scheduler saves registers by taking one after the
    // other, and the processor cannot look far enough ahead to undo that. It is off by a switch of LLVM's alone, which has no other road.
    const char* const switches[] = {"", "-enable-misched=false"};
    llvm::cl::ParseCommandLineOptions(2, switches);
    std::string why;
    target_ = llvm::TargetRegistry::lookupTarget(kTriple, why);
    if (!target_) raise_runtime("the machine's code generator is not there: ", why);
  }
  std::mutex lock_;
  const llvm::Target* target_ = nullptr;
  std::vector<Machine> idle_;
};

}  // namespace

extern "C" [[gnu::visibility("default")]] void fb_make_object(const tile::Program& p, double* times, std::string* to) {
  auto now = [] { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  const double t1 = now();
  Machines::Machine target = Machines::instance().take();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> m = emit(p, context);
  m->setDataLayout(target->createDataLayout());
  m->setTargetTriple(target->getTargetTriple().str());
  std::string why;
  llvm::raw_string_ostream stream(why);
  if (llvm::verifyModule(*m, &stream)) raise_runtime("tile program ", p.name, " made an LLVM module that is not well formed: ", stream.str());
  const double t2 = now();
  Optimizer(target.get()).run(*m);
  const double t3 = now();
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream out(object);
  llvm::legacy::PassManager list;
  if (target->addPassesToEmitFile(list, out, nullptr, llvm::CodeGenFileType::ObjectFile)) raise_runtime("the machine's code generator cannot write objects");
  list.run(*m);
  Machines::instance().give_back(std::move(target));
  const double t4 = now();
  if (times) {
    times[0] = t2 - t1;
    times[1] = t3 - t2;
    times[2] = t4 - t3;
  }
  to->assign(object.data(), object.size());
}

}  // namespace fb::compile
