// Makes a graph of the operators that a piece of code calls: it runs on tensors without values that stand for the inputs.
// Part of libtorch, as load.cpp is.
#pragma once
#include <map>

#include "compile/graph.h"
#include "dispatch/trace.h"

namespace fb::compile {

class GraphTrace final : public Tracer {
 public:
  GraphTrace() = default;
  GraphTrace(const GraphTrace&) = delete;
  ~GraphTrace();

  // The tensor to run the code on in the place of t.
  Tensor input(const Tensor& t);
  // Between these the calling thread's operators on such tensors are followed. Raises NotImplementedError within for what
  // cannot be: writes to inputs and views, values that the code reads.
  void begin();
  void end();
  // The graph whose outputs are these tensors.
  Graph finish(const std::vector<Tensor>& outputs);

  void call(const OpEntry& op, const Value* args, Results& out) override;

 private:
  Graph::Ref ref_of(const Tensor& t);
  Tensor twin(const Tensor& t);
  Tensor twin_argument(const Tensor& t);
  Graph::Ref fresh_ref(const Tensor& t);
  bool seen_once(const Tensor& t) const;   // no other tensor of the trace looks at its memory
  bool is_fresh(const Tensor& t) const;    // nothing was written to it
  bool fills_constant(const OpEntry& op, const Value* args) const;

  Graph graph_;
  std::map<const TensorImpl*, Graph::Ref> known_;
  std::map<const TensorImpl*, Tensor> twins_;   // of constants
  std::vector<Tensor> keep_;                    // so that no address is used twice
  Device device_{DeviceType::meta};             // of the inputs; meta where they are on several, or there are none
  Tracer* before_ = nullptr;
  Flags flags_before_ = 0, layers_before_ = 0;
  bool open_ = false;
};

}  // namespace fb::compile
