// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <wafer/error.hpp>
#include <wafer/fabric/collective_cost.hpp>
#include <wafer/fabric/reduce_tree.hpp>

#include <algorithm>

using namespace wafer;

namespace {

CollectiveRequest request_of(CollectiveKind kind, CoreArea area, Index wavelets) {
  CollectiveRequest request;
  request.kind = kind;
  request.area = area;
  request.wavelets = wavelets;
  request.root = {area.row, area.column};
  return request;
}

double reduce_on_512(LineTree tree, Index wavelets) {
  return reduce_cycles(512, 0, tree, wavelets, Machine::wse2());
}

}  // namespace

TEST_CASE("collective cost: rows of figures on 512 cores of WSE-2") {
  // Computed beforehand from the published formulas, to one cycle of rounding.
  struct Row {
    Index wavelets;
    double star, chain, tree, two_phase, automatic;
  };
  for (const Row& row : {Row{1, 516, 3067, 561, 733, 535}, Row{256, 130821, 3322, 2349, 1229, 1162}}) {
    CHECK(reduce_on_512(LineTree::star, row.wavelets) == Approx(row.star).epsilon(0).margin(1));
    CHECK(reduce_on_512(LineTree::chain, row.wavelets) == Approx(row.chain).epsilon(0).margin(1));
    CHECK(reduce_on_512(LineTree::tree, row.wavelets) == Approx(row.tree).epsilon(0).margin(1));
    CHECK(reduce_on_512(LineTree::two_phase, row.wavelets) == Approx(row.two_phase).epsilon(0).margin(1));
    CHECK(reduce_on_512(LineTree::automatic, row.wavelets) == Approx(row.automatic).epsilon(0).margin(1));
  }
  CHECK(reduce_on_512(LineTree::chain, 4096) == Approx(7162).epsilon(0).margin(1));
  CHECK(reduce_on_512(LineTree::tree, 4096) == Approx(36909).epsilon(0).margin(1));
  CHECK(reduce_on_512(LineTree::two_phase, 4096) == Approx(8699).epsilon(0).margin(1));
  CHECK(reduce_on_512(LineTree::automatic, 4096) == Approx(7162).epsilon(0).margin(1));
}

TEST_CASE("collective cost: floods and rings by their formulas") {
  Machine machine = Machine::wse2();
  const auto cycles = [&](CollectiveKind kind, CoreArea area, Index wavelets, Method method) {
    return modelled_cycles(request_of(kind, area, wavelets), method, machine);
  };
  // B + P + 2 T_R; B + M + N - 2 + k.
  CHECK(cycles(CollectiveKind::broadcast, {0, 0, 1, 512}, 256, {Algorithm::flood}) == 256 + 512 + 4);
  CHECK(cycles(CollectiveKind::broadcast, {0, 0, 64, 512}, 256, {Algorithm::flood}) ==
        256 + 64 + 512 - 2 + 5);
  // 2 (P-1) B/P + 4 P - 6 + 2 (P-1) k.
  CHECK(cycles(CollectiveKind::all_reduce, {0, 0, 1, 64}, 640, {Algorithm::ring}) ==
        2 * 63 * 10 + 4 * 64 - 6 + 2 * 63 * 5);
  // A chain through all.
  CHECK(cycles(CollectiveKind::reduce, {0, 0, 6, 7}, 100, {Algorithm::snake}) == 100 + 6 * 41);
  // On WSE-3 a stage is 20, a hop 2, a turn 20, a wavelet 1.125 on a link.
  machine = Machine::wse3();
  CHECK(cycles(CollectiveKind::broadcast, {0, 0, 3, 5}, 80, {Algorithm::flood}) ==
        80 * 1.125 + 2 * 6 + 20 + 20);
}

TEST_CASE("collective cost: the ring beats chain and flood only for B > P (7 P - 14) / 2") {
  const Machine machine = Machine::wse2();
  for (const Index cores : {8, 64}) {
    const Index border = cores * (7 * cores - 14) / 2;
    for (const auto& [wavelets, ring_wins] : std::vector<std::pair<Index, bool>>{
             {border - 20 * cores - border % cores, false}, {border + 20 * cores - border % cores, true}}) {
      const CollectiveRequest request = request_of(CollectiveKind::all_reduce, {0, 0, 1, cores}, wavelets);
      const double ring = modelled_cycles(request, {Algorithm::ring}, machine);
      CHECK((ring < modelled_cycles(request, {Algorithm::trees, LineTree::chain}, machine)) == ring_wins);
    }
  }
}

