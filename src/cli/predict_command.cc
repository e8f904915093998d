#include "cli/predict_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/format.h"
#include "base/read_file.h"
#include "base/text.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cost/device_spec.h"
#include "predict/csv_table.h"
#include "predict/energy.h"
#include "predict/job_prediction.h"
#include "predict/kernel_table.h"
#include "predict/operator_list.h"
#include "predict/step_estimate.h"
#include "report/escape.h"
#include "whatif/forecast.h"

namespace headroom::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  headroom predict trace.json.gz --gpu H100,L4,A100-80   the recorded job on other GPUs
  headroom predict trace.json.gz                         on all that are known
  headroom predict --ops ops.csv --gpu A100-40,V100      a step known by operators and shapes alone
  headroom predict --kernels t4.csv --from T4 --to L4 -o l4.csv   a table of measured operators
  headroom predict trace.json.gz --gpu mine --gpu-file mine.toml  a GPU of your own (docs/devices.md)

Each time has the range in which four of five true ones lay on GPUs that had no part in the model.

Exit codes: 0 fine; 2 usage, an unknown GPU; 3 an input is unreadable, or has nothing to predict;
4 cannot write, or internal error.
)";

/// Intervals of both, of one workload.
bool Overlap(const PredictedMs& a, const PredictedMs& b) {
  return a.low <= b.high && b.low <= a.high;
}

void AddFits(const JobMemory& memory, std::span<PredictedTarget> targets) {
  std::vector<double> bytes;
  for (const PredictedTarget& target : targets)
    bytes.push_back(target.gpu_memory_bytes.value_or(0));
  const std::vector<MemoryFit> fits = FitsOf(memory, bytes);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    targets[i].memory_bytes = memory.recorded_bytes.value_or(memory.peak.peak_bytes);
    if (!targets[i].gpu_memory_bytes) continue;
    targets[i].fits = fits[i].fits;
    targets[i].largest_batch = fits[i].samples;
  }
}

/// Fills in which GPUs cannot be told apart.
void FindTies(std::vector<PredictedTarget>& targets) {
  for (PredictedTarget& target : targets) {
    for (const PredictedTarget& other : targets) {
      if (&other != &target && other.group == target.group && Overlap(target.step, other.step))
        target.ties.push_back(other.gpu);
    }
  }
}

Result<std::string> ReadRequired(const std::string& flag, const std::string& path) {
  Result<std::optional<std::string>> text = ReadFile(path);
  if (!text.ok()) return text.status();
  if (!text.value())
    return Status::BadInput(fmt::format("{} {}: there is no such file", flag, path));
  return std::move(*text.value());
}

}  // namespace

PredictCommand::PredictCommand(CLI::App& parent) {
  app_ = parent.add_subcommand("predict", "What a step takes on another GPU");
  app_->footer(kExamples);
  app_->add_option("TRACE", traces_, "PyTorch-profiler trace or recording; several give a matrix")
      ->type_name("");
  app_->add_option("--gpu", gpus_, "GPUs to predict for [all with a device file]")
      ->type_name("NAME,...")
      ->delimiter(',');
  app_->add_option("--ops", operators_path_, "A list of operators instead of a trace")
      ->type_name("FILE");
  app_->add_option("--kernels", table_path_, "A table of operators measured on --from")
      ->type_name("FILE");
  app_->add_option("--from", from_,
                   "GPU that --kernels was measured on, or a trace that does not say")
      ->type_name("NAME");
  app_->add_option("--to", to_, "GPU to predict --kernels for")->type_name("NAME");
  app_->add_option("--gpu-file", gpu_files_, "Further device files, as data/devices/*.toml")
      ->type_name("FILE");
  app_->add_option("--constants", constants_path_,
                   "Constants of the kernel models instead of the built-in ones")
      ->type_name("FILE");
  app_->add_option("--host-factor", host_factor_,
                   "How many times as fast the other machine's host is [1]")
      ->type_name("F")
      ->check(AboveZero, "");
  app_->add_option("--total-steps", total_steps_, "Steps of the whole job: hours, money and CO2")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}), "");
  app_->add_option("--prices", prices_path_, "Instances with prices [a small dated sample]")
      ->type_name("FILE");
  app_->add_option("--provider", provider_, "Only instances of this provider")->type_name("NAME");
  app_->add_option("--region", region_, "Grid that feeds the GPU: DE, US, gcp:..., [WORLD]")
      ->type_name("CODE");
  app_->add_option("--pue", pue_, "Overhead of the data centre: a number, or whose [survey]")
      ->type_name("X");
  app_->add_option("--carbon", carbon_path_, "Grids and overheads over the built-in ones")
      ->type_name("FILE");
  app_->add_flag("--json", json_, "One JSON object, format headroom.predict/1");
  app_->add_option("-o,--output,--out", output_path_,
                   "Write to FILE, whole or not at all, not to stdout")
      ->type_name("FILE");
  AddJobFlags(*app_, options_);
  app_->add_flag("-q,--quiet", options_.quiet, "No remarks and no progress on stderr");
}

