#include "predict/operator_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/kernel_work.h"
#include "predict/bounded_json.h"
#include "predict/csv_table.h"
#include "predict/list_gradient.h"
#include "predict/listed_kernels.h"
#include "predict/listed_row.h"
#include "render/number_format.h"

namespace headroom {
namespace {

using Json = nlohmann::json;

/// Groups rows into lists.
class Lists {
 public:
  /// @param batch  batch size as written in the row; used for the first row of each list
  Status Add(const ListedRow& row, const std::string& key, const std::string& batch) {
    const auto [at, added] = index_.emplace(key, lists_.size());
    if (added) {
      lists_.emplace_back();
      operations_.push_back(0);
      rows_before_.emplace_back();
      lists_.back().name = key;
      std::int64_t samples = 0;
      const auto [end, error] = std::from_chars(batch.data(), batch.data() + batch.size(), samples);
      if (error == std::errc() && end == batch.data() + batch.size() && samples > 0)
        lists_.back().batch = samples;
    }
    OperatorList& list = lists_[at->second];
    const std::size_t before = list.works.size();
    if (Status status = AddListedKernels(row, rows_before_[at->second], list); !status.ok())
      return status;
    double& all = operations_[at->second];
    for (std::size_t i = before; i < list.works.size(); ++i)
      all += list.works[i].repeats * Operations(list.works[i].work);
    if (!(all <= kMaxOperations)) {
      return BadRow(row.place, fmt::format("with this row, the step exceeds {:g} operations; "
                                           "correct its dimensions or repeat",
                                           kMaxOperations));
    }
    return Status::Ok();
  }
  std::vector<OperatorList> Take() && { return std::move(lists_); }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<OperatorList> lists_;
  std::vector<double> operations_;       ///< Operations of each list.
  std::vector<RowsBefore> rows_before_;  ///< Rows of each list.
};

/// Returns "gpt2_large train seq=1024 batch=4", with the parallelism unless it is single.
std::string NameOfList(const std::string& model, const std::string& mode, const std::string& seq,
                       const std::string& batch, const std::string& parallelism) {
  std::string name = model;
  const auto also = [&](std::string_view prefix, const std::string& value) {
    if (value.empty()) return;
    name += (name.empty() ? "" : " ") + std::string(prefix) + value;
  };
  also("", mode);
  also("seq=", seq);
  also("batch=", batch);
  if (parallelism != "single") also("", parallelism);
  return name;
}

Status ReadRepeats(const std::string& text, ListedRow& row) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), row.repeats);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(row.repeats) ||
      row.repeats <= 0 || row.repeats > kMaxListedElements)
    return BadRow(row.place, fmt::format("repeat is '{}', not a number above 0 and at most {:g}",
                                         text, kMaxListedElements));
  return Status::Ok();
}

/// Reads the types of a row and its memory order.
///
/// @param has_autocast  true if the list states types under autocast; an empty one is that of the
///                      inputs
Status ReadTypes(const std::string& type, const std::string& autocast, bool has_autocast,
                 const std::string& layout, ListedRow& row) {
  if (!type.empty()) {
    row.dtype = DTypeFromName(type);
    if (!row.dtype ||
        (*row.dtype != DType::kF32 && *row.dtype != DType::kF8 && !IsTensorCoreType(*row.dtype))) {
      return BadRow(row.place,
                    fmt::format("dtype '{}' is not one of fp32, tf32, fp16, bf16, fp8", type));
    }
  }
  if (has_autocast) {
    if (autocast == "fp16" || autocast == "bf16") {
      row.autocast = AutocastType::kHalf;
    } else if (autocast == "fp32") {
      row.autocast = AutocastType::kFloat32;
    } else if (autocast.empty()) {
      row.autocast = AutocastType::kInput;
    } else {
      return BadRow(row.place, fmt::format("dtype_amp '{}' is not one of fp16, bf16, fp32, and not "
                                           "empty",
                                           autocast));
    }
  }
  if (!layout.empty() && layout != "nchw" && layout != "nhwc")
    return BadRow(row.place, fmt::format("layout '{}' is neither nchw nor nhwc", layout));
  row.channels_last = layout == "nhwc";
  return Status::Ok();
}

