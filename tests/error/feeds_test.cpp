// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

#include <limits>
#include <stop_token>

using namespace error_test;

namespace {

std::vector<Fabric> fabrics() { return {Fabric::host(), Fabric::mesh(2, 2)}; }

}  // namespace

TEST_CASE("labels out of range name row, value and valid range, and change nothing") {
  for (const Fabric& fabric : fabrics()) {
    for (Index micro_batches : {1, 2}) {
      const Network n;
      const Executable executable = compile(n.requests(), fabric, {.micro_batches = micro_batches});
      Session session{executable, {.threads = 2}};
      Unharmed unharmed(session, executable);
      constexpr std::int32_t kGreatest = std::numeric_limits<std::int32_t>::max();
      for (std::int32_t bad : {3, -1, kGreatest, -kGreatest - 1}) {
        const std::vector<std::int32_t> wrong{0, 1, bad, 2};
        expect_message<RunError>(
            [&] {
              session.step("train", {{"x", features()}, {"label", wrong}});
            },
            {"op 'wafer.softmax_cross_entropy' at 'score'", "label (input 'label')", "row 2", "[0, 3)",
             std::to_string(bad)});
      }
      unharmed.check();
    }
  }
}

TEST_CASE("of several labels out of range the first one is named, whatever the plan and the threads") {
  const std::vector<std::int32_t> wrong{2, 7, -5, 9};
  for (const Fabric& fabric : {Fabric::host(), Fabric::mesh(2, 2), Fabric::mesh(1, 4), Fabric::mesh(4, 1)}) {
    for (Index micro_batches : {1, 2, 4}) {
      const Network n;
      if (fabric.rows > 1 && micro_batches == 1) n.x.split(n.batch, Mesh::rows);
      const Executable executable = compile(n.requests(), fabric, {.micro_batches = micro_batches});
      for (Index threads : {1, 2, 8}) {
        INFO(fabric.name << ", micro_batches " << micro_batches << ", threads " << threads);
        Session session{executable, {.threads = threads}};
        int first = 0;
        for (int k = 0; k < 50; ++k) {
          const std::string message = message_of<RunError>([&] {
            session.step("train", {{"x", features()}, {"label", wrong}});
          });
          first += message.find("label (input 'label') in row 1: expected a value in [0, 3), got 7") !=
                   std::string::npos;
        }
        CHECK(first == 50);
      }
    }
  }
}

TEST_CASE("the first label out of range is the first along its named axis") {
  constexpr Index kBatch = 4, kTime = 6, kClasses = 3;
  const auto message = [&](bool batch_first, Index parts, Index micro_batches, Index workers) {
    Graph g;
    const Axis b = g.axis("batch", kBatch);
    const Tensor x = batch_first ? g.input("x", {b, kTime, 5}) : g.input("x", {kTime, b, 5});
    const Tensor label =
        batch_first ? g.input("label", {b, kTime}, DType::i32) : g.input("label", {kTime, b}, DType::i32);
    const Tensor hidden = x | nn::Linear{8, "fc1"} | Relu{};
    const Tensor logits = hidden | nn::Linear{kClasses, "head"};
    if (parts == 1) hidden.split(batch_first ? 1 : 0, Mesh::columns);
    if (parts == 2) x.split(b, Mesh::columns);
    const Executable executable = compile(minimize(logits | cross_entropy(label), SGD{}),
                                          parts == 0 ? Fabric::host() : Fabric::mesh(1, 2),
                                          {.micro_batches = micro_batches, .threads = workers});
    // Out of range: of row 1 of the batch at times 3 and 5, of row 2 at time 0.
    std::vector<std::int32_t> labels(kBatch * kTime, 1);
    const auto set = [&](Index row, Index time, std::int32_t value) {
      labels[static_cast<std::size_t>(batch_first ? row * kTime + time : time * kBatch + row)] = value;
    };
    set(1, 3, 10);
    set(1, 5, 11);
    set(2, 0, 12);
    const std::vector<float> features(kBatch * kTime * 5, 0.5F);
    Session session{executable, {.threads = 2}};
    return message_of<RunError>([&] { session.step({{"x", features}, {"label", labels}}); });
  };
  for (Index parts : {0, 1, 2}) {  // host; time cut; batch cut
    for (Index micro_batches : {1, 2}) {
      for (Index workers : {1, 8}) {
        INFO("parts " << parts << ", micro_batches " << micro_batches << ", workers " << workers);
        CHECK_THAT(message(true, parts, micro_batches, workers),
                   Catch::Matchers::ContainsSubstring(
                       "label (input 'label') in row 1, 3: expected a value in [0, 3), got 10"));
        // The gradient of fc1 sums over time first: then it takes the batch in one piece.
        if (micro_batches > 1) continue;
        CHECK_THAT(message(false, parts, micro_batches, workers),
                   Catch::Matchers::ContainsSubstring(
                       "label (input 'label') in row 3, 1: expected a value in [0, 3), got 10"));
      }
    }
  }
}

