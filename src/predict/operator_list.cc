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

#include "kernels/vector_time.h"
#include "predict/bounded_json.h"
#include "predict/csv_table.h"
#include "render/number_format.h"

namespace headroom {
namespace {

using Json = nlohmann::json;
using Extents = std::vector<double>;

constexpr double kMaxElements = 1e15;

/// Returns true above kMaxElements, and for NaN, which results from infinity times 0.
bool IsTooMany(double elements) { return !(elements <= kMaxElements); }

/// A row of a list, in either format.
struct Row {
  std::string place;  ///< For messages.
  std::string op = {}, name = {}, mode = {};
  double repeats = 1;
  Json forward = {}, backward = {}, accumulate = {};  ///< Lists of [kind, dimensions].
  std::vector<Extents> inputs = {};
  Extents output = {};
};

Status Bad(const std::string& place, std::string_view what) {
  return Status::BadInput(fmt::format("{}: {}", place, what));
}

/// Parses a list as Python prints it, "[['BMM', (20, 64, 1)]]", or in JSON.
std::optional<Json> ParseLiteral(std::string_view text) {
  std::string json;
  json.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(') {
      json += '[';
    } else if (c == ')') {
      json += ']';
    } else if (c == '\'') {
      json += '"';
    } else if (c == ',') {
      // A tuple of one: "(1,)".
      std::size_t next = i + 1;
      while (next < text.size() && text[next] == ' ') ++next;
      if (next >= text.size() || text[next] != ')') json += ',';
    } else {
      json += c;
    }
  }
  if (json.empty()) return Json::array();
  std::optional<Json> value = ParseBoundedJson(json);
  if (!value || !value->is_array()) return std::nullopt;
  return value;
}

/// Returns the extents of a tensor, with a number as one extent; nullopt for other values.
std::optional<Extents> ExtentsOf(const Json& value) {
  Extents extents;
  if (value.is_number()) {
    extents.push_back(value.get<double>());
  } else if (value.is_array()) {
    for (const Json& item : value) {
      if (!item.is_number()) return std::nullopt;
      extents.push_back(item.get<double>());
    }
  } else {
    return std::nullopt;
  }
  for (const double extent : extents) {
    if (!std::isfinite(extent) || extent < 0) return std::nullopt;
  }
  return extents;
}

double Elements(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<>());
}

/// Returns the number of elements of the largest tensor of [shape, shape, ...]; 0 without tensors.
double LargestElements(const Json& shapes) {
  double most = 0;
  if (!shapes.is_array()) return 0;
  for (const Json& shape : shapes) {
    if (const std::optional<Extents> extents = ExtentsOf(shape))
      most = std::max(most, Elements(*extents));
  }
  return most;
}

/// Returns the number of elements of all tensors of [shape, shape, ...].
double AllElements(const Json& shapes) {
  double all = 0;
  for (const Json& shape : shapes) {
    if (const std::optional<Extents> extents = ExtentsOf(shape)) all += Elements(*extents);
  }
  return all;
}

constexpr double kFloat = 4;  // Bytes.

/// An elementwise operator, and whether it reads one or two tensors of the result's size.
struct Pointwise {
  std::string_view name;
  bool of_two;  ///< Reads two tensors unless the second is a single number.
};
constexpr std::array kPointwiseNames = {
    Pointwise{"add", true},      Pointwise{"mul", true},   Pointwise{"div", true},
    Pointwise{"pow", true},      Pointwise{"addu", false}, Pointwise{"mulu", false},
    Pointwise{"divu", false},    Pointwise{"powu", false}, Pointwise{"relu", false},
    Pointwise{"gelu", false},    Pointwise{"tanh", false}, Pointwise{"sub", true},
    Pointwise{"sigmoid", false}, Pointwise{"exp", false},
};

/// Converts the kernels that a row lists to work.
class RowWorks {
 public:
  RowWorks(const Row& row, OperatorList& list) : row_(row), list_(list) {}

  Status Add() {
    constexpr std::array<std::string_view, 5> kModes = {"", "train", "training", "inf",
                                                        "inference"};
    if (std::find(kModes.begin(), kModes.end(), row_.mode) == kModes.end())
      return Bad(row_.place, fmt::format("mode '{}' is neither train nor inf", row_.mode));
    const std::size_t before = list_.works.size();
    Status status = AddKernels(StepPhase::kForward, row_.forward);
    const bool training = !row_.mode.starts_with("inf");
    if (status.ok() && training) status = AddKernels(StepPhase::kBackward, row_.backward);
    if (status.ok() && training) status = AddKernels(StepPhase::kAccumulate, row_.accumulate);
    if (status.ok()) AddUnlisted(training);
    ++list_.operators;
    if (list_.works.size() == before) ++list_.without_work;
    return status;
  }

