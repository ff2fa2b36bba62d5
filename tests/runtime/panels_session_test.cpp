// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// What a session gets, sets, fetches, assigns, saves and loads is row-major, however it is stored.
#include "../unit/temp_folder.hpp"
#include "catch.hpp"
#include "panels_fixture.hpp"
#include "swap.hpp"

#include <wafer/runtime/executable_data.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace panels;
using Catch::Matchers::ContainsSubstring;
using wafer_test::TempFolder;

namespace {

struct Net {
  Sources in;
  Tensor w = in.weight("w", 64, 120);
  Tensor loss = in.loss(relu(matmul(in.x(64), w)) | nn::Linear{60, "fc"} | Tanh{});

  Executable compiled(Options options, const Optimizer& optimizer = AdamW{.lr = 0.01}) const {
    if (options.threads == 0) options.threads = 2;
    return compile({{"train", minimize(loss, optimizer).fetch("loss", loss).fetch("w", w)},
                    {"look", fetch("w", w).fetch("turned", transpose(w))}},
                   Fabric::host(), options);
  }
};

void step(Session& session, Index number) {
  session.step("train", {{"x", ramp(24 * 64, number)}, {"label", classes(24, number)}});
}

Floats fetched(const Result& result, const char* name) {
  const auto values = result[name].values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("a variable in panels is got as it was set, and starts with the values that it has without") {
  const Net net;
  const Executable panelled = net.compiled({}), plain = net.compiled({.panels = false});
  REQUIRE(in_panels(panelled));
  REQUIRE_FALSE(in_panels(plain));
  Session with{panelled, {.seed = 3}}, without{plain, {.seed = 3}};
  CHECK((variables(with) == variables(without)));
  const Floats values = ramp(64 * 120, 1), bias = ramp(60, 2);
  with.set("w", values);
  with.set("fc.bias", bias);
  CHECK((with.get("w") == values));
  CHECK((with.get("fc.bias") == bias));
  // Also as steps see it.
  const Result looked = with.step("look", {});
  CHECK((fetched(looked, "w") == values));
  Floats turned(values.size());
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 120; ++j) turned[j * 64 + i] = values[i * 120 + j];
  }
  CHECK((fetched(looked, "turned") == turned));
  CHECK((with.get("w") == values));
}

TEST_CASE("a weight in panels is fetched as it was before the step") {
  const Net net;
  Session session{net.compiled({}), {.threads = 2}};
  const Floats before = session.get("w");
  CHECK(
      (fetched(session.step("train", {{"x", ramp(24 * 64, 1)}, {"label", classes(24, 1)}}), "w") == before));
  CHECK((session.get("w") != before));
}

TEST_CASE("saved files are the same with and without panels, and load into either") {
  const Net net;
  const SGD sgd{.lr = 0.1};  // files are of parameters, and this has no other state
  const Executable panelled = net.compiled({}, sgd), plain = net.compiled({.panels = false}, sgd);
  REQUIRE(in_panels(panelled));
  Session with{panelled, {.threads = 2}}, without{plain, {.threads = 1}};
  for (Index number = 0; number < 2; ++number) {
    step(with, number);
    step(without, number);
  }
  const TempFolder folder;
  with.save(folder.path("with"));
  without.save(folder.path("without"));
  CHECK((folder.read("with") == folder.read("without")));
  CHECK(folder.read("with").size() > sizeof(float) * (64 * 120 + 120 * 60));
  Session loaded{panelled, {.threads = 1, .seed = 9}}, loaded_plain{plain, {.threads = 1, .seed = 9}};
  CHECK((variables(loaded) != variables(with)));
  loaded.load(folder.path("without"));
  loaded_plain.load(folder.path("with"));
  for (Session* session : {&with, &loaded, &loaded_plain}) step(*session, 2);
  CHECK((variables(loaded) == variables(with)));
  CHECK((variables(loaded_plain) == variables(with)));
}

