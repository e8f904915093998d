#include "answers/diff/baseline_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "answers/diff/render.h"
#include "compare/baseline_file.h"
#include "render/json_writer.h"
#include "render/number_format.h"
#include "render/text_page.h"

namespace headroom {

namespace fs = std::filesystem;

Result<BaselineList> ListBaselines(const std::string& folder) {
  std::error_code error;
  BaselineList list{.folder = folder, .baselines = {}};
  if (!fs::exists(folder, error)) return list;
  fs::directory_iterator entries(folder, error);
  if (error) return Status::BadInput(fmt::format("{}: cannot read: {}", folder, error.message()));
  for (const auto& entry : entries) {
    if (entry.path().extension() != ".json") continue;
    ListedBaseline& row =
        list.baselines.emplace_back(ListedBaseline{.file = entry.path().filename().string()});
    Result<std::optional<JobProfile>> profile = FindBaseline(entry.path().string(), folder);
    if (!profile.ok()) {
      row.problem = "not a readable baseline";
    } else if (!profile.value()) {
      row.problem = "not a baseline";
    } else {
      row.profile = std::move(*profile.value());
    }
  }
  std::sort(list.baselines.begin(), list.baselines.end(),
            [](const ListedBaseline& x, const ListedBaseline& y) { return x.file < y.file; });
  return list;
}

std::string RenderBaselinesJson(const BaselineList& list) {
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.baselines/1");
  json.Key("folder").String(list.folder);
  json.Key("baselines").BeginArray(JsonWriter::Layout::kLines);
  for (const ListedBaseline& row : list.baselines) {
    json.BeginObject();
    json.Key("file").String(row.file);
    json.Key("problem").StringOrNull(row.problem);
    const bool fine = row.problem.empty();
    json.Key("name").StringOrNull(row.profile.baseline);
    json.Key("step_ms").Number(fine ? std::optional(row.profile.median_ms) : std::nullopt);
    json.Key("steps").Integer(fine ? std::optional(row.profile.steps) : std::nullopt);
    json.Key("runs").Integer(
        fine ? std::optional(static_cast<std::int64_t>(row.profile.runs.size())) : std::nullopt);
    json.Key("verdict").StringOrNull(row.profile.verdict);
    json.Key("gpu").StringOrNull(FactOf(row.profile, "gpu"));
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take() + "\n";
}

std::string RenderBaselinesText(const BaselineList& list, const PageStyle& style) {
  TextPage page(style);
  page.Heading("Baselines", Printable(list.folder, style.charset), Style::kDim);
  std::vector<std::vector<Span>> rows;
  for (const ListedBaseline& row : list.baselines) {
    if (!row.problem.empty()) {
      rows.push_back({{row.file}, {""}, {""}, {""}, {row.problem, Style::kWarning}, {""}});
      continue;
    }
    rows.push_back({{fs::path(row.file).stem().string()},
                    {MsText(row.profile.median_ms)},
                    {fmt::format("{}", row.profile.steps)},
                    {fmt::format("{}", row.profile.runs.size())},
                    {row.profile.verdict},
                    {std::string(FactOf(row.profile, "gpu"))}});
  }
  using Kind = TextColumn::Kind;
  if (rows.empty()) {
    page.Paragraph("  ",
                   "There are no baselines. `headroom baseline save NAME TRACE...` saves one.");
  } else {
    page.Table({{"name", Kind::kName},
                {"step"},
                {"steps"},
                {"runs"},
                {"verdict", Kind::kText},
                {"GPU", Kind::kName}},
               rows);
  }
  return std::move(page).Take();
}

}  // namespace headroom
