#include "cpu/product/engine.h"

namespace fb::product {
void multiply(const Problem<float>& p) { Engine<RealTiles<float>>::multiply(p); }
void multiply_complex(const Problem<float>& p) { Engine<ComplexTiles<float>>::multiply(p); }
}  // namespace fb::product
