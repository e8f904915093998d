#include "cli/commands/all_commands.h"

#include <utility>

#include "cli/commands/baseline_command.h"
#include "cli/commands/calibrate_command.h"
#include "cli/commands/data_command.h"
#include "cli/commands/diff_command.h"
#include "cli/commands/export_command.h"
#include "cli/commands/mcp_command.h"
#include "cli/commands/merge_command.h"
#include "cli/commands/ops_command.h"
#include "cli/commands/predict_command.h"
#include "cli/commands/query_command.h"
#include "cli/commands/redact_command.h"
#include "cli/commands/repair_command.h"
#include "cli/commands/report_command.h"
#include "cli/commands/scale_command.h"
#include "cli/commands/slice_command.h"
#include "cli/commands/ui_command.h"
#include "cli/commands/whatif_command.h"
#include "cli/flags/completion_command.h"
#include "cli/flags/man_command.h"

#ifdef HEADROOM_RECORDS
#include "cli/commands/doctor_command.h"
#include "cli/commands/monitor_command.h"
#include "cli/commands/record_command.h"
#endif

namespace headroom::cli {

std::vector<std::unique_ptr<Subcommand>> MakeCommands(const Program& program) {
  const Command root = program.root();
  std::vector<std::unique_ptr<Subcommand>> commands;
  const auto add = [&](const char* task, std::unique_ptr<Subcommand> command) {
    command->command().SetGroup(task);
    commands.push_back(std::move(command));
  };
  // The help shows this order: commands of one task are adjacent.
  add("Look", std::make_unique<ReportCommand>(root));
  add("Look", std::make_unique<UiCommand>(root));
  add("Look", std::make_unique<DataCommand>(root));
  add("Look", std::make_unique<DiffCommand>(root));
  add("Look", std::make_unique<BaselineCommand>(root));
  add("Look", std::make_unique<QueryCommand>(root));
  add("Forecast", std::make_unique<WhatifCommand>(root));
  add("Forecast", std::make_unique<PredictCommand>(root));
  add("Forecast", std::make_unique<OpsCommand>(root));
  add("Forecast", std::make_unique<ScaleCommand>(root));
  add("Forecast", std::make_unique<CalibrateCommand>(root));
#ifdef HEADROOM_RECORDS
  add("Record", std::make_unique<RecordCommand>(root));
  add("Record", std::make_unique<MonitorCommand>(root));
  add("Record", std::make_unique<DoctorCommand>(root));
#endif
  add("Share", std::make_unique<RedactCommand>(root));
  add("Share", std::make_unique<SliceCommand>(root));
  add("Share", std::make_unique<MergeCommand>(root));
  add("Share", std::make_unique<RepairCommand>(root));
  add("Share", std::make_unique<ExportCommand>(root));
  add("Serve", std::make_unique<McpCommand>(program));
  add("Serve", std::make_unique<CompletionCommand>(program));
  add("Serve", std::make_unique<ManCommand>(program));
  return commands;
}

}  // namespace headroom::cli
