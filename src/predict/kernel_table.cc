#include "predict/kernel_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "kernels/kernel_model.h"
#include "kernels/vector_time.h"

namespace headroom {
namespace {

/// Products of larger extents would overflow.
constexpr double kMaxExtent = 1e9;

enum class Form {
  kProduct,
  kProducts,
  kConvolution,
  kDataGradient,
  kWeightGradient,
  kSoftmax,
  kNorm,
  kOfTwo,
  kOfOne,
  kTwiceOfTwo,  ///< Two additions in a row.
  kInstructions,
  kBatchNorm,  ///< In training.
  kPrefill,
  kDecode,
  kAttentionGradient,
  kGrouped,
};

struct KnownOperator {
  std::string_view name;
  Form form;
  double KernelConstants::*call_us = &KernelConstants::call_us;
  // For kInstructions:
  InstructionKind kind = InstructionKind::kGelu;
  double tensors = 2;  ///< Read and written, of `cols` elements per row.
};
constexpr std::array kOperators = {
    KnownOperator{"bmm", Form::kProducts, &KernelConstants::bmm_call_us},
    KnownOperator{"linear", Form::kProduct, &KernelConstants::linear_call_us},
    KnownOperator{"conv", Form::kConvolution, &KernelConstants::convolution_call_us},
    KnownOperator{"conv_dgrad", Form::kDataGradient, &KernelConstants::convolution_call_us},
    KnownOperator{"conv_wgrad", Form::kWeightGradient, &KernelConstants::convolution_call_us},
    KnownOperator{"softmax", Form::kSoftmax, &KernelConstants::softmax_call_us},
    KnownOperator{"ln", Form::kNorm, &KernelConstants::norm_call_us},
    KnownOperator{"batch_norm", Form::kBatchNorm, &KernelConstants::norm_call_us},
    KnownOperator{"add", Form::kOfTwo},
    KnownOperator{"mul", Form::kOfTwo},
    KnownOperator{"div", Form::kOfTwo},
    KnownOperator{"pow", Form::kOfTwo},
    KnownOperator{"addu", Form::kOfOne},
    KnownOperator{"mulu", Form::kOfOne},
    KnownOperator{"divu", Form::kOfOne},
    KnownOperator{"powu", Form::kOfOne},
    KnownOperator{"relu", Form::kOfOne},
    KnownOperator{"tanh", Form::kOfOne},
    KnownOperator{"add3", Form::kTwiceOfTwo},
    KnownOperator{"gelu", Form::kInstructions},
    KnownOperator{.name = "rmsnorm",
                  .form = Form::kInstructions,
                  .call_us = &KernelConstants::norm_call_us,
                  .kind = InstructionKind::kRmsNorm},
    KnownOperator{.name = "silu_mul",
                  .form = Form::kInstructions,
                  .kind = InstructionKind::kSiluTimes,
                  .tensors = 3},
    KnownOperator{.name = "rope", .form = Form::kInstructions, .kind = InstructionKind::kRotary},
    KnownOperator{
        .name = "embedding", .form = Form::kInstructions, .kind = InstructionKind::kGather},
    KnownOperator{"attn_prefill", Form::kPrefill},
    KnownOperator{"attn_decode", Form::kDecode},
    KnownOperator{"attn_backward", Form::kAttentionGradient},
    KnownOperator{"moe_grouped_gemm", Form::kGrouped, &KernelConstants::linear_call_us},
};

constexpr std::array<std::pair<std::string_view, DType>, 5> kTypes = {{{"fp32", DType::kF32},
                                                                       {"tf32", DType::kTF32},
                                                                       {"fp16", DType::kF16},
                                                                       {"bf16", DType::kBF16},
                                                                       {"fp8", DType::kF8}}};

/// Reads cells of one table; keeps the first failure.
class RowReader {
 public:
  explicit RowReader(const CsvTable& table) : table_(table) {
    for (std::size_t i = 0; i < table.header.size(); ++i) columns_.emplace(table.header[i], i);
  }

  void BeginRow(std::size_t row) { row_ = row; }
  const Status& status() const { return status_; }

  /// Returns an empty string if the column is missing.
  const std::string& Text(std::string_view column) const {
    static const std::string kNone;
    const auto at = columns_.find(column);
    return at == columns_.end() ? kNone : table_.rows[row_][at->second];
  }

  /// Reads a number of at least `least`, up to the limit for computing times.
  double Number(std::string_view column, double least) {
    const std::string& text = Text(column);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() ||
        !std::isfinite(value) || value < least || value > kMaxExtent) {
      Fail(fmt::format("{} is '{}', not a number from {} to {}", column, text, least, kMaxExtent));
      return least;
    }
    return value;
  }

