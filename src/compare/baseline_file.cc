#include "compare/baseline_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/ascii.h"

namespace headroom {
namespace {

using Json = nlohmann::json;

/// What is wrong with a baseline; nlohmann's own exceptions say the rest.
struct WrongBaseline {
  std::string what;
};

double NonNegative(const Json& object, const char* key) {
  const double value = object.at(key).get<double>();
  if (!std::isfinite(value) || value < 0) throw WrongBaseline{fmt::format("{} is negative", key)};
  return value;
}

Estimate EstimateOf(const Json& object) {
  return {.value = object.at("value").get<double>(),
          .error = NonNegative(object, "error"),
          .freedom = NonNegative(object, "freedom")};
}

std::vector<ProfileRow> RowsOf(const Json& rows) {
  std::vector<ProfileRow> list;
  for (const Json& row : rows) {
    list.push_back({.name = NameInProfile(row.at("name").get<std::string>()),
                    .inside = row.value("inside", ""),
                    .calls = NonNegative(row, "calls"),
                    .ms = {.value = NonNegative(row, "ms"),
                           .error = NonNegative(row, "error"),
                           .freedom = NonNegative(row, "freedom")},
                    .exposed_ms = row.value("exposed_ms", 0.0)});
  }
  return list;
}

JobProfile::Rest RestOf(const Json& root, const char* key) {
  const Json& rest = root.at(key);
  return {.rows = rest.at("rows").get<std::int64_t>(), .ms = NonNegative(rest, "ms")};
}

template <std::size_t kCount>
void ReadParts(const Json& object, const std::array<std::string_view, kCount>& names,
               std::array<double, kCount>& values) {
  for (std::size_t i = 0; i < kCount; ++i) {
    // Differences of sums may be a rounding below nothing.
    object.at(fmt::format("{}_ms", names[i])).get_to(values[i]);
  }
}

/// Of a job of several ranks; else it has none.
void ReadRanks(const Json& root, JobProfile& profile) {
  if (const auto ranks = root.find("ranks"); ranks != root.end()) {
    for (const Json& row : *ranks) {
      profile.ranks.push_back(
          {.rank = row.at("rank").get<std::int64_t>(),
           .step_ms = NonNegative(row, "step_ms"),
           .compute_ms = NonNegative(row, "compute_ms"),
           .exposed_communication_ms = NonNegative(row, "exposed_communication_ms"),
           .idle_ms = NonNegative(row, "idle_ms")});
      if (row.contains("waited_ms")) profile.ranks.back().waited_ms = NonNegative(row, "waited_ms");
    }
  }
  if (const auto waiting = root.find("waiting"); waiting != root.end()) {
    profile.waiting = RankWaiting{.lost_ms = NonNegative(*waiting, "lost_ms"), .late = ""};
    if (waiting->at("late").is_string()) profile.waiting->late = waiting->at("late");
  }
}

JobProfile ProfileOf(const Json& root) {
  if (root.at("schema") != kBaselineSchema)
    throw WrongBaseline{fmt::format("its schema is not {}", kBaselineSchema)};
  JobProfile profile;
  profile.baseline = root.at("name").get<std::string>();
  for (const Json& path : root.at("sources")) profile.paths.push_back(path.get<std::string>());
  profile.steps = root.at("steps").get<std::int64_t>();
  profile.verdict = root.at("verdict").get<std::string>();
  if (root.at("calibration").is_string()) profile.calibration = root.at("calibration");
  const std::string grade = root.at("grade").get<std::string>();
  if (grade.size() != 1 || grade < "A" || grade > "F") throw WrongBaseline{"its grade is none"};
  profile.grade = grade.front();
  const Json& step = root.at("step");
  profile.median_ms = NonNegative(step, "p50_ms");
  profile.least_ms = NonNegative(step, "p10_ms");
  profile.most_ms = NonNegative(step, "p90_ms");
  ReadParts(root.at("parts"), kStepPartNames, profile.parts_ms);
  ReadParts(root.at("phases"), kPhaseNames, profile.phases_ms);
  for (const Json& facts = root.at("facts"); const auto& [name, value] : facts.items())
    profile.facts.push_back({name, value.get<std::string>()});
  for (const Json& run : root.at("runs")) {
    RunFigures& figures = profile.runs.emplace_back();
    for (const auto& [name, estimate] : run.items()) figures[name] = EstimateOf(estimate);
    if (!figures.contains("step_ms")) throw WrongBaseline{"a run has no step_ms"};
  }
  if (profile.runs.empty()) throw WrongBaseline{"it has no run"};
  ReadRanks(root, profile);
  profile.kernels = RowsOf(root.at("kernels"));
  profile.operators = RowsOf(root.at("operators"));
  profile.layers = RowsOf(root.at("layers"));
  profile.other_kernels = RestOf(root, "other_kernels");
  profile.other_operators = RestOf(root, "other_operators");
  profile.other_layers = RestOf(root, "other_layers");
  return profile;
}

}  // namespace

Status CheckBaselineName(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  const auto plain = [](char c) { return IsLetter(c) || IsDigit(c); };
  const bool fine = !name.empty() && name.size() <= kLongest && plain(name.front()) &&
                    std::all_of(name.begin(), name.end(), [&](char c) {
                      return plain(c) || c == '.' || c == '_' || c == '-';
                    });
  if (fine) return Status::Ok();
  return Status::Usage(fmt::format(
      "'{}' is no name for a baseline: 1 to {} letters, digits, '.', '_' and '-', the first a "
      "letter or digit",
      name, kLongest));
}

std::string BaselinePath(std::string_view folder, std::string_view name) {
  return fmt::format("{}/{}.json", folder, name);
}

bool LooksLikeBaseline(std::string_view begin) {
  const std::size_t first = begin.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && begin[first] == '{' &&
         begin.find("\"headroom.baseline/") != std::string_view::npos;
}

Result<JobProfile> ParseBaseline(const NamedText& file) {
  const Json root = Json::parse(file.content, nullptr, false);
  if (root.is_discarded() || !root.is_object()) {
    return Status::BadInput(fmt::format(
        "{}: not a baseline: it is no JSON object; save it anew (headroom baseline save)",
        file.name));
  }
  std::string what;
  try {
    return ProfileOf(root);
  } catch (const Json::exception& error) {
    what = error.what();
  } catch (const WrongBaseline& wrong) {
    what = wrong.what;
  }
  return Status::BadInput(fmt::format(
      "{}: not a baseline: {}; save it anew (headroom baseline save)", file.name, what));
}

}  // namespace headroom
