// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <wafer/error.hpp>
#include <wafer/fabric/collective_cost.hpp>
#include <wafer/fabric/collectives.hpp>
#include <wafer/fabric/simulator.hpp>
#include <wafer/report/collective.hpp>

#include <algorithm>
#include <cmath>

#include "machines.hpp"

namespace fuzz {

namespace {

using namespace wafer;

constexpr Index kMostValues = 200'000;

CollectiveRequest draw(Random& random, const Machine& machine) {
  CollectiveRequest r;
  r.kind = static_cast<CollectiveKind>(random.below(8));
  r.area.row = random.below(machine.rows);
  r.area.column = random.below(machine.columns);
  r.area.rows = random.between(1, machine.rows - r.area.row);
  r.area.columns = random.between(1, machine.columns - r.area.column);
  if (random.chance(0.4)) r.area = {0, 0, machine.rows, machine.columns};
  r.wavelets = random.between(1, random.pick(std::vector<Index>{1, 4, 50, 700}));
  const auto any = [&] {
    return Core{r.area.row + random.below(r.area.rows), r.area.column + random.below(r.area.columns)};
  };
  r.root = random.chance(0.5) ? Core{r.area.row, r.area.column} : any();
  r.to = any();
  return r;
}

void spoil(Random& random, CollectiveRequest& r) {
  Index* const fields[] = {&r.area.row, &r.area.column, &r.area.rows, &r.area.columns, &r.wavelets,
                           &r.root.row, &r.root.column, &r.to.row,    &r.to.column};
  *fields[random.below(9)] = hostile(random);
}

Method draw_method(Random& random, const CollectiveRequest& r) {
  if (random.chance(0.9)) return random.pick(methods_for(r));
  return {static_cast<Algorithm>(random.below(7)), static_cast<LineTree>(random.below(5)),
          static_cast<LineTree>(random.below(5)), random.chance(0.5)};
}

std::string text_of(const CollectiveRequest& r, const Method& method, const Machine& machine) {
  return std::string(name_of(r.kind)) + " of " + std::to_string(r.wavelets) + " wavelets by " +
         text_of(method, r.area) + " on " + text_of(r.area) + ", root " + text_of(r.root) + ", to " +
         text_of(r.to) + "; " + fuzz::text_of(machine);
}

// A whole number, so that sums are exact in any order.
float value(Index core, Index i) { return static_cast<float>((core * 31 + i * 7) % 17); }

// What wavelet i of the core should be in the end; -1: anything.
class Wanted {
 public:
  Wanted(const CollectiveRequest& request, Index columns) : r_(request), columns_(columns) {}

  float operator()(Core core, Index i) const {
    const bool root = core == r_.root, own = has(core, i);
    switch (r_.kind) {
      case CollectiveKind::send: return core == r_.to ? of(r_.root, i) : -1;
      case CollectiveKind::broadcast: return of(r_.root, i);
      case CollectiveKind::reduce: return root ? sum(i) : -1;
      case CollectiveKind::all_reduce: return sum(i);
      case CollectiveKind::reduce_scatter: return own ? sum(i) : -1;
      case CollectiveKind::all_gather: return of(owner(i), i);
      case CollectiveKind::scatter: return own ? of(r_.root, i) : -1;
      case CollectiveKind::gather: return root ? of(owner(i), i) : -1;
    }
    return -1;
  }

 private:
  float of(Core core, Index i) const { return value(core.row * columns_ + core.column, i); }
  bool has(Core core, Index i) const {
    const WaveletRange piece = piece_of(r_, core);
    return i >= piece.first && i < piece.first + piece.count;
  }
  template <class F>
  void for_each_core(F&& f) const {
    for (Index row = r_.area.row; row < r_.area.row + r_.area.rows; ++row)
      for (Index column = r_.area.column; column < r_.area.column + r_.area.columns; ++column)
        f(Core{row, column});
  }
  Core owner(Index i) const {
    Core found;
    for_each_core([&](Core core) { found = has(core, i) ? core : found; });
    return found;
  }
  float sum(Index i) const {
    float all = 0;
    for_each_core([&](Core core) { all += of(core, i); });
    return all;
  }