  /// Reads a size: a whole number of at least 1.
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

/// Reads a layout in the letters of BLAS. BLAS matrices are column-major, so the first letter is
/// for the second operand of a row-major product.
void ReadLayout(RowReader& row, ProductWork& product) {
  std::string_view layout = row.Text("layout");
  // A bmm multiplies matrices without transposing them; a linear layer's weight is (n x k).
  if (layout.empty()) layout = product.batched ? "nn" : "tn";
  constexpr std::string_view kLetters = "ntNT";
  if (layout.size() != 2 || layout.find_first_not_of(kLetters) != std::string_view::npos) {
    row.Fail(fmt::format("layout is '{}', not one of nn, nt, tn, tt", layout));
    return;
  }
  product.second_along_k = layout[0] == 't' || layout[0] == 'T';
  product.first_along_k = layout[1] == 'n' || layout[1] == 'N';
}

/// Reads a convolution or one of its gradients. A gradient has the dimensions of its forward.
KernelWork ReadConvolution(Form form, DType dtype, RowReader& row) {
  const ConvolutionWork work = {.batch = row.Extent("b"),
                                .in_channels = row.Extent("cin"),
                                .out_channels = row.Extent("cout"),
                                .kernel = row.Extent("ksize"),
                                .image = row.Extent("insize"),
                                .stride = row.Extent("stride"),
                                .padding = row.Number("pad", 0)};
  if (OutputSide(work) < 1)
    row.Fail("the kernel is larger than the padded image; correct ksize, insize or pad");
  const std::string& layout = row.Text("layout");
  const bool channels_last = layout == "nhwc";
  if (!layout.empty() && !channels_last && layout != "nchw")
    row.Fail(fmt::format("layout of a convolution is '{}', not nchw or nhwc", layout));
  if (form == Form::kConvolution && !channels_last) return {.shape = work, .dtype = dtype};
  ConvolutionShape shape = GeneralShape(work, dtype);
  shape.channels_last = channels_last;
  shape.data_gradient = form == Form::kDataGradient;
  shape.weight_gradient = form == Form::kWeightGradient;
  return {.shape = shape, .dtype = dtype};
}

KernelWork ReadAttention(Form form, DType dtype, RowReader& row) {
  AttentionWork work = {.batch = row.Extent("batch"),
                        .query_heads = row.Extent("q_heads"),
                        .key_heads = row.Extent("kv_heads"),
                        .head_size = row.Extent("head_dim"),
                        .queries = form == Form::kDecode ? 1 : row.Extent("q_len"),
                        .keys = row.Extent("kv_len"),
                        .backward = form == Form::kAttentionGradient};
  if (work.query_heads < work.key_heads) row.Fail("q_heads must be kv_heads or more");
  if (work.keys < work.queries)
    row.Fail("kv_len must be q_len or more: it includes the new tokens");
  return {.shape = work, .dtype = dtype};
}

KernelWork ReadGrouped(DType dtype, RowReader& row) {
  GroupedWork work = {.groups = row.Extent("experts_here"),
                      .hidden = row.Extent("hidden"),
                      .expert_hidden = row.Extent("expert_hidden")};
  const std::string& gated = row.Text("gated");
  work.gated = gated.empty() || gated == "True" || gated == "true" || gated == "1";
  work.rows = row.Text("routed_tokens_here").empty()
                  ? row.Extent("tokens") * row.Extent("top_k") * work.groups / row.Extent("experts")
                  : row.Number("routed_tokens_here", 0);
  work.rows = std::max(1.0, work.rows);
  return {.shape = work, .dtype = dtype};
}

KernelWork ReadWork(const KnownOperator& known, DType dtype, RowReader& row) {
  KernelWork work{.shape = {}, .dtype = dtype};
  const auto elements = [&] { return row.Extent("rows") * row.Extent("cols"); };
  switch (known.form) {
    case Form::kProduct:
    case Form::kProducts: {
      ProductWork product{.m = row.Extent("m"), .k = row.Extent("k"), .n = row.Extent("n")};
      product.batched = known.form == Form::kProducts;
      product.quantizes = dtype == DType::kF8;
      if (product.batched) product.batch = row.Extent("b");
      ReadLayout(row, product);
      work.shape = product;
      return work;
    }
    case Form::kConvolution:
    case Form::kDataGradient:
    case Form::kWeightGradient:
      return ReadConvolution(known.form, dtype, row);
    case Form::kSoftmax:
    case Form::kNorm:
      work.shape = RowwiseWork{.rows = row.Extent("rows"),
                               .columns = row.Extent("cols"),
                               .softmax = known.form == Form::kSoftmax};
      return work;
    case Form::kOfTwo:
    case Form::kOfOne: {
      const double tensors = known.form == Form::kOfTwo ? 3 : 2;
      work.shape = PointwiseWork{.bytes = elements() * tensors * BytesPerElement(dtype)};
      return work;
    }
    case Form::kTwiceOfTwo: {
      constexpr double kTensors = 6, kKernels = 2;
      work.shape = PointwiseWork{.bytes = elements() * kTensors * BytesPerElement(dtype),
                                 .kernels = kKernels};
      return work;
    }
    case Form::kInstructions: {
      const double count = elements();
      work.shape = InstructionWork{.kind = known.kind,
                                   .elements = count,
                                   .bytes = count * known.tensors * BytesPerElement(dtype)};
      return work;
    }
    case Form::kBatchNorm: {
      constexpr double kTensors = 3, kWord = 4;  // Reads its input twice.
      const double bytes = elements() * kTensors * BytesPerElement(dtype);
      work.shape = InstructionWork{
          .kind = InstructionKind::kStatistics, .elements = bytes / kWord, .bytes = bytes};
      return work;
    }
    case Form::kPrefill:
    case Form::kDecode:
    case Form::kAttentionGradient:
      return ReadAttention(known.form, dtype, row);
    case Form::kGrouped:
      return ReadGrouped(dtype, row);
  }
  return work;
}

/// Kernels up to this length are too short to affect the time of their call.
constexpr double kSmallNs = 1e4;
/// Minimum share of such kernels among an operator's calls. If the share is smaller, these calls
/// are slow for another reason.
constexpr double kMinShare = 0.02;
/// Calls up to this multiple of the host's time have the error range of another machine's host.
constexpr double kAlsoHost = 1.2;

constexpr std::array<std::string_view, 32> kColumns = {"op",
                                                       "b",
                                                       "m",
                                                       "k",
                                                       "n",
                                                       "rows",
                                                       "cols",
                                                       "cin",
                                                       "cout",
                                                       "ksize",
                                                       "insize",
                                                       "stride",
                                                       "pad",
                                                       "dtype",
                                                       "timing",
                                                       "layout",
                                                       "latency_ms",
                                                       "device",
                                                       "batch",
                                                       "q_heads",
                                                       "kv_heads",
                                                       "head_dim",
                                                       "q_len",
                                                       "kv_len",
                                                       "tokens",
                                                       "experts",
                                                       "experts_here",
                                                       "top_k",
                                                       "hidden",
                                                       "expert_hidden",
                                                       "gated",
                                                       "routed_tokens_here"};

/// Returns the typical host time of an operator's call in ns, in addition to its kernel.
double UsualHostNs(const std::string& op, const KernelConstants& constants) {
  const auto known = std::find_if(kOperators.begin(), kOperators.end(),
                                  [&](const KnownOperator& o) { return o.name == op; });
  const double call_us =
      known == kOperators.end() ? constants.call_us : constants.*(known->call_us);
  return std::max(0.0, call_us - constants.start_us) * kNsPerUs;
}

/// Returns true if the measured time is possible on a GPU.
///
/// @param model_ns  modelled time of its kernel
bool IsPlausible(const MeasuredOperator& op, double model_ns, const DeviceRates& rates,
                 const KernelConstants& constants) {
  // The lower limit is relative to the data sheet, because caches are several times as fast as
  // memory. The upper limit exceeds any model error. Beyond it, the unit is wrong or the GPU was
  // cold.
  constexpr double kTooFast = 0.1, kTooSlow = 100;
  const double measured_ns = op.measured_ms * kNsPerMs;
  const double usual_ns = model_ns + (op.in_stream ? 0 : UsualHostNs(op.op, constants));
  return measured_ns > kTooFast * FullRateNs(op.work, rates) && measured_ns < kTooSlow * usual_ns;
}

/// Returns the host's time per call in ns, in addition to the kernel, by operator. Uses the 5th
/// percentile of the calls with small kernels. Omits operators with too few such calls.
///
/// @param model  modelled kernel times in ns
std::map<std::string, double> ShownHostNs(const std::vector<MeasuredOperator>& operators,
                                          const std::vector<std::optional<double>>& model,
                                          const DeviceRates& rates,
                                          const KernelConstants& constants) {
  // Fewer calls can all be slow for another reason, such as the first calls of a process.
  constexpr std::size_t kMinCalls = 3;
  struct Calls {
    std::size_t all = 0;
    std::vector<double> hosts;
  };
  std::map<std::string, Calls> by_operator;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const MeasuredOperator& op = operators[i];
    if (!model[i] || op.in_stream || op.measured_ms == 0 ||
        !IsPlausible(op, *model[i], rates, constants))
      continue;
    Calls& calls = by_operator[op.op];
    ++calls.all;
    const double host = op.measured_ms * kNsPerMs - *model[i];
    if (*model[i] <= kSmallNs && host > 0) calls.hosts.push_back(host);
  }
  std::map<std::string, double> shown;
  for (auto& [op, calls] : by_operator) {
    if (calls.hosts.size() < kMinCalls ||
        static_cast<double>(calls.hosts.size()) < kMinShare * static_cast<double>(calls.all))
      continue;
    // Discards the fastest 1 / 20, because their timing can be wrong.
    constexpr std::size_t kOneOf = 20;
    const auto at = calls.hosts.begin() + static_cast<std::ptrdiff_t>(calls.hosts.size() / kOneOf);
    std::nth_element(calls.hosts.begin(), at, calls.hosts.end());
    shown[op] = *at;
  }
  return shown;
}

/// PyTorch before 2.7 gathers rows with a kernel that takes up to e ^ this times as long. A table
/// does not state the version.
constexpr double kOlderGather = 1.9;

/// Returns a range that contains 80 % of the rows of gpu-modern/ of this kind; empty for kinds
/// whose class has the right range.
ErrorRange RangeOfKind(const KernelWork& work) {
  const auto* instructions = std::get_if<InstructionWork>(&work.shape);
  if (instructions != nullptr && instructions->kind == InstructionKind::kGather)
    return {.low = 0, .high = kOlderGather};
  // Experts do not get the same number of rows.
  if (std::holds_alternative<GroupedWork>(work.shape)) return {.low = -0.25, .high = 0.55};
  const WorkClass of = ClassOf(work);
  // The class was measured in float32. Half the bytes are more often still in the L2.
  if (IsTensorCoreType(work.dtype) && (of == WorkClass::kPointwise || of == WorkClass::kRowwise))
    return {.low = -0.35, .high = 0.25};
  return {};
}

/// @param host_ns  part of `ns` on the host
PredictedMs WithRange(double ns, double host_ns, const ErrorRange& error,
                      const KernelConstants& constants) {
  ErrorRange range = error;
  if (ns < kAlsoHost * host_ns) {  // The host of another machine takes a different time.
    range.low = std::min(range.low, -constants.host_error);
    range.high = std::max(range.high, constants.host_error);
  }
  const double mid = ns / kNsPerMs;
  return {.low = mid * std::exp(range.low), .mid = mid, .high = mid * std::exp(range.high)};
}

}  // namespace

