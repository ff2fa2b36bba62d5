// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Elementary functions in f64 of + − × ÷ alone: no libm and no fused multiply-add, so the same bits on every
/// CPU and with every compiler. Special values are those of IEEE 754 and of C's Annex F.
namespace wafer::inline v0::kernels {

/// e^x within 1 ulp.
double exp64(double x);

/// Natural logarithm within 1 ulp; NaN for x < 0.
double log64(double x);

/// x^y within a relative error of 1e-14, whatever the size of y.
double pow64(double x, double y);

/// Cosine within 1 ulp, whatever the size of x.
double cos64(double x);

/// Hyperbolic tangent within a relative error of 1e-15.
double tanh64(double x);

}  // namespace wafer::inline v0::kernels
