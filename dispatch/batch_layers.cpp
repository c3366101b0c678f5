// Convolutions, normalisations, pooling, losses and attention at a level of vmap: the batch joins the one they have
// already, or the channels.
#include "dispatch/batch.h"
#include "dispatch/call.h"

namespace fb {
namespace {

// ---- convolution ----

// [a, n * b, ..] of [n, a, b, ..]
Tensor joined(const Tensor& t) {
  Dims order{1, 0}, sizes{t.sizes()[1], t.sizes()[0] * t.sizes()[2]};
  for (int64_t d = 2; d < t.ndim(); ++d) order.push_back(d);
  for (int64_t d = 3; d < t.ndim(); ++d) sizes.push_back(t.sizes()[d]);
  return op<"reshape">(op<"permute">(t, order.span()), sizes.span());
}
// [a, n, b, ..] of [a, n * b, ..]
Tensor parted(const Tensor& t, int64_t n) {
  Dims sizes(t.sizes());
  sizes[1] /= n;
  sizes.insert(1, n);
  return op<"view">(t, sizes.span());
}
// A number for each channel, of an example or of all, against [n, N, C, ..] or [N, n, C, ..].
Tensor channels(const Tensor& b, int64_t at, int64_t ndim, bool batched) {
  Dims sizes(ndim, 1);
  if (batched) sizes[at] = b.sizes()[0];
  sizes[2] = b.sizes()[b.ndim() - 1];
  return op<"reshape">(b, sizes.span());
}

bool convolution(BatchCall& c) {
  if (c.n == 0) return false;
  const auto conv = [&](const Tensor& x, const Tensor& w, const Tensor& b, int64_t groups) {
    return op<"convolution">(x, w, b, c.arg<Ints>(3), c.arg<Ints>(4), c.arg<Ints>(5), c.arg<bool>(6), c.arg<Ints>(7), groups);
  };
  const int64_t groups = c.arg<int64_t>(8), ndim = c.rank(0) + 1;
  if (!c.batched(1)) {
    const bool bias_inside = !c.given(2) || !c.batched(2);
    Tensor r = c.batched(0) ? c.unfolded(conv(c.folded(0), c.front(1), bias_inside ? c.front(2) : Tensor(), groups))
                            : op<"unsqueeze">(conv(c.front(0), c.front(1), Tensor(), groups), int64_t(0));
    if (!bias_inside) r = op<"add">(r, channels(c.front(2), 0, ndim, true));
    c.give(r);
    return true;
  }
  // One group of channels for each example.
  const Tensor w = c.expanded(1);
  Dims all(w.sizes());
  all.erase(0);
  all[0] *= c.n;
  const Tensor r = parted(conv(joined(c.expanded(0)), op<"reshape">(w, all.span()), Tensor(), groups * c.n), c.n);  // [N, n, C, ..]
  c.give(c.given(2) ? op<"add">(r, channels(c.front(2), 1, ndim, c.batched(2))) : r, 1);
  return true;
}
FB_BATCH("convolution", convolution)

bool convolution_backward(BatchCall& c) {
  if (c.n == 0) return false;
  const Span<bool> want = c.arg<Span<bool>>(10);
  const int64_t groups = c.arg<int64_t>(9);
  auto back = [&](const Tensor& g, const Tensor& x, const Tensor& w, int64_t groups, bool gx, bool gw) {
    const bool mask[3] = {gx, gw, false};
    return ops<"convolution_backward", 3>(g, x, w, std::nullopt, c.arg<Ints>(4), c.arg<Ints>(5), c.arg<Ints>(6), c.arg<bool>(7), c.arg<Ints>(8),
                                          groups, Span<bool>(mask, 3));
  };
  Tensor gx, gw, gb;
  const bool shared = !c.batched(2);
  if (want[0] && shared) gx = c.unfolded(back(c.folded(0), c.folded(1), c.front(2), groups, true, false)[0]);
  if ((want[0] && !shared) || want[1]) {
    const Tensor w = c.expanded(2);
    Dims all(w.sizes());
    all.erase(0);
    all[0] *= c.n;
    auto r = back(joined(c.expanded(0)), joined(c.expanded(1)), op<"reshape">(w, all.span()), groups * c.n, want[0] && !shared, want[1]);
    if (r[0].defined()) gx = op<"permute">(parted(r[0], c.n), [&] {
      Dims order{1, 0};
      for (int64_t d = 2; d <= c.rank(1); ++d) order.push_back(d);
      return order;
    }());
    if (r[1].defined()) gw = c.unfolded(r[1]);
  }
  if (want[2]) {
    const Tensor g = c.expanded(0);
    Dims dims{1};
    for (int64_t d = 3; d < g.ndim(); ++d) dims.push_back(d);
    gb = op<"sum.dim_IntList">(g, dims.span());
  }
  c.give(gx);
  c.give(gw);
  c.give(gb);
  return true;
}
FB_BATCH("convolution_backward", convolution_backward)

// ---- normalisation ----

// [n, 1.., *] against [n, .., *]
Tensor tail(const Tensor& t, bool batched, int64_t ndim) { return batched ? padded(t, ndim) : t; }

bool native_layer_norm(BatchCall& c) {
  const Tensor x = c.expanded(0), w = c.front(2), b = c.front(3);
  const bool inside = !c.batched(2) && !c.batched(3);
  auto r = ops<"native_layer_norm", 3>(x, c.arg<Ints>(1), inside ? w : Tensor(), inside ? b : Tensor(), c.arg<double>(4));
  if (!inside) {
    if (w.defined()) r[0] = op<"mul">(r[0], tail(w, c.batched(2), x.ndim()));
    if (b.defined()) r[0] = op<"add">(r[0], tail(b, c.batched(3), x.ndim()));
  }
  for (const Tensor& t : r) c.give(t);
  return true;
}
FB_BATCH("native_layer_norm", native_layer_norm)

bool native_layer_norm_backward(BatchCall& c) {
  const Span<bool> want = c.arg<Span<bool>>(7);
  const Ints shape = c.arg<Ints>(2);
  const Tensor g = c.expanded(0), x = c.expanded(1), mean = c.expanded(3), rstd = c.expanded(4);
  Tensor gx, gw, gb;
  const int64_t outer = x.ndim() - shape.n;
  Dims dims;
  for (int64_t d = 1; d < outer; ++d) dims.push_back(d);
  auto down = [&](const Tensor& t) { return dims.empty() ? t : op<"sum.dim_IntList">(t, dims.span()); };
  if (want[0]) {
    const bool mask[3] = {true, false, false};
    const Tensor w = c.front(5);
    const Tensor scaled = w.defined() && c.batched(5) ? op<"mul">(g, tail(w, true, x.ndim())) : g;
    gx = ops<"native_layer_norm_backward", 3>(scaled, x, shape, mean, rstd, c.batched(5) ? Tensor() : w, Tensor(), Span<bool>(mask, 3))[0];
  }
  if (want[1]) gw = down(op<"mul">(op<"mul">(op<"sub">(x, mean), rstd), g));
  if (want[2]) gb = down(g);
  c.give(gx);
  c.give(gw);
  c.give(gb);
  return true;
}
FB_BATCH("native_layer_norm_backward", native_layer_norm_backward)

bool native_group_norm(BatchCall& c) {
  const Tensor x = c.folded(0), w = c.front(1), b = c.front(2);
  const bool inside = !c.batched(1) && !c.batched(2);
  const int64_t ndim = c.rank(0) + 1;
  auto r = ops<"native_group_norm", 3>(x, inside ? w : Tensor(), inside ? b : Tensor(), c.arg<int64_t>(3) * c.n, c.arg<int64_t>(4),
                                       c.arg<int64_t>(5), c.arg<int64_t>(6), c.arg<double>(7));
  Tensor y = c.unfolded(r[0]);
  if (!inside) {
    if (w.defined()) y = op<"mul">(y, channels(w, 0, ndim, c.batched(1)));
    if (b.defined()) y = op<"add">(y, channels(b, 0, ndim, c.batched(2)));
  }
  c.give(y);
  c.give(c.unfolded(r[1]));
  c.give(c.unfolded(r[2]));
  return c.n > 0;
}
FB_BATCH("native_group_norm", native_group_norm)

bool native_batch_norm(BatchCall& c) {
  const bool training = c.arg<bool>(5);
  if (training && ((c.given(3) && !c.batched(3)) || (c.given(4) && !c.batched(4))))
    raise_runtime("vmap: batch_norm in training would write running statistics that differ between examples to running_mean and running_var, "
                  "which are the same for all; use a norm without them (track_running_stats=False, GroupNorm, or torch.func.replace_all_batch_norm_modules_)");
  if (c.n == 0 || c.rank(0) < 2) return false;
  if (training && c.given(3)) return false;  // its statistics are written by the kernel
  auto flat = [&](int i) { return c.given(i) ? op<"reshape">(c.expanded(i), Ints{-1}) : Tensor(); };
  auto r = ops<"native_batch_norm", 3>(joined(c.expanded(0)), flat(1), flat(2), flat(3), flat(4), training, c.arg<double>(6), c.arg<double>(7));
  c.give(parted(r[0], c.n), 1);
  for (int i = 1; i < 3; ++i) {
    if (r[size_t(i)].numel() == 0) c.give(r[size_t(i)], -1);
    else c.give(op<"view">(r[size_t(i)], Ints{c.n, c.shape(0)[1]}));
  }
  return true;
}
FB_BATCH("native_batch_norm", native_batch_norm)

bool native_group_norm_backward(BatchCall& c) {
  if (c.n == 0) return false;
  const Span<bool> want = c.arg<Span<bool>>(9);
  const int64_t N = c.arg<int64_t>(5), C = c.arg<int64_t>(6), HxW = c.arg<int64_t>(7), group = c.arg<int64_t>(8), ndim = c.rank(1) + 1;
  const Tensor g = c.expanded(0), w = c.front(4);
  Tensor gx, gw, gb;
  if (want[0]) {
    const bool mask[3] = {true, false, false};
    const bool inside = !w.defined() || !c.batched(4);
    const Tensor scaled = inside ? g : op<"mul">(g, channels(w, 0, ndim, true));
    Dims all(scaled.sizes());
    all.erase(0);
    all[0] *= c.n;
    gx = c.unfolded(ops<"native_group_norm_backward", 3>(op<"reshape">(scaled, all.span()), c.folded(1), c.folded(2), c.folded(3), inside ? w : Tensor(),
                                                         N * c.n, C, HxW, group, Span<bool>(mask, 3))[0]);
  }
  auto down = [&](const Tensor& t) { return op<"sum.dim_IntList">(op<"reshape">(t, Ints{c.n, N, C, HxW}), Ints{1, 3}); };
  if (want[1]) {
    const Dims split{c.n, N, group, C / group, HxW};
    const Tensor x = op<"reshape">(c.expanded(1), split.span());
    auto stat = [&](int i) { return op<"reshape">(c.expanded(i), Ints{c.n, N, group, 1, 1}); };
    gw = down(op<"mul">(op<"mul">(op<"sub">(x, stat(2)), stat(3)), op<"reshape">(g, split.span())));
  }
  if (want[2]) gb = down(g);
  c.give(gx);
  c.give(gw);
  c.give(gb);
  return true;
}
FB_BATCH("native_group_norm_backward", native_group_norm_backward)

bool native_batch_norm_backward(BatchCall& c) {
  if (c.n == 0) return false;
  auto flat = [&](int i) { return c.given(i) && c.args[i].tensor().numel() ? op<"reshape">(c.expanded(i), Ints{-1}) : c.front(i); };
  auto r = ops<"native_batch_norm_backward", 3>(joined(c.expanded(0)), joined(c.expanded(1)), flat(2), flat(3), flat(4), flat(5), flat(6),
                                                c.arg<bool>(7), c.arg<double>(8), c.arg<Span<bool>>(9));
  c.give(r[0].defined() ? parted(r[0], c.n) : r[0], 1);
  for (int i = 1; i < 3; ++i) c.give(r[size_t(i)].defined() ? op<"view">(r[size_t(i)], Ints{c.n, c.shape(1)[1]}) : Tensor());
  return true;
}
FB_BATCH("native_batch_norm_backward", native_batch_norm_backward)

// ---- pooling, resizing, padding: images [N, C, ..] or [C, ..], the batch goes to N ----

// `image` dimensions of an input without N; every tensor is an image of that kind.
template <int Image> bool images(BatchCall& c) {
  if (c.n == 0) return false;
  bool single = false, several = false;
  for (int i = 0; i < c.count(); ++i) {
    if (!c.given(i)) continue;
    single |= c.rank(i) == Image;
    several |= c.rank(i) == Image + 1;
    if (c.rank(i) != Image && c.rank(i) != Image + 1) return false;
  }
  if (single == several) return false;
  BatchCall::Args v = c.copy();
  std::vector<Tensor> keep(size_t(c.count()));
  std::vector<Dims> sizes(size_t(c.count()));
  for (int i = 0; i < c.count(); ++i) {
    if (c.given(i)) {
      keep[size_t(i)] = single ? c.expanded(i) : c.folded(i);
      v[i] = Value(keep[size_t(i)]);
    } else if (c.schema().args[size_t(i)].name == "input_size" && c.args[i].tag == Tag::ints) {
      sizes[size_t(i)] = Dims(c.args[i].int_list());
      sizes[size_t(i)][0] *= c.n;
      v[i] = Value(sizes[size_t(i)]);
    }
  }
  Results r;
  c.op.invoke(c.op, v.data(), r);
  for (int i = 0; i < r.size(); ++i) c.give(r[i].defined() && !single ? c.unfolded(r[i]) : r[i]);
  return true;
}
#define FB_IMAGES(image, name) FB_BATCH(name, images<image>) FB_BATCH(name "_backward", images<image>)
FB_IMAGES(3, "_adaptive_avg_pool2d")
FB_IMAGES(4, "_adaptive_avg_pool3d")
FB_IMAGES(3, "adaptive_max_pool2d")
FB_IMAGES(4, "adaptive_max_pool3d")
FB_IMAGES(3, "avg_pool2d")
FB_IMAGES(4, "avg_pool3d")
FB_IMAGES(3, "max_pool2d_with_indices")
FB_IMAGES(4, "max_pool3d_with_indices")
FB_BATCH("max_unpool2d", images<3>)
FB_BATCH("max_unpool3d", images<4>)
FB_IMAGES(2, "reflection_pad1d")
FB_IMAGES(3, "reflection_pad2d")
FB_IMAGES(4, "reflection_pad3d")
FB_IMAGES(2, "replication_pad1d")
FB_IMAGES(3, "replication_pad2d")
FB_IMAGES(4, "replication_pad3d")
FB_IMAGES(2, "upsample_linear1d")
FB_IMAGES(3, "upsample_bilinear2d")
FB_IMAGES(4, "upsample_trilinear3d")
FB_IMAGES(3, "upsample_bicubic2d")
FB_IMAGES(2, "upsample_nearest1d")
FB_IMAGES(3, "upsample_nearest2d")
FB_IMAGES(4, "upsample_nearest3d")
FB_IMAGES(2, "_upsample_nearest_exact1d")
FB_IMAGES(3, "_upsample_nearest_exact2d")
FB_IMAGES(4, "_upsample_nearest_exact3d")
FB_IMAGES(3, "_upsample_bilinear2d_aa")
FB_IMAGES(3, "_upsample_bicubic2d_aa")
FB_IMAGES(3, "_upsample_lanczos2d_aa")
FB_IMAGES(3, "grid_sampler_2d")
FB_IMAGES(4, "grid_sampler_3d")
FB_BATCH("im2col", images<3>)
FB_BATCH("col2im", images<2>)

// ---- losses ----

// Rows [n * N, C] with targets [n * N]; an example without N has one row.
struct Rows {
  Tensor x, target, weight;
};
Rows rows_of(BatchCall& c, int x, int target) {
  Rows r{c.expanded(x), c.expanded(target), Tensor()};
  if (c.rank(x) == 2) r = {op<"reshape">(r.x, Ints{-1, c.shape(x)[1]}), op<"reshape">(r.target, Ints{-1}), Tensor()};
  return r;
}
// The weight of every target, [n, N] or [n], zero where it is ignored.
Tensor target_weights(BatchCall& c, const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore) {
  const Tensor counts = op<"ne">(target, Scalar(ignore));
  if (!weight.defined()) return op<"to.dtype">(counts, x.dtype());
  const Tensor at = op<"where">(counts, target, op<"zeros_like">(target));
  return op<"mul">(op<"index_select">(weight, int64_t(0), op<"reshape">(at, Ints{-1})), op<"to.dtype">(op<"reshape">(counts, Ints{-1}), weight.dtype()));
}

bool nll_loss_forward(BatchCall& c) {
  if (c.batched(2) || c.rank(0) > 2 || c.n == 0) return false;
  const int64_t reduction = c.arg<int64_t>(3), ignore = c.arg<int64_t>(4);
  const Rows r = rows_of(c, 0, 1);
  const Tensor weight = c.front(2);
  Tensor loss = ops<"nll_loss_forward", 2>(r.x, r.target, weight, int64_t(0), ignore)[0];
  if (reduction == 0 && c.rank(0) == 2) {
    c.give(op<"view">(loss, Ints{c.n, c.shape(0)[0]}));
    c.give(op<"new_zeros">(loss, Ints{c.n}));
    return true;
  }
  const Tensor total = op<"sum.dim_IntList">(op<"reshape">(target_weights(c, r.x, r.target, weight, ignore), Ints{c.n, -1}), Ints{1});
  const Tensor sum = op<"sum.dim_IntList">(op<"reshape">(loss, Ints{c.n, -1}), Ints{1});
  c.give(reduction == 1 ? op<"div">(sum, total) : sum);
  c.give(total);
  return true;
}
FB_BATCH("nll_loss_forward", nll_loss_forward)

bool nll_loss_backward(BatchCall& c) {
  if (c.batched(3) || c.rank(1) > 2 || c.n == 0) return false;
  const int64_t reduction = c.arg<int64_t>(4), ignore = c.arg<int64_t>(5);
  const Rows r = rows_of(c, 1, 2);
  Tensor g = c.expanded(0);  // [n] or [n, N]
  if (reduction == 1) g = op<"div">(g, c.expanded(6));
  if (c.rank(1) == 2) {
    if (c.rank(0) == 0) g = op<"expand">(op<"reshape">(g, Ints{c.n, 1}), Ints{c.n, c.shape(1)[0]});
    g = op<"reshape">(g, Ints{-1});
  }
  const Tensor none = op<"new_zeros">(g, Ints{});
  const Tensor d = op<"nll_loss_backward">(g, r.x, r.target, c.front(3), int64_t(0), ignore, none);
  Dims sizes(c.shape(1));
  sizes.insert(0, c.n);
  c.give(op<"view">(d, sizes.span()));
  return true;
}
FB_BATCH("nll_loss_backward", nll_loss_backward)

// ---- attention: [N, heads, L, E] ----

// A mask is the same for all, or broadcasts as [N, heads, L, S].
Tensor attention_mask(BatchCall& c, int i) {
  if (!c.given(i)) return Tensor();
  if (!c.batched(i) && (c.rank(i) < 4 || c.shape(i)[0] == 1)) return c.front(i);
  const Tensor m = padded(c.expanded(i), 5);
  Dims sizes(m.sizes());
  sizes[1] = c.shape(0)[0];
  const Tensor whole = op<"expand">(m, sizes.span());
  sizes.erase(0);
  sizes[0] *= c.n;
  return op<"reshape">(whole, sizes.span());
}
bool attention(BatchCall& c) {
  if (c.arg<double>(3) != 0 || c.n == 0) return false;
  auto r = ops<"_scaled_dot_product_flash_attention_for_cpu", 2>(c.folded(0), c.folded(1), c.folded(2), c.arg<double>(3), c.arg<bool>(4),
                                                                 attention_mask(c, 5), c.arg<std::optional<double>>(6));
  c.give(c.unfolded(r[0]));
  c.give(c.unfolded(r[1]));
  return true;
}
FB_BATCH("_scaled_dot_product_flash_attention_for_cpu", attention)
bool attention_backward(BatchCall& c) {
  if (c.arg<double>(6) != 0 || c.n == 0) return false;
  auto r = ops<"_scaled_dot_product_flash_attention_for_cpu_backward", 3>(c.folded(0), c.folded(1), c.folded(2), c.folded(3), c.folded(4), c.folded(5),
                                                                          c.arg<double>(6), c.arg<bool>(7), attention_mask(c, 8), c.arg<std::optional<double>>(9));
  for (const Tensor& t : r) c.give(t.defined() ? c.unfolded(t) : t);
  return true;
}
FB_BATCH("_scaled_dot_product_flash_attention_for_cpu_backward", attention_backward)

}  // namespace
}  // namespace fb
