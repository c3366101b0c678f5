// A loop nest of several cards: what one kernel computes, as statements in single assignment, and where it reads and
// writes. Sizes and strides are numbers of a call; types, ranks and kinds of strides are part of the kernel.
#pragma once
#include <string>
#include <vector>

#include "compile/tile_card.h"
#include "core/dims.h"

namespace fb::compile {

// How often a statement is evaluated: once, for each output of the reductions, or for each element of the domain.
enum class Level : uint8_t { once, kept, element };

struct Stmt {
  // read: a load at the place that in[0] says; attrs: how many places there are, and bytes from one to the next.
  // chain: the state of a line after element in[0]; place: that of chain in[0].
  enum Kind : uint8_t { load, number, text, convert, fold, index, read, chain, place } kind = load;
  Level level = Level::element;
  tile::Elem elem = tile::Elem::f32;   // of its value
  SmallVec<int, 4> in;                 // statements
  SmallVec<int, 4> attrs;              // text: the card's numbers; read: see kind; statements too
  int operand = -1;                    // load, read: where from; number: which word
  TilePoint point = nullptr;           // text
  std::vector<double> raw;             // text: numbers that are part of the program
  const TileFold* folding = nullptr;   // fold: in[0], and in[1] where it takes a parameter
  const TileChain* chain_of = nullptr; // chain
  int phase = 0;                       // of an element: the loop it is known in; of others: the loop it is known after
};

// A tensor that a nest reads or writes, seen over the domain.
struct NestOperand {
  tile::Elem stored = tile::Elem::f32;
  Level level = Level::element;
  int64_t offset = 0;                  // bytes from that value's first element
  Dims strides;                        // bytes, one for each dimension of the domain
};
struct NestOutput {
  int stmt, operand;
};

struct Nest {
  std::string name;
  Dims domain;
  uint64_t mask = 0;                   // dimensions that reductions run over, or the one that lines run along
  bool reduces = false, scans = false; // one of the two at most
  std::vector<Stmt> stmts;
  std::vector<NestOperand> operands;
  std::vector<NestOutput> outputs;
  std::vector<int64_t> words;          // of numbers

  int add(Stmt s);
  // The statement of a text, conversion or fold that computes what s does; -1 where there is none.
  int known(const Stmt& s) const;
  // The same for a statement whose level and phase follow from its inputs.
  int derive(Stmt s);
  int number(int64_t word, tile::Elem elem);
  int converted(int stmt, tile::Elem to);
  // Rounded to a half format where `to` is one; the value stays f32.
  int rounded(int stmt, tile::Elem to);
};

}  // namespace fb::compile
