#include "compile/fuse/scans.h"

#include "core/error.h"

namespace fb::compile {

bool prepare_scan(const OpEntry& op, const Value* args, const std::vector<Tensor>& results, ScanCall& c, std::string* why) {
  auto no = [&](auto&&... words) {
    if (why) *why = text(words...);
    return false;
  };
  const TileScan* card = find_tile_scan(op.card->schema);
  if (!card) return no("its card has no chain");
  const Tensor& x = args[0].tensor();
  if (x.ndim() == 0 || x.numel() == 0) return no("the input has shape ", x.sizes());
  const DType from = x.dtype(), to = results[0].dtype();
  if (is_floating(to)) c.chain = card->floating;
  else if (is_integral(from, true) && is_integral(to, true)) {
    c.chain = card->integral;
    c.state = tile::Elem::i64;
  }
  if (!c.chain || tile::elem_of(from) == tile::Elem::none || tile::elem_of(to) == tile::Elem::none)
    return no("it has no chain from type ", from, " to ", to);
  c.dim = wrap_dim(args[1].integer(), x.ndim());
  return true;
}

}  // namespace fb::compile
