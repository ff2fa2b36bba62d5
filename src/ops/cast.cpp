// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/ops/cast.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace wafer::inline v0 {

namespace {

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_same_v<To, std::int32_t> && std::is_floating_point_v<From>) {
    constexpr double kLowest = std::numeric_limits<std::int32_t>::min();
    constexpr double kGreatest = std::numeric_limits<std::int32_t>::max();
    const double wide = x;
    if (wide != wide) return 0;
    return static_cast<std::int32_t>(wide < kLowest ? kLowest : wide > kGreatest ? kGreatest : wide);
  } else {
    return static_cast<To>(x);
  }
}

// Calls f with a value of the C++ type that stands for a DType.
template <class F>
void with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::i32: return f(std::int32_t{});
    case DType::boolean: return f(bool{});
  }
}

}  // namespace

Types Cast::infer(const Types& in) const {
  if (in.size() != 1) throw UserError("expected one input, got " + text_of(in));
  if ((in[0].dtype == DType::f64 || dtype == DType::f64) && in[0].shape.rank() != 0) {
    throw UserError("expected a scalar where f64 is involved, got " + text_of(in[0]) + " to " +
                    std::string(name_of(dtype)));
  }
  return {{dtype, in[0].shape}};
}

AxesRule Cast::axes(const Types& in) const { return elementwise_rule(in, in.at(0).shape); }

void Cast::run(const Context&, Tiles in, Tiles out) const {
  with_type(in[0].dtype, [&](auto from) {
    with_type(out[0].dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      for_each_index(out[0].rank, out[0].extent, [&](const auto& index) {
        element<To>(out[0], index) = convert<To>(element<From>(in[0], index));
      });
    });
  });
}

Gradients Cast::gradient(Inputs in, Outputs, Cotangents cotangents) const {
  const DType from = in[0].dtype();
  if (!cotangents[0] || !is_float(from) || !is_float(dtype)) return {Tensor{}};
  return {cast(cotangents[0], from)};
}

Tensor cast(Tensor x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return apply(Cast{dtype}, {std::move(x)}).at(0);
}

}  // namespace wafer::inline v0
