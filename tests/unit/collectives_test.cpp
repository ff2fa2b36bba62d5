// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <wafer/error.hpp>
#include <wafer/fabric/collective_cost.hpp>
#include <wafer/fabric/simulator.hpp>

#include <algorithm>
#include <set>

using namespace wafer;
using Catch::Matchers::ContainsSubstring;

namespace {

const CollectiveKind kKinds[] = {CollectiveKind::broadcast,  CollectiveKind::reduce,
                                 CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                 CollectiveKind::all_gather, CollectiveKind::scatter,
                                 CollectiveKind::gather};

CollectiveRequest request_of(CollectiveKind kind, CoreArea area, Index wavelets, Core root) {
  CollectiveRequest request;
  request.kind = kind;
  request.area = area;
  request.wavelets = wavelets;
  request.root = root;
  return request;
}

float start_value(CoreId core, std::size_t wavelet) { return static_cast<float>(core % 61 + wavelet % 13); }

/// What a core should have of a wavelet in the end; -1 where anything will do.
float expected(const CollectiveRequest& request, const Traffic& traffic, Core core, Index wavelet) {
  const auto i = static_cast<std::size_t>(wavelet);
  float sum = 0;
  Core owner;
  for (Index row = request.area.row; row < request.area.row + request.area.rows; ++row) {
    for (Index column = request.area.column; column < request.area.column + request.area.columns; ++column) {
      sum += start_value(traffic.id({row, column}), i);
      const WaveletRange piece = piece_of(request, {row, column});
      if (wavelet >= piece.first && wavelet < piece.first + piece.count) owner = {row, column};
    }
  }
  const bool at_root = core == request.root, at_owner = core == owner;
  switch (request.kind) {
    case CollectiveKind::send: return core == request.to ? start_value(traffic.id(request.root), i) : -1;
    case CollectiveKind::broadcast: return start_value(traffic.id(request.root), i);
    case CollectiveKind::reduce: return at_root ? sum : -1;
    case CollectiveKind::all_reduce: return sum;
    case CollectiveKind::reduce_scatter: return at_owner ? sum : -1;
    case CollectiveKind::all_gather: return start_value(traffic.id(owner), i);
    case CollectiveKind::scatter: return at_owner ? start_value(traffic.id(request.root), i) : -1;
    case CollectiveKind::gather: return at_root ? start_value(traffic.id(owner), i) : -1;
  }
  return -1;
}

/// Simulates with values; the number of wrong ones.
int wrong_values(const Collective& collective, const Machine& machine) {
  const Traffic& traffic = collective.traffic;
  const auto length = static_cast<std::size_t>(collective.request.wavelets);
  const auto cores = static_cast<std::size_t>(traffic.rows() * traffic.columns());
  std::vector<float> values(cores * length);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = start_value(static_cast<CoreId>(i / length), i % length);
  simulate(traffic, machine, values);
  int wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto core = static_cast<CoreId>(i / length);
    const bool inside = collective.request.area.contains(traffic.place(core));
    const float value =
        inside ? expected(collective.request, traffic, traffic.place(core), static_cast<Index>(i % length))
               : start_value(core, i % length);
    if (value >= 0 && values[i] != value) ++wrong;
  }
  return wrong;
}

}  // namespace

TEST_CASE("collectives: every one, by every method, leaves the right sums, by marks and by simulation") {
  int built = 0;
  for (const auto& [rows, columns] : std::vector<std::pair<Index, Index>>{
           {1, 1}, {1, 2}, {1, 7}, {6, 1}, {1, 16}, {2, 2}, {3, 3}, {4, 5}, {6, 4}}) {
    for (const Index wavelets : {1, 3, 20}) {
      for (const CollectiveKind kind : kKinds) {
        for (const Core root : {Core{1, 2}, Core{1 + rows / 2, 2 + columns / 2}}) {
          const CollectiveRequest request = request_of(kind, {1, 2, rows, columns}, wavelets, root);
          for (Machine machine : {Machine::wse2(), Machine::wse3()}) {
            machine.rows = rows + 2;
            machine.columns = columns + 3;
            for (const Method& method : methods_for(request)) {
              INFO(name_of(kind) << " by " << text_of(method, request.area) << " of " << wavelets << " on "
                                 << text_of(request.area) << " root " << text_of(root));
              const Collective collective = build(request, method, machine);
              REQUIRE_NOTHROW(collective.verify(machine));
              REQUIRE(wrong_values(collective, machine) == 0);
              ++built;
            }
          }
        }
      }
    }
  }
  CHECK(built > 5000);
}

