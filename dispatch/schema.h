// Schemas: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", parsed once into flat tables.
#pragma once
#include <string>
#include <vector>

#include "dispatch/value.h"

namespace fb {

enum class ArgType : uint8_t {
  tensor, tensors, optional_tensors, scalar, scalars, integer, ints, floating, doubles, boolean, bools, string, dtype,
  device, layout, memory_format, generator,
};

struct ArgSpec {
  std::string name;
  ArgType type;
  bool optional = false;    // "Tensor?", "int[]?": None is taken
  bool kwarg_only = false;
  bool has_default = false;
  bool written = false;     // "Tensor(a!)"
  bool aliased = false;     // "Tensor(a)"
  int16_t list_size = 0;    // "int[2]": a bare int stands for the whole list; -1: "int[]"
  Value default_value;
};

struct ReturnSpec {
  ArgType type;
  std::string name;
  bool written = false, aliased = false;
};

struct Schema {
  std::string name, overload;
  std::vector<ArgSpec> args;
  std::vector<ReturnSpec> returns;
  uint64_t tensor_mask = 0;  // arguments that are one tensor
  uint64_t list_mask = 0;    // arguments that are lists of tensors
  int positional = 0;        // arguments before "*"
  int required = 0;          // leading arguments without a default
  bool is_view = false;      // a result shares the storage of the first argument
  bool writes = false;       // the first argument is written

  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
  std::string print() const;
  int find(std::string_view arg) const;
};

// Raises where the text is not a schema. The result keeps its own copies of default values.
Schema parse_schema(std::string_view text);

}  // namespace fb
