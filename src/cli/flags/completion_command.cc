#include "cli/flags/completion_command.h"

#include <memory>
#include <vector>

#include "analysis/names/reference_data.h"
#include "cli/flags/command_description.h"
#include "cli/flags/shell_completion.h"
#include "cli/flags/value_checks.h"
#include "cli/terminal/output.h"
#include "cost/device_spec.h"
#include "network/topology.h"

namespace headroom::cli {
namespace {

constexpr const char* kCompletionExamples = R"(Examples:
  source <(headroom completion bash)                                 in ~/.bashrc
  headroom completion zsh > ~/.zfunc/_headroom                       a folder of $fpath
  headroom completion fish > ~/.config/fish/completions/headroom.fish

Exit codes: 0 fine; 2 usage; 4 cannot write.
)";

/// Adds the names of GPUs and clusters as known values of the flags that take them. Only this
/// command reads the data files, so the others start faster.
Status OfferNames(std::vector<CommandDescription>& commands) {
  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  const Result<std::vector<Topology>> topologies = LoadBuiltInTopologies();
  if (!topologies.ok()) return topologies.status();
  std::vector<std::string> gpus, clusters;
  for (const DeviceSpec& device : reference.value()->devices().devices())
    gpus.push_back(device.short_name);
  for (const Topology& topology : topologies.value()) clusters.push_back(topology.name);
  for (CommandDescription& command : commands) {
    for (FlagDescription& flag : command.flags) {
      if (flag.value.starts_with("GPU")) flag.words = gpus;
      if (flag.value.starts_with("CLUSTER")) flag.words = clusters;
    }
  }
  return Status::Ok();
}

}  // namespace

CompletionCommand::CompletionCommand(const Program& program) : program_(program) {
  command_ = program.root().AddCommand("completion", "Print a completion script for a shell",
                                       kCompletionExamples);
  command_.AddOption("SHELL", shell_, "bash, zsh or fish")
      .Required()
      .TypeName("")
      .Check(OneOf({"bash", "zsh", "fish"}));
}

Status CompletionCommand::Run() {
  std::vector<CommandDescription> commands = program_.Describe();
  if (Status status = OfferNames(commands); !status.ok()) return status;
  if (shell_ == "bash") return WriteResult(BashCompletion(commands), "");
  if (shell_ == "zsh") return WriteResult(ZshCompletion(commands), "");
  return WriteResult(FishCompletion(commands), "");
}

}  // namespace headroom::cli