namespace {

/// The state "previous" takes the weight, and the weight what a function of it and its gradient says.
template <class F>
struct Assigning {
  F value;
  void build(UpdateBuilder& builder, std::span<const GradientOf> gradients) const {
    for (const GradientOf& of : gradients) {
      builder.assign(builder.state(of, "previous"), of.value);
      builder.assign(of.value, value(of));
    }
  }
};
template <class F>
Optimizer assigning(F value) {
  return Assigning<F>{std::move(value)};
}

}  // namespace

TEST_CASE("a weight in panels is assigned to a state, and takes what an expression says") {
  for (const bool with : {true, false}) {
    const Net net;
    const Executable executable =
        net.compiled({.panels = with}, assigning([](const GradientOf& of) { return of.value * 0.5; }));
    CHECK(in_panels(executable) == with);
    Session session{executable, {.threads = 2}};
    const Floats before = session.get("w");
    Floats half = before;
    for (float& value : half) value *= 0.5F;
    step(session, 0);
    CHECK((session.get("w") == half));
    CHECK((session.get("optimizer.w.previous") == before));
    step(session, 1);
    CHECK((session.get("optimizer.w.previous") == half));
  }
}

TEST_CASE("weights in panels take their gradients, or exchange their values with a state") {
  std::vector<Floats> taken;
  for (const bool with : {true, false}) {
    Session session{
        Net().compiled({.panels = with}, assigning([](const GradientOf& of) { return of.gradient; })),
        {.threads = 2}};
    step(session, 0);
    step(session, 1);
    taken.push_back(variables(session));
  }
  CHECK((taken[0] == taken[1]));
  const Executable swaps = Net().compiled({}, wafer_test::Swap{});
  CHECK(in_panels(swaps));
  Session swapping{swaps, {.threads = 2}};
  const Floats first = swapping.get("w"), sevens(64 * 120, 7);
  step(swapping, 0);
  CHECK((swapping.get("w") == sevens));
  CHECK((swapping.get("optimizer.w.other") == first));
  step(swapping, 1);
  CHECK((swapping.get("w") == first));
  CHECK((swapping.get("optimizer.w.other") == sevens));
}

TEST_CASE("memory counts the last panel in full, and panels are left out where they do not fit") {
  const Net net;
  const Executable panelled = net.compiled({}), plain = net.compiled({.panels = false});
  // 4 panels of 64 x 32 floats, and 64 x 120.
  const auto has = [](const Executable& e, const std::string& part) {
    const std::string text = e.plan().dump("memory");
    std::size_t lines = 0;
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
      end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      if (line.find("f32[64, 120] of parameter") != line.npos) lines += line.find(part) != line.npos;
    }
    return lines;
  };
  CHECK(has(panelled, " 32768 bytes") == 3);  // the weight and two states
  CHECK(has(panelled, " 30720 bytes") == 2);  // what is fetched of it by two steps
  CHECK(has(plain, " 30720 bytes") == 5);
  const Index need = panelled.data()->dram_bytes, least = plain.data()->dram_bytes;
  REQUIRE(need > least);
  CHECK(in_panels(net.compiled({.dram_limit = need})));
  const Executable tight = net.compiled({.micro_batches = 1, .dram_limit = need - 1});
  CHECK_FALSE(in_panels(tight));
  CHECK(tight.data()->dram_bytes == least);
  CHECK_FALSE(in_panels(net.compiled({.micro_batches = 1, .dram_limit = least})));
  const std::string message = wafer_test::message_of<CompileError>(
      [&] { net.compiled({.micro_batches = 1, .dram_limit = least - 1}); });
  CHECK_THAT(message, ContainsSubstring(std::to_string(least)));
  CHECK_THAT(message, ContainsSubstring("f32[64, 120] of parameter 'w' 30720 bytes"));
  Session session{tight, {.threads = 2}}, other{panelled, {.threads = 2}};
  for (Session* of : {&session, &other}) step(*of, 0);
  CHECK((variables(session) == variables(other)));
}