 private:
  bool ScalarOperand() const {
    return row_.inputs.size() == 1 || (row_.inputs.size() == 2 && Elements(row_.inputs[1]) == 1);
  }

  /// Returns true if the list contains the weight of a product as (k x n), as for addmm. A layer
  /// stores its weight as (n x k), and its row lists only the activation.
  bool WeightIsListed(double m, double k, double n) const {
    const auto is_activation = [&](const Extents& shape) {
      return !shape.empty() && shape.back() == k && Elements(shape) == m * k;
    };
    const auto activation = std::find_if(row_.inputs.begin(), row_.inputs.end(), is_activation);
    for (auto input = row_.inputs.begin(); input != row_.inputs.end(); ++input) {
      if (input != activation && *input == Extents{k, n}) return true;
    }
    return false;
  }

  /// Returns a product of the list with the layout of its operands.
  ProductWork Product(StepPhase phase, double m, double k, double n, std::size_t index) {
    ProductWork work = {.m = m, .k = k, .n = n};
    if (phase == StepPhase::kForward) {
      forward_ = work;
      work.second_along_k = !WeightIsListed(m, k, n);
      layer_ = work.second_along_k;
    } else if (index == 0 && forward_.m == m && forward_.k == n && forward_.n == k) {
      work.second_along_k = !layer_;  // The data gradient uses the same weight, transposed.
    } else {
      work.first_along_k = false;  // The weight gradient sums over the rows of both operands.
    }
    return work;
  }

  void Push(StepPhase phase, const KernelWork& work) {
    list_.works.push_back(
        {.op = list_.operators, .phase = phase, .repeats = row_.repeats, .work = work});
  }
  void PushBytes(StepPhase phase, double bytes, double kernels = 1) {
    if (bytes > 0) Push(phase, {.shape = PointwiseWork{.bytes = bytes, .kernels = kernels}});
  }

