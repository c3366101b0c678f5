#include "cpu/product/engine.h"

namespace fb::product {
void multiply(const Problem<double>& p) { Engine<RealTiles<double>>::multiply(p); }
void multiply_complex(const Problem<double>& p) { Engine<ComplexTiles<double>>::multiply(p); }
}  // namespace fb::product
