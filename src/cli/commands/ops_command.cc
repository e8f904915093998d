#include "cli/commands/ops_command.h"

#include <vector>

#include "cli/flags/value_checks.h"
#include "cli/machine/python_module.h"

namespace headroom::cli {
namespace {

constexpr const char* kOpsExamples = R"(Examples:
  headroom ops model.py:build --optimizer adamw     build() returns the module and its inputs
  headroom predict --ops ops.csv --gpu H100,L4      then: a step on GPUs that you do not have
  headroom scale --ops ops.csv --gpu H100 --gpus 8,64 --cluster dgx-h100     and on many

The module runs on PyTorch's meta device, which computes shapes only: no GPU, no memory.

Exit codes: 0 fine; 1 the module cannot be listed; 2 usage, or no such Python; 4 cannot write.
)";

}  // namespace

OpsCommand::OpsCommand(Command parent) {
  command_ = parent.AddCommand("ops", "List a model's operators for predict --ops, without a GPU",
                               kOpsExamples);
  command_
      .AddOption("FILE.py:FUNCTION", function_,
                 "Function that returns a tuple: the module, then its inputs")
      .Required()
      .TypeName("");
  command_.AddFlag("--train", train_, "Also list the backward and the gradients");
  command_
      .AddOption("--optimizer", optimizer_,
                 "Also list the optimizer's update: sgd, sgd-momentum, adamw, or fused-sgd, ...; "
                 "implies --train")
      .TypeName("KIND");
  command_.AddOption("-o,--output", output_path_, "File to write")
      .ShowDefault()
      .TypeName("FILE")
      .Check(NotEmpty());
  command_.AddOption("--python", python_, "Python interpreter with PyTorch")
      .ShowDefault()
      .TypeName("PATH");
}

Status OpsCommand::Run() {
  std::vector<std::string> arguments = {function_, "-o", output_path_};
  if (train_) arguments.emplace_back("--train");
  if (!optimizer_.empty()) arguments.insert(arguments.end(), {"--optimizer", optimizer_});
  return RunPythonModule(python_, "headroom.operators", arguments);
}

}  // namespace headroom::cli