TEST_CASE("collectives: send goes along the row and then along the column") {
  const Machine machine = Machine::mesh(5, 6);
  const CollectiveRequest request = send_request({4, 1}, {1, 5}, 9);
  CHECK(request.area.rows == 4);
  const Collective collective = build(request, {Algorithm::direct}, machine);
  REQUIRE_NOTHROW(collective.verify(machine));
  CHECK(wrong_values(collective, machine) == 0);
  const auto route = collective.traffic.route(0);
  REQUIRE(route.size() == 2);
  CHECK((route[0].direction == Direction::east && route[0].hops == 4));
  CHECK((route[1].direction == Direction::north && route[1].hops == 3));
}

TEST_CASE("collectives: pieces cover the vector, the first ones longer") {
  CHECK(part_of({10, 7}, 0, 3).count == 3);
  CHECK(part_of({10, 7}, 1, 3).first == 13);
  CHECK(part_of({10, 7}, 2, 3).first == 15);
  CHECK(part_of({0, 2}, 3, 4).count == 0);
  // No product of the sizes leaves 63 bits.
  const Index most = (Index{1} << 62) + 3;
  CHECK(part_of({0, most}, 4, 5).first + part_of({0, most}, 4, 5).count == most);
  const CollectiveRequest request = request_of(CollectiveKind::scatter, {0, 0, 3, 4}, 50, {});
  Index sum = 0;
  for (Index row = 0; row < 3; ++row) {
    for (Index column = 0; column < 4; ++column) sum += piece_of(request, {row, column}).count;
  }
  CHECK(sum == 50);
}

TEST_CASE("collectives: sums of a line use three colours, of a rectangle five") {
  const auto colours = [](const CollectiveRequest& request, const Method& method) {
    Machine machine = Machine::mesh(40, 40);
    const Collective collective = build(request, method, machine);
    std::set<int> used;
    for (MessageId id = 0; id < collective.traffic.size(); ++id)
      used.insert(collective.traffic.message(id).colour);
    return used.size();
  };
  for (const LineTree tree : kLineTrees) {
    const Method method{Algorithm::trees, tree, tree};
    CHECK(colours(request_of(CollectiveKind::reduce, {0, 0, 1, 40}, 8, {}), {Algorithm::trees, tree}) <= 3);
    CHECK(colours(request_of(CollectiveKind::reduce, {0, 0, 40, 40}, 8, {}), method) <= 5);
  }
}

TEST_CASE("collectives: rings") {
  const Machine machine = Machine::mesh(4, 7);
  const auto longest = [&](const CoreArea& area) {
    const Collective ring =
        build(request_of(CollectiveKind::all_gather, area, 28, {}), {Algorithm::ring}, machine);
    std::uint32_t hops = 0;
    for (MessageId id = 0; id < ring.traffic.size(); ++id)
      hops = std::max(hops, ring.traffic.route(id)[0].hops);
    return hops;
  };
  CHECK(longest({0, 0, 1, 7}) == 2);  // 0 2 4 6 5 3 1
  CHECK(longest({0, 0, 4, 7}) == 1);  // Hamiltonian
  CHECK_THROWS_AS(
      build(request_of(CollectiveKind::all_gather, {0, 0, 3, 3}, 9, {}), {Algorithm::ring}, machine),
      CompileError);  // no ring through nine cores
}