TEST_CASE("feeds that are missing, unknown, doubled or of another type or size") {
  for (const Fabric& fabric : fabrics()) {
    const Network n;
    const Executable executable = compile(n.requests(), fabric);
    Session session{executable, {.threads = 2}};
    Unharmed unharmed(session, executable);
    const auto expect = [&](std::initializer_list<Feed> feeds, const std::vector<std::string>& parts) {
      const std::vector<Feed> list = feeds;
      expect_message<RunError>([&] { session.step("train", list); }, parts);
    };
    const Feed x{"x", features()}, label{"label", labels()};
    expect({x}, {"'train'", "'label'", "a feed", "none"});
    expect({}, {"'train'", "'x'", "a feed", "none"});
    expect({x, label, x}, {"'x'", "one feed", "two"});
    expect({x, label, {"y", features()}}, {"'y'", "input of this step, one of 'x', 'label'"});
    expect({x, {"label", features()}}, {"'label'", "i32", "f32"});
    expect({{"x", labels()}, label}, {"'x'", "f32", "i32"});
    const std::vector<float> odd(19), long_one(25), none;
    expect({{"x", odd}, label}, {"'x'", "19"});
    expect({{"x", long_one}, label}, {"'x'", "at most 20 elements, 5 for each of axis 'batch'", "25"});
    expect({{"x", none}, label}, {"'label'", "0 elements", "'batch' 0 as in input 'x' of 0 elements", "4"});
    Feed negative = x;
    negative.size = -40;
    expect({negative, label}, {"'x'", "a number of elements", "-40"});
    const std::vector<std::int32_t> three{0, 1, 2};
    expect({x, {"label", three}}, {"'label'", "4 elements", "'batch' 4 as in input 'x' of 20", "3"});
    expect({{"x", features(), Shape{4, 5}}, {"label", three, Shape{3}}},
           {"'label'", "4 of axis 'batch' as in input 'x' of 20 elements", "3"});
    expect({{"x", features(), Shape{5, 4}}, label}, {"'x'", "at most 4", "5"});
    expect({{"x", features(), Shape{2, 10}}, label}, {"'x'", "5 in dimension 1", "[2, 10]"});
    expect({{"x", features(), Shape{20}}, label}, {"'x'", "rank 2", "[20]"});
    expect({{"x", features(), Shape{3, 5}}, label}, {"'x'", "15", "20"});
    expect_message<RunError>([&] { session.step("predict", {x, label}); }, {"'predict'", "'label'"});
    expect_message<RunError>([&] { session.step("test", {x, label}); }, {"'test'", "'train', 'predict'"});
    expect_message<RunError>([&] { session.step({x, label}); }, {"name", "2 steps", "'train', 'predict'"});
    unharmed.check();
  }
}

TEST_CASE("handles of another executable are refused") {
  const Network n, m;
  const Executable executable = compile(n.requests(), Fabric::host());
  Session session{executable}, sibling{executable};
  Session other{compile({{"train", fetch("label", m.label).fetch("x", m.x)}}, Fabric::host())};
  Unharmed unharmed(session, executable);
  const auto feeds = [](const Session& of) {
    return std::vector<Feed>{{of.bind("x"), features()}, {of.bind("label"), labels()}};
  };
  CHECK(message_of<RunError>([&] { session.step("train", feeds(other)); }) ==
        "step 'train', a feed by handle: expected a handle of this session's executable, got another's");
  expect_message<RunError>([&] { session.step(other.bind_step("train"), feeds(session)); },
                           {"handle", "another"});
  expect_message<RunError>([&] { session.step(StepHandle{}, feeds(session)); }, {"handle", "empty"});
  expect_message<RunError>(
      [&] {
        session.step("train", {{InputHandle{}, features()}, {"label", labels()}});
      },
      {"a feed by handle: expected a handle of this session's executable, got an empty one"});
  expect_message<RunError>(
      [&] {
        session.step("train", {{"", features()}, {"label", labels()}});
      },
      {"input '': expected an input of this step"});
  expect_message<RunError>([&] { session.bind("y"); }, {"'y'", "one of 'x', 'label'"});
  expect_message<RunError>([&] { session.bind_step("test"); }, {"'test'", "'train'"});
  unharmed.check();
  CHECK_NOTHROW(session.step(sibling.bind_step("train"), feeds(sibling)));
}

