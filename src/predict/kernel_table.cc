#include "predict/kernel_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "predict/kernel_model.h"
#include "predict/vector_time.h"

namespace headroom {
namespace {

/// Beyond these, products of extents have no room.
constexpr double kMostExtent = 1e9;

enum class Form { kProduct, kProducts, kConvolution, kSoftmax, kNorm, kOfTwo, kOfOne };

struct KnownOperator {
  std::string_view name;
  Form form;
};
constexpr std::array kOperators = {
    KnownOperator{"bmm", Form::kProducts},     KnownOperator{"linear", Form::kProduct},
    KnownOperator{"conv", Form::kConvolution}, KnownOperator{"softmax", Form::kSoftmax},
    KnownOperator{"ln", Form::kNorm},          KnownOperator{"add", Form::kOfTwo},
    KnownOperator{"mul", Form::kOfTwo},        KnownOperator{"div", Form::kOfTwo},
    KnownOperator{"pow", Form::kOfTwo},        KnownOperator{"addu", Form::kOfOne},
    KnownOperator{"mulu", Form::kOfOne},       KnownOperator{"divu", Form::kOfOne},
    KnownOperator{"powu", Form::kOfOne},       KnownOperator{"relu", Form::kOfOne},
    KnownOperator{"gelu", Form::kOfOne},       KnownOperator{"tanh", Form::kOfOne},
};

constexpr std::array<std::pair<std::string_view, DType>, 4> kTypes = {
    {{"fp32", DType::kF32}, {"tf32", DType::kTF32}, {"fp16", DType::kF16}, {"bf16", DType::kBF16}}};

/// Reads cells of one table; the first failure stays.
class RowReader {
 public:
  explicit RowReader(const CsvTable& table) : table_(table) {
    for (std::size_t i = 0; i < table.header.size(); ++i) columns_.emplace(table.header[i], i);
  }

  void BeginRow(std::size_t row) { row_ = row; }
  const Status& status() const { return status_; }

  /// Empty where there is no such column.
  const std::string& Text(std::string_view column) const {
    static const std::string kNone;
    const auto at = columns_.find(column);
    return at == columns_.end() ? kNone : table_.rows[row_][at->second];
  }

  /// A number from `least`, and not beyond what times can be computed of.
  double Number(std::string_view column, double least) {
    const std::string& text = Text(column);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() ||
        !std::isfinite(value) || value < least || value > kMostExtent) {
      Fail(fmt::format("{} is '{}', not a number of at least {}", column, text, least));
      return least;
    }
    return value;
  }

  /// A size: whole, 1 or more.
  double Extent(std::string_view column) {
    const double value = Number(column, 1);
    if (value != std::floor(value))
      Fail(fmt::format("{} is '{}', not a whole number", column, Text(column)));
    return value;
  }

  void Fail(std::string_view what) {
    if (status_.ok()) status_ = Status::BadInput(fmt::format("{}: {}", table_.Place(row_), what));
  }

 private:
  const CsvTable& table_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::size_t row_ = 0;
  Status status_;
};

KernelWork ReadWork(Form form, DType dtype, RowReader& row) {
  KernelWork work{.shape = {}, .dtype = dtype};
  switch (form) {
    case Form::kProduct:
    case Form::kProducts: {
      ProductWork product{.m = row.Extent("m"), .k = row.Extent("k"), .n = row.Extent("n")};
      product.batched = form == Form::kProducts;
      if (product.batched) product.batch = row.Extent("b");
      work.shape = product;
      return work;
    }
    case Form::kConvolution: {
      const ConvolutionWork convolution = {.batch = row.Extent("b"),
                                           .in_channels = row.Extent("cin"),
                                           .out_channels = row.Extent("cout"),
                                           .kernel = row.Extent("ksize"),
                                           .image = row.Extent("insize"),
                                           .stride = row.Extent("stride"),
                                           .padding = row.Number("pad", 0)};
      if (OutputSide(convolution) < 1) row.Fail("the kernel is larger than the padded image");
      work.shape = convolution;
      return work;
    }
    case Form::kSoftmax:
    case Form::kNorm:
      work.shape = RowwiseWork{.rows = row.Extent("rows"),
                               .columns = row.Extent("cols"),
                               .softmax = form == Form::kSoftmax};
      return work;
    case Form::kOfTwo:
    case Form::kOfOne: {
      const double tensors = form == Form::kOfTwo ? 3 : 2;
      work.shape = PointwiseWork{.bytes = row.Extent("rows") * row.Extent("cols") * tensors *
                                          BytesPerElement(dtype)};
      return work;
    }
  }
  return work;
}

/// A kernel of this length hides behind its launch on any host.
constexpr double kSmallNs = 1e4;
/// Calls up to so many times the host's time are the host's, too.
constexpr double kAlsoHost = 1.2;

/// What the host takes for a call, by operator; without calls that are small enough, none.
///
/// @param here  kernel times on the source, in ns
std::map<std::string, double> HostMs(const std::vector<MeasuredOperator>& operators,
                                     const std::vector<std::optional<double>>& here) {
  std::map<std::string, double> shortest;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (!here[i] || *here[i] > kSmallNs || operators[i].in_stream) continue;
    const MeasuredOperator& op = operators[i];
    const auto [at, added] = shortest.emplace(op.op, op.measured_ms);
    if (!added) at->second = std::min(at->second, op.measured_ms);
  }
  return shortest;
}

