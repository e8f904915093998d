#include "predict/carbon.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "cost/toml_row.h"
#include "embedded/carbon_files.h"

namespace headroom {
namespace {

std::string Capitals(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

template <typename Entry>
const Entry* FindIn(const std::map<std::string, Entry, std::less<>>& entries,
                    std::string_view code) {
  const auto found = entries.find(Capitals(code));
  return found == entries.end() ? nullptr : &found->second;
}

template <typename Entry>
std::vector<std::string_view> CodesOf(const std::map<std::string, Entry, std::less<>>& entries) {
  std::vector<std::string_view> codes;
  codes.reserve(entries.size());
  for (const auto& [key, entry] : entries) codes.push_back(entry.code);
  return codes;
}

}  // namespace

Result<CarbonData> CarbonData::LoadBuiltIn() {
  CarbonData data;
  if (Status status = data.Read(CarbonFiles().front()); !status.ok()) return status;
  return data;
}

Status CarbonData::Read(const NamedText& file) {
  constexpr double kMaxGrams = 5000, kMaxPue = 10;
  const Result<toml::table> root = ParseToml(file);
  if (!root.ok()) return root.status();
  TomlRow top(file, root.value(), "the file");
  const std::string date = top.Date("date");
  for (const auto& [key, text] :
       {std::pair("default_region", &default_region_), std::pair("default_pue", &default_pue_)}) {
    const std::string value = top.OptionalText(key);
    if (!value.empty()) *text = value;
  }
  top.Known({"date", "default_region", "default_pue", "region", "pue", "equivalents"});
  if (!top.status().ok()) return top.status();
  constexpr std::string_view kTwice = "duplicates an entry above; remove one of the two";
  std::set<std::pair<std::string, std::string>> of_file;  // Pairs of list and code.
  Status regions = ForEachRow(file, root.value(), "region", [&](TomlRow& row) {
    GridRegion region{.code = row.Text("code"),
                      .name = row.Text("name"),
                      .g_co2_per_kwh = row.Number("g_co2_per_kwh", 0, kMaxGrams),
                      .year = row.Year("year"),
                      .basis = row.Text("basis"),
                      .source = row.Text("source")};
    row.OptionalText("grid");
    row.Known({"code", "name", "grid", "g_co2_per_kwh", "year", "basis", "source"});
    std::string key = Capitals(region.code);
    if (!of_file.insert({"region", key}).second) row.Fail("code", kTwice);
    if (row.status().ok()) regions_.insert_or_assign(std::move(key), std::move(region));
    return row.status();
  });
  if (!regions.ok()) return regions;
  Status pues = ForEachRow(file, root.value(), "pue", [&](TomlRow& row) {
    PueEntry pue{.code = row.Text("code"),
                 .name = row.Text("name"),
                 .value = row.Number("value", 1, kMaxPue),
                 .year = row.Year("year"),
                 .source = row.Text("source")};
    row.Known({"code", "name", "value", "year", "source"});
    std::string key = Capitals(pue.code);
    if (!of_file.insert({"pue", key}).second) row.Fail("code", kTwice);
    if (row.status().ok()) pues_.insert_or_assign(std::move(key), std::move(pue));
    return row.status();
  });
  if (!pues.ok()) return pues;
  if (const toml::table* table = root.value()["equivalents"].as_table()) {
    for (const auto& [key, node] : *table) {
      Equivalent equivalent{
          .name = node.as_table() != nullptr
                      ? (*node.as_table())["name"].value_or(std::string(key.str()))
                      : std::string(),
          .g_co2 = {},
          .kwh = {}};
      if (node.as_table() != nullptr) {
        equivalent.g_co2 = (*node.as_table())["g_co2"].value<double>();
        equivalent.kwh = (*node.as_table())["kwh"].value<double>();
      }
      const double size = equivalent.g_co2.value_or(equivalent.kwh.value_or(0));
      if (size <= 0) {
        return Status::BadInput(
            fmt::format("{}, line {}: an equivalent requires g_co2 or kwh above 0", file.name,
                        key.source().begin.line));
      }
      equivalents_.push_back(std::move(equivalent));
    }
  }
  return Status::Ok();
}

const GridRegion* CarbonData::FindRegion(std::string_view code) const {
  return FindIn(regions_, code);
}
const PueEntry* CarbonData::FindPue(std::string_view code) const { return FindIn(pues_, code); }
std::vector<std::string_view> CarbonData::RegionCodes() const { return CodesOf(regions_); }
std::vector<std::string_view> CarbonData::PueCodes() const { return CodesOf(pues_); }

double Co2Kg(double joules, const GridRegion& region, double pue) {
  constexpr double kJoulesPerKwh = 3.6e6, kGramsPerKg = 1e3;
  return joules / kJoulesPerKwh * pue * region.g_co2_per_kwh / kGramsPerKg;
}

}  // namespace headroom