Status PredictCommand::CheckFlags() const {
  const int inputs =
      (traces_.empty() ? 0 : 1) + (operators_path_.empty() ? 0 : 1) + (table_path_.empty() ? 0 : 1);
  if (inputs != 1) {
    return Status::Usage(
        "one input: TRACE, --ops FILE or --kernels FILE (headroom predict --help has examples)");
  }
  if (table_path_.empty() && !to_.empty())
    return Status::Usage("--to belongs to --kernels; name GPUs with --gpu");
  if (!operators_path_.empty() && !from_.empty())
    return Status::Usage("--ops FILE is of no GPU: leave out --from");
  if (!table_path_.empty() && (from_.empty() || to_.empty() || !gpus_.empty() || json_)) {
    return Status::Usage(
        "--kernels FILE takes --from NAME and --to NAME, and writes a table: no --gpu, no --json");
  }
  const bool plan_flags = !prices_path_.empty() || !provider_.empty() || !region_.empty() ||
                          !pue_.empty() || !carbon_path_.empty();
  if (plan_flags && (!total_steps_ || !table_path_.empty())) {
    return Status::Usage(
        "--prices, --provider, --region, --pue and --carbon are about a whole job: say its length "
        "with --total-steps N");
  }
  const bool trace_flags = app_->get_option("--host-factor")->count() > 0 ||
                           options_.measured_step_ms || !options_.steps.empty() ||
                           !options_.step_marker.empty() || !options_.calibration.path.empty();
  if (trace_flags && traces_.empty()) {
    return Status::Usage(
        "--host-factor, --steps, --step-marker, --measured-step-ms and --calibration are about a "
        "recorded job: they belong to a TRACE");
  }
  if (total_steps_ && !table_path_.empty())
    return Status::Usage("--total-steps is about a job; --kernels FILE is a table of operators");
  if (options_.measured_step_ms && traces_.size() != 1)
    return Status::Usage("--measured-step-ms is of one job: give one TRACE");
  std::vector<std::string> inputs_read = traces_;
  for (const std::string& path : {operators_path_, table_path_, constants_path_, prices_path_,
                                  carbon_path_, options_.calibration.path}) {
    if (!path.empty()) inputs_read.push_back(path);
  }
  inputs_read.insert(inputs_read.end(), gpu_files_.begin(), gpu_files_.end());
  if (output_path_.empty() || output_path_ == "-") return Status::Ok();
  return RefuseToOverwrite("-o", output_path_, inputs_read);
}

Status PredictCommand::LoadKnowledge() {
  gpu_texts_.reserve(gpu_files_.size());  // Names and texts are viewed.
  std::vector<NamedText> files;
  for (const std::string& path : gpu_files_) {
    Result<std::string> text = ReadRequired("--gpu-file", path);
    if (!text.ok()) return text.status();
    gpu_texts_.push_back(std::move(text).value());
    files.push_back({path, gpu_texts_.back()});
  }
  options_.device_files = files;
  Result<std::unique_ptr<Knowledge>> knowledge = Knowledge::LoadBuiltIn(files);
  if (!knowledge.ok()) return knowledge.status();
  knowledge_ = std::move(knowledge).value();
  if (!files.empty()) {
    // What the user adds says nothing of what other cards sustain.
    Result<std::unique_ptr<Knowledge>> shipped = Knowledge::LoadBuiltIn();
    if (!shipped.ok()) return shipped.status();
    shipped_ = std::move(shipped).value();
  }
  if (!constants_path_.empty()) {
    Result<std::string> text = ReadRequired("--constants", constants_path_);
    if (!text.ok()) return text.status();
    constants_text_ = std::move(text).value();
  }
  Result<KernelConstants> constants =
      constants_path_.empty() ? KernelConstants::LoadBuiltIn()
                              : KernelConstants::Parse({constants_path_, constants_text_});
  if (!constants.ok()) return constants.status();
  constants_ = std::move(constants).value();
  return Status::Ok();
}

