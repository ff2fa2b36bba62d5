// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// What users fill in takes one member by name without a warning about the others: this file compiles.
#include "catch.hpp"

#include <wafer/compiler/choices.hpp>
#include <wafer/compiler/floorplan.hpp>
#include <wafer/compiler/packer.hpp>
#include <wafer/compiler/pipeline.hpp>
#include <wafer/fabric/collectives.hpp>
#include <wafer/io/safetensors.hpp>
#include <wafer/testing/check_op.hpp>
#include <wafer/wafer.hpp>

using namespace wafer;

TEST_CASE("requests and options: one member by name, the others by default") {
  const CollectiveRequest collective{.kind = CollectiveKind::gather};
  CHECK((collective.root == Core{0, 0} && collective.to == Core{0, 0} && collective.area.cores() == 1));
  const FloorRequest floor{.rows = 3};
  CHECK((floor.kernels.empty() && floor.connections.empty() && floor.faulty.empty()));
  const FloorKernel kernel{.may_turn = false};
  CHECK(kernel.shapes.empty());
  CHECK(KernelShape{.height = 2}.width == 1);
  CHECK(FloorConnection{.to = 2}.weight == 1);
  CHECK(Machine{.rows = 3}.faults.empty());
  CHECK(Fabric{.rows = 2}.name.empty());
  CHECK(Method{.algorithm = Algorithm::ring}.along_rows == LineTree::chain);
  CHECK(Message{.step = 3}.from == 0);
  CHECK_FALSE(PackBuffer{.size = 3}.offset.has_value());
  CHECK_FALSE(PackOptions{.effort = 3}.capacity.has_value());
  CHECK(PipelineRequest{.kind = PipelineKind::gpipe}.durations.empty());
  CHECK_FALSE(Choices{.micro_batches = 2}.batch.active);
  CHECK(NamedRequest{.name = "eval"}.request.fetches.empty());
  CHECK(Request{.max_norm = 1}.fetches.empty());
  CHECK(Options{.threads = 1}.sram_limit == 0);
  CHECK(SessionOptions{.seed = 2}.threads == 0);
  CHECK(MeshMemory{.sram = 1}.dram == 1_GiB);
  CHECK(io::Entry{.name = "x"}.shape.empty());
  CHECK(testing::CheckOptions{.tolerance = 1}.gradient_tolerance == 2e-3);
}
