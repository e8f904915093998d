#include "compare/baseline_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "base/ascii.h"
#include "base/local_state.h"
#include "base/read_file.h"

namespace headroom {
namespace {

using Json = nlohmann::json;

/// An error in a baseline, with its place.
struct WrongBaseline {
  std::string what;
};

/// A value of a baseline with its place. Throws WrongBaseline if a value is missing or has another
/// type.
class Field {
 public:
  explicit Field(const Json& value, std::string place = "")
      : value_(value), place_(std::move(place)) {}

  Field At(std::string_view key) const {
    Check(value_.is_object(), "object");
    const auto found = value_.find(key);
    if (found == value_.end())
      throw WrongBaseline{fmt::format("{} has no '{}'", place_.empty() ? "it" : place_, key)};
    return Field(*found, Inside(key));
  }
  bool Has(std::string_view key) const { return value_.is_object() && value_.contains(key); }
  std::string Text() const {
    Check(value_.is_string(), "string");
    return value_.get<std::string>();
  }
  /// Returns the string, or an empty string for null.
  std::string TextOrNull() const { return value_.is_null() ? "" : Text(); }
  double Number() const {
    Check(value_.is_number() && std::isfinite(value_.get<double>()), "number");
    return value_.get<double>();
  }
  double NonNegative() const {
    const double number = Number();
    if (number < 0) throw WrongBaseline{fmt::format("{} is negative", place_)};
    return number;
  }
  std::int64_t Integer() const {
    Check(value_.is_number_integer(), "whole number");
    return value_.get<std::int64_t>();
  }
  /// Calls `take(Field)` for each element in order.
  template <typename Take>
  void ForEach(Take take) const {
    Check(value_.is_array(), "list");
    for (std::size_t i = 0; i < value_.size(); ++i)
      take(Field(value_[i], fmt::format("{}[{}]", place_, i)));
  }
  /// Calls `take(name, Field)` for each member.
  template <typename Take>
  void ForEachMember(Take take) const {
    Check(value_.is_object(), "object");
    for (const auto& [name, value] : value_.items()) take(name, Field(value, Inside(name)));
  }

 private:
  std::string Inside(std::string_view key) const {
    return place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key);
  }
  void Check(bool is_fine, std::string_view type) const {
    if (!is_fine) throw WrongBaseline{fmt::format("{} is not a valid {}", place_, type)};
  }

