#include "cpu/product/gemm_real.h"

namespace fb::product {

template void gemm(const Gemm<float>&);
template void gemm(const Gemm<double>&);

}  // namespace fb::product
