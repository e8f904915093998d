#include "query/attribution_tables.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/analyze.h"
#include "analysis/names/attribution.h"
#include "analysis/names/name_facts.h"
#include "analysis/names/operator_costs.h"
#include "analysis/names/reference_data.h"
#include "analysis/steps/steps.h"
#include "base/large_vector.h"
#include "cost/work_family.h"

namespace headroom {
namespace {

/// Indexed by Phase.
constexpr std::array<std::string_view, 8> kPhases = {"other",          "forward",      "backward",
                                                     "optimizer",      "data_wait",    "callback",
                                                     "host_to_device", "communication"};
static_assert(kPhases.size() == static_cast<std::size_t>(Phase::kCommunication) + 1);

constexpr std::size_t kFamilies = static_cast<std::size_t>(WorkFamily::kFused) + 1;
constexpr std::uint8_t kMemcpyClass = kFamilies, kMemsetClass = kFamilies + 1;

/// Returns the names of the task classes: of kernels by WorkFamily, then of copies and memory sets.
std::span<const std::string_view> TaskClasses() {
  static const std::array<std::string_view, kFamilies + 2> names = [] {
    std::array<std::string_view, kFamilies + 2> made;
    for (std::size_t i = 0; i < kFamilies; ++i) made[i] = Name(static_cast<WorkFamily>(i));
    made[kMemcpyClass] = "memcpy";
    made[kMemsetClass] = "memset";
    return made;
  }();
  return names;
}

/// Phase, operator, layer, line and step of host events or GPU tasks, one entry per row.
struct Places {
  LargeVector<std::uint8_t> phase;
  LargeVector<std::uint32_t> operator_id, operator_name, layer_id, layer, line_id, line;
  LargeVector<std::int64_t> step;

  explicit Places(std::size_t rows)
      : phase(rows),
        operator_id(rows),
        operator_name(rows),
        layer_id(rows),
        layer(rows),
        line_id(rows),
        line(rows),
        step(rows, kUnknown) {}

  void Set(const TraceStore& store, std::size_t row, const HostContext& context) {
    const auto place = [&](HostEventId event, std::uint32_t& id, std::uint32_t& name) {
      id = event.index();
      name = event.valid() ? store.host_events.name[event.index()].index() : kNoRow;
    };
    phase[row] = static_cast<std::uint8_t>(context.phase);
    place(context.op, operator_id[row], operator_name[row]);
    place(context.layer, layer_id[row], layer[row]);
    place(context.line, line_id[row], line[row]);
  }
};

/// The steps as in a report, one entry per step.
struct StepTimes {
  std::vector<std::int64_t> number, start, wall, gpu_busy, host_start, host, host_wait, tasks,
      queue_depth_max;
  std::vector<double> queue_depth_mean;
  std::vector<std::uint8_t> whole;