Status ReadShapes(const Json& inputs, const Json& output, ListedRow& row) {
  for (const Json& shape : inputs) {
    const std::optional<Extents> extents = ExtentsOf(shape);
    if (!extents) return BadRow(row.place, "inputs must be a list of shapes");
    row.inputs.push_back(*extents);
  }
  const std::optional<Extents> extents = ExtentsOf(output);
  if (!extents) return BadRow(row.place, "output must be a shape");
  if (IsTooMany(ElementsOf(*extents)))
    return BadRow(row.place, fmt::format("output has more than {:g} elements; correct its shape",
                                         kMaxListedElements));
  row.output = *extents;
  return Status::Ok();
}

Result<std::vector<OperatorList>> ReadTable(const CsvTable& table) {
  for (const std::string_view needed : {"op", "fw"}) {
    if (!table.Column(needed)) {
      return Status::BadInput(fmt::format(
          "{}: no column '{}'; a list of operators requires op and fw, and for training bw "
          "and acc (docs/predict.md)",
          table.name, needed));
    }
  }
  Lists lists;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto cell = [&](std::string_view column) {
      const std::optional<std::size_t> at = table.Column(column);
      return at ? table.rows[i][*at] : std::string();
    };
    ListedRow row{
        .place = table.Place(i), .op = cell("op"), .name = cell("name"), .mode = cell("mode")};
    if (Status status = ReadTypes(cell("dtype"), cell("dtype_amp"),
                                  table.Column("dtype_amp").has_value(), cell("layout"), row);
        !status.ok())
      return status;
    const std::string repeats = cell("repeat");
    if (!repeats.empty()) {
      if (Status status = ReadRepeats(repeats, row); !status.ok()) return status;
    }
    struct Part {
      std::string_view column;
      Json* out;
    };
    Json inputs, output;
    for (const Part part :
         {Part{"fw", &row.forward}, Part{"bw", &row.backward}, Part{"acc", &row.accumulate},
          Part{"inputs", &inputs}, Part{"output", &output}}) {
      const std::string text = cell(part.column);
      std::optional<Json> value = ParseLiteral(text);
      if (!value) {
        return BadRow(row.place,
                      fmt::format("{} is '{}', not a list such as [['BMM', (8, 64, 32, 64)]]",
                                  part.column, text.substr(0, 60)));
      }
      *part.out = std::move(*value);
    }
    if (Status status = ReadShapes(inputs, output, row); !status.ok()) return status;
    const std::string key =
        NameOfList(cell("model"), row.mode, cell("seq"), cell("batch"), cell("parallelism"));
    if (Status status = lists.Add(row, key, cell("batch")); !status.ok()) return status;
  }
  return std::move(lists).Take();
}

std::string TextOf(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return {};
  if (at->is_string()) return at->get<std::string>();
  return at->is_number() ? at->dump() : std::string();
}