std::vector<std::string> MisspeltColumns(const CsvTable& table) {
  std::vector<std::string_view> missing;
  for (const std::string_view column : kColumns) {
    if (!table.Column(column)) missing.push_back(column);
  }
  std::vector<std::string> found;
  for (const std::string& name : table.header) {
    if (std::find(kColumns.begin(), kColumns.end(), name) != kColumns.end()) continue;
    const std::vector<std::string_view> near = NearNames(name, missing);
    if (!near.empty()) found.push_back(fmt::format("'{}' ({}?)", name, near.front()));
  }
  return found;
}

Result<std::vector<MeasuredOperator>> ReadMeasuredOperators(
    const CsvTable& table, const std::function<bool(const std::string&)>& is_source) {
  for (const std::string_view needed : {"op", "latency_ms"}) {
    if (!table.Column(needed)) {
      return Status::BadInput(fmt::format(
          "{}: no column '{}'; a table of operators requires op, latency_ms and dimensions "
          "(docs/predict.md); its columns are {}",
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
      row.Fail(fmt::format("unknown operator '{}'; docs/predict.md lists the known ones", op.op));
      return row.status();
    }
    const std::string& type = row.Text("dtype");
    const auto dtype =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.first == type; });
    if (!type.empty() && dtype == kTypes.end())
      row.Fail(fmt::format("dtype '{}' is not one of fp32, tf32, fp16, bf16, fp8", type));
    op.work = ReadWork(*known, dtype == kTypes.end() ? DType::kF32 : dtype->second, row);
    if (row.status().ok() && Operations(op.work) > kMaxOperations)
      row.Fail(fmt::format("the operator exceeds {:g} operations; correct its dimensions",
                           kMaxOperations));
    const std::string& timing = row.Text("timing");
    op.in_stream = timing == "stream";
    if (!timing.empty() && !op.in_stream && timing != "call")
      row.Fail(fmt::format("timing '{}' is neither call nor stream", timing));
    if (!row.Text("latency_ms").empty()) {
      op.measured_ms = row.Number("latency_ms", 0);
      if (op.measured_ms <= 0) row.Fail("latency_ms must be above 0, or empty if not measured");
    }
    // An empty cell means the GPU that the user named for the table.
    if (has_device && !row.Text("device").empty()) op.on_source = is_source(row.Text("device"));
    if (!row.status().ok()) return row.status();
    operators.push_back(std::move(op));
  }
  return operators;
}

