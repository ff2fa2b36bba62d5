// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/optim/request.hpp>

#include <cmath>

namespace wafer::inline v0 {

namespace {

void add_fetch(Request& request, std::string name, Tensor tensor) {
  const std::string where = "fetch '" + name + "'";
  if (name.empty()) throw UserError("fetch: expected a name, got none");
  if (!tensor) throw UserError(where + ": expected a tensor, got an empty handle");
  const Tensor& other = request.loss || request.fetches.empty() ? request.loss : request.fetches[0].tensor;
  if (other && other.data() != tensor.data())
    throw UserError(where + ": expected tensors of one graph, got two graphs");
  for (const Request::Fetch& fetch : request.fetches) {
    if (fetch.name == name) throw UserError(where + ": expected a new name, got one that is there");
  }
  request.fetches.push_back({std::move(name), std::move(tensor)});
}

void set_max_norm(Request& request, double max_norm) {
  if (!(max_norm > 0)) throw UserError("clip_norm: expected a norm > 0, got " + std::to_string(max_norm));
  if (!request.loss) throw UserError("clip_norm: expected a step that minimizes, got one that only fetches");
  request.max_norm = max_norm;
}

}  // namespace

Request Request::fetch(std::string name, Tensor tensor) && {
  add_fetch(*this, std::move(name), std::move(tensor));
  return std::move(*this);
}

Request Request::fetch(std::string name, Tensor tensor) const& {
  return Request(*this).fetch(std::move(name), std::move(tensor));
}

Request Request::clip_norm(double norm) && {
  set_max_norm(*this, norm);
  return std::move(*this);
}

Request Request::clip_norm(double norm) const& { return Request(*this).clip_norm(norm); }

Request fetch(std::string name, Tensor tensor) { return Request{}.fetch(std::move(name), std::move(tensor)); }

Request minimize(Tensor loss, Optimizer optimizer) {
  if (!loss) throw UserError("minimize: expected a loss, got an empty handle");
  if (loss.type() != TensorType{DType::f32, Shape{}}) {
    throw UserError("minimize: expected a loss that is a scalar of f32, got " + text_of(loss.type()));
  }
  Request request;
  request.loss = std::move(loss);
  request.optimizer = std::move(optimizer);
  return request;
}

}  // namespace wafer::inline v0
