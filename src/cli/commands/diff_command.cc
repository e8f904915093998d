#include "cli/commands/diff_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "answers/diff/render.h"
#include "answers/report/markdown.h"
#include "base/read_file.h"
#include "cli/flags/value_checks.h"
#include "cli/inputs/profile_run.h"
#include "cli/terminal/output.h"
#include "compare/baseline_file.h"
#include "compare/comparability.h"
#include "compare/this_machine.h"

namespace headroom::cli {
namespace {

constexpr const char* kDiffExamples = R"(Examples:
  headroom diff before.json.gz after.json.gz             what changed, and what it consists of
  headroom diff main after.json.gz                       against a baseline (headroom baseline save)
  headroom diff a1.json.gz b1.json.gz --also-a a2.json.gz --also-b b2.json.gz
  headroom diff before/ after/                           folders with a trace of each rank
  headroom diff main after.json.gz --gate 'step_ms<=+3%' --gate 'gpu_tasks<=+0%' --md
  headroom diff main after.json.gz --gate rules.toml

A rule is METRIC<=LIMIT or METRIC>=LIMIT. '+3%' and '+2ms' limit the change from A to B; '80ms' limits
B. Metrics, the noise model and what makes runs comparable: docs/diff.md.

Exit codes: 0 fine, or the gate passes; 1 the gate fails, is inconclusive (unless
--allow-inconclusive), a figure is missing, or the runs are not comparable; 2 usage, or a rule
that matches nothing; 3 a file is unreadable, not a trace, or has no whole step; 4 cannot write, or
internal error.
)";

constexpr const char* kGateGroup = "Gate";
constexpr std::int64_t kTextRows = 8;

}  // namespace

