#include "compile/point_call.h"

#include <cstring>

#include "core/error.h"
#include "dispatch/thread_state.h"

namespace fb::compile {

bool prepare_point(const OpEntry& op, const Value* args, PointCall& c, std::string* why) {
  auto no = [&](auto&&... words) {
    if (why) *why = text(words...);
    return false;
  };
  const PointwiseCard& card = *op.card->pointwise;
  c.card = find_tile_card(op.card->schema);
  if (!c.card) return no("its card has no unit");
  for (uint64_t m = card.operands; m; m &= m - 1) {
    const int i = __builtin_ctzll(m);
    if (args[i].tag == Tag::tensor || args[i].is_number()) {
      c.argument[c.nin] = i;
      c.operands[c.nin++] = args[i];
    } else if (c.nin && op.schema.args[size_t(i)].optional) {
      c.argument[c.nin] = c.argument[0];
      c.operands[c.nin++] = c.operands[0];
    } else return no("argument ", i, " is absent");
  }
  if (card.mode) c.mode = card.mode(args);
  c.compute = result_type(c.operands, c.nin, card.bool_operands);
  if (c.compute == DType::none) return no("the arguments have no common type");
  if (card.promotion(args).int_to_float && is_integral(c.compute, true)) c.compute = default_dtype;
  c.point = c.card->points[c.mode * kTypeSlots + int(c.compute)];
  if (!c.point) return no("it has no text for type ", c.compute);
  for (int i = 0; i < c.nin; ++i) {
    if (c.operands[i].tag == Tag::tensor && tile::elem_of(c.operands[i].tensor().dtype()) == tile::Elem::none)
      return no("an argument is of type ", c.operands[i].tensor().dtype());
    if (c.operands[i].tag == Tag::complex) return no("an argument is a complex number");
  }
  c.nattr = card.nattr;
  if (card.attributes) card.attributes(args, c.compute, c.attrs);
  else {
    int n = 0;
    for (uint64_t m = card.attrs; m; m &= m - 1) c.attrs[n++] = args[__builtin_ctzll(m)].scalar();
  }
  return true;
}

int64_t number_word(const Scalar& s, DType d) {
  int64_t w = 0;
  visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, half, bfloat16, float, double, bool, uint16_t, uint32_t, uint64_t>(d, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) w = int64_t(s.to<T>());
    else {
      double v;
      if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) v = double(float(s.to<T>()));
      else v = double(s.to<T>());
      std::memcpy(&w, &v, 8);
    }
  });
  return w;
}

}  // namespace fb::compile
