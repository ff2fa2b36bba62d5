// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "faulty.hpp"

#include <wafer/wafer.hpp>

#include <set>
#include <tuple>

using namespace faulty;

namespace {

/// Work of an op's tiles in a trace, with that of its tails.
double flops_of(const std::vector<TraceEvent>& events, std::string_view what) {
  double sum = 0;
  for (const TraceEvent& event : events) sum += event.what.starts_with(what) ? event.flops : 0;
  return sum;
}

}  // namespace

TEST_CASE("a trace holds each tile of the last step once, and times that are in order") {
  for (const Layout& layout : {Layout{}, Layout{2, 2, true, true, 2}, Layout{1, 3, true, false, 3}}) {
    const Executable executable = compile_network(layout);
    for (const Index threads : {1, 3}) {
      INFO(layout.text() << ", threads " << threads);
      Session session{executable, {.threads = threads, .trace = true}};
      CHECK(session.trace().empty());
      const Rows rows;
      session.step("train", {{"x", rows.x}, {"label", rows.label}});
      const std::size_t events = session.trace().size();
      session.step("train", {{"x", rows.x}, {"label", rows.label}});
      const std::vector<TraceEvent> trace = session.trace();
      CHECK(trace.size() == events);
      std::set<std::tuple<std::uint32_t, Index, Index, Index>> seen;
      double last = 0;
      for (const TraceEvent& event : trace) {
        CHECK(seen.insert({event.action, event.block, event.micro_batch, event.tile}).second);
        CHECK(event.claimed >= 0);
        CHECK(event.started >= event.claimed);
        CHECK(event.ended >= event.started);
        CHECK(event.ended >= last);
        last = event.ended;
        CHECK(event.worker >= 0);
        CHECK(event.worker < threads);
        CHECK(event.block < std::max<Index>(1, layout.rows * layout.columns));
        CHECK(event.micro_batch < layout.micro_batches);
      }
      // Three products of 7 x 16 x 8, two operations to each multiply-add: forward and both gradients.
      // Tails (bias, mask, update) are a few operations for each element beside.
      const double products = 3 * 2.0 * kBatch * 16 * 8;
      CHECK(flops_of(trace, "op 'wafer.matmul' at 'fc2'") >= products);
      CHECK(flops_of(trace, "op 'wafer.matmul' at 'fc2'") <= 1.25 * products);
    }
  }
}

TEST_CASE("a session that was not asked to trace notes nothing") {
  Session session{compile_network(), {.threads = 1}};
  const Rows rows;
  session.step("train", {{"x", rows.x}, {"label", rows.label}});
  CHECK(session.trace().empty());
}