const DeviceCatalog& PredictCommand::ShippedDevices() const {
  return shipped_ ? shipped_->devices() : knowledge_->devices();
}

Result<DeviceRates> PredictCommand::RatesNamed(const std::string& name) const {
  const DeviceCatalog& catalog = knowledge_->devices();
  const DeviceSpec* device = catalog.Find(name);
  if (device == nullptr) {
    std::vector<std::string_view> names;
    for (const DeviceSpec& known : catalog.devices()) names.push_back(known.short_name);
    return Status::Usage(fmt::format(
        "no GPU '{}' is known; near names: {}. A GPU is added by a file of its data sheet: "
        "--gpu-file FILE (docs/devices.md)",
        name, fmt::join(NearNames(name, std::move(names)), ", ")));
  }
  return RatesOf(*device, ShippedDevices(), constants_);
}

Result<std::vector<DeviceRates>> PredictCommand::Targets() const {
  std::vector<DeviceRates> targets;
  for (const std::string& name : gpus_) {
    Result<DeviceRates> found = RatesNamed(name);
    if (!found.ok()) return found.status();
    // One GPU has many names.
    const auto same = [&](const DeviceRates& other) {
      return other.device == found.value().device;
    };
    if (std::none_of(targets.begin(), targets.end(), same))
      targets.push_back(std::move(found).value());
  }
  if (!gpus_.empty()) return targets;
  for (const DeviceSpec& device : knowledge_->devices().devices()) {
    Result<DeviceRates> found = RatesOf(device, ShippedDevices(), constants_);
    if (found.ok()) {
      targets.push_back(std::move(found).value());
    } else if (!options_.quiet) {
      Remark(fmt::format("left out: {}\n", found.status().message()));
    }
  }
  return targets;
}

std::string PredictCommand::WhyExtrapolated(const DeviceRates& rates) const {
  std::string why;
  if (!constants_.Validated(rates.device->architecture)) {
    why = fmt::format("no GPU of the {} architecture had a part in the models",
                      rates.device->architecture);
  }
  if (!rates.guessed.empty()) {
    why += fmt::format("{}its device file does not give {}: a usual value stands in",
                       why.empty() ? "" : "; ", rates.guessed);
  }
  return why;
}