TEST_CASE("collective cost: terms follow from the messages") {
  Machine machine = Machine::wse2();
  machine.rows = machine.columns = 64;
  const auto terms = [&](CollectiveKind kind, CoreArea area, Index wavelets, Method method) {
    const auto all = terms_of(build(request_of(kind, area, wavelets), method, machine));
    REQUIRE_FALSE(all.empty());
    return all;
  };
  const CostTerms chain =
      terms(CollectiveKind::reduce, {0, 0, 1, 64}, 10, {Algorithm::trees, LineTree::chain})[0];
  CHECK((chain.wavelets == 10 && chain.hops == 630 && chain.links == 63));
  CHECK((chain.length == 63 && chain.depth == 63 && chain.turns == 0));
  const CostTerms star =
      terms(CollectiveKind::reduce, {0, 0, 1, 64}, 10, {Algorithm::trees, LineTree::star})[0];
  CHECK((star.wavelets == 630 && star.hops == 10 * 63 * 64 / 2 && star.length == 63 && star.depth == 1));
  const CostTerms flood = terms(CollectiveKind::broadcast, {0, 0, 8, 64}, 10, {Algorithm::flood})[0];
  CHECK((flood.wavelets == 10 && flood.links == 511 && flood.hops == 5110));
  CHECK((flood.length == 70 && flood.turns == 1 && flood.depth == 1));
  const auto ring = terms(CollectiveKind::all_reduce, {0, 0, 1, 64}, 640, {Algorithm::ring});
  REQUIRE(ring.size() == 2);
  CHECK((ring[0].wavelets == 630 && ring[0].length == 2 * 64 - 3 && ring[0].depth == 63));
  CHECK((ring[1].wavelets == 630 && ring[1].length == 2 * 64 - 3 && ring[1].depth == 63));

  // The formula on these terms is the closed form, where each core's depth is.
  for (const LineTree tree : {LineTree::chain, LineTree::tree}) {
    for (const Index wavelets : {1, 64, 4096}) {
      const Method method{Algorithm::trees, tree};
      const double read =
          cycles_of(terms(CollectiveKind::reduce, {0, 0, 1, 64}, wavelets, method)[0], machine);
      CHECK(read == Approx(reduce_cycles(64, 0, tree, wavelets, machine)));
    }
  }
}

TEST_CASE("collective cost: the choice is the least of all methods, for any machine") {
  int compared = 0, wrong = 0;
  for (const Machine& base : {Machine::wse2(), Machine::wse3()}) {
    for (const CollectiveKind kind : {CollectiveKind::reduce, CollectiveKind::all_reduce,
                                      CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      for (const CoreArea& area : {CoreArea{0, 0, 1, 4}, CoreArea{0, 0, 1, 128}, CoreArea{0, 0, 24, 16}}) {
        for (Index wavelets = 1; wavelets <= 4096; wavelets *= 16) {
          const CollectiveRequest request = request_of(kind, area, wavelets);
          const MethodChoice choice = choose_method(request, base);
          double least = choice.cycles;
          for (const Method& method : methods_for(request))
            least = std::min(least, modelled_cycles(request, method, base));
          ++compared;
          if (choice.cycles > least || choice.cycles != modelled_cycles(request, choice.method, base))
            ++wrong;
        }
      }
    }
  }
  CHECK(compared == 2 * 4 * 3 * 4);
  CHECK(wrong == 0);
}

TEST_CASE("collective cost: all-reduce on 512 x 512 against the vendor's chain") {
  Machine machine = Machine::wse2();
  const CollectiveRequest request = request_of(CollectiveKind::all_reduce, {0, 0, 512, 512}, 256);
  const double vendor =
      modelled_cycles(request, {Algorithm::trees, LineTree::chain, LineTree::chain}, machine);
  CHECK(vendor == 2 * 3322 + 256 + 1022 + 5);
  const double generated =
      modelled_cycles(request, {Algorithm::trees, LineTree::automatic, LineTree::automatic}, machine);
  CHECK(vendor / generated >= 2.19);
  CHECK(vendor / choose_method(request, machine).cycles >= vendor / generated);
}

TEST_CASE("collective cost: bounds, and bad input") {
  const Machine machine = Machine::wse2();
  CHECK(modelled_bound(request_of(CollectiveKind::reduce, {0, 0, 1, 512}, 4096), machine) == 7162);
  CHECK(modelled_bound(request_of(CollectiveKind::reduce, {0, 0, 16, 32}, 64), machine) == 64 + 5);
  CHECK(modelled_bound(request_of(CollectiveKind::reduce, {0, 0, 16, 32}, 8), machine) == 1 + 47 + 5);
  CHECK(reduce_cycles(1, 0, LineTree::tree, 5, machine) == 0);
  CHECK_THROWS_AS(reduce_cycles(0, 0, LineTree::tree, 5, machine), UserError);
  CHECK_THROWS_AS(reduce_cycles(4, 4, LineTree::tree, 5, machine), UserError);
  CHECK_THROWS_AS(reduce_cycles(Index{1} << 40, 0, LineTree::two_phase, 5, machine), UserError);
  CHECK_THROWS_AS(choose_method(request_of(CollectiveKind::reduce, {0, 0, 1, 4}, 0), machine), UserError);
  CHECK_THROWS_AS(reduce_cycles(4, 0, LineTree{99}, 1, machine), UserError);
  CHECK_THROWS_AS(modelled_cycles(request_of(CollectiveKind::reduce, {0, 0, 0, 4}, 1), {}, machine),
                  UserError);
}

TEST_CASE("collective cost: what cannot be built has no cost") {
  Machine machine = Machine::mesh(4, 4);
  const CollectiveRequest odd = request_of(CollectiveKind::all_reduce, {0, 0, 3, 3}, 8);
  CHECK_THROWS_WITH(modelled_cycles(odd, {Algorithm::rings}, machine),
                    "all_reduce: no way to do it by rings on 3 x 3 cores at (0, 0) (needs an even side)");
  machine.faults = {{1, 2, 1, 1}};
  const std::string faulty = "all_reduce: core (1, 2) of its area is faulty";
  CHECK_THROWS_WITH(choose_method(odd, machine), faulty);
  CHECK_THROWS_WITH(modelled_cycles(odd, {Algorithm::buckets}, machine), faulty);
  CHECK_THROWS_WITH(modelled_bound(odd, machine), faulty);
  CHECK_NOTHROW(choose_method(request_of(CollectiveKind::all_reduce, {2, 0, 2, 4}, 8), machine));
}