  explicit StepTimes(std::span<const StepRow> rows) {
    for (const StepRow& row : rows) {
      number.push_back(row.index);
      start.push_back(row.start.ns());
      wall.push_back(row.wall.ns());
      gpu_busy.push_back(row.gpu_busy ? row.gpu_busy->ns() : kUnknown);
      host_start.push_back(row.on_host.start.ns());
      host.push_back(row.host ? row.host->ns() : kUnknown);
      host_wait.push_back(row.host_wait.ns());
      tasks.push_back(row.tasks);
      queue_depth_mean.push_back(row.queue_depth_mean);
      queue_depth_max.push_back(row.queue_depth_max);
      whole.push_back(row.lost_tasks ? 0 : 1);
    }
  }
};

TableColumn MakeColumn(std::string_view name, ColumnKind kind, std::string_view unit, bool nullable,
                       std::string_view sentence) {
  TableColumn column;
  column.name = name;
  column.kind = kind;
  column.unit = unit;
  column.nullable = nullable;
  column.sentence = sentence;
  return column;
}

TableColumn LabelColumn(std::string_view name, std::span<const std::string_view> labels,
                        std::string_view sentence) {
  TableColumn column = MakeColumn(name, ColumnKind::kLabel, "", false, sentence);
  column.labels = labels;
  return column;
}

TableColumn RowColumn(std::string_view name, std::string_view refers, std::string_view sentence) {
  TableColumn column = MakeColumn(name, ColumnKind::kRow, "", true, sentence);
  column.refers = refers;
  return column;
}

std::vector<TableColumn> PlaceColumns() {
  return {
      LabelColumn("phase", kPhases, "Step phase of the event or task."),
      RowColumn("operator_id", "host_events",
                "Innermost operator around the event, or around the task's launch."),
      MakeColumn("operator", ColumnKind::kString, "", true, "Name of that operator."),
      RowColumn("layer_id", "host_events",
                "Innermost module or layer range; in backward, that of the forward operator."),
      MakeColumn("layer", ColumnKind::kString, "", true, "Name of that layer."),
      RowColumn(
          "line_id", "host_events",
          "Innermost Python frame of the user's code; in backward, that of the forward operator."),
      MakeColumn("line", ColumnKind::kString, "", true,
                 "Name of that frame: file, line, function."),
      MakeColumn("step", ColumnKind::kInt64, "", true,
                 "Number of the step in which the event begins or the task was launched.")};
}

void PointAt(const Places& places, std::span<TableColumn> columns) {
  const std::array<const void*, 8> data = {places.phase.data(),         places.operator_id.data(),
                                           places.operator_name.data(), places.layer_id.data(),
                                           places.layer.data(),         places.line_id.data(),
                                           places.line.data(),          places.step.data()};
  for (std::size_t i = 0; i < data.size(); ++i) columns[i].data = data[i];
}

/// Sets the step of each host event that begins in a step's time on the host. `steps` do not
/// overlap.
void SetHostSteps(const TraceStore& store, const StepAnalysis& steps, Places& places) {
  std::vector<std::pair<Interval, std::int64_t>> hosts;
  for (std::size_t i = 0; i < steps.hosts.size(); ++i)
    hosts.emplace_back(steps.hosts[i], steps.steps.list[i].index);
  std::sort(hosts.begin(), hosts.end(),
            [](const auto& a, const auto& b) { return a.first.start < b.first.start; });
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (steps.process.valid() && store.threads.process[t] != steps.process) continue;
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    std::size_t next = 0;
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      const TimeNs start = store.host_events.start[row];
      while (next + 1 < hosts.size() && hosts[next + 1].first.start <= start) ++next;
      if (next < hosts.size() && hosts[next].first.start <= start && start < hosts[next].first.end)
        places.step[row] = hosts[next].second;
    }
  }
}

}  // namespace

struct AttributionTables::Columns {
  Places host, gpu;
  LargeVector<std::uint32_t> forward_id;
  LargeVector<std::uint8_t> recomputed, task_class;
  StepTimes steps;
};

AttributionTables::AttributionTables(std::unique_ptr<Columns> columns)
    : columns_(std::move(columns)) {}
AttributionTables::AttributionTables(AttributionTables&&) noexcept = default;
AttributionTables& AttributionTables::operator=(AttributionTables&&) noexcept = default;
AttributionTables::~AttributionTables() = default;

std::vector<Table> AttributionTables::Declared(const TraceStore& store) {
  Table host;
  host.name = "host_attribution";
  host.sentence =
      "Phase, operator, layer, line and step of each host event. `id` is its row in host_events. "
      "Computed at first use.";
  host.rows = store.host_events.rows();
  host.columns = PlaceColumns();
  host.columns.push_back(RowColumn(
      "forward_id", "host_events",
      "In backward: the forward operator that created the innermost enclosing autograd node."));
  host.columns.push_back(
      MakeColumn("recomputed", ColumnKind::kFlag, "", false,
                 "1 inside a forward operator that runs again in backward (checkpointing)."));

  Table gpu;
  gpu.name = "gpu_attribution";
  gpu.sentence =
      "Launch context and kind of work of each GPU task. `id` is its row in gpu_tasks. Computed at "
      "first use.";
  gpu.rows = store.gpu_tasks.rows();
  gpu.columns = PlaceColumns();
  gpu.columns.push_back(LabelColumn("class", TaskClasses(), "Kind of work, by the kernel's name."));

  Table steps;
  steps.name = "step_times";
  steps.sentence =
      "Steps as `headroom report` measures them, annotated or not. Computed at first use.";
  steps.rows = store.steps.rows();
  const auto ns = [](std::string_view name, bool nullable, std::string_view sentence) {
    return MakeColumn(name, ColumnKind::kInt64, "ns", nullable, sentence);
  };
  steps.columns = {
      MakeColumn("number", ColumnKind::kInt64, "", false, "Step number, as in the columns `step`."),
      ns("start_ns", false, "Start of `wall_ns`."),
      ns("wall_ns", false,
         "Time from the end of the previous step's GPU work to the end of this step's."),
      ns("gpu_busy_ns", true, "Time in `wall_ns` in which the GPU is busy."),
      ns("host_start_ns", false, "Start of the step on the host."),
      ns("host_ns", true, "Length of the annotation."),
      ns("host_wait_ns", false, "GPU idle time caused by late launches."),
      MakeColumn("tasks", ColumnKind::kInt64, "", false, "GPU tasks launched in the step."),
      MakeColumn("queue_depth_mean", ColumnKind::kReal, "tasks", false,
                 "Mean number of tasks launched but not started, over the launches of the step."),
      MakeColumn(
          "queue_depth_max", ColumnKind::kInt64, "tasks", false,
          "Maximum number of tasks launched but not started, over the launches of the step."),
      MakeColumn("whole", ColumnKind::kFlag, "", false,
                 "0 if the step lost tasks, which makes its times unreliable.")};
  std::vector<Table> tables;
  tables.push_back(std::move(host));
  tables.push_back(std::move(gpu));
  tables.push_back(std::move(steps));
  return tables;
}

