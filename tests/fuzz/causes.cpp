// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "causes.hpp"

#include <string_view>
#include <vector>

namespace fuzz {

using namespace wafer;

namespace {

// A cause, and the parts of a message that it is known by, in their order.
struct Known {
  std::string cause;
  std::vector<std::string> parts;
};

bool has_parts(std::string_view message, const std::vector<std::string>& parts) {
  std::size_t from = 0;
  for (const std::string& part : parts) {
    const std::size_t at = message.find(part, from);
    if (at == message.npos) return false;
    from = at + part.size();
  }
  return true;
}

template <class Error>
std::string known_cause(const Error& error, const std::vector<Known>& all) {
  for (const Known& known : all) {
    if (has_parts(error.what(), known.parts)) return known.cause;
  }
  throw error;  // a fault
}

}  // namespace

std::string cause_of(const UserError& error) {
  return known_cause(
      error,
      {
          {"reshape merges an axis inwards",
           {"op 'wafer.reshape': expected axis '", "outermost in dimension",
            "since its run-time extent varies"}},
          {"reshape loses an axis",
           {"op 'wafer.reshape': expected a shape with axis '", "outermost in a dimension"}},
          {"reshape divides an axis",
           {"op 'wafer.reshape': dimension ", "expected a multiple of the axis in one part, got axis '"}},
      });
}

std::string cause_of(const CompileError& error) {
  return known_cause(
      error,
      {
          {"hint: one block in that direction",
           {"split of dimension ", "expected a mesh with more than one block in that direction"}},
          {"hint: batch too small", {"split of dimension ", "expected a batch of at least two rows"}},
          {"hint: batch in two directions", {"split of dimension ", "expected one direction for the batch"}},
          {"hint: batch and feature in one direction",
           {"split of dimension ", "expected batch and feature on two directions of the mesh"}},
          {"hint: no op can be cut", {"split of dimension ", "expected a dimension that ops can be cut in"}},
          {"hint: no dimension of its own",
           {"split of dimension ", "expected a dimension that all ops cut in the same way"}},
          {"hint: too small to cut", {"split of dimension ", "to cut, since each piece takes at least"}},
          {"hint: two features",
           {"split of dimension ", "expected one feature dimension to cut besides the batch"}},
      });
}

}  // namespace fuzz
