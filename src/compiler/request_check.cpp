// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/request_check.hpp"
#include "core/step_name.hpp"

#include <wafer/error.hpp>
#include <wafer/graph/graph_data.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace wafer::inline v0 {

namespace {

// The compiler spells "... type_name() [with T = one::Same; ...]" or "... [T = one::Same]".
std::string cpp_type(std::string_view spelled) {
  const std::size_t at = spelled.find("T = ");
  if (at == spelled.npos) return std::string(spelled);
  const std::string_view type = spelled.substr(at + 4);
  return std::string(type.substr(0, std::min(type.find(';'), type.rfind(']'))));
}

// Two C++ types under one op name would be taken for each other.
void check_op_names(const GraphData& graph) {
  std::unordered_map<std::string_view, std::string_view> types;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::op) continue;
    const OpModel& model = node.op.model();
    const auto [known, added] = types.try_emplace(model.name, model.type_name);
    if (!added && known->second != model.type_name) {
      throw UserError("op '" + std::string(model.name) + "': expected one C++ type of this name, got two: " +
                      cpp_type(known->second) + " and " + cpp_type(model.type_name));
    }
  }
}

// What `minimize` and `clip_norm` promise; a request may also be filled in by hand.
void check_training(const NamedRequest& named) {
  const Request& request = named.request;
  const auto fail = [&](const std::string& message) { throw UserError(at_step(named.name) + message); };
  if (static_cast<bool>(request.loss) != request.optimizer.has_value())
    fail("expected a loss together with an optimizer, got one without the other");
  if (request.loss && request.loss.type() != TensorType{DType::f32, Shape{}})
    fail("expected a loss that is a scalar of f32, got " + text_of(request.loss.type()));
  if (!(request.max_norm >= 0))
    fail("clip_norm: expected a norm > 0, or 0 for none, got " + std::to_string(request.max_norm));
}

}  // namespace

void check_requests(std::span<const NamedRequest> requests) {
  if (requests.empty()) throw UserError("compile: expected at least one step, got none");
  std::shared_ptr<GraphData> graph;
  std::unordered_set<std::string_view> names;
  const auto belongs = [&](const std::string& step, const std::string& what, const Tensor& tensor) {
    if (!tensor) throw UserError(at_step(step) + "expected a tensor for " + what + ", got an empty handle");
    if (!graph) graph = tensor.data();
    if (graph != tensor.data())
      throw UserError(at_step(step) + "expected tensors of one graph, got two graphs");
  };
  for (const NamedRequest& named : requests) {
    if (!names.insert(named.name).second) {
      throw UserError("step '" + named.name + "': expected names of their own, got two steps of this name");
    }
    const Request& request = named.request;
    if (request.fetches.empty() && !request.loss) {
      throw UserError(at_step(named.name) + "expected something to fetch or to minimize, got nothing");
    }
    check_training(named);
    std::unordered_set<std::string_view> fetched;
    for (const Request::Fetch& fetch : request.fetches) {
      if (fetch.name.empty())
        throw UserError(at_step(named.name) + "expected a name for each fetch, got none");
      belongs(named.name, "fetch '" + fetch.name + "'", fetch.tensor);
      if (!fetched.insert(fetch.name).second) {
        throw UserError(at_step(named.name) + "expected one fetch '" + fetch.name + "', got two");
      }
    }
    if (request.loss) belongs(named.name, "the loss", request.loss);
  }
  check_op_names(*graph);
}

}  // namespace wafer::inline v0
