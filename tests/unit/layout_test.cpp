// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Which buffers a plan stores in panels.
#include <wafer/compiler/step.hpp>
#include <wafer/wafer.hpp>

#include "catch.hpp"
#include "compiler/stages.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace wafer;

namespace {

using Lines = std::vector<std::string>;

/// "dimension 0, f32[512, 784] of parameter 'fc1.weight'" for each buffer in panels, sorted.
Lines panels_of(const Executable& executable) {
  const std::string text = executable.plan().dump("layout"), of = " in panels of 32";
  Lines out;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    line.erase(0, line.find("dimension"));
    const std::size_t panels = line.find(of);
    REQUIRE(panels != std::string::npos);
    out.push_back(line.erase(panels, of.size()));
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Mlp {
  Graph g;
  Axis b = g.axis("batch", 16);
  Tensor x, loss;
  Mlp(Index features, std::vector<Index> widths) {
    x = g.input("x", {b, features});
    Tensor h = x;
    for (std::size_t i = 0; i < widths.size(); ++i)
      h = h | nn::Linear{widths[i], "fc" + std::to_string(i + 1)} | Relu{};
    loss = h | nn::Linear{10, "head"} | cross_entropy(g.input("label", {b}, DType::i32));
  }
  Tensor weight(const std::string& name) const {
    for (const VariableInfo& variable : g.data()->variables) {
      if (variable.path == name) return Tensor(g.data(), variable.value);
    }
    return {};
  }
};

Executable compiled(const Mlp& m, const Optimizer& optimizer, Options options = {}) {
  if (options.threads == 0) options.threads = 1;
  return compile({{"train", minimize(m.loss, optimizer).fetch("loss", m.loss)}}, Fabric::host(), options);
}

const Stages& stages_of(const Executable& executable) {
  return static_cast<const Stages&>(*executable.data()->plan);
}

}  // namespace

TEST_CASE("weights, their gradients and their momentum are in panels of outputs; a narrow head is not") {
  const Mlp m(784, {512, 512});
  CHECK(panels_of(compiled(m, SGD{.lr = 0.1, .momentum = 0.9})) ==
        Lines{"dimension 0, f32[512, 512] of op 'wafer.matmul' at 'fc2'",
              "dimension 0, f32[512, 512] of parameter 'fc2.weight'",
              "dimension 0, f32[512, 512] of parameter 'optimizer.fc2.weight.m'",
              "dimension 0, f32[512, 784] of op 'wafer.matmul' at 'fc1'",
              "dimension 0, f32[512, 784] of parameter 'fc1.weight'",
              "dimension 0, f32[512, 784] of parameter 'optimizer.fc1.weight.m'"});
  CHECK(panels_of(compiled(m, AdamW{})) ==
        Lines{"dimension 0, f32[512, 512] of op 'wafer.matmul' at 'fc2'",
              "dimension 0, f32[512, 512] of parameter 'fc2.weight'",
              "dimension 0, f32[512, 512] of parameter 'optimizer.fc2.weight.m'",
              "dimension 0, f32[512, 512] of parameter 'optimizer.fc2.weight.v'",
              "dimension 0, f32[512, 784] of op 'wafer.matmul' at 'fc1'",
              "dimension 0, f32[512, 784] of parameter 'fc1.weight'",
              "dimension 0, f32[512, 784] of parameter 'optimizer.fc1.weight.m'",
              "dimension 0, f32[512, 784] of parameter 'optimizer.fc1.weight.v'"});
  // Gradients of batches in parts add up in panels too.
  CHECK(panels_of(compiled(m, AdamW{}, {.micro_batches = 4})) == panels_of(compiled(m, AdamW{})));
}

TEST_CASE("nothing is in panels where they are turned off, nor on a mesh") {
  const Mlp m(64, {64});
  CHECK(panels_of(compiled(m, SGD{})).size() == 2);
  CHECK(panels_of(compiled(m, SGD{}, {.panels = false})).empty());
  CHECK(panels_of(compile({{"train", minimize(m.loss, SGD{})}}, Fabric::mesh(1, 1))).empty());
}

TEST_CASE("a matrix is in panels from 32 on, and where the last one wastes a quarter at most") {
  struct Expected {
    Index width;
    bool panels;
  };
  for (const Expected& e :
       {Expected{1, false}, Expected{31, false}, Expected{32, true}, Expected{33, false}, Expected{51, false},
        Expected{52, true}, Expected{64, true}, Expected{76, false}, Expected{77, true}, Expected{100, false},
        Expected{102, false}, Expected{103, true}, Expected{120, true}, Expected{128, true},
        Expected{129, true}}) {
    INFO("width " << e.width);
    CHECK(panels_of(compiled(Mlp(20, {e.width}), SGD{})).size() == (e.panels ? 2 : 0));
  }
}

TEST_CASE("columns of a weight that is not stored transposed are in panels") {
  Graph g;
  const Axis b = g.axis("batch", 16);
  const Tensor w = parameter(g, "w", {40, 64}, Init::uniform(1));
  const Tensor loss = mean(square(matmul(g.input("x", {b, 40}), w)));
  CHECK(panels_of(compile({{"train", minimize(loss, SGD{})}}, Fabric::host(), {.threads = 1})) ==
        Lines{"dimension 1, f32[40, 64] of op 'wafer.matmul'", "dimension 1, f32[40, 64] of parameter 'w'"});
}

TEST_CASE("a gradient that is fetched is computed row-major beside the one that trains") {
  const Mlp m(64, {64, 96});
  const std::vector<Tensor> of{m.weight("fc1.weight")};
  const Tensors gradient = gradients_of(m.loss, of);
  const Request fetching = minimize(m.loss, SGD{}).fetch("g", gradient[0]);
  CHECK(panels_of(compile({{"train", fetching}}, Fabric::host(), {.threads = 1})) ==
        Lines{"dimension 0, f32[64, 64] of op 'wafer.matmul' at 'fc1'",
              "dimension 0, f32[64, 64] of parameter 'fc1.weight'",
              "dimension 0, f32[96, 64] of op 'wafer.matmul' at 'fc2'",
              "dimension 0, f32[96, 64] of parameter 'fc2.weight'"});
}

TEST_CASE("gradients that are clipped by a norm are in panels, as what is computed of them") {
  const Mlp m(64, {96});
  const Request clipped = minimize(m.loss, AdamW{}).clip_norm(1);
  CHECK(panels_of(compile({{"train", clipped}}, Fabric::host(), {.threads = 1})) ==
        Lines{"dimension 0, f32[96, 64] of op 'wafer.matmul' at 'fc1'",
              "dimension 0, f32[96, 64] of parameter 'fc1.weight'",
              "dimension 0, f32[96, 64] of parameter 'optimizer.fc1.weight.m'",
              "dimension 0, f32[96, 64] of parameter 'optimizer.fc1.weight.v'"});
}

TEST_CASE("all steps of a plan agree on panels") {
  const Mlp m(64, {64});
  const Tensor w = m.weight("fc1.weight");
  const NamedRequest train{"train", minimize(m.loss, SGD{})};
  const auto panels_with = [&](const Tensor& fetched) {
    return panels_of(compile({train, {"look", fetch("y", fetched)}}, Fabric::host(), {.threads = 1})).size();
  };
  CHECK(panels_with(m.loss) == 2);
  CHECK(panels_with(w) == 2);  // it is copied
  CHECK(panels_with(sum(w, {1})) == 2);
  CHECK(panels_with(sum(w)) == 2);
  CHECK(panels_with(w * 2.0) == 0);  // as large as the weight, and handed out as it lies
  CHECK(panels_with(matmul(w, m.g.constant(std::vector<float>(64, 1), Shape{64, 1}))) == 0);
}

TEST_CASE("a layout or tiles that kernels do not take are refused") {
  const Executable executable = compiled(Mlp(64, {64, 96}), SGD{.lr = 0.1, .momentum = 0.9}, {.threads = 2});
  Stages stages = stages_of(executable);
  const auto verify = [&] { stages.verify(Fabric::host()); };
  CHECK_NOTHROW(verify());
  const auto find = [&](auto&& wanted) {
    for (BufferId b = 0; b < stages.layout.panelled.size(); ++b) {
      if (wanted(b, stages.step.graph->values[stages.communication.buffers[b].value])) return b;
    }
    FAIL("no such buffer");
    return BufferId{0};
  };
  const auto in_panels = [&](BufferId b, const Value&) { return stages.layout.panelled[b] >= 0; };
  SECTION("an update in panels of a gradient that is not") {
    stages.layout.panelled[find([&](BufferId b, const Value& value) {
      return in_panels(b, value) && stages.communication.buffers[b].use == Buffer::Use::temporary;
    })] = -1;
    CHECK_THROWS_AS(verify(), InternalError);
  }
  SECTION("in panels along the other dimension") {
    stages.layout.panelled[find(in_panels)] = 1;
    CHECK_THROWS_AS(verify(), InternalError);
  }
  SECTION("a dimension that there is not") {
    stages.layout.panelled[find(in_panels)] = 2;
    CHECK_THROWS_AS(verify(), InternalError);
  }
  SECTION("a left matrix") {
    const BufferId x = find([&](BufferId b, const Value& value) {
      return stages.communication.buffers[b].use == Buffer::Use::feed && value.type.shape.rank() == 2;
    });
    stages.layout.panelled[x] = 1;
    CHECK_THROWS_AS(verify(), InternalError);
  }
  SECTION("a vector") {
    stages.layout.panelled[find([](BufferId, const Value& v) { return v.type.shape.rank() == 1; })] = 0;
    CHECK_THROWS_AS(verify(), InternalError);
  }
  SECTION("a scalar") {
    stages.layout.panelled[find([](BufferId, const Value& v) { return v.type.shape.rank() == 0; })] = 0;
    CHECK_THROWS_AS(verify(), InternalError);
  }
  SECTION("a buffer without a layout") {
    stages.layout.panelled.pop_back();
    CHECK_THROWS_AS(verify(), InternalError);
  }
  SECTION("a tile that ends within a panel") {
    for (std::uint32_t p = 0; p < stages.tiling.programs[0].size(); ++p) {
      const int factor = stages.layout.panel_factor(stages.step, stages.factors, stages.communication, 0, p);
      const Node& node = stages.step.graph->nodes[stages.step.programs[0].order[p]];
      if (factor < 0 || node.op.name() != "wafer.matmul") continue;
      OpTiling& tiling = stages.tiling.programs[0][p];
      const OpTiling good = tiling;
      tiling = {};
      tiling.factor[0] = static_cast<std::int8_t>(factor);
      tiling.count[0] = 2;
      tiling.length[0] = 64;
      const OpFactor& of = stages.factors.programs[0].of(p)[static_cast<std::size_t>(factor)];
      if (of.kind == FactorKind::parallel) CHECK_NOTHROW(verify());
      tiling.length[0] = 63;
      CHECK_THROWS_AS(verify(), InternalError);
      tiling = good;
    }
    CHECK_NOTHROW(verify());
  }
}

TEST_CASE("tiles of ops that take no panels are of one each") {
  // With micro-batches, updates are no tails.
  const Executable executable = compiled(Mlp(64, {64, 96}), SGD{.lr = 0.1}, {.micro_batches = 2});
  Stages stages = stages_of(executable);
  const Program& program = stages.step.programs[0];
  Index updates = 0;
  for (std::size_t p = 0; p < program.order.size(); ++p) {
    const Node& node = stages.step.graph->nodes[program.order[p]];
    const Shape& shape = stages.step.graph->values[node.first_value].type.shape;
    if (node.op.name() != "wafer.sgd_update" || shape.rank() != 2 || shape[0] < 32) continue;
    OpTiling& tiling = stages.tiling.programs[0][p];
    ++updates;
    CHECK(tiling.length[0] == 32);
    CHECK(tiling.count[0] == shape[0] / 32);
    const OpTiling good = tiling;
    tiling.length[0] = 64;
    CHECK_THROWS_AS(stages.verify(Fabric::host()), InternalError);
    tiling = {};
    CHECK_THROWS_AS(stages.verify(Fabric::host()), InternalError);
    tiling = good;
    CHECK_NOTHROW(stages.verify(Fabric::host()));
  }
  CHECK(updates == 2);
}

TEST_CASE("a plan that keeps in a tile what is fed or fetched, or two values in one place, is refused") {
  Graph g;
  const Tensor x = g.input("x", {g.axis("batch", 16), 8});
  const Tensor product = matmul(x, parameter(g, "w", {8, 64}, Init::uniform(1)));
  const Tensor larger = where(less(product, tanh(product)), product, constant_like(0, product));
  const Executable executable = compile(fetch("sums", sum(larger, {0})), Fabric::host(), {.threads = 1});
  Stages stages = stages_of(executable);
  CHECK_NOTHROW(stages.verify(Fabric::host()));
  Index in_tile = 0;
  for (BufferId b = 0; b < stages.memory.slots.size(); ++b) {
    MemoryPlan::Slot& slot = stages.memory.slots[b];
    const MemoryPlan::Slot good = slot;
    if (slot.in_tile) {
      ++in_tile;
      if (slot.in_place) continue;
      slot.offset = slot.offset == 0 ? 1 : 0;
    } else {
      slot.in_tile = true;
      slot.bytes = 0;
      slot.offset = 10;
    }
    CHECK_THROWS_AS(stages.verify(Fabric::host()), InternalError);
    slot = good;
  }
  CHECK(in_tile >= 3);
}

TEST_CASE("a plan that writes a result over what is still needed is refused") {
  Graph g;
  const Tensor w = parameter(g, "w", {64, 64}, Init::uniform(1));
  const Tensor product = matmul(exp(g.input("x", {g.axis("batch", 64), 64})), w);
  const Tensor larger = where(less(product, tanh(product)), product, constant_like(0, product));
  const Tensor z = matmul(matmul(sqrt(matmul(larger, w)), w), w);
  const Executable executable = compile(fetch("z", z), Fabric::host(), {.threads = 1});
  Stages stages = stages_of(executable);
  CHECK_NOTHROW(stages.verify(Fabric::host()));
  // The first temporary that an op of this name makes.
  const auto buffer_of = [&](std::string_view op) {
    for (BufferId b = 0; b < stages.memory.slots.size(); ++b) {
      const Value& value = stages.step.graph->values[stages.communication.buffers[b].value];
      if (stages.communication.buffers[b].use == Buffer::Use::temporary &&
          stages.step.graph->nodes[value.node].op.name() == op)
        return b;
    }
    throw UserError("no buffer of " + std::string(op));
  };
  const auto put_over = [&](BufferId result, BufferId operand) {
    MemoryPlan::Slot& slot = stages.memory.slots[result];
    slot.in_place = true;
    slot.offset = stages.memory.slots[operand].offset;
    CHECK_THROWS_AS(stages.verify(Fabric::host()), InternalError);
  };
  SECTION("in a tile, over what a later op reads") {
    const BufferId in_tile = buffer_of("wafer.matmul"), result = buffer_of("wafer.tanh");
    REQUIRE(stages.memory.slots[in_tile].in_tile);
    REQUIRE(stages.memory.slots[result].in_tile);
    put_over(result, in_tile);
  }
  SECTION("a product over its left operand, which the op does not allow") {
    const BufferId operand = buffer_of("wafer.sqrt");
    REQUIRE(!stages.memory.slots[operand].in_tile);
    const auto reads = [&](BufferId b) {  // the product of the operand
      const Value& value = stages.step.graph->values[stages.communication.buffers[b].value];
      const auto inputs = stages.step.graph->inputs_of(stages.step.graph->nodes[value.node]);
      return !inputs.empty() && inputs[0] == stages.communication.buffers[operand].value;
    };
    BufferId result = 0;
    while (!reads(result)) ++result;
    REQUIRE(!stages.memory.slots[result].in_tile);
    put_over(result, operand);
  }
}
