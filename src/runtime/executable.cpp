// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/runtime/executable.hpp>
#include <wafer/runtime/executable_data.hpp>

#include <ostream>

namespace wafer::inline v0 {

PlanText::~PlanText() = default;

Index Plan::blocks() const { return data_->blocks(); }
Index Plan::sram_bytes() const { return data_->sram_bytes; }
Index Plan::dram_bytes() const { return data_->dram_bytes; }
Index Plan::scratch_bytes() const { return data_->scratch_bytes; }
Index Plan::workers() const { return data_->workers; }
std::string Plan::text() const { return data_->plan->summary(); }
std::string Plan::dump(std::string_view stage) const { return data_->plan->dump(stage); }

std::ostream& operator<<(std::ostream& out, const Plan& plan) { return out << plan.text(); }

}  // namespace wafer::inline v0
