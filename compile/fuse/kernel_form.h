// A nest fitted to the strides of a call: its dimensions joined where memory allows, and what of it is part of a kernel.
#pragma once
#include <string>
#include <vector>

#include "compile/fuse/nest.h"
#include "compile/tile/ir.h"

namespace fb::tile {
class Builder;
}

namespace fb::compile {

// Dimensions of which neighbours are joined, with the strides of every operand; sizes and strides are words of a call.
struct Axes {
  Dims sizes;
  int64_t numel = 1;
  std::vector<Dims> strides;   // [operand][dimension], bytes
  int rank() const { return int(sizes.size()); }
};

enum class Part : uint8_t {
  points,         // every element for itself
  whole,          // an output and all that is reduced to it, after another
  across,         // the same for tiles of outputs that are neighbours in memory
  blocks, tree,   // the blocks of one pass, shared among threads; what they come to
  lines,          // tiles of neighbouring lines, from their first elements to their last
};

struct KernelForm {
  const Nest* nest = nullptr;
  Part part = Part::points;
  int pass = 0;                          // of blocks and tree
  int lanes = 8;                         // of a tile: points, lines, and the rows of a pass that folds nothing
  Axes kept, outer, inner;               // points: kept alone, fastest first; else row-major. Lines: kept, and the line
  bool split = false;                    // points: rows are cut
  bool past_cache = false;               // points: results are larger than the cache
  bool one_block = true, long_runs = false, exact = false;  // exact: inner runs end with a whole tile
  bool even = false;                     // the last inner dimension is made of whole tiles
  // [operand]: how neighbours along the vector lie: 'd' side by side, 's' with a stride, 'o' they are one. Where the inner run
  // has several dimensions that holds for the last; 'j' and 'l' are 'd' and 's' for the run as a whole.
  std::vector<char> dense;
  std::vector<int> cached;               // elements that later passes find in memory
  int last_pass = 0;

  // What the program depends on.
  std::string key() const;
};

// One word each: the program's parameters in their order.
struct Words {
  std::vector<int64_t> w;
  int from = 0, to = 1, scratch = -1, partial = -1;
  std::vector<int> bases;                // [operand]
  std::vector<int> folds;                // [fold]: where its values for all outputs stand; blocks and tree
};

// The same as parameters of the program, for points and lines. What is a constant for the form is one here.
struct Parameters {
  tile::Id from, to, extent;             // extent: elements of a piece (points), of a line (lines)
  std::vector<tile::Id> size, base;      // [dimension kept], [operand]
  std::vector<std::vector<tile::Id>> stride;   // [operand][dimension kept]
  std::vector<tile::Id> across, along;   // [operand]: from lane to lane; along a line
  std::vector<tile::Id> numbers;
};
Parameters parameters_of(const KernelForm& f, tile::Builder& b);

constexpr int kColumns = 32;             // outputs of a tile of Part::across

tile::Program points_program(const KernelForm& f);
tile::Program reduction_program(const KernelForm& f);
tile::Program scan_program(const KernelForm& f);
// The words that do not change from call to call; bases and scratch are left to the caller.
Words words_of(const KernelForm& f);

}  // namespace fb::compile
