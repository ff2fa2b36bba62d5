// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/runtime/executable.hpp>
#include <wafer/runtime/executable_data.hpp>

#include <ostream>

namespace wafer::inline v0 {

PlanText::~PlanText() = default;

Index Plan::blocks() const { return data_->blocks(); }
Index Plan::sram_bytes() const { return data_->sram_bytes; }
Index Plan::dram_bytes() const { return data_->dram_bytes; }
Index Plan::scratch_bytes() const { return data_->worker_bytes(); }
Index Plan::workers() const { return data_->workers; }
std::string Plan::text() const { return data_->plan->summary(); }
std::string Plan::dump(std::string_view stage) const { return data_->plan->dump(stage); }

double Plan::predicted_seconds(std::string_view step) const {
  std::string names;
  for (const ProgramRecord& program : data_->programs) {
    if (program.name == step) return program.predicted_seconds;
    names += (names.empty() ? "'" : ", '") + program.name + "'";
  }
  throw UserError("predicted_seconds: expected one of the steps " + names + ", got '" + std::string(step) +
                  "'");
}

std::ostream& operator<<(std::ostream& out, const Plan& plan) { return out << plan.text(); }

}  // namespace wafer::inline v0