Status AddObject(Json& object, const std::string& place, Lists& lists) {
  ListedRow row{.place = place};
  if (!object.is_object() || !object.contains("op") || !object.contains("fw"))
    return BadRow(row.place, "must be an object with op and fw");
  constexpr std::array<std::string_view, 17> kKeys = {
      "op",   "fw",  "bw",    "acc",         "repeat", "inputs", "output",    "name",  "model",
      "mode", "seq", "batch", "parallelism", "idx",    "dtype",  "dtype_amp", "layout"};
  for (const auto& item : object.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), item.key()) == kKeys.end())
      return BadRow(row.place, fmt::format("unknown key '{}'; correct or remove it", item.key()));
  }
  row.op = TextOf(object, "op");
  row.name = TextOf(object, "name");
  row.mode = TextOf(object, "mode");
  if (Status status = ReadTypes(TextOf(object, "dtype"), TextOf(object, "dtype_amp"),
                                object.contains("dtype_amp"), TextOf(object, "layout"), row);
      !status.ok())
    return status;
  const std::string repeats = TextOf(object, "repeat");
  if (!repeats.empty()) {
    if (Status status = ReadRepeats(repeats, row); !status.ok()) return status;
  }
  const auto list = [&](const char* key) {
    const auto at = object.find(key);
    return at == object.end() || at->is_null() ? Json::array() : std::move(*at);
  };
  row.forward = list("fw");
  row.backward = list("bw");
  row.accumulate = list("acc");
  if (Status status = ReadShapes(list("inputs"), list("output"), row); !status.ok()) return status;
  const std::string key = NameOfList(TextOf(object, "model"), row.mode, TextOf(object, "seq"),
                                     TextOf(object, "batch"), TextOf(object, "parallelism"));
  return lists.Add(row, key, TextOf(object, "batch"));
}

Result<std::vector<OperatorList>> ReadJson(const std::string& text, const std::string& name) {
  Lists lists;
  const Status status =
      ForEachJsonElement(text, name, "operator", [&](std::size_t number, Json& object) {
        return AddObject(object, fmt::format("{}, operator {}", name, number), lists);
      });
  if (!status.ok()) return status;
  return std::move(lists).Take();
}

/// Returns "3 kernels of unknown kinds (VECrsqrt, VECsilu) WHAT"; empty without such kernels.
std::string DoubtOf(const std::map<std::string, std::int64_t>& kinds, std::string_view what_of_one,
                    std::string_view what) {
  std::int64_t kernels = 0;
  std::vector<std::string_view> names;
  for (const auto& [kind, count] : kinds) {
    kernels += count;
    names.push_back(kind);
  }
  if (kernels == 0) return {};
  constexpr std::size_t kMaxNames = 8;
  const bool more = names.size() > kMaxNames;
  if (more) names.resize(kMaxNames);
  return fmt::format("{} of unknown kinds ({}{}) {}", Plural(kernels, "kernel"),
                     fmt::join(names, ", "), more ? ", ..." : "",
                     kernels == 1 ? what_of_one : what);
}

}  // namespace

std::string OperatorList::LeftOut() const {
  return DoubtOf(unpredicted, "is not included", "are not included");
}

std::string OperatorList::Doubt() const {
  const std::string as = DoubtOf(guessed, "is assumed to read one tensor and write one",
                                 "are assumed to read one tensor and write one");
  const std::string without = LeftOut();
  std::string text = as + (as.empty() || without.empty() ? "" : "; ") + without;
  if (added > 0) {
    text += fmt::format(
        "{}the list lacks the gradients upstream of fused attention; {} operators were added",
        text.empty() ? "" : "; ", added);
  }
  return text;
}

Result<std::vector<OperatorList>> ReadOperatorLists(const std::string& path) {
  const Result<std::string> text = ReadWholeText(path);
  if (!text.ok()) return text.status();
  const std::size_t begin = text.value().find_first_not_of(" \t\r\n");
  const bool json =
      begin != std::string::npos && (text.value()[begin] == '[' || text.value()[begin] == '{');
  Result<std::vector<OperatorList>> lists = [&]() -> Result<std::vector<OperatorList>> {
    if (json) return ReadJson(text.value(), path);
    const Result<CsvTable> table = ParseCsv(text.value(), path);
    if (!table.ok()) return table.status();
    return ReadTable(table.value());
  }();
  if (lists.ok()) {
    for (OperatorList& list : lists.value()) AddLostGradients(list);
  }
  if (lists.ok() && lists.value().empty())
    return Status::BadInput(
        fmt::format("{}: lists no operators; add at least one (docs/predict.md)", path));
  return lists;
}

}  // namespace headroom