DiffCommand::DiffCommand(Command parent) : folder_(kBaselineFolder), top_(kTextRows) {
  command_ = parent.AddCommand("diff", "Compare two runs; --gate for CI", kDiffExamples);
  command_
      .AddOption("A", a_,
                 "The reference: a trace, a folder of repeated runs or of ranks, or a baseline")
      .Required()
      .TypeName("TRACE");
  command_.AddOption("B", b_, "The run to compare, in the same form as A")
      .Required()
      .TypeName("TRACE");
  command_.AddOption("--also-a", also_a_, "A repeated run of A; may be given several times")
      .TypeName("FILE")
      .OneValueEach();
  command_.AddOption("--also-b", also_b_, "A repeated run of B; may be given several times")
      .TypeName("FILE")
      .OneValueEach();
  command_.AddOption("--dir", folder_, "Folder of baselines").ShowDefault().TypeName("DIR");
  command_.AddFlag(
      "--here", here_,
      "B was recorded on this machine in its current setup: also compare its settings");
  command_.AddFlag("--full", full_, "Also print comparability, phases, operators and kernels");
  command_.AddFlag("--json", json_, "One JSON object, format headroom.diff/1");
  command_.AddFlag("--md", markdown_, "Markdown, e.g. for a pull request");
  command_
      .AddOption("--max-bytes", max_bytes_,
                 fmt::format("Maximum bytes of --md, at least 1000; drops rows first [{}]",
                             kMarkdownBytes))
      .TypeName("N")
      .Check(WholeNumber(1000, 1'000'000'000));
  command_
      .AddOption("-o,--output", output_path_, "Write to FILE, whole or not at all, not to stdout")
      .TypeName("FILE")
      .Check(NotEmpty());
  command_.AddOption("--top", top_, "Rows per table in text and Markdown")
      .ShowDefault()
      .TypeName("N")
      .Check(WholeNumber(1, 1'000'000));
  AddJobFlags(command_, options_);
  command_
      .AddOption("--gate", gates_,
                 "A rule, e.g. 'step_ms<=+3%', or a TOML file of rules; may be given several "
                 "times")
      .TypeName("RULE|FILE")
      .Check(Known(GateMetrics()))
      .OneValueEach()
      .Group(kGateGroup);
  command_
      .AddOption("--accept", accepted_,
                 "Intended differences, as --gate names them: gpu, batch, math_dtype, ...")
      .TypeName("FACT,...")
      .Delimiter(',')
      .Check(Known(BlockingFacts()))
      .OneValueEach()
      .Group(kGateGroup);
  command_
      .AddFlag("--allow-inconclusive", allow_inconclusive_,
               "Exit with 0 if noise hides whether a rule holds")
      .Group(kGateGroup);
  command_.AddFlag("-q,--quiet", options_.quiet, "No remarks and no progress on stderr");
}

Status DiffCommand::CheckArguments() const {
  if (json_ && markdown_) return Status::Usage("choose one of --json and --md");
  if (max_bytes_ && !markdown_) return Status::Usage("--max-bytes requires --md");
  if (gates_.empty() && allow_inconclusive_)
    return Status::Usage("--allow-inconclusive requires --gate RULE");
  if (options_.measured_step_ms) {
    return Status::Usage(
        "--measured-step-ms is the step of one run, but diff compares two: leave it out; headroom "
        "whatif --score compares a forecast with a measured step");
  }
  if (Status status = CheckAccepted(accepted_); !status.ok()) return status;
  if (const Result<AnalysisOptions> analysis = AnalysisOf(options_); !analysis.ok())
    return analysis.status();
  if (output_path_.empty() || output_path_ == "-") return Status::Ok();
  std::vector<std::string> inputs = {a_, b_};
  inputs.insert(inputs.end(), also_a_.begin(), also_a_.end());
  inputs.insert(inputs.end(), also_b_.begin(), also_b_.end());
  inputs.insert(inputs.end(), gates_.begin(), gates_.end());
  for (const std::string& named : {a_, b_}) {
    if (CheckBaselineName(named).ok()) inputs.push_back(BaselinePath(folder_, named));
  }
  return RefuseToOverwrite("-o", output_path_, inputs);
}

Result<std::vector<GateRule>> DiffCommand::Rules() const {
  std::vector<GateRule> rules;
  for (const std::string& text : gates_) {
    if (!text.ends_with(".toml")) {
      Result<GateRule> rule = ParseGateRule(text);
      if (!rule.ok()) return rule.status();
      rules.push_back(std::move(rule).value());
      continue;
    }
    const Result<std::string> content = ReadRequiredFile("--gate", text);
    if (!content.ok()) return content.status();
    Result<std::vector<GateRule>> of_file = ReadGateRules({text, content.value()});
    if (!of_file.ok()) return of_file.status();
    rules.insert(rules.end(), of_file.value().begin(), of_file.value().end());
  }
  return rules;
}

Result<JobProfile> DiffCommand::Read(const std::string& named, const std::vector<std::string>& also,
                                     std::string_view flag, const ReferenceData& reference) const {
  Result<std::optional<JobProfile>> baseline = FindBaseline(named, folder_);
  if (!baseline.ok()) return baseline.status();
  if (baseline.value()) {
    if (!also.empty()) {
      return Status::Usage(
          fmt::format("{}: {} is a baseline, which already contains its repeated runs: save it "
                      "again with all of them (headroom baseline save NAME TRACE...)",
                      flag, named));
    }
    if (!options_.steps.empty() && !options_.quiet) {
      Remark(
          fmt::format("headroom: --steps does not apply to {}: a baseline keeps the steps that it "
                      "was saved with\n",
                      Printable(named, CharsetOfEnvironment())));
    }
    return std::move(*baseline.value());
  }
  std::error_code error;
  if (!std::filesystem::exists(named, error) && CheckBaselineName(named).ok()) {
    return Status::BadInput(
        fmt::format("{}: no such file, and no baseline of that name in {}; headroom baseline list "
                    "shows all baselines",
                    named, folder_));
  }
  std::vector<std::string> files = {named};
  files.insert(files.end(), also.begin(), also.end());
  return ProfileTraces(files, reference, options_);
}

Status DiffCommand::Run() {
  if (Status status = CheckArguments(); !status.ok()) return status;
  // Checks the rules before reading large traces.
  const Result<std::vector<GateRule>> rules = Rules();
  if (!rules.ok()) return rules.status();
  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  Result<JobProfile> a = Read(a_, also_a_, "--also-a", *reference.value());
  if (!a.ok()) return a.status();
  Result<JobProfile> b = Read(b_, also_b_, "--also-b", *reference.value());
  if (!b.ok()) return b.status();
  if (here_) {
    for (ProfileFact& fact : FactsOfThisMachine()) b.value().facts.push_back(std::move(fact));
  }
  DiffReport report{.diff = Compare(std::move(a).value(), std::move(b).value(), accepted_),
                    .gate = {},
                    .top = static_cast<std::size_t>(top_)};
  if (!gates_.empty()) {
    Result<GateResult> gate = JudgeGate(report.diff, rules.value());
    if (!gate.ok()) return gate.status();
    report.gate = std::move(gate).value();
  }
  const std::string text =
      json_       ? RenderDiffJson(report)
      : markdown_ ? RenderDiffMarkdown(
                        report, static_cast<std::size_t>(max_bytes_.value_or(kMarkdownBytes)))
      : full_ ? RenderDiffText(report, StyleOfPage(output_path_))
              : RenderDiffSummary(report, StyleOfPage(output_path_));
  const Status written =
      json_ || markdown_ ? WriteResult(text, output_path_) : WritePaged(text, output_path_);
  if (!written.ok()) return written;
  if (!report.gate || report.gate->verdict == GateVerdict::kPass) return Status::Ok();
  if (report.gate->verdict == GateVerdict::kInconclusive && allow_inconclusive_)
    return Status::Ok();
  std::string why = NotComparableText(report.diff);
  if (report.gate->verdict != GateVerdict::kNotComparable) {
    for (const RuleResult& rule : report.gate->rules) {
      if (rule.verdict == report.gate->verdict)
        why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", rule.rule.text, RuleText(rule));
    }
  }
  return Status::GateFailed(fmt::format("gate: {}: {}", NameOf(report.gate->verdict), why));
}

}  // namespace headroom::cli