Result<AttributionTables> AttributionTables::Make(const TraceStore& store) {
  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  NameFacts names(store, *reference.value());
  const Result<StepAnalysis> steps = AnalyzeSteps(store, names, AnalysisOptions());
  if (!steps.ok()) return steps.status();
  OperatorCosts costs(store);
  const Attribution attribution(store, names, costs);

  auto columns = std::make_unique<Columns>(Columns{
      Places(store.host_events.rows()), Places(store.gpu_tasks.rows()),
      LargeVector<std::uint32_t>(store.host_events.rows()),
      LargeVector<std::uint8_t>(store.host_events.rows()),
      LargeVector<std::uint8_t>(store.gpu_tasks.rows()), StepTimes(steps.value().steps.list)});
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    const HostContext& context = attribution.Of(HostEventId(row));
    columns->host.Set(store, row, context);
    columns->forward_id[row] = context.forward.index();
    columns->recomputed[row] = context.recomputed ? 1 : 0;
  }
  SetHostSteps(store, steps.value(), columns->host);
  for (std::size_t row = 0; row < store.gpu_tasks.rows(); ++row) {
    columns->gpu.Set(store, row, attribution.Of(GpuTaskId(row)));
    const std::int32_t step = steps.value().step_of_task[row];
    if (step != StepAnalysis::kNoStep) {
      columns->gpu.step[row] = steps.value().steps.list[static_cast<std::size_t>(step)].index;
    }
    switch (store.gpu_tasks.kind[row]) {
      case GpuTaskKind::kKernel:
        columns->task_class[row] =
            static_cast<std::uint8_t>(names.Kernel(store.gpu_tasks.name[row]).family);
        break;
      case GpuTaskKind::kMemcpy:
        columns->task_class[row] = kMemcpyClass;
        break;
      case GpuTaskKind::kMemset:
        columns->task_class[row] = kMemsetClass;
        break;
    }
  }
  return AttributionTables(std::move(columns));
}

void AttributionTables::FillIn(std::span<Table> declared) const {
  Table& host = declared[0];
  PointAt(columns_->host, host.columns);
  host.columns[host.Find("forward_id")].data = columns_->forward_id.data();
  host.columns[host.Find("recomputed")].data = columns_->recomputed.data();
  Table& gpu = declared[1];
  PointAt(columns_->gpu, gpu.columns);
  gpu.columns[gpu.Find("class")].data = columns_->task_class.data();
  Table& times = declared[2];
  const StepTimes& steps = columns_->steps;
  const std::array<const void*, 11> data = {
      steps.number.data(),          steps.start.data(),      steps.wall.data(),
      steps.gpu_busy.data(),        steps.host_start.data(), steps.host.data(),
      steps.host_wait.data(),       steps.tasks.data(),      steps.queue_depth_mean.data(),
      steps.queue_depth_max.data(), steps.whole.data()};
  times.rows = steps.number.size();
  for (std::size_t i = 0; i < data.size(); ++i) times.columns[i].data = data[i];
}

}  // namespace headroom
