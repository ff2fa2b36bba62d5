// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/graph/axes_rule.hpp>

namespace wafer::inline v0 {

namespace {

// Literals, so that a Factor's name outlives every rule.
constexpr std::string_view kDimNames[kMaxRank] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};

std::string_view name_of(FactorKind kind) {
  return kind == FactorKind::parallel ? "parallel" : kind == FactorKind::reduced ? "reduced" : "whole";
}

// Compiler and executor keep the factors of an op by 8-bit indices.
constexpr std::size_t kMostFactors = 127;

void check_factors(const std::vector<Factor>& factors) {
  if (factors.size() > kMostFactors) {
    throw UserError("axes rule: expected at most " + std::to_string(kMostFactors) + " factors, got " +
                    std::to_string(factors.size()));
  }
  for (const Factor& factor : factors) {
    if (factor.extent >= 0 && factor.unit >= 1) continue;
    throw UserError("axes rule: expected factors of extent >= 0 and unit >= 1, got '" +
                    std::string(factor.name) + "' with " + std::to_string(factor.extent) + " and " +
                    std::to_string(factor.unit));
  }
}

// By number, before anything looks a factor up.
void check_numbers(const std::vector<AxesRule::Dims>& operands, std::size_t factors) {
  for (const AxesRule::Dims& dims : operands) {
    for (const AxesRule::Dim& dim : dims) {
      for (int f : dim) {
        if (f >= 0 && static_cast<std::size_t>(f) < factors) continue;
        throw UserError("axes rule: expected numbers of its " + std::to_string(factors) + " factors, got " +
                        std::to_string(f));
      }
    }
  }
}

void check_operands(const AxesRule& rule, const std::vector<AxesRule::Dims>& operands, const Types& types,
                    const std::string& kind) {
  if (operands.size() != types.size()) {
    throw UserError("axes rule: expected an entry for each of " + std::to_string(types.size()) + " " + kind +
                    "s, got " + std::to_string(operands.size()));
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = types[i].shape;
    bool fits = operands[i].size() == static_cast<std::size_t>(shape.rank());
    for (int d = 0; fits && d < shape.rank(); ++d) {
      Index product = 1;
      for (int f : operands[i][static_cast<std::size_t>(d)])
        product = checked_mul(product, rule.factors()[static_cast<std::size_t>(f)].extent);
      fits = product == shape[d];
    }
    if (!fits) {
      throw UserError("axes rule: expected factors of " + kind + " " + std::to_string(i) + " to make up " +
                      shape.text() + ", got " + rule.text());
    }
  }
}

}  // namespace

int AxesRule::add(Factor factor) {
  factors_.push_back(factor);
  return static_cast<int>(factors_.size()) - 1;
}
int AxesRule::parallel(std::string_view name, Index extent, Index unit) {
  return add({name, extent, FactorKind::parallel, unit});
}
int AxesRule::reduced(std::string_view name, Index extent, Index unit) {
  return add({name, extent, FactorKind::reduced, unit});
}
int AxesRule::whole(std::string_view name, Index extent) { return add({name, extent, FactorKind::whole, 1}); }

void AxesRule::check(const Types& inputs, const Types& results) const {
  check_factors(factors_);
  check_numbers(inputs_, factors_.size());
  check_numbers(results_, factors_.size());
  check_operands(*this, inputs_, inputs, "input");
  check_operands(*this, results_, results, "result");
}

std::string AxesRule::text() const {
  std::string out;
  const auto list = [&](const std::vector<Dims>& operands) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      out += i ? ", (" : "(";
      for (std::size_t d = 0; d < operands[i].size(); ++d) {
        const Dim& dim = operands[i][d];
        out += d ? " " : "";
        if (dim.size() != 1) out += dim.empty() ? "1" : "(";
        for (std::size_t f = 0; f < dim.size(); ++f) {
          out += (f ? " " : "") + std::string(factors_[static_cast<std::size_t>(dim[f])].name);
        }
        if (dim.size() > 1) out += ")";
      }
      out += ")";
    }
  };
  list(inputs_);
  out += " -> ";
  list(results_);
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    out += (f ? ", " : "; ") + std::string(factors_[f].name) + " " + std::to_string(factors_[f].extent) +
           " " + std::string(name_of(factors_[f].kind));
  }
  return out;
}

AxesRule elementwise_rule(const Types& inputs, const Shape& result, int results) {
  AxesRule rule;
  AxesRule::Dims all;
  for (int d = 0; d < result.rank(); ++d) {
    all.push_back({rule.parallel(kDimNames[static_cast<std::size_t>(d)], result[d])});
  }
  for (const TensorType& input : inputs) {
    AxesRule::Dims dims;
    for (int d = 0; d < input.shape.rank(); ++d) {
      const int to = d + result.rank() - input.shape.rank();
      if (input.shape[d] == result[to]) {
        dims.push_back(all[static_cast<std::size_t>(to)]);
      } else {
        dims.push_back({});
      }
    }
    rule.operand(std::move(dims));
  }
  for (int r = 0; r < results; ++r) rule.result(all);
  return rule;
}

}  // namespace wafer::inline v0
