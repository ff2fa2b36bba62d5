// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/ops/add.hpp>

#include <wafer/ops/sum_to.hpp>

#include "ops/elementwise.hpp"

namespace wafer::inline v0 {

namespace {

struct Function {
  template <class T>
  static T of(T a, T b) {
    return a + b;
  }
  static std::int32_t of(std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(std::int64_t{a} + b);  // wraps around
  }
};
using Glue = ops::Binary<Function, &kernels::Table::add, ops::Integers::yes>;

}  // namespace

Types Add::infer(const Types& in) const { return Glue::infer(in); }
AxesRule Add::axes(const Types& in) const { return Glue::axes(in); }
void Add::run(const Context&, Tiles in, Tiles out) const { Glue::run(in, out); }
Gradients Add::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  return {sum_to(cotangents[0], in[0]), sum_to(cotangents[0], in[1])};
}
Alias Add::alias(const Types& in) const { return Glue::alias(in); }
Kernels Add::kernels(const Types& in) const { return Glue::kernels(in); }

Tensor add(Tensor a, Tensor b) { return apply(Add{}, {std::move(a), std::move(b)}).at(0); }

}  // namespace wafer::inline v0