std::vector<std::optional<TimedKernel>> TimedKernels(const std::vector<MeasuredOperator>& operators,
                                                     const DeviceRates& rates,
                                                     const KernelConstants& constants) {
  std::vector<std::optional<double>> model(operators.size());
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (operators[i].on_source) model[i] = KernelNs(operators[i].work, rates, constants);
  }
  const std::map<std::string, double> shown = ShownHostNs(operators, model, rates, constants);
  // A call hardly longer than its host's time gives little information about its kernel.
  constexpr double kMinTimes = 0.01;
  constexpr double kMaxHost =
      0.8;  // Share of a call, or the part beyond the model if that is more.
  std::vector<std::optional<TimedKernel>> kernels(operators.size());
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (!model[i]) continue;
    const MeasuredOperator& op = operators[i];
    const auto at = shown.find(op.op);
    TimedKernel kernel;
    if (!op.in_stream)
      kernel.host_ns = at == shown.end() ? UsualHostNs(op.op, constants) : at->second;
    if (op.measured_ms > 0) {
      const double measured_ns = op.measured_ms * kNsPerMs;
      // A measured call bounds the host's time that was assumed or derived from other calls.
      const double most = std::max(kMaxHost * measured_ns, measured_ns - *model[i]);
      kernel.host_ns = std::min(kernel.host_ns, most);
      kernel.times = std::max(kMinTimes, (measured_ns - kernel.host_ns) / *model[i]);
    }
    kernels[i] = kernel;
  }
  return kernels;
}