  Status AddKernels(StepPhase phase, const Json& kernels) {
    if (!kernels.is_array())
      return Bad(
          row_.place,
          "kernels must be a list of [kind, dimensions], such as [[\"VECrelu\", [64, 128]]]");
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const Json& kernel = kernels[i];
      if (!kernel.is_array() || kernel.size() != 2 || !kernel[0].is_string() ||
          !kernel[1].is_array())
        return Bad(
            row_.place,
            "kernels must be a list of [kind, dimensions], such as [[\"VECrelu\", [64, 128]]]");
      const auto& kind = kernel[0].get_ref<const std::string&>();
      constexpr std::size_t kLongestKind = 64;
      if (kind.empty() || kind.size() > kLongestKind)
        return Bad(row_.place,
                   fmt::format("the kind of kernel {} is empty or too long; correct it", i + 1));
      if (Status status = AddKernel(phase, kind, kernel[1], i); !status.ok()) return status;
    }
    return Status::Ok();
  }

  Status AddKernel(StepPhase phase, const std::string& kind, const Json& dimensions,
                   std::size_t index) {
    if (kind == "MEM") {
      if (IsTooMany(AllElements(dimensions))) {
        return Bad(
            row_.place,
            fmt::format("shapes of MEM have more than {:g} elements; correct them", kMaxElements));
      }
      AddMemory(phase, LargestElements(dimensions), dimensions, index);
      return Status::Ok();
    }
    constexpr std::array<std::string_view, 4> kKinds = {"Linear", "BMM", "CONV2D", "SENDRECV"};
    const bool is_vector = kind.starts_with("VEC"), is_collective = kind.starts_with("ALLREDUCE");
    if (!is_vector && !is_collective &&
        std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) {
      ++list_.unpredicted[kind];  // The meaning of its dimensions is unknown too.
      return Status::Ok();
    }
    const std::optional<Extents> extents = ExtentsOf(dimensions);
    // The padding of a convolution, its last extent, can be 0.
    const std::size_t padding = kind == "CONV2D" ? 1 : 0;
    const bool sound =
        extents && extents->size() >= padding &&
        std::all_of(extents->begin(), extents->end() - static_cast<std::ptrdiff_t>(padding),
                    [](double extent) { return extent >= 1; }) &&
        std::all_of(extents->begin(), extents->end(),
                    [](double extent) { return extent == std::floor(extent); });
    if (!sound || IsTooMany(Elements(*extents))) {
      return Bad(
          row_.place,
          fmt::format("dimensions of {} must be whole numbers, 1 or more, whose product is below "
                      "{:g}",
                      kind, kMaxElements));
    }
    const auto wants = [&](std::size_t count, std::string_view form) {
      if (extents->size() == count) return Status::Ok();
      return Bad(row_.place, fmt::format("dimensions of {} must be {}", kind, form));
    };
    if (kind == "Linear") {
      if (Status status = wants(3, "(m, k, n)"); !status.ok()) return status;
      Push(phase, {.shape = Product(phase, (*extents)[0], (*extents)[1], (*extents)[2], index)});
      return Status::Ok();
    }
    if (kind == "BMM") {
      if (Status status = wants(4, "(b, m, k, n)"); !status.ok()) return status;
      Push(phase, {.shape = ProductWork{.batch = (*extents)[0],
                                        .m = (*extents)[1],
                                        .k = (*extents)[2],
                                        .n = (*extents)[3],
                                        .batched = true}});
      return Status::Ok();
    }
    if (kind == "CONV2D") {
      if (Status status = wants(7, "(b, cin, cout, ksize, insize, stride, pad)"); !status.ok())
        return status;
      const ConvolutionWork work = {.batch = (*extents)[0],
                                    .in_channels = (*extents)[1],
                                    .out_channels = (*extents)[2],
                                    .kernel = (*extents)[3],
                                    .image = (*extents)[4],
                                    .stride = (*extents)[5],
                                    .padding = (*extents)[6]};
      if (OutputSide(work) < 1)
        return Bad(row_.place,
                   "the kernel of CONV2D is larger than the padded image; correct its dimensions");
      Push(phase, {.shape = work});
      return Status::Ok();
    }
    if (is_vector) {
      if (Status status = wants(2, "(rows, columns)"); !status.ok()) return status;
      AddVector(phase, kind, kind.substr(3), (*extents)[0], (*extents)[1], index);
      return Status::Ok();
    }
    ++list_.collectives;
    return Status::Ok();
  }

  void AddVector(StepPhase phase, const std::string& kind, const std::string& op, double rows,
                 double columns, std::size_t index) {
    const double bytes = rows * columns * kFloat;
    if (op == "ln" || op == "softmax") {
      Push(phase,
           {.shape = RowwiseWork{.rows = rows, .columns = columns, .softmax = op == "softmax"}});
      return;
    }
    // The backward of a layer norm is listed as a product. It reads gradient and input twice, and
    // writes gradients of input, weight and bias.
    if (phase == StepPhase::kBackward && row_.op == "VECln") {
      constexpr double kTensors = 5;
      if (index == 0) PushBytes(phase, kTensors * bytes, 2);
      return;
    }
    const auto known = std::find_if(kPointwiseNames.begin(), kPointwiseNames.end(),
                                    [&](const Pointwise& p) { return p.name == op; });
    if (known == kPointwiseNames.end()) ++list_.guessed[kind];
    const bool of_two = known != kPointwiseNames.end() && known->of_two;
    // A second operand that is a single number is not read and has no gradient.
    const bool scalar = of_two && row_.op == kind && ScalarOperand();
    if (scalar && phase == StepPhase::kBackward && index > 0) return;
    PushBytes(phase, bytes * (of_two && !scalar ? 3 : 2));
    if (phase == StepPhase::kAccumulate) list_.works.back().gradient_bytes = bytes;
  }

  /// Adds kernels that the list describes by their tensors.
  void AddMemory(StepPhase phase, double elements, const Json& shapes, std::size_t index) {
    const double bytes = elements * kFloat;
    if (row_.op == "getitem") return;  // A view.
    if (phase != StepPhase::kForward) {
      // The backward lists one kernel per input. Gradients of additions and copies are views.
      if (index > 0) return;
      if (row_.op == "dropout") {
        // PyTorch: grad * (mask.type_as(grad) * scale), three kernels.
        constexpr double kTraffic = 25.0 / 4;
        PushBytes(phase, kTraffic * bytes, 3);
      } else if (row_.op == "where" || row_.op == "EMBEDDING") {
        PushBytes(phase, row_.op == "where" ? 2 * bytes : bytes);
      }
      return;
    }
    if (row_.op == "dropout") {
      // Dropout reads its input, and writes its result and a mask of one byte per element.
      constexpr double kTraffic = 9.0 / 4;
      PushBytes(phase, kTraffic * bytes);
    } else if (row_.op == "where" || row_.op == "contiguous" || row_.op == "EMBEDDING") {
      PushBytes(phase, 2 * bytes);
    } else {
      PushBytes(phase, AllElements(shapes) * kFloat);
    }
  }

  /// Adds operators that have kernels but are listed without them, identified by name.
  void AddUnlisted(bool training) {
    if (!row_.forward.empty() || row_.op != "misc") return;
    const std::string_view name = std::string_view(row_.name).substr(0, row_.name.find('_'));
    const double elements = Elements(row_.output);
    if (row_.output.empty() || elements <= 1) return;
    constexpr std::array<std::string_view, 3> kOfOne = {"max", "min", "masked"};
    if (std::find(kOfOne.begin(), kOfOne.end(), name) == kOfOne.end()) return;
    PushBytes(StepPhase::kForward, elements * kFloat * 2);
    // where(a == b, grad / 2, grad).masked_fill(a < b, 0): five kernels.
    constexpr double kBackward = 10;
    if (training && name != "masked")
      PushBytes(StepPhase::kBackward, elements * kFloat * kBackward, 5);
  }

  const Row& row_;
  OperatorList& list_;
  ProductWork forward_;  ///< The row's last product in the forward ...
  bool layer_ = false;   ///< ... and whether its weight has a layer's layout.
};