TEST_CASE("results: what was not fetched, is of another type, or is stale") {
  const Network n;
  const Executable executable = compile(n.requests(), Fabric::host());
  Session session{executable};
  Unharmed unharmed(session, executable);
  Result result;
  expect_message<RunError>([&] { result["loss"]; }, {"'loss'", "empty"});
  result = session.step("predict", {{"x", features()}});
  expect_message<RunError>([&] { result["loss"]; }, {"'loss'", "step 'predict' fetches", "one of 'logits'"});
  expect_message<RunError>([&] { result["logits"].scalar(); }, {"'logits'", "one element", "f32[4, 3]"});
  expect_message<RunError>([&] { result["logits"].values<std::int32_t>(); },
                           {"'logits' is f32[4, 3]", "read as float", "read as std::int32_t"});
  CHECK(result["logits"].values<float>().size() == 12);
  CHECK_THROWS_AS(session.step("predict", {}), RunError);
  expect_message<RunError>([&] { result["logits"]; },
                           {"'logits'", "stale", "step 'predict'", "another step has begun since"});
  result = session.step("predict", {{"x", features()}});
  session.step("predict", {{"x", features()}});
  expect_message<RunError>([&] { result["logits"]; },
                           {"'logits'", "stale", "step 'predict'", "another step has begun since"});
  unharmed.check();
}

TEST_CASE("a result may outlive its session") {
  const Network n;
  Result result;
  {
    Session session{compile(n.requests(), Fabric::host())};
    result = session.step("predict", {{"x", features()}});
  }
  CHECK(result["logits"].values<float>().size() == 12);
}

TEST_CASE("variables: unknown paths and wrong sizes") {
  const Network n;
  const Executable executable = compile(n.requests(), Fabric::host());
  Session session{executable};
  Unharmed unharmed(session, executable);
  expect_message<RunError>([&] { session.get("fc2.weight"); },
                           {"'fc2.weight'", "one of 'fc1.weight', 'fc1.bias'", "got another path"});
  expect_message<RunError>([&] { session.shape("fc2.weight"); }, {"'fc2.weight'", "one of 'fc1.weight'"});
  expect_message<RunError>([&] { session.set("fc2.weight", features()); }, {"'fc2.weight'"});
  expect_message<RunError>([&] { session.set("fc1.weight", features()); },
                           {"'fc1.weight'", "40", "[8, 5]", "20"});
  unharmed.check();
  expect_message<RunError>([&] { (Session{executable, {.threads = -1}}); }, {"threads", "-1"});
  expect_message<RunError>([&] { (Session{executable, {.threads = 100000}}); }, {"threads", "100000"});
}

TEST_CASE("of many names a message lists the first few") {
  Graph g;
  Request request;
  const Tensor x = g.input("x", {1});
  for (int i = 0; i < 11; ++i) request = request.fetch("y" + std::to_string(i), relu(x));
  Session session{compile(request, Fabric::host())};
  const std::vector<float> one{1};
  const Result result = session.step({{"x", one}});
  expect_message<RunError>([&] { result["y"]; }, {"one of 'y0', 'y1'", "'y7', and 3 more"});
  expect_message<RunError>([&] { session.get("w"); }, {"none, since there are none"});
}

TEST_CASE("a step without a name is spoken of as the step") {
  const Network n;
  Session session{compile(fetch("logits", n.logits), Fabric::host())};
  CHECK(message_of<RunError>([&] {
          session.step("train", {{"x", features()}});
        }) ==
        "step 'train': expected a call without a name, since this executable's only step has none, got one");
  CHECK(message_of<RunError>([&] { session.step({}); }) == "input 'x': expected a feed, got none");
  const Result result = session.step({{"x", features()}});
  CHECK(message_of<RunError>([&] { result["loss"]; }) ==
        "result 'loss': expected what the step fetches, one of 'logits', got another name");
  session.step({{"x", features()}});
  expect_message<RunError>([&] { result["logits"]; }, {"got one of the step that is stale"});
  std::stop_source source;
  source.request_stop();
  CHECK(message_of<RunError>([&] {
          session.step({{"x", features()}}, source.get_token());
        }) == "the step: cancelled by its stop token");
  Request unnamed;
  unnamed.fetches.push_back({"", n.logits});
  CHECK(message_of<UserError>([&] { compile(unnamed, Fabric::host()); }) ==
        "expected a name for each fetch, got none");
  CHECK(message_of<UserError>([&] { compile(minimize(sum(n.x), SGD{}), Fabric::host()); }) ==
        "minimize: expected a loss that depends on parameters, got one that does not");
}

TEST_CASE("a cancelled step is named") {
  const Network n;
  Session session{compile(n.requests(), Fabric::host())};
  std::stop_source source;
  source.request_stop();
  expect_message<RunError>(
      [&] {
        session.step("predict", {{"x", features()}}, source.get_token());
      },
      {"step 'predict': cancelled"});
}

TEST_CASE("a flat feed beside an extent of 0 is refused unless it is empty") {
  Graph g;
  const Axis t = g.axis("t", 6), b = g.axis("b", 4);
  const Tensor y = g.input("y", {t}), x = g.input("x", {t, b});
  Session session{compile(fetch("r", x | Relu{}).fetch("q", y | Relu{}), Fabric::host())};
  const std::vector<float> none, five(5);
  expect_message<RunError>([&] { session.step({{"y", none}, {"x", five}}); }, {"'x'", "5 elements"});
  CHECK_NOTHROW(session.step({{"y", none}, {"x", none}}));
}
