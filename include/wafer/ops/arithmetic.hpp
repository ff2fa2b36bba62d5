// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/ops/add.hpp>
#include <wafer/ops/div.hpp>
#include <wafer/ops/mul.hpp>
#include <wafer/ops/neg.hpp>
#include <wafer/ops/sub.hpp>

namespace wafer::inline v0 {

/// A constant of the graph and dtype of `like`. Throws UserError where i32 cannot hold the value exactly.
Tensor constant_like(double value, const Tensor& like);

// Arithmetic with NumPy's broadcasting; a number becomes a constant of the tensor's dtype.
inline Tensor operator+(Tensor a, Tensor b) { return add(std::move(a), std::move(b)); }
inline Tensor operator-(Tensor a, Tensor b) { return sub(std::move(a), std::move(b)); }
inline Tensor operator*(Tensor a, Tensor b) { return mul(std::move(a), std::move(b)); }
inline Tensor operator/(Tensor a, Tensor b) { return div(std::move(a), std::move(b)); }
inline Tensor operator+(Tensor a, double b) { return add(a, constant_like(b, a)); }
inline Tensor operator-(Tensor a, double b) { return sub(a, constant_like(b, a)); }
inline Tensor operator*(Tensor a, double b) { return mul(a, constant_like(b, a)); }
inline Tensor operator/(Tensor a, double b) { return div(a, constant_like(b, a)); }
inline Tensor operator+(double a, Tensor b) { return add(constant_like(a, b), b); }
inline Tensor operator-(double a, Tensor b) { return sub(constant_like(a, b), b); }
inline Tensor operator*(double a, Tensor b) { return mul(constant_like(a, b), b); }
inline Tensor operator/(double a, Tensor b) { return div(constant_like(a, b), b); }
inline Tensor operator-(Tensor x) { return neg(std::move(x)); }

}  // namespace wafer::inline v0