/// Time of an operator as it was measured, of its kernels'.
double MeasuredAs(const MeasuredOperator& op, double kernel_ns, const KernelConstants& constants) {
  if (op.in_stream) return kernel_ns / kNsPerMs;
  // A whole call between two events.
  const double call_us = ClassOf(op.work) == WorkClass::kConvolution ? constants.convolution_call_us
                                                                     : constants.call_us;
  return (kernel_ns + (call_us - constants.start_us) * kNsPerUs) / kNsPerMs;
}

/// @param floor  what the host takes for the call
PredictedMs WithRange(double mid, double floor, const ErrorRange& error,
                      const KernelConstants& constants) {
  PredictedMs ms{.low = mid * std::exp(error.low), .mid = mid, .high = mid * std::exp(error.high)};
  if (mid > kAlsoHost * floor) return ms;
  // The host's time, of another machine's host.
  ms.low = mid * std::exp(std::min(error.low, -constants.host_error));
  ms.high = mid * std::exp(std::max(error.high, constants.host_error));
  return ms;
}

}  // namespace

Result<std::vector<MeasuredOperator>> ReadMeasuredOperators(
    const CsvTable& table, const std::function<bool(const std::string&)>& is_source) {
  for (const std::string_view needed : {"op", "latency_ms"}) {
    if (!table.Column(needed)) {
      return Status::BadInput(
          fmt::format("{}: no column '{}'; a table of operators has op, latency_ms and dimensions "
                      "(docs/predict.md), and this one {}",
                      table.name, needed, fmt::join(table.header, ", ")));
    }
  }
  const bool has_device = table.Column("device").has_value();
  RowReader row(table);
  std::vector<MeasuredOperator> operators;
  operators.reserve(table.rows.size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    row.BeginRow(i);
    MeasuredOperator op;
    op.op = row.Text("op");
    const auto known = std::find_if(kOperators.begin(), kOperators.end(),
                                    [&](const KnownOperator& o) { return o.name == op.op; });
    if (known == kOperators.end()) {
      row.Fail(
          fmt::format("operator '{}' is not known (docs/predict.md lists those that are)", op.op));
      return row.status();
    }
    const std::string& type = row.Text("dtype");
    const auto dtype =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.first == type; });
    if (!type.empty() && dtype == kTypes.end())
      row.Fail(fmt::format("dtype '{}' is not one of fp32, tf32, fp16, bf16", type));
    op.work = ReadWork(known->form, dtype == kTypes.end() ? DType::kF32 : dtype->second, row);
    if (row.status().ok() && Operations(op.work) > kMostOperations)
      row.Fail(fmt::format("is more work than {:g} operations", kMostOperations));
    const std::string& timing = row.Text("timing");
    op.in_stream = timing == "stream";
    if (!timing.empty() && !op.in_stream && timing != "call")
      row.Fail(fmt::format("timing '{}' is neither call nor stream", timing));
    op.measured_ms = row.Number("latency_ms", 0);
    if (op.measured_ms <= 0) row.Fail("latency_ms must be above 0");
    // An empty cell is of the GPU that the table is said to be of.
    if (has_device && !row.Text("device").empty()) op.on_source = is_source(row.Text("device"));
    if (!row.status().ok()) return row.status();
    operators.push_back(std::move(op));
  }
  return operators;
}

std::optional<double> ModelledMs(const MeasuredOperator& op, const DeviceRates& rates,
                                 const KernelConstants& constants) {
  const std::optional<double> ns = KernelNs(op.work, rates, constants);
  if (!ns) return std::nullopt;
  return MeasuredAs(op, *ns, constants);
}

std::vector<std::optional<PredictedMs>> PredictOperators(
    const std::vector<MeasuredOperator>& operators, const DeviceRates& source,
    const DeviceRates& target, const KernelConstants& constants) {
  std::vector<std::optional<double>> source_ns(operators.size());
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (operators[i].on_source) source_ns[i] = KernelNs(operators[i].work, source, constants);
  }
  const std::map<std::string, double> host_ms = HostMs(operators, source_ns);
  const bool same_gpu = source.device->short_name == target.device->short_name;
  std::vector<std::optional<PredictedMs>> predictions(operators.size());
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const MeasuredOperator& op = operators[i];
    if (!source_ns[i]) continue;
    if (same_gpu) {
      predictions[i] = PredictedMs{op.measured_ms, op.measured_ms, op.measured_ms};
      continue;
    }
    const std::optional<double> target_ns = KernelNs(op.work, target, constants);
    if (!target_ns) continue;
    const double here = MeasuredAs(op, *source_ns[i], constants);
    const double there = MeasuredAs(op, *target_ns, constants);
    const double evidence = CorrectionOf(op.work, target).evidence;
    const double weight = ResidualWeight(ClassOf(op.work), source, target, evidence, constants);
    const auto host = host_ms.find(op.op);
    const double floor = host == host_ms.end() || op.in_stream ? 0 : host->second;
    const double beyond = op.measured_ms > kAlsoHost * floor
                              ? std::pow(op.measured_ms / std::max(here, floor), weight)
                              : 1;
    const ErrorRange error = RangeOf(ClassOf(op.work), target, evidence, constants);
    predictions[i] = WithRange(std::max(floor, there * beyond), floor, error, constants);
  }
  return predictions;
}

}  // namespace headroom