Status PredictCommand::PredictTable() const {
  const Result<DeviceRates> source = RatesNamed(from_), target = RatesNamed(to_);
  if (!source.ok()) return source.status();
  if (!target.ok()) return target.status();
  const Result<CsvTable> table = ReadCsv(table_path_);
  if (!table.ok()) return table.status();
  const DeviceCatalog& catalog = knowledge_->devices();
  std::map<std::string, bool> is_source;  // By name of a device.
  const Result<std::vector<MeasuredOperator>> operators =
      ReadMeasuredOperators(table.value(), [&](const std::string& name) {
        const auto [entry, is_new] = is_source.try_emplace(name);
        if (is_new) entry->second = catalog.Find(name) == source.value().device;
        return entry->second;
      });
  if (!operators.ok()) return operators.status();
  const std::vector<std::optional<PredictedMs>> predictions =
      PredictOperators(operators.value(), source.value(), target.value(), constants_);
  if (std::none_of(predictions.begin(), predictions.end(),
                   [](const auto& prediction) { return prediction.has_value(); })) {
    return Status::NoAnswer(fmt::format(
        "{}: no row can be predicted: none was measured on {}, or in a type that it and {} have a "
        "peak for",
        table_path_, source.value().device->short_name, target.value().device->short_name));
  }
  std::vector<std::string> cells = table.value().header;
  for (const char* column : {"predicted_ms", "predicted_low_ms", "predicted_high_ms"}) {
    if (table.value().Column(column)) {
      return Status::BadInput(
          fmt::format("{}: has a column {} already; leave it out", table_path_, column));
    }
    cells.emplace_back(column);
  }
  std::string text = CsvLine(cells);
  std::size_t elsewhere = 0, without_model = 0;
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    cells = table.value().rows[row];
    const std::optional<PredictedMs>& ms = predictions[row];
    for (const double PredictedMs::*part :
         {&PredictedMs::mid, &PredictedMs::low, &PredictedMs::high})
      cells.push_back(ms ? fmt::format("{:.6f}", *ms.*part) : "");
    text += CsvLine(cells);
    if (!ms) ++(operators.value()[row].on_source ? without_model : elsewhere);
  }
  if (!options_.quiet) {
    if (elsewhere > 0) {
      Remark(fmt::format("{} rows are of another device than {} and have no prediction\n",
                         elsewhere, source.value().device->short_name));
    }
    if (without_model > 0)
      Remark(fmt::format("{} rows have a type that {} or {} has no peak for, and no prediction\n",
                         without_model, source.value().device->short_name,
                         target.value().device->short_name));
    const std::string why = WhyExtrapolated(target.value());
    if (!why.empty()) Remark(fmt::format("{}: {}\n", target.value().device->short_name, why));
  }
  return WriteResult(std::move(text), output_path_);
}

Status PredictCommand::PredictLists(PredictReport& report) const {
  const Result<std::vector<DeviceRates>> targets = Targets();
  if (!targets.ok()) return targets.status();
  const Result<std::vector<OperatorList>> lists = ReadOperatorLists(operators_path_);
  if (!lists.ok()) return lists.status();
  for (std::size_t group = 0; group < lists.value().size(); ++group) {
    const OperatorList& list = lists.value()[group];
    if (list.works.empty()) {
      return Status::NoAnswer(fmt::format(
          "{}: no operator{} has kernels that are known (docs/predict.md)", operators_path_,
          list.name.empty() ? "" : fmt::format(" of '{}'", list.name)));
    }
    for (const DeviceRates& rate : targets.value()) {
      const Result<StepEstimate> estimate = EstimateStep(list, rate, constants_);
      if (!estimate.ok()) return estimate.status();
      std::string why = fmt::format("{} of {} operators have no kernels: views, or not known",
                                    list.without_work, list.operators);
      if (list.collectives > 0) {
        why +=
            fmt::format("; {} of communication between GPUs {} not in it",
                        Plural(list.collectives, "kernel"), list.collectives == 1 ? "is" : "are");
      }
      report.targets.push_back(
          {.group = group,
           .workload = list.name,
           .gpu = rate.device->short_name,
           .full_name = rate.device->name,
           .step = estimate.value().step,
           .phases_ms = estimate.value().phase_ms,
           .gpu_memory_bytes = UsableBytes(*rate.device),
           .energy = EnergyOf(estimate.value().activity, estimate.value().step, rate),
           .why = why,
           .doubt = WhyExtrapolated(rate)});
    }
  }
  return Status::Ok();
}

std::optional<StepEnergy> PredictCommand::EnergyOf(const StepActivity& activity,
                                                   const PredictedMs& step,
                                                   const DeviceRates& rates) const {
  std::optional<StepEnergy> energy = ModelledEnergy(activity, rates, constants_);
  if (!energy || step.mid <= 0) return energy;
  // A step that takes longer takes more.
  const double of_time = std::max(step.high / step.mid - 1, 1 - step.low / step.mid);
  energy->error = std::hypot(energy->error, of_time);
  return energy;
}

