#include "cli/commands/doctor_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "cli/flags/value_checks.h"
#include "cli/machine/machine_checks.h"
#include "cli/terminal/output.h"
#include "render/json_writer.h"
#include "render/text_page.h"

namespace headroom::cli {
namespace {

constexpr const char* kDoctorExamples = R"(Examples:
  headroom doctor
  headroom doctor --python /opt/venv/bin/python
  headroom doctor --json | jq '.checks[] | select(.state != "ok")'

Changes nothing. Exit codes: 0 regardless of the findings; 2 usage; 4 cannot write.
)";

Style StyleOf(CheckState state) {
  switch (state) {
    case CheckState::kOk:
      return Style::kGood;
    case CheckState::kLimited:
      return Style::kWarning;
    case CheckState::kMissing:
      return Style::kBad;
  }
  return Style::kPlain;
}

/// Returns a paragraph for all checks that pass, and one for each other check.
std::string RenderSummary(const std::vector<MachineCheck>& checks, const PageStyle& style) {
  TextPage page(style);
  std::string works;
  for (const MachineCheck& check : checks) {
    if (check.state == CheckState::kOk)
      works += (works.empty() ? "" : ", ") + std::string(check.name);
  }
  page.Paragraph("ok       ", works, StyleOf(CheckState::kOk));
  for (const MachineCheck& check : checks) {
    if (check.state == CheckState::kOk) continue;
    const std::string& text = check.matters.empty() ? check.finding : check.matters;
    page.Paragraph(fmt::format("{:<9}{:<11}", Name(check.state), check.name), text,
                   StyleOf(check.state));
  }
  page.Line({{"Causes and fixes: headroom doctor --full", Style::kDim}});
  return std::move(page).Take();
}

std::string RenderText(const std::vector<MachineCheck>& checks, const PageStyle& style) {
  TextPage page(style);
  page.Heading("Checks of this machine", "", Style::kPlain);
  for (const MachineCheck& check : checks) {
    std::string first = "  ";
    first += Name(check.state);
    first.resize(11, ' ');
    first += check.name;
    first.resize(22, ' ');
    page.Paragraph(first, check.finding, StyleOf(check.state));
    const std::string indent(22, ' ');
    if (!check.matters.empty()) page.Paragraph(indent, check.matters + ".");
    if (!check.fix.empty()) page.Paragraph(indent + "Fix: ", check.fix);
  }
  return std::move(page).Take();
}

std::string RenderJson(const std::vector<MachineCheck>& checks) {
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.doctor/1");
  json.Key("checks").BeginArray(JsonWriter::Layout::kLines);
  for (const MachineCheck& check : checks) {
    json.BeginObject();
    json.Key("name").String(check.name);
    json.Key("state").String(Name(check.state));
    json.Key("finding").String(check.finding);
    json.Key("matters").StringOrNull(check.matters);
    json.Key("fix").StringOrNull(check.fix);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace

DoctorCommand::DoctorCommand(Command parent) {
  command_ =
      parent.AddCommand("doctor", "Check what can be recorded on this machine", kDoctorExamples);
  command_.AddOption("--python", python_, "The Python that trains (python3)").TypeName("PATH");
  command_.AddFlag("--full", full_, "Also print findings and fixes");
  command_.AddFlag("--json", json_, "One JSON object, format headroom.doctor/1");
  command_.AddOption("-o,--output", output_path_, "Write to FILE, not to stdout")
      .TypeName("FILE")
      .Check(NotEmpty());
}

Status DoctorCommand::Run() {
  std::error_code error;
  const std::vector<MachineCheck> checks =
      CheckMachine(python_, std::filesystem::current_path(error).string());
  if (json_) return WriteResult(RenderJson(checks), output_path_);
  const PageStyle style = StyleOfPage(output_path_);
  return WritePaged(full_ ? RenderText(checks, style) : RenderSummary(checks, style), output_path_);
}

}  // namespace headroom::cli
