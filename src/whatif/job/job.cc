#include "whatif/job/job.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/gpu/gpu_model.h"
#include "analysis/steps/step_time.h"
#include "graph/build_graph.h"
#include "whatif/job/host_speed.h"
#include "whatif/job/measured_step.h"

namespace headroom {

namespace {

/// Relative variation between runs of host-bound steps (measured: 5 to 13 % on one H200 machine).
constexpr double kMeasuredError = 0.12;

/// Share of the logarithm of the host speed correction that counts as uncertain. A trace does not
/// separate a slow moment from a slow machine.
constexpr double kHostSpeedError = 0.6;

/// Returns the time of a plan's work and calls, in nanoseconds.
double HostTime(const Plan& plan) {
  const PlanShape& shape = *plan.shape;
  double sum = 1;
  for (std::size_t task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t track = shape.edge_begin[task];
    if (shape.gpu[task] != 0 || track == shape.edge_begin[task + 1]) continue;
    sum += static_cast<double>(plan.duration[task] + plan.lag[track]);
  }
  return sum;
}

}  // namespace

Result<std::unique_ptr<Job>> Job::Make(const TraceStore& store, const ReferenceData& reference,
                                       const AnalysisOptions& options,
                                       const Calibration& calibration) {
  std::unique_ptr<Job> job(new Job(store, reference, calibration));
  Recording& recording = *job->recording_;
  Result<StepAnalysis> steps = AnalyzeSteps(store, recording.names, options);
  if (!steps.ok()) return steps.status();
  recording.steps = std::move(steps).value();
  job->step_error_ = StepTimeError(recording.steps.steps);
  Result<Graph> graph = BuildGraph(store, recording.names, recording.steps);
  if (!graph.ok()) return graph.status();
  recording.graph = std::move(graph).value();
  recording.has_gpu_work =
      std::any_of(recording.graph.tasks.begin(), recording.graph.tasks.end(),
                  [](const Task& task) { return task.kind == TaskKind::kGpu; });
  recording.plan = MakePlan(recording.graph);
  job->corrected_ = recording.plan;
  job->host_error_ = calibration.host.error;
  if (!store.metadata.is_forecast) job->Correct();
  if (const DeviceSpec* device = SpecOf(store, reference.devices()); device != nullptr) {
    job->device_ = *device;
    job->device_->sustained = calibration.kernels;
    Result<KernelConstants> constants = KernelConstants::LoadBuiltIn();
    if (!constants.ok()) return constants.status();
    job->kernel_constants_ = std::move(constants).value();
    const Result<DeviceRates> rates =
        RatesOf(*job->device_, reference.devices(), *job->kernel_constants_);
    if (rates.ok()) job->rates_ = rates.value();
  }
  job->IndexLaunches();
  return job;
}

std::unique_ptr<Job> Job::On(const DeviceRates& gpu, const KernelConstants& constants,
                             Plan plan) const {
  std::unique_ptr<Job> there(new Job(*this));
  there->device_ = *gpu.device;
  there->device_->sustained = calibration_.kernels;
  there->kernel_constants_ = constants;
  there->rates_ = gpu;
  there->rates_->device = &*there->device_;
  there->corrected_ = std::move(plan);
  there->corrected_step_ms_.reset();  // The step time of the recorded GPU.
  return there;
}

double Job::WorkIn(const HostPiece& piece) const {
  const auto recorded = static_cast<double>(piece.length().ns());
  // Calibrations of GPU jobs were measured with recorded lengths, and a call has few pieces there.
  if (HasGpuWork()) return recorded;
  const RecordingCost& cost = calibration().recording;
  const double recording =
      (piece.operator_halves * cost.operator_record + piece.frame_halves * cost.frame_record) / 2;
  return std::max(0.0, recorded - recording);
}

Status Job::RequireGpuWork() const { return HasGpuWork() ? Status::Ok() : NothingToReplay(store_); }

void Job::Correct() {
  RemoveRecordingCost(graph(), calibration_.recording, corrected_);
  const double removed = 1 - HostTime(corrected_) / HostTime(recorded());
  // The recording cost was measured on the calibrated machine, so it adds no error there.
  const double recording_error = MachineOf(store_) == calibration_.machine
                                     ? 0
                                     : calibration_.recording_error * removed / (1 - removed);
  const std::vector<bool> not_dispatch = NotDispatch(store_, recording_->names);
  const double unscaled = HostTime(corrected_);
  ScaleHostTime(graph(), store_, not_dispatch,
                FindHostSpeed(store_, graph(), not_dispatch, calibration_), corrected_);
  const double speed_error = kHostSpeedError * std::abs(std::log(HostTime(corrected_) / unscaled));
  constexpr double kMaxError = 0.9;
  host_error_ =
      std::min(kMaxError, std::hypot(std::hypot(host_error_, recording_error), speed_error));
}

void Job::SetStepTime(const Steps& steps, std::optional<MsInterval> corrected) {
  if (!steps.step_time) return;
  step_time_ = steps.step_time;
  step_error_ = StepTimeError(steps);
  corrected_step_ms_ = corrected;
  Replayer replayer;
  double replayed = replayer.Run(corrected_).step_ns;
  double told = corrected ? corrected->mid * 1e6 : static_cast<double>(step_time_->ns());
  // A host that ran faster than normal during the recording does not make the job slower.
  if (!corrected) replayed = std::max(replayed, replayer.Run(recorded()).step_ns);
  if (replayed <= 0 || told <= 0) return;
  step_scale_ = graph().periodic ? StepScale::OfMany(corrected_, told, replayed)
                                 : StepScale::OfOne(corrected_, told, replayed);
}

Result<bool> Job::CalibrateTo(double step_ms) {
  const Result<MeasuredStep> measured = FitToMeasuredStep(corrected_, step_ms, step_scale_);
  if (!measured.ok()) return measured.status();
  if (!measured.value().tells) return false;
  StretchHost(corrected_, measured.value().host_factor);
  host_error_ = kMeasuredError;
  return true;
}

void Job::IndexLaunches() {
  const std::vector<Task>& tasks = graph().tasks;
  std::vector<TaskIndex>& launch_of = recording_->launch_of;
  std::vector<std::int64_t>& launched_by = recording_->launched_by;
  launch_of.assign(tasks.size(), kNoTask);
  launched_by.assign(tasks.size(), 0);
  std::vector<TaskIndex> task_of_call(store_.host_events.rows(), kNoTask);
  for (TaskIndex task = 0; task < tasks.size(); ++task) {
    if (tasks[task].kind == TaskKind::kCall) task_of_call[tasks[task].row] = task;
  }
  task_of_call = store_.InheritFromParents(std::move(task_of_call), kNoTask);
  for (TaskIndex task = 0; task < tasks.size(); ++task) {
    if (tasks[task].kind != TaskKind::kGpu) continue;
    const HostEventId call = store_.gpu_tasks.launch[tasks[task].row];
    if (!call.valid() || task_of_call[call.index()] == kNoTask) continue;
    launch_of[task] = task_of_call[call.index()];
    ++launched_by[launch_of[task]];
  }
}

const KernelClass& Job::ClassOf(TaskIndex gpu_task) const {
  return recording_->names.Kernel(store_.gpu_tasks.name[graph().tasks[gpu_task].row]);
}

bool Job::IsCollective(GpuTaskId task) const {
  return store_.gpu_tasks.kind[task.index()] == GpuTaskKind::kKernel &&
         recording_->names.IsCommunication(store_.gpu_tasks.name[task.index()]);
}

HostRoles Job::RolesOf(HostEventId event) const {
  return recording_->names.Roles(store_.host_events.name[event.index()]);
}

std::optional<std::int64_t> Job::StepNumberOf(TaskIndex task) const {
  const std::int32_t row = graph().tasks[task].step;
  if (row < 0 || static_cast<std::size_t>(row) >= steps().steps.list.size()) return std::nullopt;
  return steps().steps.list[static_cast<std::size_t>(row)].index;
}

std::string_view Job::NameOf(TaskIndex task) const {
  const Task& recorded = graph().tasks[task];
  return store_.Text(recorded.kind == TaskKind::kGpu ? store_.gpu_tasks.name[recorded.row]
                                                     : store_.host_events.name[recorded.row]);
}

const HostContext& Job::ContextOf(TaskIndex task) const {
  const Task& recorded = graph().tasks[task];
  return recorded.kind == TaskKind::kGpu ? attribution().Of(GpuTaskId(recorded.row))
                                         : attribution().Of(HostEventId(recorded.row));
}

}  // namespace headroom