Result<DeviceRates> PredictCommand::SourceOf(const std::string& trace, const Job& job) const {
  if (!from_.empty()) {
    if (job.device() != nullptr &&
        knowledge_->devices().Find(from_) != knowledge_->devices().Find(job.device()->short_name)) {
      return Status::Usage(fmt::format("--from {}: {} was recorded on {}, as it says", from_, trace,
                                       job.device()->name));
    }
    return RatesNamed(from_);
  }
  if (job.device() != nullptr) return RatesOf(*job.device(), ShippedDevices(), constants_);
  const auto& devices = job.store().devices;
  std::set<std::string> all;
  for (std::size_t row = 0; row < devices.rows(); ++row) {
    if (devices.name[row].valid()) all.emplace(job.store().Text(devices.name[row]));
  }
  // Other devices of the machine may have no name in the trace.
  if (all.size() == 1) {
    const DeviceSpec* device = knowledge_->devices().Find(*all.begin());
    if (device != nullptr) return RatesOf(*device, ShippedDevices(), constants_);
  }
  const std::string names = fmt::format("{}", fmt::join(all, ", "));
  return Status::NoAnswer(fmt::format(
      "{}: {}; name the GPU with --from NAME, or add its data sheet with --gpu-file FILE "
      "(docs/devices.md)",
      trace,
      names.empty() ? "the trace does not say which GPU it was recorded on"
                    : fmt::format("not recorded on one GPU that is known: {}", names)));
}

Status PredictCommand::PredictTrace(const std::string& trace, PredictReport& report) const {
  const Result<OpenedJob> opened = OpenJob(trace, options_);
  if (!opened.ok()) return opened.status();
  if (!opened.value().forecasts.ok()) return opened.value().forecasts;
  const Job& job = *opened.value().job;
  const Result<DeviceRates> source = SourceOf(trace, job);
  if (!source.ok()) return source.status();
  const Result<std::vector<DeviceRates>> targets = Targets();
  if (!targets.ok()) return targets.status();
  const Baseline baseline = Forecaster(job).baseline();
  JobPredictor predictor(job, source.value(), constants_);
  const PredictedMs step = {baseline.corrected.low, baseline.corrected.mid,
                            baseline.corrected.high};
  report.source_gpu = source.value().device->short_name;
  std::optional<StepEnergy> energy = MeasuredEnergy(job.store(), job.steps().spans);
  if (!energy) {
    energy =
        ModelledEnergy(predictor.Predict(source.value(), 1).activity, source.value(), constants_);
  }
  if (total_steps_ && job.steps().steps.source == StepSource::kNone) {
    return Status::NoAnswer(fmt::format(
        "{}: nothing marks its steps, so a job of --total-steps cannot be told; record with "
        "prof.step(), or name the range that begins a step with --step-marker",
        trace));
  }
  PredictBaseline base = {.trace = trace,
                          .gpu = source.value().device->short_name,
                          .step = step,
                          .host_ms = baseline.host_limit_ms,
                          .gpu_ms = baseline.gpu_limit_ms,
                          .energy = energy,
                          .steps_note = baseline.steps_note,
                          .ratio_only_share = predictor.ratio_only_share()};
  const Result<JobMemory> memory = MemoryOf(job);
  if (memory.ok()) {
    base.memory = memory.value();
  } else {
    base.no_memory = memory.status().message();
  }
  report.baselines.push_back(std::move(base));
  const std::size_t first = report.targets.size();
  const std::size_t group = report.baselines.size() - 1;
  for (const DeviceRates& target : targets.value()) {
    const JobPrediction prediction = predictor.Predict(target, host_factor_);
    const bool same = target.device->short_name == source.value().device->short_name;
    // The same GPU and host: the job as it was recorded, with the range that its baseline states.
    const PredictedMs& taken = same && host_factor_ == 1 ? step : prediction.step;
    std::string doubt = same ? "" : WhyExtrapolated(target);
    if (!prediction.doubt.empty()) doubt += (doubt.empty() ? "" : "; ") + prediction.doubt;
    report.targets.push_back(
        {.group = group,
         .workload = traces_.size() > 1 ? trace : "",
         .gpu = target.device->short_name,
         .full_name = target.device->name,
         .step = taken,
         .speedup = taken.mid > 0 ? std::optional(step.mid / taken.mid) : std::nullopt,
         .gpu_memory_bytes = UsableBytes(*target.device),
         .energy = EnergyOf(prediction.activity, taken, target),
         .limited_by = prediction.host_ms > prediction.gpu_ms ? "host" : "gpu",
         .why = prediction.why,
         .doubt = std::move(doubt)});
  }
  if (memory.ok()) AddFits(memory.value(), std::span(report.targets).subspan(first));
  return Status::Ok();
}

