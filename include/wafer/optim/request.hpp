// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <wafer/optim/optimizer.hpp>

#include <optional>
#include <string>
#include <vector>

namespace wafer::inline v0 {

/// What one named step shall do: fetch values, and minimise a loss if asked. It only records; `compile`
/// derives.
struct Request {
  struct Fetch {
    std::string name;
    Tensor tensor;
  };
  std::vector<Fetch> fetches{};
  Tensor loss{};                         ///< empty: nothing is trained
  std::optional<Optimizer> optimizer{};  ///< set with the loss
  double max_norm = 0;                   ///< of all gradients together; 0: no clipping

  /// Adds a result, by name. Throws UserError for an empty or known name, and for a tensor that is empty or
  /// of another graph.
  Request fetch(std::string name, Tensor tensor) &&;
  Request fetch(std::string name, Tensor tensor) const&;
  /// Scales all gradients by min(1, max_norm / (norm + 1e-6)), norm being their global 2-norm (the formula of
  /// torch.nn.utils.clip_grad_norm_). Throws UserError unless max_norm > 0.
  Request clip_norm(double max_norm) &&;
  Request clip_norm(double max_norm) const&;
};

/// A step that only computes results.
Request fetch(std::string name, Tensor tensor);
/// A step that trains every parameter that the f32 scalar `loss` depends on. Throws UserError for another
/// loss.
Request minimize(Tensor loss, Optimizer optimizer);

}  // namespace wafer::inline v0