/// Groups rows into lists.
class Lists {
 public:
  /// @param batch  batch size as written in the row; used for the first row of each list
  Status Add(const Row& row, const std::string& key, const std::string& batch) {
    const auto [at, added] = index_.emplace(key, lists_.size());
    if (added) {
      lists_.emplace_back();
      operations_.push_back(0);
      lists_.back().name = key;
      std::int64_t samples = 0;
      const auto [end, error] = std::from_chars(batch.data(), batch.data() + batch.size(), samples);
      if (error == std::errc() && end == batch.data() + batch.size() && samples > 0)
        lists_.back().batch = samples;
    }
    OperatorList& list = lists_[at->second];
    const std::size_t before = list.works.size();
    if (Status status = RowWorks(row, list).Add(); !status.ok()) return status;
    double& all = operations_[at->second];
    for (std::size_t i = before; i < list.works.size(); ++i)
      all += list.works[i].repeats * Operations(list.works[i].work);
    if (!(all <= kMaxOperations)) {
      return Bad(row.place, fmt::format("with this row, the step exceeds {:g} operations; "
                                        "correct its dimensions or repeat",
                                        kMaxOperations));
    }
    return Status::Ok();
  }
  std::vector<OperatorList> Take() && { return std::move(lists_); }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<OperatorList> lists_;
  std::vector<double> operations_;  ///< Operations of each list.
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

Status ReadRepeats(const std::string& text, Row& row) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), row.repeats);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(row.repeats) ||
      row.repeats <= 0 || row.repeats > kMaxElements)
    return Bad(row.place, fmt::format("repeat is '{}', not a number above 0 and at most {:g}", text,
                                      kMaxElements));
  return Status::Ok();
}

Status ReadShapes(const Json& inputs, const Json& output, Row& row) {
  for (const Json& shape : inputs) {
    const std::optional<Extents> extents = ExtentsOf(shape);
    if (!extents) return Bad(row.place, "inputs must be a list of shapes");
    row.inputs.push_back(*extents);
  }
  const std::optional<Extents> extents = ExtentsOf(output);
  if (!extents) return Bad(row.place, "output must be a shape");
  if (IsTooMany(Elements(*extents)))
    return Bad(row.place,
               fmt::format("output has more than {:g} elements; correct its shape", kMaxElements));
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
    Row row{.place = table.Place(i), .op = cell("op"), .name = cell("name"), .mode = cell("mode")};
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
        return Bad(row.place,
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
  Row row{.place = place};
  if (!object.is_object() || !object.contains("op") || !object.contains("fw"))
    return Bad(row.place, "must be an object with op and fw");
  constexpr std::array<std::string_view, 14> kKeys = {
      "op",   "fw",    "bw",   "acc", "repeat", "inputs",      "output",
      "name", "model", "mode", "seq", "batch",  "parallelism", "idx"};
  for (const auto& item : object.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), item.key()) == kKeys.end())
      return Bad(row.place, fmt::format("unknown key '{}'; correct or remove it", item.key()));
  }
  row.op = TextOf(object, "op");
  row.name = TextOf(object, "name");
  row.mode = TextOf(object, "mode");
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

std::string OperatorList::Doubt() const {
  const std::string as = DoubtOf(guessed, "is assumed to read one tensor and write one",
                                 "are assumed to read one tensor and write one");
  const std::string without = DoubtOf(unpredicted, "is not included", "are not included");
  return as + (as.empty() || without.empty() ? "" : "; ") + without;
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
  if (lists.ok() && lists.value().empty())
    return Status::BadInput(
        fmt::format("{}: lists no operators; add at least one (docs/predict.md)", path));
  return lists;
}

}  // namespace headroom