Status PredictCommand::LoadCarbon() {
  Result<CarbonData> built_in = CarbonData::LoadBuiltIn();
  if (!built_in.ok()) return built_in.status();
  carbon_ = std::move(built_in).value();
  if (!carbon_path_.empty()) {
    const Result<std::string> text = ReadRequired("--carbon", carbon_path_);
    if (!text.ok()) return text.status();
    if (Status status = carbon_.Read({carbon_path_, text.value()}); !status.ok()) return status;
  }
  const std::string code = region_.empty() ? carbon_.default_region() : region_;
  grid_ = carbon_.FindRegion(code);
  if (grid_ == nullptr) {
    return Status::Usage(
        fmt::format("--region {}: no such grid; near codes: {}. --carbon FILE adds one "
                    "(docs/predict.md)",
                    code, fmt::join(NearNames(code, carbon_.RegionCodes()), ", ")));
  }
  const std::string pue = pue_.empty() ? carbon_.default_pue() : pue_;
  constexpr double kMostPue = 10;
  double number = 0;
  const auto [end, error] = std::from_chars(pue.data(), pue.data() + pue.size(), number);
  if (error == std::errc() && end == pue.data() + pue.size()) {
    if (number < 1 || number > kMostPue)
      return Status::Usage(fmt::format("--pue {}: must be from 1 to {}", pue, kMostPue));
    pue_value_ = number;
    return Status::Ok();
  }
  const PueEntry* entry = carbon_.FindPue(pue);
  if (entry == nullptr) {
    return Status::Usage(fmt::format("--pue {}: neither a number from 1 to {} nor one of {}", pue,
                                     kMostPue, fmt::join(carbon_.PueCodes(), ", ")));
  }
  pue_value_ = entry->value;
  return Status::Ok();
}

Status PredictCommand::LoadPrices(PredictReport& report, std::vector<InstancePrice>& prices) const {
  if (prices_path_.empty()) {
    Result<std::vector<InstancePrice>> sample = LoadSamplePrices();
    if (!sample.ok()) return sample.status();
    prices = std::move(sample).value();
    report.prices =
        "a sample that ships, each with the day at which it was listed; give your own with "
        "--prices";
  } else {
    const Result<std::string> text = ReadRequired("--prices", prices_path_);
    if (!text.ok()) return text.status();
    Result<std::vector<InstancePrice>> read = ReadPrices({prices_path_, text.value()});
    if (!read.ok()) return read.status();
    prices = std::move(read).value();
    report.prices = prices_path_;
  }
  const bool known = provider_.empty() ||
                     std::any_of(prices.begin(), prices.end(), [&](const InstancePrice& price) {
                       return price.provider == provider_;
                     });
  if (!known) {
    std::vector<std::string_view> providers;
    providers.reserve(prices.size());
    for (const InstancePrice& price : prices) providers.push_back(price.provider);
    std::sort(providers.begin(), providers.end());
    providers.erase(std::unique(providers.begin(), providers.end()), providers.end());
    return Status::Usage(fmt::format("--provider {}: the list of prices has {}", provider_,
                                     fmt::join(providers, ", ")));
  }
  std::erase_if(prices, [&](const InstancePrice& price) {
    return !provider_.empty() && price.provider != provider_;
  });
  for (const InstancePrice& price : prices) {
    if (knowledge_->devices().Find(price.gpu) == nullptr) {
      return Status::BadInput(fmt::format("{}: instance {} has a GPU '{}' that is not known",
                                          prices_path_, price.instance, price.gpu));
    }
  }
  return Status::Ok();
}

std::optional<double> PredictCommand::Co2AtInstance(const PredictedTarget& target,
                                                    const InstancePrice& price) const {
  if (!target.energy) return std::nullopt;
  // What the user says holds; else the grid and the overhead of the place itself, where known.
  const GridRegion* there = carbon_.FindRegion(price.provider + ":" + price.region);
  const PueEntry* overhead = carbon_.FindPue(price.provider);
  return Co2Kg(target.energy->joules * static_cast<double>(*total_steps_),
               region_.empty() && there != nullptr ? *there : *grid_,
               pue_.empty() && overhead != nullptr ? overhead->value : pue_value_);
}

