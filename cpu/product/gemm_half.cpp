#include "cpu/product/gemm_real.h"

namespace fb::product {

template void gemm(const Gemm<half>&);
template void gemm(const Gemm<bfloat16>&);

}  // namespace fb::product