bool OnTensorCores(const KernelWork& work) {
  const WorkClass of = ClassOf(work);
  return of == WorkClass::kTensorProduct || of == WorkClass::kAttention ||
         (of == WorkClass::kConvolution && work.dtype != DType::kF32);
}

TableUncertainty UncertaintyOf(const std::vector<MeasuredOperator>& operators,
                               const DeviceRates& source, const KernelConstants& constants) {
  TableUncertainty doubts;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const MeasuredOperator& op = operators[i];
    if (!op.on_source || op.measured_ms <= 0) continue;
    const std::optional<double> model = KernelNs(op.work, source, constants);
    if (!model || IsPlausible(op, *model, source, constants)) continue;
    if (doubts.implausible++ == 0) doubts.first = i;
  }
  return doubts;
}

std::vector<std::optional<PredictedMs>> PredictOperators(
    const std::vector<MeasuredOperator>& operators, const DeviceRates& source,
    const DeviceRates& target, const KernelConstants& constants) {
  const std::vector<std::optional<TimedKernel>> here = TimedKernels(operators, source, constants);
  // Measurements of the same kernels show which algorithm they use.
  DeviceRates told = target;
  told.untried_convolutions &= source.library != target.library;
  const bool same_gpu = source.device->short_name == target.device->short_name;
  std::vector<std::optional<PredictedMs>> predictions(operators.size());
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const MeasuredOperator& op = operators[i];
    if (!here[i]) continue;
    if (same_gpu && op.measured_ms > 0) {
      predictions[i] = PredictedMs{op.measured_ms, op.measured_ms, op.measured_ms};
      continue;
    }
    const std::optional<double> target_ns = KernelNs(op.work, target, constants);
    if (!target_ns) continue;
    const double evidence = CorrectionOf(op.work, target).evidence;
    const double weight = ResidualWeight(ClassOf(op.work), source, target, evidence, constants);
    const double kernel_ns = *target_ns * std::pow(here[i]->times, weight);
    DeviceRates known = op.measured_ms > 0 ? told : target;
    if (ClassOf(op.work) == WorkClass::kConvolution && OnTensorCores(op.work))
      known.error_scale *= kTensorCoreDoubt;
    ErrorRange error = RangeOf(ClassOf(op.work), known, evidence, constants);
    error = error.Joined(RangeOfKind(op.work));
    predictions[i] = WithRange(here[i]->host_ns + kernel_ns, here[i]->host_ns, error, constants);
  }
  return predictions;
}

}  // namespace headroom