TEST_CASE("collectives: verify rejects what is wrong, knowing nothing of how it was built") {
  const Machine machine = Machine::mesh(1, 4);
  const CollectiveRequest request = request_of(CollectiveKind::reduce, {0, 0, 1, 4}, 8, {});
  const Collective right = build(request, {Algorithm::trees, LineTree::chain}, machine);
  // The same messages, each changed by a function.
  const auto changed = [&](auto change) {
    Collective wrong = right;
    wrong.traffic = Traffic(1, 4);
    for (MessageId id = 0; id < right.traffic.size(); ++id) {
      Message message = right.traffic.message(id);
      std::vector<Segment> route(right.traffic.route(id).begin(), right.traffic.route(id).end());
      std::vector<Delivery> deliveries(right.traffic.deliveries(id).begin(),
                                       right.traffic.deliveries(id).end());
      std::vector<Need> needs(right.traffic.needs(id).begin(), right.traffic.needs(id).end());
      change(id, message, route, deliveries, needs);
      wrong.traffic.add(message, route, deliveries, needs);
    }
    return wrong;
  };
  using Route = std::vector<Segment>;
  using Deliveries = std::vector<Delivery>;
  using Needs = std::vector<Need>;
  CHECK_NOTHROW(changed([](MessageId, Message&, Route&, Deliveries&, Needs&) {}).verify(machine));
  const auto lost_wavelet = changed([](MessageId id, Message& message, Route&, Deliveries&, Needs&) {
    if (id == 1) --message.count;
  });
  CHECK_THROWS_WITH(lost_wavelet.verify(machine),
                    ContainsSubstring("core (0, 0)") && ContainsSubstring("7 to 7"));
  const auto stored = changed([](MessageId id, Message&, Route&, Deliveries& deliveries, Needs&) {
    if (id == 2) deliveries[0].combine = Combine::store;
  });
  CHECK_THROWS_AS(stored.verify(machine), InternalError);
  const auto hasty = changed([](MessageId, Message&, Route&, Deliveries&, Needs& needs) { needs.clear(); });
  CHECK_THROWS_AS(hasty.verify(machine), InternalError);
  const auto beyond =
      changed([](MessageId, Message& message, Route&, Deliveries&, Needs&) { ++message.count; });
  CHECK_THROWS_WITH(beyond.verify(machine), ContainsSubstring("beyond the vector"));
  Collective other_root = right;
  other_root.request.root = {0, 3};
  CHECK_THROWS_AS(other_root.verify(machine), InternalError);
  Collective no_phase = right;
  no_phase.phases.clear();
  CHECK_THROWS_WITH(no_phase.verify(machine), ContainsSubstring("in no phase"));
}

TEST_CASE("collectives: bad input names the culprit") {
  const Machine machine = Machine::mesh(4, 4);
  const auto reduce = [&](CoreArea area, Index wavelets, Core root) {
    return build(request_of(CollectiveKind::reduce, area, wavelets, root), {}, machine);
  };
  CHECK_THROWS_WITH(reduce({0, 0, 1, 4}, 0, {}),
                    ContainsSubstring("reduce: expected at least one wavelet, got 0"));
  CHECK_THROWS_WITH(reduce({0, 0, 1, 0}, 8, {}), ContainsSubstring("1 x 0 cores at (0, 0)"));
  CHECK_THROWS_AS(reduce({0, 0, 1, 5}, 8, {}), UserError);
  CHECK_THROWS_AS(reduce({-1, 0, 1, 4}, 8, {}), UserError);
  CHECK_THROWS_AS(reduce({0, 2, 1, Index{1} << 62}, 8, {}), UserError);
  CHECK_THROWS_WITH(reduce({0, 0, 1, 4}, 8, {1, 0}), ContainsSubstring("got core (1, 0)"));
  CHECK_THROWS_WITH(
      build(request_of(CollectiveKind::broadcast, {0, 0, 1, 4}, 8, {}), {Algorithm::ring}, machine),
      ContainsSubstring("no way to do it by ring"));
  CHECK_THROWS_WITH(
      build(request_of(CollectiveKind::all_reduce, {0, 0, 3, 3}, 8, {}), {Algorithm::rings}, machine),
      "all_reduce: no way to do it by rings on 3 x 3 cores at (0, 0) (needs an even side)");
  CHECK_THROWS_WITH(
      build(request_of(CollectiveKind::all_reduce, {0, 0, 1, 3}, 8, {}), {Algorithm::rings}, machine),
      "all_reduce: no way to do it by rings on 1 x 3 cores at (0, 0)");
  CHECK_THROWS_WITH(
      build(request_of(CollectiveKind::reduce_scatter, {0, 0, 3, 3}, 8, {}), {Algorithm::rings}, machine),
      "reduce_scatter: no way to do it by rings on 3 x 3 cores at (0, 0)");
  CHECK_THROWS_WITH(build(send_request({1, 1}, {1, 1}, 8), {Algorithm::direct}, machine),
                    ContainsSubstring("expected another core than (1, 1)"));
  CHECK_THROWS_AS(send_request({-1, 0}, {0, 0}, 1), UserError);
  Machine broken = machine;
  broken.faults = {{2, 1, 1, 2}};
  CHECK_THROWS_WITH(
      build(request_of(CollectiveKind::broadcast, {1, 0, 3, 2}, 8, {1, 0}), {Algorithm::flood}, broken),
      ContainsSubstring("core (2, 1) of its area is faulty"));
  CHECK_NOTHROW(
      build(request_of(CollectiveKind::broadcast, {0, 0, 2, 4}, 8, {}), {Algorithm::flood}, broken));
  CHECK_THROWS_WITH(
      build(request_of(CollectiveKind::broadcast, {0, 0, 4, 4}, 8, {}), {Algorithm::flood}, broken),
      "broadcast: core (2, 1) of its area is faulty");
  // What cannot be built has no cycles either.
  const CollectiveRequest sum = request_of(CollectiveKind::reduce, {1, 0, 3, 2}, 8, {1, 0});
  CHECK_THROWS_AS(modelled_cycles(sum, {Algorithm::flood}, machine), CompileError);
  CHECK_NOTHROW(choose_method(sum, machine));
  CHECK_THROWS_WITH(choose_method(sum, broken), ContainsSubstring("core (2, 1) of its area is faulty"));
  CHECK_THROWS_AS(Collective{}.verify(machine), InternalError);
  const Machine large = Machine::mesh(512, 512);
  const CollectiveRequest long_ring = request_of(CollectiveKind::all_reduce, {0, 0, 512, 512}, 8, {});
  CHECK_THROWS_WITH(build(long_ring, {Algorithm::ring}, large), ContainsSubstring("more than 2^24 messages"));
  CHECK(modelled_cycles(long_ring, {Algorithm::ring}, large) > 512 * 512);
  CollectiveRequest strange = request_of(CollectiveKind::reduce, {0, 0, 2, 2}, 8, {});
  strange.kind = CollectiveKind{77};
  CHECK_THROWS_AS(check(strange, machine), UserError);
  CHECK_THROWS_AS(choose_method(strange, machine), UserError);
  CHECK_THROWS_AS(part_of({0, 5}, 0, 0), UserError);
  CHECK_THROWS_AS(piece_of(request_of(CollectiveKind::scatter, {0, 0, 0, 0}, 8, {}), {0, 0}), UserError);
  // Sizes whose sum of wavelets would leave 63 bits.
  CHECK_THROWS_AS(Traffic(1, 2).add({0, 0, INT64_MAX, 1}, {}, {}, {}), UserError);
}