Status PredictCommand::PlanJob(PredictReport& report) {
  if (!total_steps_) return Status::Ok();
  report.total_steps = static_cast<double>(*total_steps_);
  if (Status status = LoadCarbon(); !status.ok()) return status;
  report.carbon =
      fmt::format("{} ({:.0f} g a kWh, {}, {}: {}), times {:.2f} for the data centre", grid_->name,
                  grid_->g_co2_per_kwh, grid_->basis, grid_->year, grid_->source, pue_value_);
  std::vector<InstancePrice> prices;
  if (Status status = LoadPrices(report, prices); !status.ok()) return status;
  constexpr double kMsPerHour = 3.6e6;
  std::vector<DeploymentOption> options;
  std::vector<std::optional<double>> co2_kg;  // Of each option.
  const auto finish_workload = [&](const std::string& workload) {
    MarkBest(options);
    const auto begin = static_cast<std::ptrdiff_t>(report.options.size());
    for (std::size_t i = 0; i < options.size(); ++i)
      report.options.push_back({workload, options[i], co2_kg[i]});
    std::stable_sort(report.options.begin() + begin, report.options.end(),
                     [](const PlannedOption& a, const PlannedOption& b) {
                       return std::pair(a.option.instance.currency, a.option.money) <
                              std::pair(b.option.instance.currency, b.option.money);
                     });
    options.clear();
    co2_kg.clear();
  };
  for (std::size_t i = 0; i < report.targets.size(); ++i) {
    PredictedTarget& target = report.targets[i];
    target.hours = target.step.mid * *report.total_steps / kMsPerHour;
    if (target.energy)
      target.co2_kg = Co2Kg(target.energy->joules * *report.total_steps, *grid_, pue_value_);
    for (const InstancePrice& price : prices) {
      // Of several GPUs, how they scale is not known here.
      if (price.gpus != 1 || !target.fits.value_or(true) ||
          knowledge_->devices().Find(price.gpu)->short_name != target.gpu)
        continue;
      const double money = *target.hours * price.price_per_hour;
      // Of several currencies, in that of the first: they cannot be compared.
      const bool comparable = target.currency.empty() || target.currency == price.currency;
      if (comparable && (!target.money || money < *target.money)) {
        target.money = money;
        target.currency = price.currency;
      }
      options.push_back({.instance = price, .hours = *target.hours, .money = money});
      co2_kg.push_back(Co2AtInstance(target, price));
    }
    const bool last = i + 1 == report.targets.size();
    if (last || report.targets[i + 1].group != target.group) finish_workload(target.workload);
  }
  if (!report.targets.empty() && report.targets.front().co2_kg) {
    const PredictedTarget& first = report.targets.front();
    const double kg = *first.co2_kg;
    for (const Equivalent& equivalent : carbon_.equivalents()) {
      const double grams =
          equivalent.g_co2.value_or(equivalent.kwh.value_or(0) * grid_->g_co2_per_kwh);
      if (grams <= 0) continue;
      report.equivalents.push_back(
          fmt::format("on {}: {:.3g} times a {}", first.gpu, kg * 1e3 / grams, equivalent.name));
    }
  }
  return Status::Ok();
}

Status PredictCommand::Run() {
  if (Status status = CheckFlags(); !status.ok()) return status;
  if (Status status = LoadKnowledge(); !status.ok()) return status;
  if (!table_path_.empty()) return PredictTable();
  PredictReport report;
  report.constants = constants_.about;
  if (!operators_path_.empty()) {
    if (Status status = PredictLists(report); !status.ok()) return status;
  }
  for (const std::string& trace : traces_) {
    if (Status status = PredictTrace(trace, report); !status.ok()) return status;
  }
  FindTies(report.targets);
  if (Status status = PlanJob(report); !status.ok()) return status;
  return WriteResult(json_ ? RenderPredictJson(report)
                           : RenderPredictText(report, UseColor(ColorMode::kAuto, output_path_),
                                               CharsetOfEnvironment()),
                     output_path_);
}

}  // namespace headroom::cli
