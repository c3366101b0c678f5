#include "autograd/saved.h"

#include "autograd/forward.h"

namespace fb {

SavedTensor::SavedTensor(const Tensor& t, bool is_output) : is_output_(is_output) {
  if (!t.defined()) return;
  FB_CHECK(!t->inference, "an inference tensor of shape ", t.sizes(), " would have to be kept for backward; clone() it outside InferenceMode first");
  version_ = t->version();
  if (is_output) output_nr_ = find_meta(t)->output_nr;
  if (saved_hooks_active && autograd_python.saved_pack) {
    requires_grad_ = is_output || requires_grad(t);
    handle_ = autograd_python.saved_pack(detach(t));
    if (handle_) {
      if (!is_output && requires_grad_) {
        const Edge e = gradient_edge(t);
        grad_fn_ = e.fn;
        output_nr_ = e.nr;
      }
      return;
    }
  }
  tensor_ = is_output ? detach(t) : t;
  if (is_output && t->dual) set_tangent(tangent_of(t));
}

SavedTensor::SavedTensor(SavedTensor&& o) noexcept { *this = std::move(o); }

SavedTensor& SavedTensor::operator=(SavedTensor&& o) noexcept {
  if (this == &o) return *this;
  reset();
  tensor_ = std::move(o.tensor_);
  handle_ = std::exchange(o.handle_, nullptr);
  version_ = o.version_;
  output_nr_ = o.output_nr_;
  is_output_ = o.is_output_;
  requires_grad_ = o.requires_grad_;
  grad_fn_ = std::move(o.grad_fn_);
  return *this;
}

SavedTensor::~SavedTensor() { reset(); }

void SavedTensor::reset() {
  tensor_ = Tensor();
  grad_fn_ = Ref<Node>();
  if (handle_ && autograd_python.saved_drop) autograd_python.saved_drop(std::exchange(handle_, nullptr));
}

void SavedTensor::set_tangent(const Tensor& tangent) {
  if (tensor_.defined() && is_output_) fb::set_tangent(tensor_, tangent);
}

Tensor SavedTensor::unpack(Node& owner) const {
  if (handle_) {
    Tensor t = detach(autograd_python.saved_unpack(handle_));
    if (is_output_) {
      AutogradMeta& m = meta_of(t);
      m.grad_fn = Ref<Node>::share(&owner);
      m.output_nr = output_nr_;
      t->requires_grad = true;
    } else if (grad_fn_) {
      AutogradMeta& m = meta_of(t);
      if (dynamic_cast<AccumulateGrad*>(grad_fn_.get())) {
        m.accumulator = grad_fn_.get();
      } else {
        m.grad_fn = grad_fn_;
        m.output_nr = output_nr_;
      }
      t->requires_grad = true;
    }
    return t;
  }
  if (!tensor_.defined()) return {};
  FB_CHECK(tensor_->version() == version_, "a tensor needed for the gradient of ", owner.name(), " was written in place after it was used: type ",
           tensor_.dtype(), ", shape ", tensor_.sizes(), ", now at version ", tensor_->version(), ", version ", version_,
           " is needed. clone() it before the write; torch.autograd.set_detect_anomaly(True) shows where it was used");
  if (!is_output_) return tensor_;
  Tensor t = detach(tensor_);
  if (tensor_->dual) fb::set_tangent(t, tangent_of(tensor_));
  AutogradMeta& m = meta_of(t);
  m.grad_fn = Ref<Node>::share(&owner);
  m.output_nr = output_nr_;
  t->requires_grad = true;
  return t;
}

}  // namespace fb