  const CollectiveRequest& r_;
  Index columns_;
};

// Runs it and compares some wavelets of all cores with what they should be.
std::string run_values(Random& random, const Collective& collective, const Machine& machine) {
  const CollectiveRequest& r = collective.request;
  const Traffic& traffic = collective.traffic;
  const Index cores = traffic.rows() * traffic.columns(), length = r.wavelets;
  if (length > kMostValues || cores * length > kMostValues) return "";
  std::vector<float> values(static_cast<std::size_t>(cores * length));
  for (Index core = 0; core < cores; ++core)
    for (Index i = 0; i < length; ++i) values[static_cast<std::size_t>(core * length + i)] = value(core, i);
  const Simulation simulation = simulate(traffic, machine, values);
  if (!(simulation.cycles >= 0)) return "simulated cycles " + std::to_string(simulation.cycles);
  if (random.chance(0.1) && collective_svg(collective, simulation).empty()) return "nothing to show";
  const Wanted wanted(r, traffic.columns());
  for (int times = 0; times < 5; ++times) {
    const Index i = random.below(length);
    for (Index row = r.area.row; row < r.area.row + r.area.rows; ++row) {
      for (Index column = r.area.column; column < r.area.column + r.area.columns; ++column) {
        const float want = wanted({row, column}, i);
        const float got = values[static_cast<std::size_t>((row * traffic.columns() + column) * length + i)];
        if (want >= 0 && got != want)
          return "core (" + std::to_string(row) + ", " + std::to_string(column) + "), wavelet " +
                 std::to_string(i) + ": expected " + std::to_string(want) + ", got " + std::to_string(got);
      }
    }
  }
  return "";
}

std::string check_costs(const Collective& collective, const Machine& machine) {
  const CollectiveRequest& r = collective.request;
  const double own = modelled_cycles(r, collective.method, machine), bound = modelled_bound(r, machine);
  const MethodChoice best = choose_method(r, machine);
  if (!std::isfinite(own) || own < 0 || !std::isfinite(bound) || bound < 0)
    return "modelled cycles " + std::to_string(own) + ", bound " + std::to_string(bound);
  if (best.cycles > own) return "the chosen method takes " + std::to_string(best.cycles) + ", this one less";
  for (const CostTerms& terms : terms_of(collective))
    if (!(cycles_of(terms, machine) >= 0)) return "a phase of fewer than 0 cycles";
  return "";
}

// The same messages, but one wrong: it is missing, short of a wavelet, or added instead of stored. No message
// of a collective is idle, so verify() must object.
std::string check_tampered(Random& random, Collective collective, const Machine& machine) {
  const Traffic right = collective.traffic;
  if (right.size() == 0) return "";
  const auto chosen = static_cast<MessageId>(random.below(static_cast<Index>(right.size())));
  const int change = static_cast<int>(random.below(3));
  if (right.message(chosen).count == 0) return "";
  // Of a gathered vector that is flooded, the last wavelet may come to its owner alone.
  if (change == 1 && collective.request.kind == CollectiveKind::all_gather) return "";
  Traffic wrong(right.rows(), right.columns());
  for (MessageId id = 0; id < right.size(); ++id) {
    if (id == chosen && change == 0) continue;
    Message message = right.message(id);
    std::vector<Delivery> deliveries(right.deliveries(id).begin(), right.deliveries(id).end());
    if (id == chosen && change == 1) --message.count;
    if (id == chosen && change == 2) {
      Combine& combine =
          deliveries[static_cast<std::size_t>(random.below(static_cast<Index>(deliveries.size())))].combine;
      combine = combine == Combine::add ? Combine::store : Combine::add;
    }
    std::vector<Need> needs;
    for (Need need : right.needs(id)) {
      if (change == 0 && need.message == chosen) continue;
      if (change == 0 && need.message > chosen) --need.message;
      needs.push_back(need);
    }
    wrong.add(message, right.route(id), deliveries, needs);
  }
  collective.traffic = std::move(wrong);
  try {
    collective.verify(machine);
  } catch (const Error&) {
    return "";
  }
  return "verify() accepts it with change " + std::to_string(change) + " in message " +
         std::to_string(chosen);
}

}  // namespace

void run_collectives(Random& random, Result& result) {
  Machine machine = draw_machine(random);
  CollectiveRequest request = draw(random, machine);
  Method method = draw_method(random, request);
  const bool spoilt = random.chance(0.3);
  if (spoilt && random.chance(0.5))
    spoil(random, machine);
  else if (spoilt)
    spoil(random, request);
  result.tell(text_of(request, method, machine));
  const std::vector<Method> possible = methods_for(request);
  const bool fits = std::find(possible.begin(), possible.end(), method) != possible.end() &&
                    !(request.kind == CollectiveKind::send && request.root == request.to);
  Collective collective;
  try {
    collective = build(request, method, machine);
    collective.verify(machine);
    result.accepted = true;
    result.fault = check_costs(collective, machine);
    if (collective.dump().empty() && request.area.cores() > 1) result.fault = "nothing to dump";
    if (result.fault.empty()) result.fault = run_values(random, collective, machine);
    if (result.fault.empty()) result.fault = check_tampered(random, collective, machine);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    result.accepted = false;
    if (!spoilt && fits) result.fault = std::string("refused: ") + error.what();
  }
}

}  // namespace fuzz
