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

#include "predict/kernel_model.h"

namespace headroom {
namespace {

constexpr double kNsPerMs = 1e6, kNsPerUs = 1e3;
/// Beyond these, products of extents have no room.
constexpr double kMostExtent = 1e12;

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
  explicit RowReader(const CsvTable& table) : table_(table) {}

  void BeginRow(std::size_t row) { row_ = row; }
  const Status& status() const { return status_; }

  /// Empty where there is no such column.
  const std::string& Text(std::string_view column) const {
    static const std::string kNone;
    const std::optional<std::size_t> at = table_.Column(column);
    return at ? table_.rows[row_][*at] : kNone;
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

  /// A size: 1 or more.
  double Extent(std::string_view column) { return Number(column, 1); }

  void Fail(std::string_view what) {
    if (status_.ok()) status_ = Status::BadInput(fmt::format("{}: {}", table_.Place(row_), what));
  }

 private:
  const CsvTable& table_;
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
      if (convolution.image + 2 * convolution.padding < convolution.kernel)
        row.Fail("the kernel is larger than the padded image");
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
constexpr double kSmallMs = 0.01;
/// Calls up to so many times the host's time are the host's, too.
constexpr double kAlsoHost = 1.2;

/// What the host takes for a call, by operator; without calls that are small enough, none.
std::map<std::string, double> HostMs(const std::vector<MeasuredOperator>& operators,
                                     const DeviceRates& source, const KernelConstants& constants) {
  std::map<std::string, double> shortest;
  for (const MeasuredOperator& op : operators) {
    const std::optional<double> ns = KernelNs(op.work, source, constants);
    if (!op.on_source || !ns || *ns > kSmallMs * kNsPerMs) continue;
    const auto [at, added] = shortest.emplace(op.op, op.measured_ms);
    if (!added) at->second = std::min(at->second, op.measured_ms);
  }
  return shortest;
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
    op.measured_ms = row.Number("latency_ms", 0);
    if (op.measured_ms <= 0) row.Fail("latency_ms must be above 0");
    if (has_device) op.on_source = is_source(row.Text("device"));
    if (!row.status().ok()) return row.status();
    operators.push_back(std::move(op));
  }
  return operators;
}

std::optional<double> CallMs(const KernelWork& work, const DeviceRates& rates,
                             const KernelConstants& constants) {
  const std::optional<double> ns = KernelNs(work, rates, constants);
  if (!ns) return std::nullopt;
  const double call_us =
      ClassOf(work) == WorkClass::kConvolution ? constants.convolution_call_us : constants.call_us;
  return (*ns + (call_us - constants.start_us) * kNsPerUs) / kNsPerMs;
}

std::vector<std::optional<PredictedMs>> PredictOperators(
    const std::vector<MeasuredOperator>& operators, const DeviceRates& source,
    const DeviceRates& target, const KernelConstants& constants) {
  const std::map<std::string, double> host_ms = HostMs(operators, source, constants);
  const bool same_kernels = source.library == target.library;
  std::vector<std::optional<PredictedMs>> predictions;
  predictions.reserve(operators.size());
  for (const MeasuredOperator& op : operators) {
    const std::optional<double> here = CallMs(op.work, source, constants);
    const std::optional<double> there = CallMs(op.work, target, constants);
    if (!op.on_source || !here || !there) {
      predictions.emplace_back();
      continue;
    }
    const auto index = static_cast<std::size_t>(ClassOf(op.work));
    const double weight =
        same_kernels ? constants.residual_same[index] : constants.residual_other[index];
    const auto host = host_ms.find(op.op);
    const double floor = host == host_ms.end() ? 0 : host->second;
    const double beyond = op.measured_ms > kAlsoHost * floor
                              ? std::pow(op.measured_ms / std::max(*here, floor), weight)
                              : 1;
    const ErrorRange& error =
        target.low_power ? constants.low_power_errors[index] : constants.errors[index];
    const double mid = std::max(floor, *there * beyond);
    predictions.push_back(PredictedMs{.low = std::max(floor, mid * std::exp(error.low)),
                                      .mid = mid,
                                      .high = mid * std::exp(error.high)});
    if (source.device->short_name == target.device->short_name) {
      predictions.back() = PredictedMs{op.measured_ms, op.measured_ms, op.measured_ms};
    }
  }
  return predictions;
}

}  // namespace headroom