TEST_CASE("collectives: a send meets the faults of its route alone") {
  Machine machine = Machine::mesh(5, 8);
  machine.faults = {{2, 2, 1, 1}};
  const CollectiveRequest beside = send_request({0, 0}, {3, 6}, 4);  // along row 0, then down column 6
  CHECK_NOTHROW(build(beside, {Algorithm::direct}, machine).verify(machine));
  CHECK(modelled_cycles(beside, {Algorithm::direct}, machine) == 4 + 9 + 5);  // wavelets, hops, two ramps
  const std::string faulty = "send: core (2, 2) of its route is faulty";
  for (const auto& [from, to] : {std::pair<Core, Core>{{2, 5}, {4, 0}}, {{4, 5}, {0, 2}}, {{2, 2}, {0, 0}}})
    CHECK_THROWS_WITH(build(send_request(from, to, 4), {Algorithm::direct}, machine), faulty);
}

TEST_CASE("collectives: a send takes as long as its route, whatever its area") {
  const Machine machine = Machine::mesh(8, 8);
  CollectiveRequest wide = send_request({1, 1}, {2, 3}, 4);
  CHECK(modelled_cycles(wide, {Algorithm::direct}, machine) == 4 + 3 + 5);
  wide.area = {0, 0, 8, 8};
  CHECK(modelled_cycles(wide, {Algorithm::direct}, machine) == 4 + 3 + 5);
}

TEST_CASE("collectives: dump") {
  const Machine machine = Machine::mesh(1, 3);
  const Collective collective = build(request_of(CollectiveKind::all_reduce, {0, 0, 1, 3}, 8, {}),
                                      {Algorithm::trees, LineTree::chain}, machine);
  CHECK(collective.dump() ==
        "all_reduce of 8 wavelets on 1 x 3 cores at (0, 0) by chain\n"
        "sum along rows:\n"
        "  0: (0, 2) to (0, 1), add 0 + 8, colour 1\n"
        "  1: (0, 1) to (0, 0), add 0 + 8, colour 0\n"
        "flood:\n"
        "  2: (0, 0) to (0, 1) and 1 more, store 0 + 8, colour 5\n");
}
