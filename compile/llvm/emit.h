// A tile program as an LLVM module.
#pragma once
#include <memory>

#include "compile/tile/ir.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace fb::compile {

std::unique_ptr<llvm::Module> emit(const tile::Program& p, llvm::LLVMContext& context);

}  // namespace fb::compile
