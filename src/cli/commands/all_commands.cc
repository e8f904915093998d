#include "cli/commands/all_commands.h"

#include "cli/commands/baseline_command.h"
#include "cli/commands/calibrate_command.h"
#include "cli/commands/data_command.h"
#include "cli/commands/diff_command.h"
#include "cli/commands/doctor_command.h"
#include "cli/commands/export_command.h"
#include "cli/commands/mcp_command.h"
#include "cli/commands/merge_command.h"
#include "cli/commands/monitor_command.h"
#include "cli/commands/predict_command.h"
#include "cli/commands/query_command.h"
#include "cli/commands/record_command.h"
#include "cli/commands/redact_command.h"
#include "cli/commands/repair_command.h"
#include "cli/commands/report_command.h"
#include "cli/commands/scale_command.h"
#include "cli/commands/slice_command.h"
#include "cli/commands/ui_command.h"
#include "cli/commands/whatif_command.h"
#include "cli/flags/completion_command.h"
#include "cli/flags/man_command.h"

namespace headroom::cli {

std::vector<std::unique_ptr<Subcommand>> MakeCommands(const Program& program) {
  const Command root = program.root();
  std::vector<std::unique_ptr<Subcommand>> commands;
  commands.push_back(std::make_unique<ReportCommand>(root));
  commands.push_back(std::make_unique<WhatifCommand>(root));
  commands.push_back(std::make_unique<PredictCommand>(root));
  commands.push_back(std::make_unique<ScaleCommand>(root));
  commands.push_back(std::make_unique<UiCommand>(root));
  commands.push_back(std::make_unique<DataCommand>(root));
  commands.push_back(std::make_unique<DiffCommand>(root));
  commands.push_back(std::make_unique<BaselineCommand>(root));
  commands.push_back(std::make_unique<MergeCommand>(root));
  commands.push_back(std::make_unique<SliceCommand>(root));
  commands.push_back(std::make_unique<RepairCommand>(root));
  commands.push_back(std::make_unique<RedactCommand>(root));
  commands.push_back(std::make_unique<ExportCommand>(root));
  commands.push_back(std::make_unique<QueryCommand>(root));
  commands.push_back(std::make_unique<RecordCommand>(root));
  commands.push_back(std::make_unique<MonitorCommand>(root));
  commands.push_back(std::make_unique<McpCommand>(program));
  commands.push_back(std::make_unique<DoctorCommand>(root));
  commands.push_back(std::make_unique<CalibrateCommand>(root));
  commands.push_back(std::make_unique<CompletionCommand>(program));
  commands.push_back(std::make_unique<ManCommand>(program));
  return commands;
}

}  // namespace headroom::cli