  const Json& value_;
  std::string place_;  ///< Path such as "step.p50_ms"; empty for the root.
};

Estimate EstimateOf(const Field& object) {
  return {.value = object.At("value").Number(),
          .error = object.At("error").NonNegative(),
          .freedom = object.At("freedom").NonNegative()};
}

std::vector<ProfileRow> RowsOf(const Field& rows) {
  std::vector<ProfileRow> list;
  rows.ForEach([&](const Field& row) {
    list.push_back({.name = NameInProfile(row.At("name").Text()),
                    .inside = row.Has("inside") ? row.At("inside").Text() : "",
                    .calls = row.At("calls").NonNegative(),
                    .ms = {.value = row.At("ms").NonNegative(),
                           .error = row.At("error").NonNegative(),
                           .freedom = row.At("freedom").NonNegative()},
                    .exposed_ms = row.Has("exposed_ms") ? row.At("exposed_ms").Number() : 0});
  });
  return list;
}

JobProfile::Rest RestOf(const Field& rest) {
  return {.rows = rest.At("rows").Integer(), .ms = rest.At("ms").NonNegative()};
}

template <std::size_t kCount>
void ReadParts(const Field& object, const std::array<std::string_view, kCount>& names,
               std::array<double, kCount>& values) {
  for (std::size_t i = 0; i < kCount; ++i) {
    // Differences of sums may round to slightly below 0.
    values[i] = object.At(fmt::format("{}_ms", names[i])).Number();
  }
}

/// Reads the figures by rank; a job of one rank has none.
void ReadRanks(const Field& root, JobProfile& profile) {
  if (root.Has("ranks")) {
    root.At("ranks").ForEach([&](const Field& row) {
      profile.ranks.push_back(
          {.rank = row.At("rank").Integer(),
           .step_ms = row.At("step_ms").NonNegative(),
           .compute_ms = row.At("compute_ms").NonNegative(),
           .exposed_communication_ms = row.At("exposed_communication_ms").NonNegative(),
           .idle_ms = row.At("idle_ms").NonNegative()});
      if (row.Has("waited_ms")) profile.ranks.back().waited_ms = row.At("waited_ms").NonNegative();
    });
  }
  if (root.Has("waiting")) {
    const Field waiting = root.At("waiting");
    profile.waiting = RankWaiting{.lost_ms = waiting.At("lost_ms").NonNegative(),
                                  .late = waiting.At("late").TextOrNull()};
  }
}

JobProfile ProfileOf(const Field& root) {
  if (!root.Has("schema"))
    throw WrongBaseline{fmt::format("it has no 'schema', which must be {}", kBaselineSchema)};
  if (root.At("schema").Text() != kBaselineSchema)
    throw WrongBaseline{fmt::format("its schema is not {}", kBaselineSchema)};
  JobProfile profile;
  profile.baseline = root.At("name").Text();
  root.At("sources").ForEach([&](const Field& path) { profile.paths.push_back(path.Text()); });
  profile.steps = root.At("steps").Integer();
  profile.verdict = root.At("verdict").Text();
  profile.calibration = root.At("calibration").TextOrNull();
  const std::string grade = root.At("grade").Text();
  if (grade.size() != 1 || grade < "A" || grade > "F")
    throw WrongBaseline{"its grade is not A to F"};
  profile.grade = grade.front();
  const Field step = root.At("step");
  profile.median_ms = step.At("p50_ms").NonNegative();
  profile.least_ms = step.At("p10_ms").NonNegative();
  profile.most_ms = step.At("p90_ms").NonNegative();
  ReadParts(root.At("parts"), kStepPartNames, profile.parts_ms);
  ReadParts(root.At("phases"), kPhaseNames, profile.phases_ms);
  root.At("facts").ForEachMember([&](const std::string& name, const Field& value) {
    profile.facts.push_back({name, value.Text()});
  });
  root.At("runs").ForEach([&](const Field& run) {
    RunFigures& figures = profile.runs.emplace_back();
    run.ForEachMember([&](const std::string& name, const Field& estimate) {
      figures[name] = EstimateOf(estimate);
    });
    if (!figures.contains("step_ms")) throw WrongBaseline{"a run has no step_ms"};
  });
  if (profile.runs.empty()) throw WrongBaseline{"it has no runs"};
  ReadRanks(root, profile);
  profile.kernels = RowsOf(root.At("kernels"));
  profile.operators = RowsOf(root.At("operators"));
  profile.layers = RowsOf(root.At("layers"));
  profile.other_kernels = RestOf(root.At("other_kernels"));
  profile.other_operators = RestOf(root.At("other_operators"));
  profile.other_layers = RestOf(root.At("other_layers"));
  return profile;
}

/// Returns the first bytes of a regular file; empty if it cannot be read.
std::string BeginOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  std::array<char, 256> buffer{};
  std::ifstream file(path, std::ios::binary);
  file.read(buffer.data(), buffer.size());
  return {buffer.data(), static_cast<std::size_t>(file.gcount())};
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
  return Status::Usage(
      fmt::format("invalid baseline name '{}': use 1 to {} letters, digits, '.', '_' and '-', and "
                  "begin with a letter or digit",
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
    return Status::BadInput(
        fmt::format("{}: not a valid baseline: it is not a JSON object; save it again (headroom "
                    "baseline save NAME TRACE...)",
                    file.name));
  }
  try {
    return ProfileOf(Field(root));
  } catch (const WrongBaseline& wrong) {
    return Status::BadInput(fmt::format(
        "{}: not a valid baseline: {}; save it again (headroom baseline save NAME TRACE...)",
        file.name, wrong.what));
  }
}

Result<std::optional<JobProfile>> FindBaseline(const std::string& named,
                                               const std::string& folder) {
  std::error_code error;
  std::string path = named;
  if (!std::filesystem::exists(named, error)) {
    path = BaselinePath(folder, named);
    if (!CheckBaselineName(named).ok() || !std::filesystem::exists(path, error))
      return std::optional<JobProfile>();
  } else if (!LooksLikeBaseline(BeginOf(named))) {
    return std::optional<JobProfile>();
  }
  // Checks files found by name, because other users may have written to the folder.
  if (path != named) {
    if (Status status = CheckStateFile(path); !status.ok()) return status;
  }
  const Result<std::optional<std::string>> content = ReadFile(path);
  if (!content.ok()) return content.status();
  Result<JobProfile> profile = ParseBaseline({path, content.value().value_or("")});
  if (!profile.ok()) return profile.status();
  return std::optional<JobProfile>(std::move(profile).value());
}

}  // namespace headroom
