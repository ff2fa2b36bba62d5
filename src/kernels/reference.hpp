// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Elementary functions of one f32, computed in f64 and rounded once: what plain references of ops use, and
/// what the vector kernels are held against.
namespace wafer::inline v0::kernels::reference {

float exp(float x);
float log(float x);
float cos(float x);
float tanh(float x);
float sigmoid(float x);
float gelu(float x);           ///< the tanh form: x/2 · (1 + tanh(√(2/π) · (x + 0.044715·x³)))
float gelu_gradient(float x);  ///< its derivative

}  // namespace wafer::inline v0::kernels::reference
