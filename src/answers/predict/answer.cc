#include "answers/predict/answer.h"

#include "answers/predict/listed_steps.h"

namespace headroom {
namespace {

bool Overlap(const PredictedMs& a, const PredictedMs& b) {
  return a.low <= b.high && b.low <= a.high;
}

}  // namespace

Result<PredictAnswer> PredictAnswer::Make(const GpuModels& models, std::vector<DeviceRates> targets,
                                          JobPlanQuestion plan) {
  if (Status status = plan.Check(); !status.ok()) return status;
  PredictAnswer answer(models, std::move(targets), std::move(plan));
  if (Status status = answer.plan_.Load(models.devices()); !status.ok()) return status;
  answer.report_.constants = models.constants().about;
  return answer;
}

Status PredictAnswer::AddTrace(const Job& job, const Forecaster& forecaster,
                               const std::string& note, const DeviceRates& source,
                               const RecordedStepQuestion& question) {
  if (const std::string why = forecaster.WhyNone(); !why.empty()) {
    AddAbstention(question.trace, why);
    return Status::Ok();
  }
  Baseline baseline = forecaster.baseline();
  baseline.AlsoNote(note);
  return AddRecordedStep(job, baseline, models_, source, targets_, question, plan_.has_length(),
                         plan_.machines(), report_);
}

Status PredictAnswer::AddLists(std::span<const OperatorList> lists,
                               std::span<const OperatorList> unchanged, const std::string& path,
                               const HostModel& host) {
  return AddListedSteps(lists, unchanged, path, targets_, models_, plan_.machines(), host, report_);
}

void PredictAnswer::AddAbstention(const std::string& trace, const std::string& why) {
  report_.abstained.push_back({.trace = trace, .why = why});
}

PredictReport PredictAnswer::Finish() && {
  FindTies(report_.targets);
  plan_.Make(report_);
  return std::move(report_);
}

void FindTies(std::vector<PredictedTarget>& targets) {
  for (PredictedTarget& target : targets) {
    for (const PredictedTarget& other : targets) {
      if (&other != &target && other.group == target.group && Overlap(target.step, other.step))
        target.ties.push_back(other.gpu);
    }
  }
}

}  // namespace headroom
